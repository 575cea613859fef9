package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/forge-agent/forge/internal/scripted"
)

// memory is what a run of the program took.
type memory struct {
	steps       int
	outputBytes int64
	peakBytes   int64
	cpu, took   time.Duration
	totals      scripted.Totals
	last        string // of the last request, whether the constraint is there
}

// String shows the figures.
func (m memory) String() string {
	return fmt.Sprintf("forge run, %d steps, %d MB of tool output: peak memory %d MB, CPU time %.1f s of %.1f s, %d requests, heaviest %d tokens, %s",
		m.steps, m.outputBytes>>20, m.peakBytes>>20, m.cpu.Seconds(), m.took.Seconds(), m.totals.Requests, m.totals.PeakInputTokens, m.last)
}

const constraint = "Never touch internal/legacy/wire.go."

// workplace is a folder with a program, a home and a workspace.
type workplace struct{ dir, forge, home, workspace string }

// newWorkplace builds the program.
func newWorkplace(ctx context.Context) (w workplace, err error) {
	if w.dir, err = os.MkdirTemp("", "forge-soak-"); err != nil {
		return w, err
	}
	w.forge, w.home, w.workspace = filepath.Join(w.dir, "forge"), filepath.Join(w.dir, "home"), filepath.Join(w.dir, "workspace")
	if out, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", w.forge, "github.com/forge-agent/forge/cmd/forge").CombinedOutput(); err != nil {
		return w, fmt.Errorf("build forge: %w: %s", err, out)
	}
	for _, dir := range []string{w.home, filepath.Join(w.workspace, ".git")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return w, err
		}
	}
	return w, os.WriteFile(filepath.Join(w.home, "config.json"), []byte(`{"version": 1, "policy": {"grants": [{"tool": "run_command"}]}}`), 0o600)
}

// command is a run of the program against a server.
func (w workplace) command(ctx context.Context, s *scripted.Server, args ...string) *exec.Cmd {
	all := append([]string{"run", "--json", "--provider", "openai", "--model", "gpt-5", "--endpoint", s.URL()}, args...)
	cmd := exec.CommandContext(ctx, w.forge, all...)
	cmd.Dir, cmd.Stderr = w.workspace, os.Stderr
	own := func(v string) bool { return strings.HasPrefix(v, "FORGE_") } // the caller's settings
	cmd.Env = append(slices.DeleteFunc(os.Environ(), own), "FORGE_HOME="+w.home, "FORGE_OPENAI_API_KEY=key-of-the-scripted-provider")
	return cmd
}

// dataBytes is the size of the file whose parts the run prints.
const dataBytes = 64 << 20

// measureMemory runs the program for n steps, each of which prints size bytes.
func measureMemory(ctx context.Context, n, size int) (m memory, err error) {
	w, err := newWorkplace(ctx)
	defer os.RemoveAll(w.dir)
	if err != nil {
		return m, err
	}
	if err := os.WriteFile(filepath.Join(w.workspace, "data.txt"), []byte(listing(1, dataBytes)), 0o600); err != nil {
		return m, err
	}
	var pid atomic.Int64
	server, err := scripted.Start(scripted.Options{Script: func(r scripted.Request) scripted.Reply {
		if r.N > n {
			m.peakBytes = peakOf(int(pid.Load()))
		}
		m.last = "the constraint is gone"
		if strings.Contains(r.Text(), constraint) {
			m.last = "with the constraint"
		}
		if r.N > n {
			return scripted.Reply{Text: "Done."}
		}
		from := r.N * size % (dataBytes - size)
		script := fmt.Sprintf("echo step %d; tail -c +%d data.txt | head -c %d", r.N, from+r.N, size)
		return scripted.Reply{Calls: []scripted.Call{{Name: "run_command", Arguments: fmt.Sprintf(`{"command":["sh","-c",%q]}`, script)}}}
	}})
	if err != nil {
		return m, err
	}
	defer server.Close()
	limit := fmt.Sprint(n + 10)
	start := time.Now()
	cmd := w.command(ctx, server, "--context-mode", "compact", "--max-steps", limit, "--max-tool-calls", limit, "--max-run-seconds", "36000", "Read all of it. "+constraint)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return m, fmt.Errorf("run forge: %w", err)
	}
	pid.Store(int64(cmd.Process.Pid))
	if err := cmd.Wait(); err != nil {
		return m, fmt.Errorf("run forge: %w: %s", err, out.Bytes())
	}
	if m.peakBytes == 0 {
		// A process inherits the peak of the one that started it, so this may
		// be too much.
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			return m, fmt.Errorf("this system does not report peak memory")
		}
		m.peakBytes = usage.Maxrss << 10
	}
	m.steps, m.outputBytes, m.took = n, int64(n)*int64(size), time.Since(start)
	m.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	m.totals = server.Totals()
	return m, nil
}

// peakOf returns the most memory that a running process has held, zero where
// the system does not say.
func peakOf(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	return 0
}
