package recall

import (
	"context"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/internal/eval/baseline"
	"github.com/forge-agent/forge/internal/eval/corpus"
	"github.com/forge-agent/forge/internal/eval/work"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// A FutureReport says how much of what the agent used after a cut was still in
// what a policy kept: paths, names and numbers in the arguments of later calls
// that had occurred before the cut. The recording stands for the continuation.
type FutureReport struct {
	// Cuts is how many cuts were made, References how many references they
	// have together. Horizon is how many requests count as the future, zero
	// for all.
	Cuts       int `json:"cuts"`
	References int `json:"references"`
	Horizon    int `json:"horizonRequests"`
	// Cells are the results by policy and budget. Each reference counts once
	// for each cut.
	Cells []Cell `json:"cells"`
	// Unshown are the same for the references only that nothing after the cut
	// showed again before they were used: those that had to be remembered.
	UnshownReferences int    `json:"unshownReferences"`
	Unshown           []Cell `json:"unshown"`
}

// leastCutTokens is the lightest beginning that is cut: below it no budget has
// room for anything.
const leastCutTokens = 15_000

// cut is one place in one session.
type cut struct {
	session *sessionfile.Session
	name    string
	at      int // messages before the cut
	needed  map[string]bool
	unshown map[string]bool
}

// future measures future-reference recall.
func future(ctx context.Context, c *corpus.Corpus, o Options, horizon int) (FutureReport, error) {
	cuts := cutsOf(c, horizon)
	type counts struct{ kept, unshown map[string][]int }
	results := make([]counts, len(cuts))
	ids := []string{Forge, Checkpoint}
	for _, p := range Policies() {
		ids = append(ids, p.ID)
	}
	err := work.Each(ctx, "what came later", len(cuts), o.Progress, func(ctx context.Context, _, i int) error {
		k := counts{map[string][]int{}, map[string][]int{}}
		err := cuts[i].measure(ctx, o.BudgetsPercent, func(policy, text string) {
			k.kept[policy] = append(k.kept[policy], held(cuts[i].needed, text))
			k.unshown[policy] = append(k.unshown[policy], held(cuts[i].unshown, text))
		})
		results[i] = k
		if err != nil {
			return fmt.Errorf("cut %s at message %d: %w", cuts[i].name, cuts[i].at, err)
		}
		return nil
	})
	out := FutureReport{Cuts: len(cuts), Horizon: horizon}
	for _, k := range cuts {
		out.References += len(k.needed)
		out.UnshownReferences += len(k.unshown)
	}
	if err != nil || len(cuts) == 0 {
		return out, err
	}
	for _, id := range ids {
		for b, percent := range o.BudgetsPercent {
			kept, unshown := 0, 0
			for _, r := range results {
				kept += r.kept[id][b]
				unshown += r.unshown[id][b]
			}
			out.Cells = append(out.Cells, Cell{id, percent, newShare(kept, out.References)})
			out.Unshown = append(out.Unshown, Cell{id, percent, newShare(unshown, out.UnshownReferences)})
		}
	}
	return out, nil
}

func held(refs map[string]bool, text string) int {
	n := 0
	for ref := range refs {
		if strings.Contains(text, ref) {
			n++
		}
	}
	return n
}

// cutsOf cuts every session that is heavy enough after a quarter, a half and
// three quarters of its requests.
func cutsOf(c *corpus.Corpus, horizon int) []cut {
	counter := newCounter()
	var out []cut
	for _, n := range c.Sessions {
		s := n.Session
		weights := []int{0}
		for _, m := range s.Transcript.All() {
			weights = append(weights, weights[len(weights)-1]+counter.Message(m).Total())
		}
		for _, quarter := range []int{1, 2, 3} {
			i := len(s.Requests) * quarter / 4
			if i >= len(s.Requests) || weights[s.Requests[i].At] < leastCutTokens {
				continue
			}
			k := cut{session: s, name: n.Name, at: s.Requests[i].At}
			end := len(s.Requests)
			if horizon > 0 {
				end = min(end, i+horizon)
			}
			k.needs(s.Requests[end-1].End)
			if len(k.needed) > 0 {
				out = append(out, k)
			}
		}
	}
	return out
}

// needs finds the references in the calls of messages [at, end) that occur
// before the cut.
func (k *cut) needs(end int) {
	t := k.session.Transcript
	before, shown := map[string]bool{}, map[string]bool{}
	for i := range k.at {
		for _, b := range t.At(i).Blocks {
			baseline.References(blockText(b), before)
		}
	}
	k.needed, k.unshown = map[string]bool{}, map[string]bool{}
	for i := k.at; i < end; i++ {
		m := t.At(i)
		for _, b := range m.Blocks {
			call, ok := b.(message.ToolCall)
			if !ok {
				continue
			}
			used := map[string]bool{}
			baseline.References(arguments(call.Arguments), used)
			for ref := range used {
				if before[ref] && !k.needed[ref] {
					k.needed[ref] = true
					if !shown[ref] {
						k.unshown[ref] = true
					}
				}
			}
		}
		for _, b := range m.Blocks {
			baseline.References(blockText(b), shown)
		}
	}
}

func blockText(b message.Block) string {
	switch b := b.(type) {
	case message.Text:
		return b.Text
	case message.ToolCall:
		return arguments(b.Arguments)
	case message.ToolResult:
		return b.Text()
	}
	return ""
}

// arguments reads the escapes of JSON that would glue words together.
func arguments(text string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(text)
}

// measure hands what each policy keeps of the beginning to use, budget by
// budget for each policy.
func (k *cut) measure(ctx context.Context, budgets []float64, use func(policy, text string)) error {
	counter := newCounter()
	t := &transcript.Transcript{}
	total := 0
	for i := range k.at {
		m := k.session.Transcript.At(i)
		if err := t.Append(m); err != nil {
			return err
		}
		total += counter.Message(m).Total()
	}
	index := &compaction.Index{}
	for _, percent := range budgets {
		text, err := forgeView(ctx, t, counter, index, int(float64(total)*percent/100))
		if err != nil {
			return err
		}
		use(Forge, text)
		plan, err := planOf(ctx, compaction.Input{Transcript: t, Through: t.Len(), Counter: counter, TargetTokens: max(int(float64(total)*percent/100), 1), RangeTokens: total, Index: index})
		if err != nil {
			return err
		}
		text, err = spread(plan)
		if err != nil {
			return err
		}
		use(Checkpoint, text)
	}
	reading := baseline.Read(t, counter)
	for _, p := range Policies() {
		for _, percent := range budgets {
			var all strings.Builder
			for _, u := range p.Retain(reading, int(float64(total)*percent/100)) {
				all.WriteString(u.Text + "\n")
			}
			use(p.ID, arguments(all.String()))
		}
	}
	return nil
}

// tailShare is the part of a budget that Forge's view gives to the newest
// messages; the rest is the checkpoint's.
const tailShare = 12_000.0 / (12_000 + 1_200)

// forgeView is what Forge shows of a conversation within a budget: the newest
// messages as they are, and a checkpoint of all before them.
func forgeView(ctx context.Context, t *transcript.Transcript, c *tokencount.Counter, x *compaction.Index, budget int) (string, error) {
	from, used := t.Len(), 0
	for i := t.Len() - 1; i > 0; i-- {
		used += c.Message(t.At(i)).Total()
		if float64(used) > tailShare*float64(budget) {
			break
		}
		if t.At(i).Role != message.RoleTool {
			from = i
		}
	}
	tail := 0
	var all strings.Builder
	for i := from; i < t.Len(); i++ {
		tail += c.Message(t.At(i)).Total()
		for _, b := range t.At(i).Blocks {
			all.WriteString(blockText(b) + "\n")
		}
	}
	plan, err := planOf(ctx, compaction.Input{Transcript: t, Through: from, Counter: c, TargetTokens: max(budget-tail, 1), Index: x})
	if err != nil {
		return "", err
	}
	text, err := spread(plan)
	return text + all.String(), err
}

// spread is the text of a plan with its grouped names written out, empty for no
// plan.
func spread(plan *compaction.Plan) (string, error) {
	if plan == nil {
		return "", nil
	}
	lines, err := compaction.Lines(plan.Text)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, l := range lines {
		text := l.Text
		if l.Names() {
			text = strings.Join(compaction.Names(text), " ")
		}
		all.WriteString(text + "\n")
	}
	return all.String(), nil
}
