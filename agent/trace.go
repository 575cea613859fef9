package agent

import (
	"fmt"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/trace"
)

// totalsOfTrace is what the last event of a run sums up.
type totalsOfTrace struct {
	requests, over, overSent, peak int
}

// look takes a weighed request in.
func (t *totalsOfTrace) look(f *contextwindow.Fit) {
	t.requests = f.Step
	t.peak = max(t.peak, f.Estimate.Tokens)
	if f.Verdict != budget.Fits {
		t.over++
		if f.Action != contextwindow.Stop {
			t.overSent++
		}
	}
}

func (n *run) emit(p trace.Payload) error { return n.a.emit(p) }

func (a *Agent) emit(p trace.Payload) error {
	if a.opts.Trace == nil {
		return nil
	}
	if err := a.opts.Trace.Emit(p); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

func (n *run) started() *trace.RunStarted {
	o, c := n.a.opts, n.a.caps
	mode := o.Window.Mode
	if mode == "" {
		mode = contextwindow.Warn
	}
	t := o.Session.Transcript()
	return &trace.RunStarted{
		Run: n.request.Run, Session: o.Session.ID(), Provider: c.Provider, Model: c.Model, Mode: string(mode),
		WindowTokens: c.WindowTokens, WindowSource: c.WindowSource, Vocabulary: o.Counter.Vocabulary(), Profile: o.Counter.Profile().Family,
		Forge: o.Forge, Complete: true, Messages: t.Len(), Turns: t.TurnCount(),
	}
}

func (n *run) completed() *trace.RunCompleted {
	t, s := n.result.Totals, n.summary
	return &trace.RunCompleted{
		Status: statusOfTrace(n.result.Status), Requests: s.requests, OverBudgetRequests: s.over, OverBudgetSent: s.overSent, PeakInputTokens: s.peak,
		TotalInputTokens: t.InputTokens, CachedInputTokens: t.CachedInputTokens, OutputTokens: t.OutputTokens, CostUSD: t.CostUSD, Compactions: t.Compactions,
	}
}

func statusOfTrace(s Status) trace.Status {
	switch s {
	case StatusCompleted:
		return trace.StatusCompleted
	case StatusCancelled:
		return trace.StatusCancelled
	case StatusLimitReached:
		return trace.StatusLimitReached
	case StatusDenied:
		return trace.StatusDenied
	}
	return trace.StatusFailed
}
