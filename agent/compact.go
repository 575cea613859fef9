package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/trace"
)

// Look measures the request that would come next, without sending, changing
// or keeping anything (F-MAN-01). Of r, instructions and tools count.
func (a *Agent) Look(ctx context.Context, r Request) (*Window, error) {
	in := a.windowInput(r)
	m, err := a.restored(ctx, contextwindow.Warn, &in)
	if err != nil {
		return nil, fmt.Errorf("look at context window: %w", err)
	}
	f, err := m.Fit(ctx, in)
	var limit *contextwindow.LimitError
	if err != nil && !errors.As(err, &limit) {
		return nil, fmt.Errorf("look at context window: %w", err)
	}
	w := &Window{Fit: f, Diagnosis: m.Diagnose(f), Mode: a.opts.Window.Mode, Lines: slices.Collect(m.Lines())}
	if w.Mode == "" {
		w.Mode = contextwindow.Warn
	}
	w.Next = a.next(ctx, r, w)
	return w, nil
}

// next says what would be done about the next request.
func (a *Agent) next(ctx context.Context, r Request, w *Window) string {
	weight := w.Fit.Estimate.Tokens
	if w.Mode == contextwindow.Compact {
		weight += w.Fit.Estimate.BandTokens // as that mode weighs it; Fit is measured as in warn
	}
	switch {
	case w.Fit.Verdict == budget.MandatoryOverflow:
		return "the next request would not be sent: " + w.Diagnosis.String()
	case weight <= w.Fit.Budget.AvailableTokens:
		return fmt.Sprintf("the next request fits, %d tokens are free", w.Fit.Budget.AvailableTokens-w.Fit.Estimate.Tokens)
	case w.Mode == contextwindow.Off:
		return "the next request is over budget and would be sent all the same (mode off)"
	case w.Mode == contextwindow.Warn:
		return "the next request is over budget: it would be sent with a warning (mode warn); /compact makes room"
	}
	if p, err := a.PlanCompaction(ctx, r, contextwindow.ManualOptions{}); err == nil {
		return fmt.Sprintf("before the next request, %d messages would get a checkpoint: %d tokens become %d", p.Cut.Through, p.TokensBefore, p.TokensAfter)
	}
	return "before the next request, old tool output would be cleared or a checkpoint made"
}

// PlanCompaction works out a compaction that a person asks for and changes
// nothing (F-MAN-02). It asks no model: the plan is that of the extractive
// strategy whatever the strategy is.
func (a *Agent) PlanCompaction(ctx context.Context, r Request, o contextwindow.ManualOptions) (*contextwindow.Plan, error) {
	strategy := a.opts.Window.Compaction.Strategy
	defer func() { a.opts.Window.Compaction.Strategy = strategy }()
	a.opts.Window.Compaction.Strategy = compaction.Extractive{}
	_, _, p, err := a.plan(ctx, r, o)
	return p, err
}

// plan works a compaction out on a manager of its own.
func (a *Agent) plan(ctx context.Context, r Request, o contextwindow.ManualOptions) (*contextwindow.Manager, contextwindow.Input, *contextwindow.Plan, error) {
	if err := a.opts.Session.HoldAll(ctx); err != nil {
		return nil, contextwindow.Input{}, nil, fmt.Errorf("plan compaction: %w", err)
	}
	in := a.windowInput(r)
	m, err := a.restored(ctx, contextwindow.Compact, &in)
	if err != nil {
		return nil, in, nil, fmt.Errorf("plan compaction: %w", err)
	}
	p, err := m.Plan(ctx, in, o)
	if err != nil {
		return nil, in, nil, fmt.Errorf("plan compaction: %w", err)
	}
	return m, in, p, nil
}

// Compact makes a compaction that a person asks for, and keeps it with the
// session (F-MAN-03). It fails at once instead of falling back (P-MAN-01).
// The transcript is not changed, and nothing of it approves a later call
// (F-MAN-04).
func (a *Agent) Compact(ctx context.Context, r Request, o contextwindow.ManualOptions) (*contextwindow.Plan, error) {
	m, in, p, err := a.plan(ctx, r, o)
	if err != nil {
		return nil, errors.Join(err, a.emit(&trace.CompactionFailed{Request: 1, Code: "manual"}))
	}
	if err := m.Apply(in, p); err != nil {
		return nil, fmt.Errorf("compact: %w", err)
	}
	if err := a.keepCheckpoints(ctx, m, true); err != nil {
		return nil, fmt.Errorf("compact: %w", err)
	}
	// The events are those of a Fit that made this compaction.
	made := &contextwindow.Fit{Step: 1, Compactions: []contextwindow.CompactionReport{{Checkpoint: p.Checkpoint, Shape: p.Cut.Shape,
		TokensBefore: p.TokensBefore, TokensAfter: p.TokensAfter, RetainedUsers: len(p.Users)}}}
	for _, e := range trace.Compactions(made, trace.TriggerManual) {
		if err := a.emit(e); err != nil {
			return p, err
		}
	}
	return p, nil
}
