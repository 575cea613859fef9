package contextwindow

import (
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// Shape is how a view is cut (resolution C1).
type Shape string

const (
	// ShapeTurns keeps whole turns verbatim: the default across runs.
	ShapeTurns Shape = "turns"
	// ShapeUserMessages keeps user messages and the newest steps of the
	// current run: the default when one run fills the window.
	ShapeUserMessages Shape = "user-messages"
)

// A Cut is where a view is cut: messages [0, Through) are summarized.
type Cut struct {
	// Through is the number of messages summarized.
	Through int `json:"through"`
	// Shape says what stays of them.
	Shape Shape `json:"shape"`
	// RangeTokens is what the range weighs in the view before the cut.
	RangeTokens int `json:"rangeTokens"`
	// TailTokens is what stays verbatim after it.
	TailTokens int `json:"tailTokens"`
	// UserTokens bounds the retained user messages; zero for the usual bound.
	UserTokens int `json:"userTokens,omitempty"`
	// Manual: a person asked for it.
	Manual bool `json:"manual,omitempty"`
}

// currentTurn returns where the current request begins: Len when there is no
// user message.
func currentTurn(in Input) int {
	n := in.Transcript.TurnCount()
	if n == 0 {
		return in.Transcript.Len()
	}
	return in.Transcript.Turn(n - 1).Start
}

func currentRequestText(in Input) string {
	text := ""
	for i := currentTurn(in); i < in.Transcript.Len() && in.Transcript.At(i).Authored(); i++ {
		if text != "" {
			text += "\n"
		}
		text += in.Transcript.At(i).Text()
	}
	return text
}

// cuts lists the cuts to try, the one that keeps the most first: whole turns
// with the tail that was asked for, then down to the last completed turn, then
// inside the current run, with ever fewer steps. Every cut stands where no
// call is parted from its result (F-SEL-03, P-RET-01, P-RET-08).
func (m *Manager) cuts(in Input) []Cut {
	var out []Cut
	add := func(c Cut, ok bool) {
		if ok && c.Through > m.through && (len(out) == 0 || c.Through > out[len(out)-1].Through || c.Shape != out[len(out)-1].Shape) {
			out = append(out, c)
		}
	}
	tail := min(m.compaction.RecentTailTokens, m.budget.AvailableTokens/2)
	least := max(m.budget.AvailableTokens/32, 1)
	for share := tail; share >= least; share /= 2 {
		add(m.cutTurns(in, share))
	}
	add(m.cutTurns(in, 0))
	for share := tail; share >= least; share /= 2 {
		add(m.cutSteps(in, share))
	}
	add(m.cutSteps(in, 0))
	return out
}

// cutTurns cuts before the oldest completed turn that still fits the tail; at
// least the last completed turn stays (resolution C15). There is no cut when
// everything fits the tail.
func (m *Manager) cutTurns(in Input, tailTokens int) (Cut, bool) {
	n := in.Transcript.TurnCount()
	if n < 3 {
		return Cut{}, false // nothing older than the last completed turn
	}
	start, kept := in.Transcript.Turn(n-2).Start, 0
	for i := n - 2; i >= 0; i-- {
		weight := m.turnTokens(in, i)
		if i < n-2 && kept+weight > tailTokens {
			break
		}
		start, kept = in.Transcript.Turn(i).Start, kept+weight
	}
	return m.finishCut(in, Cut{Through: m.closeCalls(in, start), Shape: ShapeTurns, TailTokens: kept})
}

func (m *Manager) turnTokens(in Input, turn int) int {
	total := 0
	t := in.Transcript.Turn(turn)
	for i := t.Start; i < t.End; i++ {
		total += m.view.EntryTokens(i)
	}
	return total
}

// cutSteps cuts inside the current run, before the oldest completed step that
// still fits the tail (resolution C19): a step is completed when every call
// has its result and a later model response exists.
func (m *Manager) cutSteps(in Input, tailTokens int) (Cut, bool) {
	start := currentTurn(in)
	best, kept, weight := -1, 0, 0
	for i := in.Transcript.Len() - 1; i > start; i-- {
		msg := in.Transcript.At(i)
		if msg.Authored() {
			break
		}
		weight += m.view.EntryTokens(i)
		if msg.Role != message.RoleAssistant {
			continue
		}
		if best >= 0 && weight > tailTokens {
			break
		}
		best, kept = i, weight
	}
	if best < 0 {
		best = start // nothing happened in this run yet: all older turns go
	}
	return m.finishCut(in, Cut{Through: m.closeCalls(in, best), Shape: ShapeUserMessages, TailTokens: kept})
}

// closeCalls moves a cut back until no result after it answers a call before
// it, and no call before it still waits.
func (m *Manager) closeCalls(in Input, at int) int {
	t := in.Transcript
	for changed := true; changed && at > m.through; {
		changed = false
		for i := at; i < t.Len() && !changed; i++ {
			msg := t.At(i)
			if msg.Role != message.RoleTool {
				continue
			}
			for b := range msg.Blocks {
				call, ok := t.Call(transcript.Ref{Message: i, Block: b})
				if ok && call.Message < at && !m.view.Hidden(call.Message) {
					at, changed = call.Message, true
					break
				}
			}
		}
	}
	return at
}

func (m *Manager) finishCut(in Input, c Cut) (Cut, bool) {
	for i := range c.Through {
		c.RangeTokens += m.view.EntryTokens(i)
	}
	c.RangeTokens += m.view.MemoryTokens()
	return c, c.Through > 0 && c.RangeTokens > 0
}
