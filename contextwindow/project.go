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

// A Clearing is what the scheduler of projections saw of one request. The list
// of all of them brings a new scheduler to the same state after a restart.
type Clearing struct {
	// Messages is how much of the transcript the scheduler has seen.
	Messages int `json:"messages"`
	// Manual: no request, but a compaction that a person asked for between two;
	// From and what belongs to it say which.
	Manual bool `json:"manual,omitempty"`
	// Query is what was asked.
	Query projection.Query `json:"query"`
	// Repeats are the new results that point to earlier ones.
	Repeats []Repeat `json:"repeats,omitempty"`
	// Cleared are the results that got stand-ins, each decision a list.
	Cleared [][]transcript.Ref `json:"cleared,omitempty"`
	// Broken: the cache was known to be broken.
	Broken bool `json:"broken,omitempty"`
	// From, Tokens and FrontTokens describe a compaction after the decisions:
	// the first message of the conversation that is left, what that weighs, and
	// what stands before it. From is -1 without one.
	From        int `json:"from"`
	Tokens      int `json:"tokens,omitempty"`
	FrontTokens int `json:"frontTokens,omitempty"`
	// Sent: the request went out.
	Sent bool `json:"sent,omitempty"`
}

// observe gives the scheduler what is new in the conversation, after repeat had
// a look at each tool result.
func (m *Manager) observe(t *transcript.Transcript, end int, repeat repeater) error {
	m.observed = max(m.observed, t.Base())
	for ; m.observed < end; m.observed++ {
		i := m.observed
		if m.view.Hidden(i) {
			continue
		}
		rest := m.view.EntryTokens(i)
		if msg := t.At(i); msg.Role == message.RoleTool {
			for b := range msg.Blocks {
				ref := transcript.Ref{Message: i, Block: b}
				tokens := m.view.BlockTokens(ref)
				o, err := projection.Observe(t, ref, tokens, m.counter.Text, projection.Targets{})
				if err != nil {
					return fmt.Errorf("observe tool result: %w", err)
				}
				if o, err = repeat(t, o); err != nil {
					return err
				}
				if err := m.scheduler.Admit(o); err != nil {
					return fmt.Errorf("observe tool result: %w", err)
				}
				rest -= tokens
			}
		}
		m.scheduler.Extend(rest)
	}
	return nil
}

// endClearing closes the record of a request that was answered.
func (m *Manager) endClearing() {
	if n := len(m.clearings); n > 0 && m.answered {
		m.clearings[n-1].Sent = true
		m.scheduler.Sent()
	}
	m.answered = false
}

// beginManual opens a record of its own for a manual compaction: that of the
// request before it was told already (Progress).
func (m *Manager) beginManual(in Input, through int) error {
	if m.mode != Compact {
		return nil
	}
	m.endClearing()
	if err := m.observe(in.Transcript, through, m.recordedRepeats(nil)); err != nil {
		return err
	}
	m.clearings = append(m.clearings, Clearing{Messages: m.observed, Manual: true, From: -1})
	return nil
}

// beginClearing opens the scheduler's record of a request, after the one
// before it was answered.
func (m *Manager) beginClearing(in Input, broken bool, f *Fit) error {
	m.endClearing()
	var repeats []Repeat
	if err := m.observe(in.Transcript, in.Transcript.Len(), m.newRepeats(in, &repeats, f)); err != nil {
		return err
	}
	if broken {
		m.scheduler.CacheBroken()
	}
	front := max(0, m.view.Breakdown().Total()-m.scheduler.ConversationTokens())
	m.clearings = append(m.clearings, Clearing{Messages: in.Transcript.Len(), Repeats: repeats, From: -1, Broken: broken,
		Query: projection.Query{FrontTokens: front, Idle: in.Idle}})
	return nil
}

// clearForPrice clears old tool output where that pays (F-RUN-04, F-RUN-06,
// DESIGN: money).
func (m *Manager) clearForPrice(in Input, f *Fit) error {
	d := m.scheduler.Decide(m.clearings[len(m.clearings)-1].Query)
	return m.apply(in, f, d)
}

// clearForBudget is the first step of relief (F-SEL-11).
func (m *Manager) clearForBudget(in Input, f *Fit) error {
	excess := f.weight() - f.Budget.AvailableTokens
	need := excess*f.CountedTokens/max(f.Estimate.Tokens, 1) + 1
	d := m.scheduler.Relieve(m.clearings[len(m.clearings)-1].Query, need)
	if err := m.apply(in, f, d); err != nil {
		return err
	}
	if len(d.Clear) > 0 {
		m.recount(in, f, ReliefProjection)
	}
	return nil
}

