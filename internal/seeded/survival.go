package main

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

// survival compacts growing sessions fifty times by 98 % and follows the rules
// that were stated before the first compaction. The first covers half of the
// session's weight, each later one a fiftieth of the other half more, with new
// rules and small talk as dense as before. It returns how many rules the first
// checkpoint held and the last one does not.
func survival(out io.Writer, sessions [][]message.Message, w wording, ranges int, first uint64, tokens, small int) (lost int, err error) {
	var kept [compactions + 1]int
	total := 0
	for i := range ranges {
		counter := tokencount.New(o200k.New(), tokencount.Profile{})
		p, err := plant(rand.New(rand.NewPCG(first+uint64(i), 50)), sessions, w, counter, 2*tokens, small)
		if err != nil {
			return 0, err
		}
		early, held := map[string]bool{}, map[string]bool{}
		x := &compaction.Index{}
		weights := prefixWeights(p, counter)
		for k := 1; k <= compactions; k++ {
			through, _ := slices.BinarySearch(weights, p.rangeTokens*(compactions+k-1)/(2*compactions-1))
			lines, err := keptLines(p, counter, x, through, weights[through])
			if err != nil {
				return 0, fmt.Errorf("compaction %d of range %d: %w", k, i, err)
			}
			for _, s := range p.seeds {
				at, ok := p.transcript.Index(s.messageID)
				if !ok {
					continue
				}
				if k == 1 && at < through {
					early[s.messageID] = true
					total++
				}
				if !early[s.messageID] {
					continue
				}
				if s.kept(lines) {
					kept[k]++
					held[s.messageID] = held[s.messageID] || k == 1
				} else if k == compactions && held[s.messageID] {
					lost++
				}
			}
		}
	}
	fmt.Fprintf(out, "%s, survival: of %d rules stated before the first compaction, kept at compaction 1: %d, 10: %d, 25: %d, 50: %d; %d of the first lost at the last\n",
		w.name, total, kept[1], kept[10], kept[25], kept[50], lost)
	return lost, nil
}

// prefixWeights returns the weight of the first n messages for every n.
func prefixWeights(p *planted, counter *tokencount.Counter) []int {
	weights := []int{0}
	for _, m := range p.transcript.All() {
		weights = append(weights, weights[len(weights)-1]+counter.Message(m).Total())
	}
	return weights
}

func keptLines(p *planted, counter *tokencount.Counter, x *compaction.Index, through, weight int) (map[string][]string, error) {
	plan, err := compaction.Extractive{}.Plan(context.Background(), compaction.Input{Transcript: p.transcript, Through: through,
		Counter: counter, RangeTokens: weight, Reduction: 0.98, Index: x, Now: time.Unix(0, 0)})
	if err != nil {
		return nil, err
	}
	return byMessage(p, plan)
}
