package replay

import (
	"path/filepath"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/trace"
)

func (p *player) emit(payload trace.Payload) error {
	if p.options.Trace == nil {
		return nil
	}
	return p.options.Trace.Emit(payload)
}

func (p *player) started() *trace.RunStarted {
	s, c := p.session, p.setup.Capabilities
	mode := p.options.Mode
	if mode == "" {
		mode = contextwindow.Warn
	}
	return &trace.RunStarted{
		Session: s.ID, File: filepath.Base(p.report.File), Format: s.Format, FormatVersion: s.Version,
		Provider: s.Provider, Model: c.Model, Mode: string(mode), WindowTokens: c.WindowTokens, WindowSource: c.WindowSource,
		Vocabulary: p.setup.Counter.Vocabulary(), Profile: p.setup.Counter.Profile().Family, Forge: p.options.Forge,
		Complete: s.Complete, UsageSynthetic: s.UsageSynthetic,
		Messages: s.Transcript.Len(), Turns: s.Transcript.TurnCount(), Losses: len(s.Losses),
	}
}

func markEvent(m sessionfile.Mark, request int) *trace.ContextMark {
	return &trace.ContextMark{
		Request: request, Kind: string(m.Kind), Line: m.Line, Trigger: m.Trigger,
		TokensBefore: m.TokensBefore, TokensAfter: m.TokensAfter, Opaque: m.Change != nil && m.Change.Opaque,
	}
}

// emitFit traces a measurement: the budget, and what it led to.
func (p *player) emitFit(f *contextwindow.Fit) error {
	if err := p.emitCompactions(f); err != nil {
		return err
	}
	details := trace.Details{Adapter: "recorded", BufferTokens: f.Budget.BufferTokens}.With(f)
	if err := p.emit(trace.Budgeted(f, details)); err != nil {
		return err
	}
	if w := trace.Warning(f); w != nil {
		if err := p.emit(w); err != nil {
			return err
		}
	}
	if f.Action == contextwindow.Stop {
		return p.emit(trace.Limit(f))
	}
	return nil
}

func (p *player) emitAnswer(st step) error {
	done := trace.Completed(st.fit.Step, st.reconciliation, st.usage, st.costUSD)
	if st.request.Failed != "" {
		done.Outcome = trace.OutcomeFailed
	}
	if !st.compared {
		done.Comparison = nil
	}
	if p.compactor != nil {
		done.Usage = nil // it belongs to the view that the source agent sent
	}
	return p.emit(done)
}

// completed sums the run up.
func (r *Report) completed() *trace.RunCompleted {
	made := 0
	if r.CompactReport != nil {
		made = r.Compactions
	}
	return &trace.RunCompleted{Compactions: made,
		Status: trace.StatusCompleted, Requests: r.Requests, OverBudgetRequests: r.OverBudgetRequests, OverBudgetSent: r.OverBudgetSent,
		PeakInputTokens: r.PeakInputTokens, TotalInputTokens: r.TotalInputTokens, CachedInputTokens: r.cached, OutputTokens: r.output,
		CostUSD: r.CostUSD,
	}
}
