package contextwindow

import (
	"context"
	"fmt"
	"math"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
)

// ManualOptions say how a person wants a conversation compacted. The zero
// value takes the manager's settings.
type ManualOptions struct {
	// TailTokens is how much of the newest messages stays verbatim; zero
	// means the setting, at most half the budget; negative none beyond what must stay.
	TailTokens int
	// TargetTokens is the most that the checkpoint may weigh, Reduction the
	// share of the range to take away (0.98 for example). Zero means not set.
	TargetTokens int
	Reduction    float64
	// Request lifts what has to do with it; empty means the current request.
	Request string
}

// A Plan is a compaction that was worked out and not applied (P-INL-04,
// F-MAN-02). Making it changes nothing.
type Plan struct {
	// Cut is where the view would be cut.
	Cut Cut
	// Checkpoint is what would stand for the range; Records are all that were
	// made for it, the readable pair of an opaque item included.
	Checkpoint *checkpoint.Checkpoint
	Records    []*checkpoint.Checkpoint
	// Users and Kept are the messages of the range that would stay.
	Users []activeview.RetainedUser
	Kept  []int
	// Items say what happens to each stretch of the transcript, in order.
	Items []PlanItem
	// TokensBefore and TokensAfter are the counted request.
	TokensBefore, TokensAfter int
}

// A PlanItem is a stretch of messages that share a fate.
type PlanItem struct {
	// From and Through are the first and last message, by index and id.
	From      int    `json:"from"`
	Through   int    `json:"through"`
	FromID    string `json:"fromId"`
	ThroughID string `json:"throughId"`
	// Decision is kept, projected or summarized, Reason why.
	Decision activeview.Decision `json:"decision"`
	Reason   string              `json:"reason"`
	// TokensBefore and TokensAfter are what the stretch weighs in the window.
	TokensBefore int `json:"tokensBefore"`
	TokensAfter  int `json:"tokensAfter"`
}

// Plan works out a compaction that a person asked for. It fails at once
// instead of falling back (P-MAN-01): with compaction.ErrNoGain when nothing
// would be won, with ErrNothing when there is nothing old enough to summarize.
func (m *Manager) Plan(ctx context.Context, in Input, o ManualOptions) (*Plan, error) {
	if in.Transcript == nil {
		return nil, fmt.Errorf("%w: the transcript is nil", ErrInvalid)
	}
	if in.Transcript.Base() > 0 {
		return nil, fmt.Errorf("plan a compaction: %w: it begins at message %d", ErrPartial, in.Transcript.Base()+1)
	}
	if err := m.derive(in); err != nil {
		return nil, err
	}
	cut, ok := m.manualCut(in, o)
	if !ok {
		return nil, fmt.Errorf("%w: there are no completed messages before the %d tokens that stay; ask for a shorter tail", ErrNothing, m.tail(o))
	}
	if math.IsNaN(o.Reduction) {
		return nil, fmt.Errorf("plan a compaction: %w: the reduction is no number; give a share below 1, such as 0.98", ErrInvalid)
	}
	input := m.input(in, cut)
	if o.TargetTokens != 0 || o.Reduction != 0 {
		input.TargetTokens, input.Reduction = o.TargetTokens, o.Reduction
	}
	if o.Request != "" {
		input.Request = o.Request
	}
	made, err := m.make(ctx, input)
	if err != nil {
		return nil, err
	}
	c := made[len(made)-1]
	if c.Method == checkpoint.MethodFreshWindow {
		cut = Cut{Through: c.SummarizedThroughMessageIndex, Shape: ShapeTurns, RangeTokens: c.TokensBefore, Manual: true}
	}
	p := m.layOut(in, cut, c)
	if p.TokensAfter >= p.TokensBefore {
		return nil, fmt.Errorf("compact messages 1 to %d: %w: the window would hold %d tokens, it holds %d now", cut.Through, compaction.ErrNoGain, p.TokensAfter, p.TokensBefore)
	}
	p.Records = made
	return p, nil
}

func (m *Manager) tail(o ManualOptions) int {
	switch {
	case o.TailTokens < 0:
		return 0
	case o.TailTokens == 0:
		return min(m.compaction.RecentTailTokens, m.budget.AvailableTokens/2) // as the mode Compact does
	}
	return o.TailTokens
}

