package contextwindow

import (
	"fmt"
	"slices"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

// A ProjectionReport is one tool result that was replaced by a stand-in.
type ProjectionReport struct {
	// Result is where it stands in the transcript.
	Result transcript.Ref `json:"result"`
	// TokensBefore and TokensAfter are its weight.
	TokensBefore int `json:"tokensBefore"`
	TokensAfter  int `json:"tokensAfter"`
}

// keepResults is how many of the newest tool results are never cleared.
const keepResults = 5

// clear replaces old tool output by stand-ins until the request fits, the
// oldest first (F-SEL-11).
func (m *Manager) clear(in Input, f *Fit) error {
	excess := f.Estimate.Tokens - f.Budget.AvailableTokens
	freed := 0
	for _, ref := range m.clearable(in) {
		if freed*f.Estimate.Tokens/max(f.CountedTokens, 1) >= excess {
			break
		}
		before := m.view.EntryTokens(ref.Message)
		if err := m.project(in.Transcript, ref); err != nil {
			return err
		}
		after := m.view.EntryTokens(ref.Message)
		if after < before {
			freed += before - after
			f.Projections = append(f.Projections, ProjectionReport{Result: ref, TokensBefore: before, TokensAfter: after})
		}
	}
	if len(f.Projections) > 0 {
		m.recount(in, f, ReliefProjection)
	}
	return nil
}

// project puts the stand-in of a result into the view, unless that would not
// be smaller.
func (m *Manager) project(t *transcript.Transcript, ref transcript.Ref) error {
	r, ok := t.At(ref.Message).Blocks[ref.Block].(message.ToolResult)
	if !ok {
		return fmt.Errorf("%w: block %d of message %d is no tool result", ErrInvalid, ref.Block, ref.Message)
	}
	text, ok := projection.StandIn(projection.Source{Tool: toolName(t, ref), Result: r, Reference: projection.Reference(ref)}, projection.Targets{})
	if !ok || m.counter.Text(text) >= m.counter.Message(message.Message{Blocks: []message.Block{r}}).BlockTokens[0] {
		return nil
	}
	m.projected[ref] = true
	m.projectedOrder = append(m.projectedOrder, ref)
	return m.view.Project(ref, text, activeview.ReasonCleared)
}

// clearable lists the tool results that may be cleared, oldest first: they are
// in the window, a later model response exists, and they are not among the
// newest.
func (m *Manager) clearable(in Input) []transcript.Ref {
	var out []transcript.Ref
	answered := false
	kept := 0
	for i := in.Transcript.Len() - 1; i >= 0; i-- {
		msg := in.Transcript.At(i)
		if msg.Role == message.RoleAssistant {
			answered = true
		}
		if msg.Role != message.RoleTool || m.view.Hidden(i) {
			continue
		}
		for b := len(msg.Blocks) - 1; b >= 0; b-- {
			kept++
			ref := transcript.Ref{Message: i, Block: b}
			if kept > keepResults && answered && !m.projected[ref] {
				out = append(out, ref)
			}
		}
	}
	slices.Reverse(out)
	return out
}

func toolName(t *transcript.Transcript, result transcript.Ref) string {
	call, ok := t.Call(result)
	if !ok {
		return ""
	}
	c, _ := t.At(call.Message).Blocks[call.Block].(message.ToolCall)
	return c.Name
}
