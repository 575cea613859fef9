// Command soak runs the agent for thousands of steps against a provider that
// answers as a script says, and prints what docs/measured.md states about it:
// how much memory a run takes, and what a step costs the longer a run is.
//
//	go run ./internal/soak [memory|steps|start]…
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	what := os.Args[1:]
	if len(what) == 0 {
		what = []string{"steps", "memory", "start"}
	}
	if err := run(context.Background(), what); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// Sizes of the whole soak: 2,000 steps of half a megabyte are 1 GB.
const (
	soakSteps = 2000
	soakBytes = 512 << 10
	// soakWindow is small enough for a run to have several checkpoints.
	soakWindow = 64_000
)

func run(ctx context.Context, what []string) error {
	for _, w := range what {
		var err error
		switch w {
		case "memory":
			var m memory
			if m, err = measureMemory(ctx, soakSteps, soakBytes); err == nil {
				fmt.Println(m)
			}
		case "steps":
			var s steps
			if s, err = measureSteps(ctx, soakSteps, soakBytes, soakWindow); err == nil {
				fmt.Println(s)
			}
		case "start":
			err = measureStart(ctx)
		default:
			err = fmt.Errorf("unknown measurement %q: use memory, steps or start", w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
