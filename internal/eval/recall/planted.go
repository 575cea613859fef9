package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/internal/eval/baseline"
	"github.com/forge-agent/forge/internal/eval/work"
	"github.com/forge-agent/forge/internal/seeded"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// A SetReport is the recall of one set of phrasings.
type SetReport struct {
	Set    string `json:"set"`
	Ranges int    `json:"ranges"`
	Rules  int    `json:"rules"`
	// RangeTokens is the mean weight of a range, UserShare the share of it
	// that persons wrote, RuleTokens what the rules of a range weigh.
	RangeTokens int     `json:"rangeTokens"`
	UserShare   float64 `json:"userShare"`
	RuleTokens  int     `json:"ruleTokens"`
	// LeftOut counts what a public set asks for and no message states.
	LeftOut int `json:"leftOut,omitempty"`
	// Cells are the results by policy and budget, Forge's first.
	Cells []Cell `json:"cells"`
	// Groups are Forge's results at 2 % by family and language.
	Groups []Group `json:"groups"`
}

// A Cell is a policy at a budget.
type Cell struct {
	Policy        string  `json:"policy"`
	BudgetPercent float64 `json:"budgetPercent"`
	Share
}

// A Share is how many of the rules were kept, with its 95 % interval.
type Share struct {
	Kept   int     `json:"kept"`
	Total  int     `json:"total"`
	Recall float64 `json:"recall"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func newShare(kept, total int) Share {
	s := Share{Kept: kept, Total: total, Recall: float64(kept) / float64(max(total, 1))}
	s.Low, s.High = seeded.Wilson(kept, total)
	return s
}

// A Group is a part of the rules.
type Group struct {
	// By is "family" or "language", Name which one.
	By   string `json:"by"`
	Name string `json:"name"`
	Share
}

// Area is the area under recall against the logarithm of the budget, as a
// share of the largest, for one policy of a set.
func (s *SetReport) Area(policy string) float64 {
	var cells []Cell
	for _, c := range s.Cells {
		if c.Policy == policy {
			cells = append(cells, c)
		}
	}
	if len(cells) < 2 {
		return 0
	}
	slices.SortFunc(cells, func(a, b Cell) int { return cmp.Compare(a.BudgetPercent, b.BudgetPercent) })
	area := 0.0
	for i := 1; i < len(cells); i++ {
		area += (cells[i].Recall + cells[i-1].Recall) / 2 * math.Log(cells[i].BudgetPercent/cells[i-1].BudgetPercent)
	}
	return area / math.Log(cells[len(cells)-1].BudgetPercent/cells[0].BudgetPercent)
}

// rangeResult is what one range gave.
type rangeResult struct {
	seeds                   []seeded.Seed
	rangeTokens, userTokens int
	seedTokens              int
	kept                    map[string][][]bool // policy → budget → rule
}

// planted measures a set of phrasings.
func planted(ctx context.Context, sessions [][]message.Message, w seeded.Wording, o Options) (*SetReport, error) {
	var results []rangeResult
	for rules := 0; rules < o.Seeds; {
		batch := make([]rangeResult, batchOf(rules, o.Seeds, len(results)))
		base := o.First + uint64(len(results))
		err := work.Each(ctx, "rules of "+w.Name, len(batch), o.Progress, func(ctx context.Context, _, i int) error {
			one, err := measureRange(ctx, sessions, w, o, base+uint64(i))
			batch[i] = one
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, b := range batch {
			rules += len(b.seeds)
		}
		results = append(results, batch...)
		if rules == 0 {
			return nil, fmt.Errorf("no rule could be planted in ranges of %d tokens; give longer ones", o.RangeTokens)
		}
	}
	return summarize(w.Name, results, o), nil
}

// batchOf is how many ranges are still needed, as far as those so far tell.
func batchOf(rules, wanted, ranges int) int {
	if ranges == 0 {
		return work.Workers()
	}
	return max(1, (wanted-rules)*ranges/max(rules, 1)+1)
}

func measureRange(ctx context.Context, sessions [][]message.Message, w seeded.Wording, o Options, seed uint64) (rangeResult, error) {
	counter := newCounter()
	p, err := seeded.Plant(rand.New(rand.NewPCG(seed, 98)), sessions, w, counter, o.RangeTokens, o.Chatter)
	if err != nil {
		return rangeResult{}, fmt.Errorf("plant range %d: %w", seed, err)
	}
	out, err := measureTranscript(ctx, p.Transcript, p.Seeds, p.RangeTokens, counter, o.BudgetsPercent)
	out.userTokens, out.seedTokens = p.UserTokens, p.SeedTokens
	if err != nil {
		return out, fmt.Errorf("range %d: %w", seed, err)
	}
	return out, nil
}

// measureTranscript asks every policy what it keeps at every budget.
func measureTranscript(ctx context.Context, t *transcript.Transcript, seeds []seeded.Seed, tokens int, counter *tokencount.Counter, budgets []float64) (rangeResult, error) {
	out := rangeResult{rangeTokens: tokens, kept: map[string][][]bool{}}
	for _, s := range seeds {
		if s.Keys != nil && s.MessageID != "" {
			out.seeds = append(out.seeds, s)
		}
	}
	reading := baseline.Read(t, counter)
	index := &compaction.Index{}
	for _, percent := range budgets {
		budget := max(1, int(float64(tokens)*percent/100))
		units, err := forgeUnits(ctx, t, counter, index, tokens, budget)
		if err != nil {
			return out, fmt.Errorf("compact to %d tokens: %w", budget, err)
		}
		out.add(Forge, units)
		for _, policy := range Policies() {
			if err := ctx.Err(); err != nil {
				return out, err
			}
			out.add(policy.ID, byMessage(policy.Retain(reading, budget)))
		}
	}
	return out, nil
}

func (r *rangeResult) add(policy string, units map[string][]string) {
	row := make([]bool, len(r.seeds))
	for i, s := range r.seeds {
		row[i] = s.Kept(units)
	}
	r.kept[policy] = append(r.kept[policy], row)
}

func byMessage(units []baseline.Unit) map[string][]string {
	out := map[string][]string{}
	for _, u := range units {
		out[u.MessageID] = append(out[u.MessageID], u.Text)
	}
	return out
}

// forgeUnits compacts a whole transcript to a number of tokens and returns the
// lines by message.
func forgeUnits(ctx context.Context, t *transcript.Transcript, c *tokencount.Counter, x *compaction.Index, rangeTokens, budget int) (map[string][]string, error) {
	plan, err := planOf(ctx, compaction.Input{Transcript: t, Through: t.Len(), Counter: c, RangeTokens: rangeTokens, TargetTokens: budget, Index: x})
	if plan == nil || err != nil {
		return nil, err
	}
	lines, err := compaction.Lines(plan.Text)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, l := range lines {
		if l.Names() {
			continue // they state nothing
		}
		id := t.At(l.Message).ID
		out[id] = append(out[id], l.Text)
	}
	return out, nil
}

// frameTokens is more than the frame of any checkpoint weighs.
const frameTokens = 200

// planOf plans a checkpoint. It returns none where the budget has no room for
// its frame: nothing is kept then.
func planOf(ctx context.Context, in compaction.Input) (*compaction.Plan, error) {
	in.Now = time.Unix(0, 0)
	plan, err := compaction.Extractive{}.Plan(ctx, in)
	if errors.Is(err, compaction.ErrNoGain) || errors.Is(err, compaction.ErrInvalid) && in.TargetTokens < frameTokens {
		return nil, nil
	}
	return plan, err
}

func summarize(set string, results []rangeResult, o Options) *SetReport {
	r := &SetReport{Set: set, Ranges: len(results)}
	user := 0
	for _, one := range results {
		r.Rules += len(one.seeds)
		r.RangeTokens += one.rangeTokens
		r.RuleTokens += one.seedTokens
		user += one.userTokens
	}
	r.UserShare = float64(user) / float64(max(1, r.RangeTokens))
	r.RangeTokens /= len(results)
	r.RuleTokens /= len(results)
	ids := []string{Forge}
	for _, p := range Policies() {
		ids = append(ids, p.ID)
	}
	for _, id := range ids {
		for b, percent := range o.BudgetsPercent {
			kept := 0
			for _, one := range results {
				for _, k := range one.kept[id][b] {
					if k {
						kept++
					}
				}
			}
			r.Cells = append(r.Cells, Cell{id, percent, newShare(kept, r.Rules)})
		}
	}
	r.Groups = groups(results, slices.Index(o.BudgetsPercent, 2))
	return r
}

// groups splits Forge's results at a budget.
func groups(results []rangeResult, budget int) []Group {
	if budget < 0 {
		return nil
	}
	type key struct{ by, name string }
	kept, total := map[key]int{}, map[key]int{}
	for _, one := range results {
		for i, s := range one.seeds {
			for _, k := range []key{{"family", s.Family}, {"language", s.Language}} {
				total[k]++
				if one.kept[Forge][budget][i] {
					kept[k]++
				}
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(total), func(a, b key) int { return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(a.name, b.name)) })
	var out []Group
	for _, k := range keys {
		out = append(out, Group{k.by, k.name, newShare(kept[k], total[k])})
	}
	return out
}
