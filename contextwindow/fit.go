package contextwindow

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/tokencount"
)

// Fit looks at the next request and, in the mode Compact, makes it fit. It
// costs what is new since the last call.
//
// The error is a *LimitError when the request must not be sent; the Fit is
// valid then too, for the trace. Any other error is about the arguments, or
// comes from a strategy that could not make a checkpoint.
func (m *Manager) Fit(ctx context.Context, in Input) (*Fit, error) {
	if in.Transcript == nil {
		return nil, fmt.Errorf("%w: the transcript is nil", ErrInvalid)
	}
	visited, generation := m.visited(), m.view.Generation()
	if err := m.derive(in); err != nil {
		return nil, err
	}
	m.step++
	f := &Fit{Step: m.step, Attempt: 1, Mode: m.mode, Capabilities: m.capabilities, Model: in.Model, Budget: m.budget, InstructionsHash: HashInstructions(in.Instructions)}
	if f.Model == "" {
		f.Model = m.capabilities.Model
	}
	if m.mode == Compact {
		broken := m.step > 1 && m.view.Generation() != generation || m.lastModel != "" && f.Model != m.lastModel
		if err := m.leaveOpaque(in); err != nil {
			return nil, err
		}
		if err := m.beginClearing(in, broken, f); err != nil {
			return nil, err
		}
		if err := m.clearForPrice(in, f); err != nil {
			return nil, err
		}
	}
	m.lastModel = f.Model
	m.measure(in, f)
	if m.mode == Compact {
		if err := m.relieve(ctx, in, f); err != nil {
			return nil, err
		}
		m.remind(f)
	}
	f.Visited = -visited
	return m.conclude(f, generation)
}

// visited is how many items view and scheduler have looked at.
func (m *Manager) visited() int { return m.view.Visited() + m.scheduler.Visited() }

// conclude decides about a request and completes its Fit.
func (m *Manager) conclude(f *Fit, generation int) (*Fit, error) {
	m.decide(f)
	f.tellCompaction()
	f.RetainedMessages, f.PrefixTokens = m.view.RetainedMessages(), m.view.TakePrefix()
	f.FreshTokens = m.fresh(f)
	f.Checkpoint = m.active
	f.Ledger, f.LedgerHash = m.view.TakeDelta(), m.view.LedgerHash()
	f.Restructured = f.Attempt > 1 || m.step > 1 && f.sample.Generation != m.sampleGeneration(generation)
	f.Visited += m.visited()
	m.sent = f
	m.answered = f.Action != Stop
	if f.Action != Stop {
		return f, nil
	}
	limit := m.limitError(f)
	f.Diagnosis = &limit.Diagnosis
	return f, limit
}

func (m *Manager) limitError(f *Fit) *LimitError {
	return &LimitError{Budget: f.Budget, MandatoryTokens: f.MandatoryTokens, Breakdown: f.Breakdown, Largest: largest(f.Breakdown),
		Mandatory: f.Verdict == budget.MandatoryOverflow, Diagnosis: m.Diagnose(f)}
}

// derive brings the view up to date.
func (m *Manager) derive(in Input) error {
	m.view.SetInstructions(in.Instructions)
	m.view.SetTools(in.Tools)
	if len(in.Changes) < m.changes {
		return fmt.Errorf("%w: %d changes were applied, %d are left in the input", ErrInvalid, m.changes, len(in.Changes))
	}
	if m.mode == Compact {
		m.view.Extend(in.Transcript) // this view is our own, whatever another agent did to its view
		return m.leaveOut(in)
	}
	for _, c := range in.Changes[m.changes:] {
		if err := m.view.Apply(in.Transcript, c); err != nil {
			return fmt.Errorf("derive active view: %w", err)
		}
		m.changes++
	}
	m.view.Extend(in.Transcript)
	return m.leaveOut(in)
}

// leaveOut takes turns that were never completed out of the view.
func (m *Manager) leaveOut(in Input) error {
	for ; m.uncompleted < len(in.Uncompleted); m.uncompleted++ {
		if err := m.view.LeaveOut(in.Uncompleted[m.uncompleted]); err != nil {
			return fmt.Errorf("derive active view: %w", err)
		}
	}
	return nil
}

// measure counts the view as it is now and weighs it.
func (m *Manager) measure(in Input, f *Fit) {
	f.sample = tokencount.Sample{Counted: m.view.Breakdown(), Generation: m.sampleGeneration(m.view.Generation()), Complete: in.Complete}
	f.MandatoryTokens = m.view.MandatoryTokens()
	if in.Wrapper != nil {
		f.sample.Counted[budget.Wrapper] = max(0, in.Wrapper(m.view.Messages()))
		f.MandatoryTokens += max(0, in.Wrapper(nil))
	}
	m.weigh(f)
}

// sampleGeneration tells the views of the mode Compact apart from those of
// another agent that share a calibration with them.
func (m *Manager) sampleGeneration(generation int) int {
	if m.mode == Compact {
		return -1 - generation
	}
	return generation
}

// weigh estimates the request.
func (m *Manager) weigh(f *Fit) {
	f.CountedTokens = f.sample.Counted.Total()
	f.Breakdown, f.Estimate = m.calibration(f.Model).Estimate(m.counter.Profile(), f.sample)
	f.Verdict = f.Budget.Check(f.weight(), f.MandatoryTokens)
}

