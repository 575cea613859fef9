// Command tokenbench measures the token counters against others and prints
// ratios, all from one run:
//
//	go run ./internal/tokenbench
//
// It counts mixed agent text (Go source, and the shared session files if
// FORGE_CORPUS names them), the first text of a fresh process, and 1 MB of each
// kind of hostile text. Times are CPU time of the process; each figure is the
// median of interleaved rounds, so that other work on the machine hits all
// counters alike.
//
// With -conservative it prints what the overcount of the conservative counter
// depends on instead, and with -json FILE how fast the vocabulary of a
// tokenizer.json counts.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/forge-agent/forge/internal/tokentest"
)

type options struct {
	rounds       int
	megabytes    int
	conservative bool
	first        string
	json         string
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tokenbench:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("tokenbench", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "rounds", 5, "interleaved rounds")
	flags.IntVar(&o.megabytes, "mb", 4, "megabytes of mixed text")
	flags.BoolVar(&o.conservative, "conservative", false, "print overcounts by number of merges and stop")
	flags.StringVar(&o.first, "first", "", "count one text with this counter, print the CPU time and stop")
	flags.StringVar(&o.json, "json", "", "measure the vocabulary of this tokenizer.json and stop")
	if err := flags.Parse(args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1)
	switch {
	case o.first != "":
		return firstCount(o.first, out)
	case o.conservative:
		return printOvercounts(out)
	}
	texts := tokentest.MixedTexts(abort{}, o.megabytes<<20)
	if o.json != "" {
		return printFile(out, o.json, texts, o.rounds)
	}
	fmt.Fprintf(out, "CPU time, one thread, medians of %d interleaved rounds\n\n", o.rounds)
	printMixed(out, texts, o.rounds)
	if err := printFirst(out, o.rounds); err != nil {
		return err
	}
	printHostile(out, embedded())
	return nil
}

// abort ends the program where a test would fail.
type abort struct{}

func (abort) Helper() {}

func (abort) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, append([]any{"tokenbench:"}, args...)...)
	os.Exit(1)
}

func (a abort) Skip(args ...any) { a.Fatal(args...) }

// cpuOf returns the CPU time that a function takes.
func cpuOf(do func()) time.Duration {
	start := cpuTime()
	do()
	return cpuTime() - start
}

func median[T int | float64 | time.Duration](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func megabytesPerSecond(size int, d time.Duration) float64 {
	return float64(size) / 1e6 / d.Seconds()
}
