// Command projectioneval measures what clearing old tool output costs and
// saves on recorded sessions, at the prices of the catalog and at three round
// ones, and compares it with the best clearing found with the future known.
// It prints the figures of docs/measured.md, "Projection".
//
//	FORGE_CORPUS=… go run ./internal/projectioneval [-v] [-seed N] [FILE]…
//
// It replays token counts only: sessions do not change because something was
// cleared, so what it cannot show is whether an agent would have read things
// again.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/forge-agent/forge/internal/eval/clearing"
)

func main() {
	verbose := flag.Bool("v", false, "print every session, not only the round prices")
	seed := flag.Uint64("seed", 1, "seed of the first long session")
	flag.Parse()
	err := run(os.Stdout, flag.Args(), *verbose)
	if dir := os.Getenv("FORGE_CORPUS"); err == nil && dir != "" && flag.NArg() == 0 {
		err = reportLong(os.Stdout, dir, *seed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "projectioneval:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, files []string, verbose bool) error {
	all, err := clearing.Load(files)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d sessions, %d of them with tool output to clear\n\n", len(all), len(clearing.Clearable(all)))
	for _, part := range []func(io.Writer, []*clearing.Series, bool) error{reportRound, reportCatalog, reportStops} {
		if err := part(w, all, verbose); err != nil {
			return err
		}
	}
	return nil
}
