package seeded

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

// compactions is how often a growing session is compacted.
const compactions = 50

// A Lasting says how rules that were stated before the first compaction fare.
type Lasting struct {
	// Total is how many there are.
	Total int
	// Kept holds at k how many of them compaction k kept, 1 ≤ k ≤ 50.
	Kept [compactions + 1]int
	// Lost is how many the first checkpoint held and the last one does not.
	Lost int
}

// Survival compacts growing sessions fifty times by 98 % and follows the rules
// that were stated before the first compaction. The first covers half of the
// session's weight, each later one a fiftieth of the other half more, with new
// rules and small talk as dense as before.
func Survival(sessions [][]message.Message, w Wording, ranges int, first uint64, tokens, small int) (Lasting, error) {
	var l Lasting
	for i := range ranges {
		if err := l.follow(sessions, w, first+uint64(i), tokens, small); err != nil {
			return l, fmt.Errorf("range %d: %w", i, err)
		}
	}
	return l, nil
}

// Print writes the figures on one line.
func (l Lasting) Print(out io.Writer, set string) {
	fmt.Fprintf(out, "%s, survival: of %d rules stated before the first compaction, kept at compaction 1: %d, 10: %d, 25: %d, 50: %d; %d of the first lost at the last\n",
		set, l.Total, l.Kept[1], l.Kept[10], l.Kept[25], l.Kept[50], l.Lost)
}

// follow compacts one growing session.
func (l *Lasting) follow(sessions [][]message.Message, w Wording, seed uint64, tokens, small int) error {
	counter := tokencount.New(o200k.New(), tokencount.Profile{})
	p, err := Plant(rand.New(rand.NewPCG(seed, 50)), sessions, w, counter, 2*tokens, small)
	if err != nil {
		return err
	}
	early, held := map[string]bool{}, map[string]bool{}
	x := &compaction.Index{}
	weights := prefixWeights(p, counter)
	for k := 1; k <= compactions; k++ {
		through, _ := slices.BinarySearch(weights, p.RangeTokens*(compactions+k-1)/(2*compactions-1))
		lines, err := keptLines(p, counter, x, through, weights[through])
		if err != nil {
			return fmt.Errorf("compaction %d: %w", k, err)
		}
		for _, s := range p.Seeds {
			at, ok := p.Transcript.Index(s.MessageID)
			if !ok {
				continue
			}
			if k == 1 && at < through {
				early[s.MessageID] = true
				l.Total++
			}
			if !early[s.MessageID] {
				continue
			}
			if s.Kept(lines) {
				l.Kept[k]++
				held[s.MessageID] = held[s.MessageID] || k == 1
			} else if k == compactions && held[s.MessageID] {
				l.Lost++
			}
		}
	}
	return nil
}

// prefixWeights returns the weight of the first n messages for every n.
func prefixWeights(p *Range, counter *tokencount.Counter) []int {
	weights := []int{0}
	for _, m := range p.Transcript.All() {
		weights = append(weights, weights[len(weights)-1]+counter.Message(m).Total())
	}
	return weights
}

func keptLines(p *Range, counter *tokencount.Counter, x *compaction.Index, through, weight int) (map[string][]string, error) {
	plan, err := compaction.Extractive{}.Plan(context.Background(), compaction.Input{Transcript: p.Transcript, Through: through,
		Counter: counter, RangeTokens: weight, Reduction: 0.98, Index: x, Now: time.Unix(0, 0)})
	if err != nil {
		return nil, err
	}
	return byMessage(p, plan)
}
