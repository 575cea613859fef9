package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/forge-agent/forge/internal/eval/clearing"
	"github.com/forge-agent/forge/internal/eval/corpus"
	"github.com/forge-agent/forge/internal/eval/cost"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/projection"
)

// The joined sessions are those of the evaluation of costs.
const (
	longSessions    = 24
	longLeastTokens = 140_000
	longMostTokens  = 210_000
)

// longSeries joins the sessions of a folder to long ones.
func longSeries(dir string, seed uint64) ([]*clearing.Series, error) {
	sessions, err := corpus.Load(dir, 1)
	if err != nil {
		return nil, err
	}
	counter := cost.Counter()
	weigh := func(m message.Message) int { return counter.Message(m).Total() }
	long, err := sessions.Long(longSessions, seed, longLeastTokens, longMostTokens, weigh)
	if err != nil {
		return nil, err
	}
	var out []*clearing.Series
	for _, n := range long {
		s, err := clearing.Count(n.Name, n.Session, counter)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// reportLong compares on long sessions, and says how often the best clearing
// needs more credit than the scheduler may take.
func reportLong(w io.Writer, dir string, seed uint64) error {
	all, err := longSeries(dir, seed)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "## %d long sessions joined from the recorded ones, seed %d\n", len(all), seed)
	for _, p := range clearing.RoundSheets() {
		os, err := measureAll(all, []clearing.Sheet{p}, projection.Options{}, false)
		if err != nil {
			return err
		}
		ours, best, never := 0.0, 0.0, 0.0
		for _, o := range os {
			ours, best, never = ours+o.ours[o.last()], best+o.best[o.last()], never+o.never[o.last()]
		}
		above, excess := 0, 0.0
		for _, s := range all {
			e := clearing.BestExcess(s, p)
			if excess = max(excess, e); e > 1+projection.DefaultMostOverspend {
				above++
			}
		}
		var ends stops
		for _, o := range os {
			for t := range o.ours {
				if t+1 >= minStop && o.series.Steps[t].Ends {
					ends.add(o.ours[t], o.never[t], o.best[t])
				}
			}
		}
		over := len(slices.DeleteFunc(slices.Clone(os), func(o outcome) bool { return o.toNever() <= 1.02 }))
		fmt.Fprintf(w, "%s: ours/best mean %.3f max %.3f; of never together: best %.3f, ours %.3f; ours/never max %.3f, above 1.02 in %d; on its way the best is above %.2f in %d, at most %.3f\n",
			p.Name, mean(os, outcome.toBest), most(os, outcome.toBest), best/never, ours/never, most(os, outcome.toNever), over, 1+projection.DefaultMostOverspend, above, excess)
		fmt.Fprintf(w, "%s: at the ends of runs %v\n", p.Name, ends)
	}
	fmt.Fprintln(w)
	return nil
}
