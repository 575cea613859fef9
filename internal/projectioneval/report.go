package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/forge-agent/forge/internal/eval/clearing"
	"github.com/forge-agent/forge/projection"
)

// outcome is a session at some prices.
type outcome struct {
	series          *clearing.Series
	sheet           clearing.Sheet
	never, ours     []float64
	best            []float64
	mask, threshold float64
}

func (o outcome) last() int          { return len(o.ours) - 1 }
func (o outcome) toNever() float64   { return o.ours[o.last()] / o.never[o.last()] }
func (o outcome) toBest() float64    { return o.ours[o.last()] / o.best[o.last()] }
func (o outcome) bestShare() float64 { return o.best[o.last()] / o.never[o.last()] }

// measure replays a series at some prices. The two foreign policies are
// replayed only where peers is set.
func measure(s *clearing.Series, p clearing.Sheet, opts projection.Options, peers bool) (outcome, error) {
	o := outcome{series: s, sheet: p, best: clearing.Best(s, p)}
	var err error
	if o.never, err = clearing.Play(s, p, clearing.AppendOnly); err != nil {
		return o, err
	}
	if o.ours, err = clearing.PlayOurs(s, p, opts); err != nil || !peers {
		return o, err
	}
	for _, peer := range []struct {
		to    *float64
		clear clearing.Policy
	}{{&o.mask, clearing.RollingMask(s, 10)}, {&o.threshold, clearing.ClearAt(s, 100_000, 3)}} {
		totals, err := clearing.Play(s, p, peer.clear)
		if err != nil {
			return o, err
		}
		*peer.to = totals[o.last()] / o.never[o.last()]
	}
	return o, nil
}

func measureAll(all []*clearing.Series, sheets []clearing.Sheet, opts projection.Options, peers bool) ([]outcome, error) {
	var out []outcome
	for _, s := range all {
		if len(s.Steps) == 0 {
			continue
		}
		for _, p := range sheets {
			o, err := measure(s, p, opts, peers)
			if err != nil {
				return nil, err
			}
			out = append(out, o)
		}
	}
	return out, nil
}

func reportRound(w io.Writer, all []*clearing.Series, verbose bool) error {
	fmt.Fprintln(w, "## Round prices: cost of input relative to never clearing, and ours relative to the best found offline")
	if !verbose {
		all = clearing.Clearable(all)
	}
	os, err := measureAll(all, clearing.RoundSheets(), projection.Options{}, true)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%-50s %-21s %9s %6s %6s %9s %8s %9s\n", "session", "prices", "never $", "best", "ours", "ours/best", "mask 10", "at 100K")
	for _, o := range os {
		fmt.Fprintf(w, "%-50s %-21s %9.6f %6.3f %6.3f %9.3f %8.3f %9.3f\n",
			o.series.Name, o.sheet.Name, o.never[o.last()], o.bestShare(), o.toNever(), o.toBest(), o.mask, o.threshold)
	}
	for _, p := range clearing.RoundSheets() {
		of := slices.DeleteFunc(slices.Clone(os), func(o outcome) bool { return o.sheet.Name != p.Name })
		fmt.Fprintf(w, "%s: ours/best mean %.3f max %.3f; relative to never: best %.3f, ours %.3f (max %.3f), mask 10 %.3f, at 100K %.3f\n", p.Name,
			mean(of, outcome.toBest), most(of, outcome.toBest), mean(of, outcome.bestShare), mean(of, outcome.toNever), most(of, outcome.toNever),
			mean(of, func(o outcome) float64 { return o.mask }), mean(of, func(o outcome) float64 { return o.threshold }))
	}
	useful := slices.DeleteFunc(slices.Clone(os), func(o outcome) bool { return o.bestShare() > 0.99 })
	fmt.Fprintf(w, "all: ours/best mean %.3f max %.3f, ours/never max %.3f; where the best saves 1 %% or more (%d of %d): mean %.3f\n\n",
		mean(os, outcome.toBest), most(os, outcome.toBest), most(os, outcome.toNever), len(useful), len(os), mean(useful, outcome.toBest))
	return nil
}

func reportCatalog(w io.Writer, all []*clearing.Series, verbose bool) error {
	sheets, models := clearing.CatalogSheets()
	fmt.Fprintf(w, "## Price sheets of the catalog: %d models, %d shapes\n", models, len(sheets))
	os, err := measureAll(all, sheets, projection.Options{}, false)
	if err != nil {
		return err
	}
	for _, p := range sheets {
		of := slices.DeleteFunc(slices.Clone(os), func(o outcome) bool { return o.sheet.Name != p.Name })
		if verbose {
			fmt.Fprintf(w, "%-30s %-60s best %.3f ours %.3f of never, max %.3f; ours/best mean %.3f max %.3f\n", p.Name, p.Shape(),
				mean(of, outcome.bestShare), mean(of, outcome.toNever), most(of, outcome.toNever), mean(of, outcome.toBest), most(of, outcome.toBest))
		}
	}
	worst := slices.MaxFunc(os, func(a, b outcome) int { return compare(a.toNever(), b.toNever()) })
	fmt.Fprintf(w, "ours/never mean %.3f, max %.4f (%s at %s); ours/best mean %.3f, max %.3f\n\n",
		mean(os, outcome.toNever), worst.toNever(), worst.series.Name, worst.sheet.Name, mean(os, outcome.toBest), most(os, outcome.toBest))
	return nil
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func mean(os []outcome, f func(outcome) float64) float64 {
	total := 0.0
	for _, o := range os {
		total += f(o)
	}
	return total / float64(max(1, len(os)))
}

func most(os []outcome, f func(outcome) float64) float64 {
	out := 0.0
	for _, o := range os {
		out = max(out, f(o))
	}
	return out
}