// apply puts the stand-ins of a decision into the view.
func (m *Manager) apply(in Input, f *Fit, d projection.Decision) error {
	if len(d.Clear) == 0 {
		return nil
	}
	for _, ref := range d.Clear {
		before := m.view.BlockTokens(ref)
		if err := m.project(in.Transcript, ref, string(d.Reason)); err != nil {
			return err
		}
		f.Projections = append(f.Projections, ProjectionReport{Result: ref, TokensBefore: before, TokensAfter: m.view.BlockTokens(ref)})
	}
	if err := m.scheduler.Apply(d.Clear); err != nil {
		return fmt.Errorf("clear old tool output: %w", err)
	}
	last := &m.clearings[len(m.clearings)-1]
	last.Cleared = append(last.Cleared, d.Clear)
	f.Clearings = append(f.Clearings, d)
	return nil
}

// project puts the stand-in of a result into the view.
func (m *Manager) project(t *transcript.Transcript, ref transcript.Ref, reason string) error {
	source, _, err := projection.SourceAt(t, ref)
	if err != nil {
		return fmt.Errorf("clear old tool output: %w", err)
	}
	text, ok := projection.StandIn(source, projection.Targets{})
	if !ok {
		return nil
	}
	return m.view.Project(ref, text, reason)
}

// replayPartly puts the recorded stand-ins of the messages that are held into
// the view. What the requests cost before is not known then, so clearing for
// its price begins anew.
func (m *Manager) replayPartly(t *transcript.Transcript, cs []Clearing) error {
	var repeats []Repeat
	for _, c := range cs {
		repeats = append(repeats, c.Repeats...)
	}
	if err := m.observe(t, t.Len(), m.recordedRepeats(repeats)); err != nil {
		return err
	}
	for _, c := range cs {
		for _, refs := range c.Cleared {
			for _, ref := range refs {
				if ref.Message < t.Base() || m.view.Hidden(ref.Message) {
					continue
				}
				if err := m.project(t, ref, activeview.ReasonCleared); err != nil {
					return err
				}
				if err := m.scheduler.Apply([]transcript.Ref{ref}); err != nil {
					return fmt.Errorf("clear old tool output: %w", err)
				}
			}
		}
	}
	m.scheduler.CacheBroken()
	return nil
}

// compactedTo tells the scheduler that a checkpoint took the place of the
// beginning.
func (m *Manager) compactedTo(through int) {
	tokens := 0
	for i := through; i < m.observed; i++ {
		tokens += m.view.EntryTokens(i)
	}
	m.observed = max(m.observed, through)
	front := max(0, m.view.Breakdown().Total()-tokens)
	m.scheduler.Compacted(through, tokens, front)
	if n := len(m.clearings); n > 0 {
		c := &m.clearings[n-1]
		c.From, c.Tokens, c.FrontTokens = through, tokens, front
	}
}

// checkClearings refuses a record that no manager wrote for this transcript.
func checkClearings(t *transcript.Transcript, cs []Clearing) error {
	messages := 0
	for i, c := range cs {
		switch {
		case c.Messages > t.Len():
			return fmt.Errorf("%w: the state is of a longer transcript", ErrInvalid)
		case c.Messages < messages, c.From < -1, c.From > c.Messages, c.Tokens < 0, c.FrontTokens < 0, c.Query.FrontTokens < 0:
			return fmt.Errorf("%w: the state is damaged at clearing %d; begin with the zero State instead", ErrInvalid, i+1)
		}
		messages = c.Messages
	}
	return nil
}

// replayClearings brings a new scheduler to a recorded state. The view has all
// messages, nothing is cleared yet, and only what was left out is hidden: the
// scheduler does not know such a result, and its stand-in went with it.
func (m *Manager) replayClearings(t *transcript.Transcript, cs []Clearing) error {
	if t.Base() > 0 {
		return m.replayPartly(t, cs)
	}
	if err := checkClearings(t, cs); err != nil {
		return err
	}
	for _, c := range cs {
		if err := m.observe(t, c.Messages, m.recordedRepeats(c.Repeats)); err != nil {
			return err
		}
		if c.Broken {
			m.scheduler.CacheBroken()
		}
		if !c.Manual {
			m.scheduler.Decide(c.Query)
		}
		for _, refs := range c.Cleared {
			refs = slices.DeleteFunc(slices.Clone(refs), func(ref transcript.Ref) bool { return m.view.Hidden(ref.Message) })
			for _, ref := range refs {
				if err := m.project(t, ref, activeview.ReasonCleared); err != nil {
					return err
				}
			}
			if err := m.scheduler.Apply(refs); err != nil {
				return fmt.Errorf("clear old tool output: %w", err)
			}
		}
		if c.From >= 0 {
			m.observed = max(m.observed, c.From)
			m.scheduler.Compacted(c.From, c.Tokens, c.FrontTokens)
		}
		if c.Sent {
			m.scheduler.Sent()
		}
	}
	m.clearings = append(m.clearings, cs...)
	return nil
}
