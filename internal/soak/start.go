package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/forge-agent/forge/internal/scripted"
)

// startRuns is how often the start is measured; the median is printed.
const startRuns = 21

// measureStart prints the CPU time of a run from its start to its first
// request. The whole of a run whose first answer ends it is measured, so that
// the figure is above what it stands for.
func measureStart(ctx context.Context) error {
	w, err := newWorkplace(ctx)
	defer os.RemoveAll(w.dir)
	if err != nil {
		return err
	}
	server, err := scripted.Start(scripted.Options{Script: func(scripted.Request) scripted.Reply { return scripted.Reply{Text: "Done."} }})
	if err != nil {
		return err
	}
	defer server.Close()
	own, err := medianCPU(func() *exec.Cmd { return w.command(ctx, server, "hello") })
	if err != nil {
		return err
	}
	fmt.Printf("forge run, one request, from start to end: CPU time %v\n", own)
	for _, other := range [][]string{{w.forge, "--version"}, {"codex", "--version"}, {"fzf", "--version"}} {
		took, err := medianCPU(func() *exec.Cmd { return exec.CommandContext(ctx, other[0], other[1:]...) })
		if errors.Is(err, exec.ErrNotFound) {
			fmt.Printf("%s is not installed\n", other[0])
			continue
		}
		if err != nil {
			return err
		}
		fmt.Printf("%s %s: %v; forge run takes %.2f ×\n", other[0], other[1], took, float64(own)/float64(max(took, 1)))
	}
	return nil
}

// medianCPU is the CPU time of a program with all that it waited for.
func medianCPU(command func() *exec.Cmd) (time.Duration, error) {
	var all []time.Duration
	for range startRuns {
		cmd := command()
		if out, err := cmd.Output(); err != nil {
			return 0, fmt.Errorf("run %s: %w: %s", cmd.Path, err, out)
		}
		all = append(all, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}