// manualCut prefers whole turns and goes into the current run when most of the
// conversation is there. Nothing is cut when everything fits the tail.
func (m *Manager) manualCut(in Input, o ManualOptions) (Cut, bool) {
	tail := m.tail(o)
	if m.conversationTokens() <= tail {
		return Cut{}, false
	}
	turns, ok := m.cutTurns(in, tail)
	steps, okSteps := m.cutSteps(in, tail)
	if okSteps && (!ok || steps.RangeTokens > 2*turns.RangeTokens) {
		turns, ok = steps, true
	}
	turns.Manual = true
	return turns, ok && turns.Through > m.through
}

// conversationTokens is what could be summarized at all.
func (m *Manager) conversationTokens() int {
	b := m.view.Breakdown()
	return b.Total() - b[budget.Instructions] - b[budget.ToolSchemas]
}

// keptRequest lists the messages of the current request inside a cut.
func keptRequest(in Input, cut Cut) []int {
	var kept []int
	for i := currentTurn(in); i < cut.Through && in.Transcript.At(i).Authored(); i++ {
		kept = append(kept, i)
	}
	return kept
}

// layOut works out what a checkpoint would do to each message.
func (m *Manager) layOut(in Input, cut Cut, c *checkpoint.Checkpoint) *Plan {
	p := &Plan{Cut: cut, Checkpoint: c, Users: m.retainedUsers(in, cut), Kept: keptRequest(in, cut), TokensBefore: m.view.Breakdown().Total()}
	stays := map[int]string{}
	for _, i := range p.Kept {
		stays[i] = activeview.ReasonCurrentRequest
	}
	users := map[int]activeview.RetainedUser{}
	for _, u := range p.Users {
		users[u.Index], stays[u.Index] = u, activeview.ReasonRetained
	}
	p.TokensAfter = p.TokensBefore - m.view.MemoryTokens() + m.memoryTokens(p.Checkpoint)
	for i, msg := range in.Transcript.All() {
		before := m.view.EntryTokens(i)
		item := PlanItem{From: i, Through: i, FromID: msg.ID, ThroughID: msg.ID, Decision: activeview.Kept, Reason: activeview.ReasonConversation, TokensBefore: before, TokensAfter: before}
		reason, kept := stays[i]
		switch {
		case i >= p.Cut.Through:
			item.Reason = "recent"
		case msg.Role == message.RoleSystem:
			item.Reason = activeview.ReasonInstructions
		case kept:
			item.Reason = reason
			if u, ok := users[i]; ok {
				item.TokensAfter = m.retainedTokens(msg, u)
			}
		default:
			item.Decision, item.Reason, item.TokensAfter = activeview.Summarized, activeview.ReasonSummarized, 0
		}
		p.TokensAfter += item.TokensAfter - before
		if n := len(p.Items); n > 0 && p.Items[n-1].Decision == item.Decision && p.Items[n-1].Reason == item.Reason {
			last := &p.Items[n-1]
			last.Through, last.ThroughID = i, msg.ID
			last.TokensBefore += item.TokensBefore
			last.TokensAfter += item.TokensAfter
			continue
		}
		p.Items = append(p.Items, item)
	}
	return p
}

func (m *Manager) memoryTokens(c *checkpoint.Checkpoint) int {
	total := 0
	for _, msg := range memoryOf(c, 0) {
		total += m.counter.Message(msg).Total()
	}
	return total
}

func (m *Manager) retainedTokens(msg message.Message, u activeview.RetainedUser) int {
	return m.counter.Message(activeview.Historical(msg, u.Text)).Total()
}

// Apply makes the compaction that a plan describes. The input must be the one
// that the plan was made for.
func (m *Manager) Apply(in Input, p *Plan) error {
	if in.Transcript == nil || p == nil || p.Checkpoint == nil {
		return fmt.Errorf("apply a compaction: %w: it needs the transcript and a plan that Plan returned", ErrInvalid)
	}
	if err := m.derive(in); err != nil {
		return err
	}
	for _, record := range p.Records {
		if err := m.compaction.Chain.Add(record, in.Transcript); err != nil {
			return fmt.Errorf("keep checkpoint: %w", err)
		}
	}
	if err := m.beginManual(in, p.Cut.Through); err != nil {
		return err
	}
	m.windows++
	if err := m.show(in.Transcript, p.Checkpoint, p.Cut.Through, p.Users, p.Kept); err != nil {
		return err
	}
	m.compactedTo(p.Cut.Through)
	m.claims, m.newContext = claims{}, false
	m.compacted[p.Checkpoint.SourceHash] = true
	return nil
}

// Counted returns what the view weighs now, as counted.
func (m *Manager) Counted() int { return m.view.Breakdown().Total() }

// View returns the messages that the next request would have, without the
// instructions.
func (m *Manager) View() []message.Message { return m.view.Messages() }
