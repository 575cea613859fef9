package contextwindow

import (
	"context"
	"fmt"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
)

// A pairMaker is a strategy that makes an opaque item and a readable
// checkpoint of the same range beside it, compaction.Native for one.
type pairMaker interface {
	CompactPair(ctx context.Context, in compaction.Input) (readable, opaque *checkpoint.Checkpoint, err error)
}

// input is what a strategy gets for a cut.
func (m *Manager) input(in Input, cut Cut) compaction.Input {
	parent, generation := m.compaction.Chain.Next()
	return compaction.Input{
		Transcript: in.Transcript, Through: cut.Through, Counter: m.counter, RangeTokens: cut.RangeTokens,
		TargetTokens: m.compaction.SummaryTargetTokens, Request: currentRequestText(in), Index: &m.index,
		Parent: parent, Generation: generation, Previous: m.usable(in), Manual: cut.Manual, Now: m.compaction.Now(),
	}
}

// make asks the strategy for checkpoints: one, or a readable one and the
// opaque one that is used in its place.
func (m *Manager) make(ctx context.Context, input compaction.Input) ([]*checkpoint.Checkpoint, error) {
	var made []*checkpoint.Checkpoint
	var err error
	if pair, ok := m.compaction.Strategy.(pairMaker); ok {
		var readable, opaque *checkpoint.Checkpoint
		readable, opaque, err = pair.CompactPair(ctx, input)
		if readable != nil && (err == nil || !input.Manual) {
			made, err = append(made, readable), nil // the provider's failure leaves the readable half
		}
		if opaque != nil {
			made = append(made, opaque)
		}
	} else {
		var c *checkpoint.Checkpoint
		if c, err = m.compaction.Strategy.Compact(ctx, input); err == nil {
			made = append(made, c)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("compact messages 1 to %d: %w", input.Through, err)
	}
	if err := answers(input, made); err != nil {
		return nil, fmt.Errorf("compact messages 1 to %d: %w", input.Through, err)
	}
	return made, nil
}

// answers checks that a strategy made checkpoints of what it was given: with
// any other range, messages between it and the cut would be nowhere.
func answers(input compaction.Input, made []*checkpoint.Checkpoint) error {
	if len(made) == 0 {
		return fmt.Errorf("%w: the strategy returned no checkpoint and no error", ErrInvalid)
	}
	for _, c := range made {
		if c == nil {
			return fmt.Errorf("%w: the strategy returned a nil checkpoint and no error", ErrInvalid)
		}
		if err := c.Check(); err != nil {
			return fmt.Errorf("the strategy returned: %w", err)
		}
		if err := c.Validate(input.Transcript); err != nil {
			return fmt.Errorf("the strategy returned: %w", err)
		}
		through := input.Through
		if c.Method == checkpoint.MethodFreshWindow {
			through = input.Transcript.Len()
		}
		if c.SummarizedThroughMessageIndex != through {
			return fmt.Errorf("%w: the strategy returned a checkpoint of %d messages, it was asked for %d", ErrInvalid, c.SummarizedThroughMessageIndex, through)
		}
	}
	return nil
}

// usable returns the newest checkpoint that is valid for the transcript and
// may go to the model that answers next (F-NAT-02).
func (m *Manager) usable(in Input) *checkpoint.Checkpoint {
	return m.compaction.Chain.ActiveWhere(in.Transcript, func(c *checkpoint.Checkpoint) bool {
		return c.UsableBy(m.capabilities.Provider, m.answering(in))
	})
}

// answering is the model that answers the next request.
func (m *Manager) answering(in Input) string {
	if in.Model != "" {
		return in.Model
	}
	return m.capabilities.Model
}

// leaveOpaque replaces an opaque item that the model of this request cannot
// read by the readable checkpoint of the same range (F-NAT-04, F-TST-19).
func (m *Manager) leaveOpaque(in Input) error {
	if m.active == nil || m.active.UsableBy(m.capabilities.Provider, m.answering(in)) {
		return nil
	}
	for c := range m.compaction.Chain.All() {
		if c.ID == m.active.PairedWith && c.Validate(in.Transcript) == nil {
			m.windows++
			return m.show(in.Transcript, c, m.through, m.users, m.kept)
		}
	}
	return fmt.Errorf("%w: the checkpoint %s is readable by %s %s only and has no readable pair", ErrInvalid, m.active.ID, m.active.Provider, m.active.ModelID)
}
