package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// measureMemory replays large session files, made by repeating a real one, in
// a process of its own and prints its peak memory.
func measureMemory(ctx context.Context) error {
	files, err := sessionFiles()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "forge-measure-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	forge := filepath.Join(dir, "forge")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", forge, "./cmd/forge").CombinedOutput(); err != nil {
		return fmt.Errorf("build forge: %w: %s", err, out)
	}
	fmt.Println("peak memory of a replay:")
	for _, name := range []string{"codex/older-version.jsonl", "pi/v1-two-providers.jsonl", "claude-code/glued-line.jsonl"} {
		for _, path := range files {
			if short(path) != name {
				continue
			}
			for _, size := range []int64{10 << 20, 100 << 20, 500 << 20} {
				if err := peak(ctx, forge, dir, path, size); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func peak(ctx context.Context, forge, dir, source string, size int64) error {
	path := filepath.Join(dir, "large.jsonl")
	if err := repeat(source, path, size); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, forge, "replay", "--json", path)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("replay %s repeated to %d MB: %w", short(source), size>>20, err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return fmt.Errorf("this system does not report peak memory")
	}
	rss := usage.Maxrss >> 10
	fmt.Printf("  %-40s %4d MB: %5d MB, %.1f x the file, allowed %d MB, %.1f s, report %d bytes\n", short(source), size>>20, rss,
		float64(rss)/float64(size>>20), 96+6*(size>>20), cmd.ProcessState.UserTime().Seconds(), len(out))
	return nil
}

// repeat writes the file again and again until the result has a size.
func repeat(source, target string, size int64) error {
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	f, err := os.Create(target)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for n := int64(0); n < size; n += int64(len(data)) {
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return w.Flush()
}
