package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
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
// session, each later one a fiftieth of the other half more, with new rules and
// small talk as dense as before.
func survival(out io.Writer, sessions [][]message.Message, w wording, ranges int, first uint64, tokens, small int) (lost int, err error) {
	var kept [compactions + 1]int
	total := 0
	for i := range ranges {
		counter := tokencount.New(o200k.New(), tokencount.Profile{})
		p, err := plant(rand.New(rand.NewPCG(first+uint64(i), 50)), sessions, w, counter, 2*tokens, small)
		if err != nil {
			return 0, err
		}
		early := map[string]bool{}
		x := &compaction.Index{}
		for k := 1; k <= compactions; k++ {
			through := p.transcript.Len() * (compactions + k - 1) / (2*compactions - 1)
			lines, err := keptLines(p, counter, x, through)
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
				if early[s.messageID] && s.kept(lines) {
					kept[k]++
				}
			}
		}
	}
	fmt.Fprintf(out, "%s, survival: of %d rules stated before the first compaction, kept at compaction 1: %d, 10: %d, 25: %d, 50: %d\n",
		w.name, total, kept[1], kept[10], kept[25], kept[50])
	return kept[1] - kept[compactions], nil
}

func keptLines(p *planted, counter *tokencount.Counter, x *compaction.Index, through int) (map[string][]string, error) {
	weight := 0
	for i, m := range p.transcript.All() {
		if i == through {
			break
		}
		weight += counter.Message(m).Total()
	}
	plan, err := compaction.Extractive{}.Plan(context.Background(), compaction.Input{Transcript: p.transcript, Through: through,
		Counter: counter, RangeTokens: weight, Reduction: 0.98, Index: x, Now: time.Unix(0, 0)})
	if err != nil {
		return nil, err
	}
	return byMessage(p, plan)
}
