// Command measure prints the figures of docs/measured.md that concern counting
// a conversation: what a budget costs, what a replay costs, how much memory it
// takes and how good the estimates are.
//
//	FORGE_CORPUS=… go run ./internal/measure [fit|replay|memory|estimate|cost]…
//
// Times are CPU times of this process, medians of interleaved runs, and
// compared only with each other.
package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/formats"
)

// runs is how often each measurement is repeated; the median is printed.
const runs = 5

func main() {
	what := os.Args[1:]
	if len(what) == 0 {
		what = []string{"fit", "replay", "estimate", "cost"}
	}
	if err := measure(context.Background(), what); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, what []string) error {
	for _, w := range what {
		var err error
		switch w {
		case "fit":
			err = measureFit()
		case "replay":
			err = measureReplay(ctx)
		case "memory":
			err = measureMemory(ctx)
		case "estimate":
			err = measureEstimate(ctx)
		case "cost":
			err = measureCost(ctx)
		default:
			err = fmt.Errorf("unknown measurement %q: use fit, replay, memory, estimate or cost", w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cpu returns the CPU time of this process so far.
func cpu() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// timed returns the CPU time that f takes.
func timed(f func() error) (time.Duration, error) {
	start := cpu()
	err := f()
	return cpu() - start, err
}

func median(ds []time.Duration) time.Duration {
	sorted := slices.Clone(ds)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

// sessionFiles returns the session files of the corpus, sorted.
func sessionFiles() ([]string, error) {
	root := os.Getenv("FORGE_CORPUS")
	if root == "" {
		return nil, fmt.Errorf("FORGE_CORPUS is unset: it names the folder with session files")
	}
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(path, "token-usage") && !strings.Contains(path, "overflow-errors") {
			out = append(out, path)
		}
		return err
	})
	slices.Sort(out)
	return out, err
}

func open(path string) (*sessionfile.Session, error) {
	return sessionfile.Open(path, formats.All(), nil)
}

// short names a corpus file by its folder and name.
func short(path string) string {
	return filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
}
