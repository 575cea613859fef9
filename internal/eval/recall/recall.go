// Package recall measures what is left of a conversation within a budget: the
// rules that a person stated, what the agent needed later on, the files it
// made, and whether what is shown is what was said.
//
// Everything is seeded: the same options and sessions give the same figures.
package recall

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/forge-agent/forge/internal/eval/baseline"
	"github.com/forge-agent/forge/internal/eval/corpus"
	"github.com/forge-agent/forge/internal/eval/dataset"
	"github.com/forge-agent/forge/internal/eval/work"
	"github.com/forge-agent/forge/internal/seeded"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

// Forge is the ID of Forge's own policy in reports.
const Forge = "forge"

// Checkpoint is the ID of Forge's checkpoint alone, which has the whole budget,
// among the later references. The rules are measured with it under Forge.
const Checkpoint = "forge-checkpoint"

// Options say what is measured.
type Options struct {
	// Sets are the sets of phrasings; the small talk of each is the held-out
	// one for blind sets, else its own.
	Sets []string
	// Seeds is the least number of rules planted for each set.
	Seeds int
	// First is the seed of the first range.
	First uint64
	// RangeTokens is the least weight of a range without what is planted;
	// Chatter is the weight of the small talk in multiples of a checkpoint of
	// 2 %.
	RangeTokens, Chatter int
	// BudgetsPercent are the budgets in percent of the range.
	BudgetsPercent []float64
	// Attacks is how many mutated attacks are planted in tool output.
	Attacks int
	// SurvivalRanges is how many growing sessions are compacted fifty times.
	SurvivalRanges int
	// Horizons are how many requests after a cut count as the future; zero
	// means all.
	Horizons []int
	// Data are conversations of public sets that the user has; nil for none.
	Data []dataset.Case
	// Progress hears how far it is; nil for nobody.
	Progress work.Progress
}

// A Report holds the figures.
type Report struct {
	// First is the seed of the first range.
	First uint64 `json:"firstSeed"`
	// Sessions is how many sessions rules were planted in.
	Sessions int `json:"sessions"`
	// Policies describe the rows.
	Policies []Described `json:"policies"`
	// Sets are the results by set of phrasings.
	Sets []SetReport `json:"sets"`
	// Data are the results by public set.
	Data []SetReport `json:"data,omitempty"`
	// Survival is recall over fifty compactions.
	Survival []Survival `json:"survival"`
	// Attacks is how many pins came out of tool output.
	Attacks AttackReport `json:"attacks"`
	// Future is what the agent needed after a cut.
	Future []FutureReport `json:"futureReferences"`
	// Faith is how true the checkpoints are.
	Faith FaithReport `json:"faith"`
}

// Described is a policy with the source of its rules.
type Described struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Source  string `json:"source"`
	StandIn string `json:"standIn,omitempty"`
}

// A Survival follows the rules that were stated before the first compaction.
type Survival struct {
	Set   string `json:"set"`
	Rules int    `json:"rules"`
	// Kept1, Kept10, Kept25 and Kept50 are how many of them those compactions
	// kept; Lost counts those that the first had and the last has not.
	Kept1  int `json:"kept1"`
	Kept10 int `json:"kept10"`
	Kept25 int `json:"kept25"`
	Kept50 int `json:"kept50"`
	Lost   int `json:"lost"`
}

// Policies are the peers that say what they keep.
func Policies() []baseline.Policy {
	var out []baseline.Policy
	for _, p := range baseline.All() {
		if p.Retain != nil {
			out = append(out, p)
		}
	}
	return out
}

