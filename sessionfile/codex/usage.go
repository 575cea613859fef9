package codex

import (
	"math"
	"slices"

	"github.com/forge-agent/forge/message"
)

// count is a token count that tells the usage of a response, and how many
// replies had begun before it.
type count struct {
	usage   wireUsage
	replies int
	line    int
}

// count keeps a token count that is new. The same count is written again at
// the start of a turn and with news on rate limits. With only a total it is
// the program's own estimate after a compaction.
func (bu *builder) count(e *entry, info tokenInfo) {
	s := bu.b.Session
	if info.Window > 0 {
		s.WindowTokens = info.Window
	}
	repeated := info.Total == bu.lastTotal && bu.counted
	bu.lastTotal, bu.counted = info.Total, true
	if info.Last.partless() && (info.Last.Total > 0 || info.Total.Total > 0) {
		if n := len(bu.compactions); n > 0 && bu.compactions[n-1].requests == len(s.Requests) && len(bu.pending) == 0 {
			mark := &s.Marks[bu.compactions[n-1].mark]
			mark.TokensAfter = max(mark.TokensAfter, info.Last.Total)
		}
		return
	}
	if repeated || bu.hasRecords {
		return
	}
	replies := len(bu.replies)
	if len(bu.pending) > 0 {
		bu.pendingClosed = true
		replies++
	}
	bu.counts = append(bu.counts, count{info.Last, replies, e.line})
}

// assignCounts gives the token counts to the replies that have no usage yet.
// Version 0.39 writes a count before the items of its response, later ones
// after them: the order that gives more replies their own count is taken, and
// of two equal ones the order in which output tokens and visible output fit
// together. Of several counts the one nearest to the reply is its own.
func (bu *builder) assignCounts() {
	after := bu.pair(bu.counts, func(c count) int { return c.replies - 1 })
	nearestFirst := slices.Clone(bu.counts)
	slices.Reverse(nearestFirst)
	before := bu.pair(nearestFirst, func(c count) int { return c.replies })
	best := after
	if len(before) > len(after) || len(before) == len(after) && bu.misfit(before) < bu.misfit(after) {
		best = before
	}
	for reply, c := range best {
		bu.b.Session.Requests[bu.replies[reply]].Usage = c.usage.normalized()
	}
	paired := map[count]bool{}
	for _, c := range best {
		paired[c] = true
	}
	for _, c := range bu.counts {
		if !paired[c] {
			bu.b.Lose(c.line, "usage of a response that left nothing in the file")
		}
	}
}

// pair gives each count to the reply that target names, if that has none.
func (bu *builder) pair(counts []count, target func(count) int) map[int]count {
	pairs := map[int]count{}
	for _, c := range counts {
		i := target(c)
		if i < 0 || i >= len(bu.replies) || bu.b.Session.Requests[bu.replies[i]].Usage != nil {
			continue
		}
		if _, taken := pairs[i]; !taken {
			pairs[i] = c
		}
	}
	return pairs
}

// misfit is the mean distance between the output tokens of the pairs, without
// reasoning, and a quarter of the visible bytes, on a logarithmic scale.
func (bu *builder) misfit(pairs map[int]count) float64 {
	const few = 8 // tokens; keeps short replies from deciding
	sum := 0.0
	for i := range bu.replies {
		c, paired := pairs[i]
		if !paired {
			continue
		}
		r := bu.b.Session.Requests[bu.replies[i]]
		bytes := 0
		for k := r.At; k < r.End; k++ {
			for _, block := range bu.b.Session.Transcript.At(k).Blocks {
				switch block := block.(type) {
				case message.Text:
					bytes += len(block.Text)
				case message.ToolCall:
					bytes += len(block.Name) + len(block.Arguments)
				}
			}
		}
		sum += math.Abs(math.Log(float64(max(c.usage.Output-c.usage.Reasoning, 0)+few) / (float64(bytes)/4 + few)))
	}
	return sum / max(float64(len(pairs)), 1)
}

// finishMarks fills in how full the context was before each compaction: the
// usage of the last reply before it.
func (bu *builder) finishMarks() {
	s := bu.b.Session
	for _, c := range bu.compactions {
		for i := c.requests - 1; i >= 0; i-- {
			if r := s.Requests[i]; r.Usage != nil && !r.Compaction && *r.Usage != (message.Usage{}) {
				s.Marks[c.mark].TokensBefore = r.Usage.InputTokens + r.Usage.OutputTokens
				break
			}
		}
	}
}

// checkOutputs names tool output of which the model saw only a part.
func (bu *builder) checkOutputs() {
	if len(bu.outputs) == 0 {
		return
	}
	seen := map[string]int{}
	for _, m := range bu.b.Session.Transcript.All() {
		for _, block := range m.Blocks {
			if r, ok := block.(message.ToolResult); ok {
				seen[r.CallID] += len(r.Text())
			}
		}
	}
	for _, o := range bu.outputs {
		if bytes, answered := seen[o.callID]; answered && o.bytes > bytes {
			bu.b.Lose(o.line, "tool output that was cut for the model: the part that only the screen showed is not kept")
		}
	}
}
