package codexapp

import (
	"fmt"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/trace"
)

// adapterName names this engine in budget events.
const adapterName = "codex-app-server"

// totalsOfTrace is what the last event of a run sums up.
type totalsOfTrace struct{ requests, over, overSent, peak, compactions int }

func (t *totalsOfTrace) look(tokens int, v budget.Verdict, a contextwindow.Action) {
	t.requests++
	t.peak = max(t.peak, tokens)
	if v != budget.Fits {
		t.over++
		if a != contextwindow.Stop {
			t.overSent++
		}
	}
}

func (e *Engine) emit(p trace.Payload) error {
	if e.opts.Trace == nil {
		return nil
	}
	if err := e.opts.Trace.Emit(p); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

func (n *run) emit(p trace.Payload) error { return n.e.emit(p) }

func (n *run) started() *trace.RunStarted {
	o, c := n.e.opts, n.e.capabilities()
	t := o.Session.Transcript()
	return &trace.RunStarted{Run: n.request.Run, Session: o.Session.ID(), Provider: engineName, Model: c.Model, Mode: string(n.e.mode()),
		WindowTokens: c.WindowTokens, WindowSource: c.WindowSource, Vocabulary: o.Counter.Vocabulary(), Profile: o.Counter.Profile().Family,
		Forge: o.Forge, Messages: t.Len(), Turns: t.TurnCount()}
}

func (n *run) completed() *trace.RunCompleted {
	t, s := n.result.Totals, n.summary
	return &trace.RunCompleted{Status: trace.Status(n.result.Status), Requests: s.requests, OverBudgetRequests: s.over, OverBudgetSent: s.overSent,
		PeakInputTokens: s.peak, TotalInputTokens: t.InputTokens, CachedInputTokens: t.CachedInputTokens, OutputTokens: t.OutputTokens, Compactions: s.compactions}
}

// keepFit stores and traces what a Fit did, before its view goes out.
func (n *run) keepFit(f *contextwindow.Fit) error {
	s := n.e.opts.Session
	for c := range s.Chain().All() {
		if c.Generation > s.Header().Checkpoints {
			if err := s.AddCheckpoint(n.keep, c, nil); err != nil {
				return err
			}
			n.summary.compactions++
		}
	}
	if f.Attempt > 1 || n.number == 0 {
		n.number = f.Step
	}
	trigger := trace.TriggerBudget
	retry := ""
	if f.Attempt > 1 {
		trigger, retry = trace.TriggerOverflow, "context-overflow"
	}
	for _, p := range trace.Compactions(f, trigger) {
		if err := n.emit(p); err != nil {
			return err
		}
	}
	n.summary.look(f.Estimate.Tokens, f.Verdict, f.Action)
	details := trace.Details{Adapter: adapterName, Attempt: f.Attempt, RetryReason: retry, InstructionPaths: n.request.InstructionPaths}.With(f)
	if err := n.emit(trace.Budgeted(f, details)); err != nil {
		return err
	}
	if w := trace.Warning(f); w != nil {
		if err := n.emit(w); err != nil {
			return err
		}
	}
	if f.Action == contextwindow.Stop {
		if err := n.emit(trace.Limit(f)); err != nil {
			return err
		}
	}
	n.e.show(Budgeted{Fit: f})
	if f.Warning != "" {
		n.e.show(Notice{Kind: "warning", Text: f.Warning})
	}
	return nil
}

// completedRequest traces the end of a turn: the first report of a provider in
// it is the one to compare with what was weighed.
func (n *run) completedRequest(r *turnRun) {
	var rec *contextwindow.Reconciliation
	if r.first != nil && n.manager != nil {
		if got, err := n.manager.Reconcile(*r.first); err == nil {
			rec = &got
		}
	}
	done := trace.Completed(max(1, n.number), rec, r.first, nil)
	switch {
	case r.ended == nil || r.ended.Status == "failed":
		done.Outcome = trace.OutcomeFailed
	case r.ended.Status == "interrupted":
		done.Outcome = trace.OutcomeStopped
	}
	if err := n.emit(done); err != nil {
		n.fail(err)
	}
}
