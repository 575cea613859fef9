package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/cl100k"
	"github.com/forge-agent/forge/tokenizer/conservative"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/tokenizer/qwen3"
)

// embedded returns what makes a fresh counter of each embedded vocabulary.
func embedded() []func() tokenizer.Counter {
	return []func() tokenizer.Counter{
		func() tokenizer.Counter { return o200k.New() },
		func() tokenizer.Counter { return cl100k.New() },
		func() tokenizer.Counter { return qwen3.New() },
		func() tokenizer.Counter { return conservative.New() },
	}
}

// printHostile prints the throughput of fresh counters on 1 MB of each kind of
// hostile text.
func printHostile(out io.Writer, fresh []func() tokenizer.Counter) {
	const size = 1 << 20
	fmt.Fprint(out, "1 MB of hostile text, fresh counter, MB/s\n  ", pad("", 24))
	slowest := make([]float64, len(fresh))
	for i, counter := range fresh {
		fmt.Fprintf(out, "%14s", counter().Name())
		slowest[i] = 1e9
	}
	fmt.Fprintln(out)
	random := rand.New(rand.NewPCG(20, 21))
	for _, kind := range tokentest.Hostile() {
		text := kind.Make(random, size)
		fmt.Fprint(out, "  ", pad(kind.Name, 24))
		for i, counter := range fresh {
			var times []time.Duration
			for range 3 {
				count := counter().Count
				times = append(times, cpuOf(func() { count(text) }))
			}
			speed := megabytesPerSecond(len(text), median(times))
			slowest[i] = min(slowest[i], speed)
			fmt.Fprintf(out, "%14.1f", speed)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprint(out, "  ", pad("slowest", 24))
	for _, speed := range slowest {
		fmt.Fprintf(out, "%14.1f", speed)
	}
	fmt.Fprintln(out)
}

func pad(s string, width int) string { return fmt.Sprintf("%-*s", width, s) }
