// Package cost plays sessions under Forge and under its peers' policies, and
// prices what each would have sent.
//
// A session stays as it was recorded: nothing is read again because it was
// left out, and no answer gets worse. Pauses do not count: each request finds
// the cache of the one before.
package cost

import (
	"context"
	"fmt"

	"github.com/forge-agent/forge/internal/eval/baseline"
	"github.com/forge-agent/forge/internal/eval/clearing"
	"github.com/forge-agent/forge/internal/eval/corpus"
	"github.com/forge-agent/forge/internal/eval/work"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

// Forge is the ID of Forge's own policy in reports.
const Forge = "forge"

// Options say what is played.
type Options struct {
	// Long is how many joined sessions are made, Seed the seed of the first.
	Long int
	Seed uint64
	// LongLeastTokens and LongMostTokens bound their weight.
	LongLeastTokens, LongMostTokens int
	// Sheets are the prices; nil for the round ones and those of the catalog.
	Sheets []Sheet
	// Progress hears how far it is; nil for nobody.
	Progress work.Progress
}

// A session is one session with everything that was played of it.
type session struct {
	named  corpus.Named
	long   bool
	series *clearing.Series
	// runs are the peers' by limits and policy.
	runs map[baseline.Limits][]baseline.Run
	// forge holds Forge's run for each sheet, best the offline optimum of
	// input in US dollars.
	forge []ForgeRun
	best  []float64
}

// Evaluate plays every session under every policy at every sheet.
func Evaluate(ctx context.Context, c *corpus.Corpus, o Options) (*Report, error) {
	if o.Sheets == nil {
		o.Sheets = append(RoundSheets(), CatalogSheets()...)
	}
	counters := make([]*tokencount.Counter, work.Workers())
	for i := range counters {
		counters[i] = Counter()
	}
	long, err := c.Long(o.Long, o.Seed, o.LongLeastTokens, o.LongMostTokens, weigh(counters[0]))
	if err != nil {
		return nil, err
	}
	var all []*session
	for _, n := range c.Sessions {
		all = append(all, &session{named: n})
	}
	for _, n := range long {
		all = append(all, &session{named: n, long: true})
	}
	policies := Policies()
	err = work.Each(ctx, "playing sessions", len(all), o.Progress, func(ctx context.Context, worker, i int) error {
		if err := all[i].play(ctx, policies, o.Sheets, counters[worker]); err != nil {
			return fmt.Errorf("play %s: %w", all[i].named.Name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return newReport(all, policies, o), nil
}

// Counter is what all sessions are counted with, whoever's prices are used.
func Counter() *tokencount.Counter {
	return tokencount.New(work.Remember(o200k.New()), tokencount.ProfileFor("openai"))
}

// Policies are append-only and the peers that say when they act.
func Policies() []baseline.Policy {
	out := []baseline.Policy{baseline.AppendOnly()}
	for _, p := range baseline.All() {
		if p.Tactic != nil {
			out = append(out, p)
		}
	}
	return out
}

func (s *session) play(ctx context.Context, policies []baseline.Policy, sheets []Sheet, c *tokencount.Counter) error {
	track := baseline.NewTrack(s.named.Name, s.named.Session, c)
	var err error
	if s.series, err = clearing.Count(s.named.Name, s.named.Session, c); err != nil {
		return err
	}
	s.runs = map[baseline.Limits][]baseline.Run{}
	for _, sheet := range sheets {
		if s.runs[sheet.Limits] == nil {
			var runs []baseline.Run
			for _, p := range policies {
				runs = append(runs, baseline.Play(track, sheet.Limits, p.Tactic()))
			}
			s.runs[sheet.Limits] = runs
		}
		run, err := runForge(ctx, s.named.Session, sheet, c)
		if err != nil {
			return fmt.Errorf("at the prices of %s: %w", sheet.Name, err)
		}
		s.forge = append(s.forge, run)
		best := clearing.Best(s.series, sheet.Sheet)
		if len(best) == 0 {
			best = []float64{0}
		}
		s.best = append(s.best, best[len(best)-1])
	}
	return nil
}