// weight is what a request is taken to weigh: the estimate, and in the mode
// Compact the upper end of its error band, since there nothing over budget is
// sent (F-EVL-04).
func (f *Fit) weight() int {
	if f.Mode == Compact {
		return f.Estimate.Tokens + f.Estimate.BandTokens
	}
	return f.Estimate.Tokens
}

// fresh estimates the part of a request that is no unchanged beginning.
func (m *Manager) fresh(f *Fit) int {
	if f.PrefixTokens == 0 {
		return f.Estimate.Tokens
	}
	tokens := m.calibration(f.Model).Ratio(m.counter.Profile()) * float64(f.CountedTokens-f.PrefixTokens)
	return min(f.Estimate.Tokens, int(math.Ceil(tokens)))
}

// tellCompaction warns of every checkpoint that took effect: only the user can
// judge whether a fresh session would be better (P-ROW-04).
func (f *Fit) tellCompaction() {
	if n := len(f.Compactions); n > 0 && f.Action != Stop {
		c := f.Compactions[n-1].Checkpoint
		f.Warning = fmt.Sprintf("%d earlier messages are now in the window as a checkpoint of %d tokens; the transcript keeps them",
			c.SummarizedThroughMessageIndex, c.EstimatedCheckpointTokens)
	}
}

// decide picks the action: the mode does, never the measurement (C4, C14).
func (m *Manager) decide(f *Fit) {
	f.Action = Send
	switch {
	case f.Verdict == budget.MandatoryOverflow, f.Verdict == budget.Overflow && m.mode == Compact:
		f.Action = Stop
	case f.Verdict == budget.Overflow:
		f.Action = SendOverBudget
		if m.mode != Off {
			f.Warning = fmt.Sprintf("request %d weighs about %d tokens, %d over the budget of %d", f.Step,
				f.Estimate.Tokens, f.Estimate.Tokens-f.Budget.AvailableTokens, f.Budget.AvailableTokens)
		}
	}
}

func (m *Manager) calibration(id string) *tokencount.Calibration {
	k, ok := m.calibrations[id]
	if !ok {
		k = &tokencount.Calibration{}
		m.calibrations[id] = k
	}
	return k
}

func largest(b budget.Breakdown) budget.Category {
	best := budget.Category(0)
	for c, n := range b {
		if n > b[best] {
			best = budget.Category(c)
		}
	}
	return best
}

// HashInstructions returns the hash that stands for the instructions of a run in
// every fit and trace (F-CLS-13). It covers content and order, not ids.
func HashInstructions(ms []message.Message) message.Hash {
	h := sha256.New()
	for _, m := range ms {
		d := m.Hash()
		h.Write(d[:])
	}
	return message.Hash(h.Sum(nil))
}

// Request returns the request that the last Fit looked at. Building it costs
// its whole length.
func (m *Manager) Request(in Input) model.Request {
	return model.Request{Instructions: in.Instructions, Messages: m.view.Messages(), Tools: in.Tools, OutputTokens: m.budget.OutputTokens, Reminder: m.reminder()}
}

func (m *Manager) reminder() string {
	if m.sent == nil {
		return ""
	}
	return m.sent.Reminder
}

// A Reconciliation compares an estimate with what the provider reported
// (F-EST-01).
type Reconciliation struct {
	// Step is the request's number.
	Step int
	// EstimatedTokens was said before the request, ReportedTokens by the
	// provider after it.
	EstimatedTokens, ReportedTokens int
	// BandTokens was the half-width of the error band.
	BandTokens int
	// Suspicious: the report cannot be of the request that was sent; the
	// server may have cut it in silence.
	Suspicious bool
	// Blocked: this model was undercounted beyond the buffer again and again
	// and is kept from automatic compaction (F-EST-03).
	Blocked bool
}

// UndercountTokens is how many tokens the estimate was short, zero when it
// was not.
func (r Reconciliation) UndercountTokens() int { return max(0, r.ReportedTokens-r.EstimatedTokens) }

// maxUsageTokens is the most that a report is believed: a thousand windows of
// a million tokens.
const maxUsageTokens = 1_000_000_000

// Reconcile takes in what the provider reported for the last Fit. It returns
// an error when no request is waiting for its usage, and when the usage is no
// count of tokens at all: negative, or more than a billion. Nothing is
// learned then, and the request still waits.
func (m *Manager) Reconcile(u message.Usage) (Reconciliation, error) {
	f := m.sent
	if f == nil {
		return Reconciliation{}, fmt.Errorf("%w: no request waits for its usage; call Fit first", ErrInvalid)
	}
	if u.InputTokens < 0 || u.InputTokens > maxUsageTokens {
		return Reconciliation{}, fmt.Errorf("%w: a usage of %d input tokens; give what the provider reported", ErrInvalid, u.InputTokens)
	}
	m.sent = nil
	k := m.calibration(f.Model)
	k.Observe(m.counter.Profile(), f.sample, u)
	return Reconciliation{Step: f.Step, EstimatedTokens: f.Estimate.Tokens, ReportedTokens: u.InputTokens, BandTokens: f.Estimate.BandTokens,
		Suspicious: k.Suspicious(), Blocked: k.Blocked(f.Budget.BufferTokens)}, nil
}