// Evaluate measures everything.
func Evaluate(ctx context.Context, c *corpus.Corpus, o Options) (*Report, error) {
	sessions := c.Messages()
	if len(sessions) == 0 {
		return nil, fmt.Errorf("no session holds four messages before a call without a result: rules cannot be planted")
	}
	r := &Report{First: o.First, Sessions: len(sessions)}
	r.Policies = append(r.Policies, Described{ID: Forge, Title: "Forge, extractive checkpoint", Source: "docs/decisions/0017"})
	for _, p := range Policies() {
		r.Policies = append(r.Policies, Described{p.ID, p.Title, p.Source, p.StandIn})
	}
	for _, set := range o.Sets {
		w, err := wording(set)
		if err != nil {
			return nil, err
		}
		s, err := planted(ctx, sessions, w, o)
		if err != nil {
			return nil, fmt.Errorf("set %s: %w", set, err)
		}
		r.Sets = append(r.Sets, *s)
	}
	var err error
	if r.Data, err = public(ctx, o); err != nil {
		return nil, err
	}
	if r.Survival, err = survive(ctx, sessions, o); err != nil {
		return nil, err
	}
	if r.Attacks, err = attack(ctx, sessions, o); err != nil {
		return nil, err
	}
	for _, horizon := range o.Horizons {
		f, err := future(ctx, c, o, horizon)
		if err != nil {
			return nil, err
		}
		r.Future = append(r.Future, f)
	}
	r.Faith, err = faith(ctx, c, o)
	return r, err
}

// public measures the conversations of public sets, all of a set together.
func public(ctx context.Context, o Options) ([]SetReport, error) {
	results := make([]rangeResult, len(o.Data))
	err := work.Each(ctx, "public sets", len(o.Data), o.Progress, func(ctx context.Context, _, i int) error {
		counter, tokens := newCounter(), 0
		for _, m := range o.Data[i].Transcript.All() {
			tokens += counter.Message(m).Total()
		}
		var err error
		if results[i], err = measureTranscript(ctx, o.Data[i].Transcript, o.Data[i].Seeds, tokens, counter, o.BudgetsPercent); err != nil {
			return fmt.Errorf("conversation %d of the public sets: %w", i+1, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []SetReport
	for _, kind := range []dataset.Kind{dataset.BEAM, dataset.LoCoMo, dataset.PrefEval, dataset.MultiChallenge} {
		var of []rangeResult
		leftOut := 0
		for i, c := range o.Data {
			if c.Kind == kind {
				of = append(of, results[i])
				leftOut += c.LeftOut
			}
		}
		if len(of) > 0 {
			s := summarize(string(kind), of, o)
			s.LeftOut = leftOut
			out = append(out, *s)
		}
	}
	return out, nil
}

// Unseen is the set of phrasings that only the evaluation uses.
const Unseen = "unseen"

//go:embed unseen.txt
var unseen string

// Sets lists the sets of phrasings.
func Sets() []string { return append(seeded.Sets(), Unseen) }

// wording reads a set. The small talk among blind and unseen rules is the
// held-out one, else the set's own.
func wording(set string) (seeded.Wording, error) {
	switch set {
	case Unseen:
		return seeded.Parse(set, unseen, "chatter_heldout.txt")
	case "dev", "heldout":
		return seeded.Read(set, "")
	}
	return seeded.Read(set, "heldout")
}

func survive(ctx context.Context, sessions [][]message.Message, o Options) ([]Survival, error) {
	out := make([]Survival, len(o.Sets))
	if o.SurvivalRanges == 0 {
		return nil, nil
	}
	err := work.Each(ctx, "fifty compactions", len(o.Sets), o.Progress, func(_ context.Context, _, i int) error {
		w, err := wording(o.Sets[i])
		if err != nil {
			return err
		}
		l, err := seeded.Survival(sessions, w, o.SurvivalRanges, o.First, o.RangeTokens, o.Chatter)
		if err != nil {
			return err
		}
		out[i] = Survival{o.Sets[i], l.Total, l.Kept[1], l.Kept[10], l.Kept[25], l.Kept[50], l.Lost}
		return nil
	})
	return out, err
}

// newCounter counts plain text with an ordinary vocabulary. It belongs to one
// goroutine.
func newCounter() *tokencount.Counter {
	return tokencount.New(work.Remember(o200k.New()), tokencount.Profile{})
}
