package contextwindow

import (
	"context"
	"fmt"

	"github.com/forge-agent/forge/budget"
)

// Relief is what was done to make a request fit, in the order of relief
// (issue behaviour 2, F-SEL-06 to F-SEL-09, F-SEL-11).
type Relief string

// The steps of relief.
const (
	ReliefProjection Relief = "projection"   // old tool output cleared
	ReliefReuse      Relief = "reuse"        // an earlier checkpoint
	ReliefCompaction Relief = "compaction"   // a new checkpoint
	ReliefTail       Relief = "shorter-tail" // a new checkpoint with less kept verbatim
	ReliefRequested  Relief = "new-context"  // the model asked for it
)

// relieve brings a request under budget, one step after the other, each only
// if the one before does not suffice, with a recount between.
func (m *Manager) relieve(ctx context.Context, in Input, f *Fit) error {
	requested := m.newContext
	if f.Verdict == budget.MandatoryOverflow || hopeless(f) {
		m.newContext = false
		return nil // nothing that can be left out would help (F-CLS-12)
	}
	if f.Verdict == budget.Fits && !requested {
		return nil
	}
	if f.Verdict != budget.Fits {
		if err := m.clearForBudget(in, f); err != nil || f.Verdict == budget.Fits && !requested {
			return err
		}
		done, err := false, error(nil)
		if in.Transcript.Base() == 0 {
			done, err = m.reuse(in, f)
		}
		if err != nil {
			return err
		}
		if done {
			m.recount(in, f, ReliefReuse)
			if f.Verdict == budget.Fits {
				return nil
			}
		}
	}
	return m.compactUntilFits(ctx, in, f, requested)
}

// compactUntilFits makes at most MaxAttempts checkpoints: the first cut whose
// outcome is expected to fit, then the next smaller one.
func (m *Manager) compactUntilFits(ctx context.Context, in Input, f *Fit, requested bool) error {
	if in.Transcript.Base() > 0 {
		return fmt.Errorf("make a checkpoint: %w: it begins at message %d", ErrPartial, in.Transcript.Base()+1)
	}
	cuts := m.cuts(in)
	for made := 0; made < MaxAttempts && len(cuts) > 0; {
		i := m.firstThatFits(f, cuts)
		kind := ReliefCompaction
		switch {
		case requested:
			kind = ReliefRequested
		case made > 0 || i > 0:
			kind = ReliefTail
		}
		done, err := m.compact(ctx, in, f, cuts[i])
		if err != nil && requested && f.Verdict == budget.Fits && ctx.Err() == nil {
			break // what the model asked for failed; the turn need not (B19)
		}
		if err != nil {
			return err
		}
		cuts = cuts[i+1:]
		if !done {
			continue // nothing was made: try the next cut
		}
		made++
		m.recount(in, f, kind)
		if f.Verdict == budget.Fits {
			return nil
		}
		cuts = m.cuts(in)
	}
	m.newContext = false // a request that came to nothing must not come back (B19)
	return nil
}

// firstThatFits returns the cut that keeps the most and is expected to fit;
// the last one when none is.
func (m *Manager) firstThatFits(f *Fit, cuts []Cut) int {
	excess := f.weight() - f.Budget.AvailableTokens
	for i, c := range cuts {
		gain := c.RangeTokens - m.compaction.SummaryTargetTokens
		if c.Shape == ShapeUserMessages {
			gain -= min(RetainedUserTokens, m.budget.AvailableTokens/2) / 2
		}
		if f.CountedTokens > 0 {
			gain = gain * f.Estimate.Tokens / f.CountedTokens
		}
		if gain >= excess && gain >= m.minReclaim() {
			return i
		}
	}
	return len(cuts) - 1
}

// recount weighs the request again after a step of relief.
func (m *Manager) recount(in Input, f *Fit, kind Relief) {
	f.Relief = append(f.Relief, kind)
	m.measure(in, f)
}

// hopeless reports whether what cannot be left out, together with what the
// provider was seen to count besides the content known here, is over budget
// already: then a checkpoint would only cost money, and a diagnosis is due.
func hopeless(f *Fit) bool {
	unseen := f.Breakdown[budget.Instructions] - f.sample.Counted[budget.Instructions]
	return f.Verdict == budget.Overflow && f.MandatoryTokens+max(0, unseen) > f.Budget.AvailableTokens
}
