package main

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/projection"
)

// roundSheets are the prices of the requirement: reading at a tenth, a
// twentieth and a fortieth of input, writing at five quarters.
func roundSheets() []sheet {
	var out []sheet
	for _, read := range []float64{0.1, 0.05, 0.025} {
		out = append(out, sheet{name: fmt.Sprintf("read %.3f write 1.25", read), prices: flat(read, 1.25), cache: fiveMinutes()})
	}
	return out
}

// fiveMinutes is the cache lifetime of the round prices; it counts only where
// pauses do.
func fiveMinutes() catalog.CacheRules {
	return catalog.CacheRules{TTL: catalog.Value[time.Duration]{V: 5 * time.Minute, Known: true}}
}

// flat returns prices for an input price of one dollar.
func flat(read, write float64) catalog.Prices {
	known := func(v float64) catalog.Value[float64] { return catalog.Value[float64]{V: v, Known: true} }
	return catalog.Prices{Rates: catalog.Rates{
		InputUSDPerMillion: known(1), CachedInputUSDPerMillion: known(read), CacheWriteUSDPerMillion: known(write),
	}}
}

// catalogSheets returns the price sheets of the catalog, one for each shape:
// sheets that differ by a factor give the same ratios.
func catalogSheets() (sheets []sheet, models int) {
	seen := map[string]bool{}
	for m := range catalog.Default().All() {
		if !m.Prices.CachedInputUSDPerMillion.Known || !m.Prices.InputUSDPerMillion.Known {
			continue
		}
		models++
		s := sheet{name: m.ID, prices: m.Prices, cache: m.Cache}
		if shape := s.shape(); !seen[shape] {
			seen[shape] = true
			sheets = append(sheets, s)
		}
	}
	return sheets, models
}

func (p sheet) shape() string {
	unit := p.prices.InputUSDPerMillion.V
	text := ""
	for _, tokens := range append([]int{0}, steps(p.prices)...) {
		read, write := p.rate(tokens + 1)
		text += fmt.Sprintf(">%d %.4f/%.4f ", tokens, read/unit, write/unit)
	}
	return text
}

func steps(p catalog.Prices) []int {
	var out []int
	for _, t := range p.Tiers {
		out = append(out, t.AboveInputTokens)
	}
	return out
}

// outcome is a session at some prices.
type outcome struct {
	series          *series
	sheet           sheet
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
func measure(s *series, p sheet, opts projection.Options, peers bool) (outcome, error) {
	o := outcome{series: s, sheet: p, best: best(s, p)}
	var err error
	if o.never, err = play(s, p, appendOnly); err != nil {
		return o, err
	}
	if o.ours, err = playOurs(s, p, opts); err != nil || !peers {
		return o, err
	}
	for _, peer := range []struct {
		to    *float64
		clear policy
	}{{&o.mask, rollingMask(s, 10)}, {&o.threshold, clearAt(s, 100_000, 3)}} {
		totals, err := play(s, p, peer.clear)
		if err != nil {
			return o, err
		}
		*peer.to = totals[o.last()] / o.never[o.last()]
	}
	return o, nil
}

func measureAll(all []*series, sheets []sheet, opts projection.Options, peers bool) ([]outcome, error) {
	var out []outcome
	for _, s := range all {
		if len(s.steps) == 0 {
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

func reportRound(w io.Writer, all []*series, verbose bool) error {
	fmt.Fprintln(w, "## Round prices: cost of input relative to never clearing, and ours relative to the best found offline")
	if !verbose {
		all = clearable(all)
	}
	os, err := measureAll(all, roundSheets(), projection.Options{}, true)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%-50s %-21s %9s %6s %6s %9s %8s %9s\n", "session", "prices", "never $", "best", "ours", "ours/best", "mask 10", "at 100K")
	for _, o := range os {
		fmt.Fprintf(w, "%-50s %-21s %9.6f %6.3f %6.3f %9.3f %8.3f %9.3f\n",
			o.series.name, o.sheet.name, o.never[o.last()], o.bestShare(), o.toNever(), o.toBest(), o.mask, o.threshold)
	}
	for _, p := range roundSheets() {
		of := slices.DeleteFunc(slices.Clone(os), func(o outcome) bool { return o.sheet.name != p.name })
		fmt.Fprintf(w, "%s: ours/best mean %.3f max %.3f; relative to never: best %.3f, ours %.3f (max %.3f), mask 10 %.3f, at 100K %.3f\n", p.name,
			mean(of, outcome.toBest), most(of, outcome.toBest), mean(of, outcome.bestShare), mean(of, outcome.toNever), most(of, outcome.toNever),
			mean(of, func(o outcome) float64 { return o.mask }), mean(of, func(o outcome) float64 { return o.threshold }))
	}
	useful := slices.DeleteFunc(slices.Clone(os), func(o outcome) bool { return o.bestShare() > 0.99 })
	fmt.Fprintf(w, "all: ours/best mean %.3f max %.3f, ours/never max %.3f; where the best saves 1 %% or more (%d of %d): mean %.3f\n\n",
		mean(os, outcome.toBest), most(os, outcome.toBest), most(os, outcome.toNever), len(useful), len(os), mean(useful, outcome.toBest))
	return nil
}

func reportCatalog(w io.Writer, all []*series, verbose bool) error {
	sheets, models := catalogSheets()
	fmt.Fprintf(w, "## Price sheets of the catalog: %d models, %d shapes\n", models, len(sheets))
	os, err := measureAll(all, sheets, projection.Options{}, false)
	if err != nil {
		return err
	}
	for _, p := range sheets {
		of := slices.DeleteFunc(slices.Clone(os), func(o outcome) bool { return o.sheet.name != p.name })
		if verbose {
			fmt.Fprintf(w, "%-30s %-60s best %.3f ours %.3f of never, max %.3f; ours/best mean %.3f max %.3f\n", p.name, p.shape(),
				mean(of, outcome.bestShare), mean(of, outcome.toNever), most(of, outcome.toNever), mean(of, outcome.toBest), most(of, outcome.toBest))
		}
	}
	worst := slices.MaxFunc(os, func(a, b outcome) int { return compare(a.toNever(), b.toNever()) })
	fmt.Fprintf(w, "ours/never mean %.3f, max %.4f (%s at %s); ours/best mean %.3f, max %.3f\n\n",
		mean(os, outcome.toNever), worst.toNever(), worst.series.name, worst.sheet.name, mean(os, outcome.toBest), most(os, outcome.toBest))
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
