package contextwindow

import (
	"context"
	"errors"
	"fmt"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/model"
)

// ErrNotRecovered is wrapped when an overflow must be passed on as an ordinary
// failure. The message says why.
var ErrNotRecovered = errors.New("overflow not recovered")

// retryPercent is how much of an estimate is sent again when the provider
// refused a request as too long and did not say by how much.
const retryPercent = 70

// Recover makes the request of the last Fit smaller after the provider
// refused it as too long, for one more attempt with the same input
// (F-OVF-02, F-OVF-03, resolution C9). failed is what the provider said; a
// window that it states is kept as learned and only ever lowers the budget.
//
// It refuses, with an error that wraps ErrNotRecovered and failed, when the
// attempt left any evidence, when this request was recovered before
// (F-OVF-04, F-NOP-04), or in a mode that changes no view. A *LimitError says
// that nothing could be left out.
func (m *Manager) Recover(ctx context.Context, in Input, failed *model.Error) (*Fit, error) {
	if failed == nil || in.Transcript == nil {
		return nil, fmt.Errorf("%w: recover needs the provider's error and the transcript", ErrInvalid)
	}
	last := m.sent
	refuse := func(why string) (*Fit, error) {
		return nil, fmt.Errorf("%w: %s: %w", ErrNotRecovered, why, failed)
	}
	switch {
	case !errors.Is(failed, model.ErrContextOverflow):
		return refuse("the provider refused the request for another reason")
	case last == nil:
		return refuse("no request is waiting for its answer")
	case failed.Evidence:
		return refuse("the attempt had already produced output")
	case m.mode != Compact:
		return refuse(fmt.Sprintf("the mode %s changes no view", m.mode))
	case m.recoveredAt == in.Transcript.Len() && m.recovered:
		return refuse("it was retried once already")
	}
	m.recovered, m.recoveredAt = true, in.Transcript.Len()
	m.learnWindow(failed.LimitTokens)
	f := *last
	f.Visited = -m.visited()
	f.Relief, f.Compactions, f.Projections, f.Reminder, f.ReminderTier = nil, nil, nil, "", 0
	f.Attempt++
	f.Budget, f.Capabilities = m.budget, m.capabilities
	f.Budget.AvailableTokens = retryBudget(m.budget.AvailableTokens, last.Estimate.Tokens, failed.UsedTokens)
	m.measure(in, &f)
	if err := m.relieve(ctx, in, &f); err != nil {
		return nil, err
	}
	return m.conclude(&f, m.view.Generation())
}

// retryBudget is what the retry may weigh in our own counting.
func retryBudget(availableTokens, estimatedTokens, usedTokens int) int {
	target := estimatedTokens * retryPercent / 100
	if usedTokens > 0 && estimatedTokens > 0 {
		// The provider's count says how far ours is off. Where that would let
		// the same request through again, it is no help.
		stated := int(float64(availableTokens) * float64(estimatedTokens) / float64(max(usedTokens, estimatedTokens)))
		if min(stated, availableTokens) < estimatedTokens {
			target = stated
		}
	}
	return min(availableTokens, target)
}

// learnWindow lowers the window to what a rejection stated. It never raises
// it.
func (m *Manager) learnWindow(limitTokens int) {
	if limitTokens < budget.MinWindowTokens || limitTokens >= m.capabilities.WindowTokens {
		return
	}
	b, err := budget.New(limitTokens, m.capabilities.MaxOutputTokens, m.settings)
	if err != nil {
		return // the old window stays
	}
	m.capabilities.WindowTokens, m.capabilities.WindowSource = limitTokens, model.WindowLearned
	m.budget = b.WithMaxInput(m.capabilities.MaxInputTokens)
}
