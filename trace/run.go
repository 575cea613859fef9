package trace

import (
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// RunStarted begins a run: a session file that is replayed, or a live run. A
// trace may hold several runs; each begins a new ledger.
type RunStarted struct {
	// Run is the id of the run, empty when it has none.
	Run string `json:"run,omitempty"`
	// Session is the id of the session, empty when it has none.
	Session string `json:"session,omitempty"`
	// File is the base name of the session file, empty for a live run. Never
	// a path: it would tell about the machine.
	File string `json:"file,omitempty"`
	// Format is the session file's format, for example "claude-code".
	Format string `json:"format,omitempty"`
	// FormatVersion is the version of the agent or format that wrote it.
	FormatVersion string `json:"formatVersion,omitempty"`
	// Provider and Model answer the requests, empty when unknown.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Mode is the mode of the context window: off, warn or compact.
	Mode string `json:"mode"`
	// WindowTokens and WindowSource describe the window at the start.
	WindowTokens int                `json:"windowTokens"`
	WindowSource model.WindowSource `json:"windowSource"`
	// Vocabulary is the tokenizer that counts, for example "o200k_base".
	Vocabulary string `json:"vocabulary,omitempty"`
	// Profile is the family whose framing and ratios apply.
	Profile string `json:"profile,omitempty"`
	// Forge is the version of Forge that wrote the trace.
	Forge string `json:"forge,omitempty"`
	// Complete says that everything the provider sees is known. Otherwise
	// only growth between requests can be compared with usage.
	Complete bool `json:"complete"`
	// UsageSynthetic says why the usage of the session is not a provider's;
	// empty when it is.
	UsageSynthetic string `json:"usageSynthetic,omitempty"`
	// Messages and Turns are the size of the transcript, zero when it is not
	// known at the start.
	Messages int `json:"messages,omitempty"`
	Turns    int `json:"turns,omitempty"`
	// Losses is how many things of the session file could not be kept.
	Losses int `json:"losses,omitempty"`
}

// Type returns TypeRunStarted.
func (*RunStarted) Type() Type { return TypeRunStarted }

func (p *RunStarted) check() error {
	return checkCounts(count{"windowTokens", p.WindowTokens, 0}, count{"messages", p.Messages, 0},
		count{"turns", p.Turns, 0}, count{"losses", p.Losses, 0})
}

// Usage is what a provider reported: the JSON form of message.Usage.
type Usage struct {
	// InputTokens is everything the model read; the two cache fields are
	// parts of it.
	InputTokens           int `json:"inputTokens"`
	CachedInputTokens     int `json:"cachedInputTokens"`
	CacheWriteInputTokens int `json:"cacheWriteInputTokens"`
	// OutputTokens is everything the model wrote; ReasoningTokens is a part
	// of it.
	OutputTokens    int `json:"outputTokens"`
	ReasoningTokens int `json:"reasoningTokens"`
}

// UsageOf converts a reported usage; nil stays nil.
func UsageOf(u *message.Usage) *Usage {
	if u == nil {
		return nil
	}
	out := Usage(*u)
	return &out
}

func (u *Usage) check() error {
	if u == nil {
		return nil
	}
	return checkCounts(count{"inputTokens", u.InputTokens, 0}, count{"cachedInputTokens", u.CachedInputTokens, 0},
		count{"cacheWriteInputTokens", u.CacheWriteInputTokens, 0}, count{"outputTokens", u.OutputTokens, 0},
		count{"reasoningTokens", u.ReasoningTokens, 0})
}

// Outcome says how a request ended.
type Outcome string

// The outcomes of a request.
const (
	OutcomeAnswered Outcome = "answered" // the model answered
	OutcomeFailed   Outcome = "failed"   // it did not; an overflow has its own event besides
	OutcomeStopped  Outcome = "stopped"  // it was not sent, or cancelled
)

// RequestCompleted ends a request: what the provider reported, and how far
// the estimate was off.
type RequestCompleted struct {
	// Request is the number of the ContextBudgeted that it answers.
	Request int `json:"request"`
	// Attempt is the physical attempt, from 1.
	Attempt int `json:"attempt"`
	// Outcome says how it ended.
	Outcome Outcome `json:"outcome"`
	// Usage is null when the provider reported nothing.
	Usage *Usage `json:"usage"`
	// Comparison is null when the usage is not one to compare with.
	Comparison *Comparison `json:"comparison"`
	// CostUSD is null when the price is unknown.
	CostUSD *float64 `json:"costUSD"`
}

// Type returns TypeRequestCompleted.
func (*RequestCompleted) Type() Type { return TypeRequestCompleted }

func (p *RequestCompleted) check() error {
	if err := checkCounts(count{"request", p.Request, 1}, count{"attempt", p.Attempt, 1}); err != nil {
		return err
	}
	if err := checkCost(p.CostUSD); err != nil {
		return err
	}
	if err := p.Comparison.check(); err != nil {
		return err
	}
	return p.Usage.check()
}

// A Comparison sets an estimate beside what was reported (F-EST-01).
type Comparison struct {
	// EstimatedTokens was said before the request, ± BandTokens;
	// ReportedTokens by the provider after it.
	EstimatedTokens int `json:"estimatedTokens"`
	BandTokens      int `json:"bandTokens"`
	ReportedTokens  int `json:"reportedTokens"`
}

func (c *Comparison) check() error {
	if c == nil {
		return nil
	}
	return checkCounts(count{"estimatedTokens", c.EstimatedTokens, 0}, count{"bandTokens", c.BandTokens, 0},
		count{"reportedTokens", c.ReportedTokens, 0})
}

// ErrorTokens is the estimate minus the report: negative when the estimate
// was short.
func (c Comparison) ErrorTokens() int { return c.EstimatedTokens - c.ReportedTokens }

// ErrorPercent is ErrorTokens as a percentage of the report, zero when
// nothing was reported.
func (c Comparison) ErrorPercent() float64 {
	if c.ReportedTokens == 0 {
		return 0
	}
	return 100 * float64(c.ErrorTokens()) / float64(c.ReportedTokens)
}

// WithinBand reports whether the report lies in the estimate's band.
func (c Comparison) WithinBand() bool {
	return max(c.ErrorTokens(), -c.ErrorTokens()) <= c.BandTokens
}

// Status is how a run ended.
type Status string

// The terminal statuses of a run. Others may follow in later versions.
const (
	StatusCompleted    Status = "completed"     // all was done
	StatusFailed       Status = "failed"        // a fault ended it
	StatusCancelled    Status = "cancelled"     // somebody ended it
	StatusLimitReached Status = "limit_reached" // the context or another limit ended it (F-EVT-05)
	StatusDenied       Status = "denied"        // what it needed was not allowed
)

// RunCompleted ends a run with its totals.
type RunCompleted struct {
	// Status says how it ended.
	Status Status `json:"status"`
	// Requests is how many requests were looked at, OverBudgetRequests how
	// many were over budget, OverBudgetSent how many of those were sent.
	Requests           int `json:"requests"`
	OverBudgetRequests int `json:"overBudgetRequests"`
	OverBudgetSent     int `json:"overBudgetSent"`
	// PeakInputTokens is the largest estimate.
	PeakInputTokens int `json:"peakInputTokens"`
	// TotalInputTokens, CachedInputTokens and OutputTokens are sums of what
	// was reported, or of the estimate where nothing was.
	TotalInputTokens  int `json:"totalInputTokens"`
	CachedInputTokens int `json:"cachedInputTokens"`
	OutputTokens      int `json:"outputTokens"`
	// CostUSD is null when a price is unknown.
	CostUSD *float64 `json:"costUSD"`
	// Compactions is how many Forge made itself.
	Compactions int `json:"compactions"`
}

// Type returns TypeRunCompleted.
func (*RunCompleted) Type() Type { return TypeRunCompleted }

func (p *RunCompleted) check() error {
	if err := checkCost(p.CostUSD); err != nil {
		return err
	}
	return checkCounts(count{"requests", p.Requests, 0}, count{"overBudgetRequests", p.OverBudgetRequests, 0},
		count{"overBudgetSent", p.OverBudgetSent, 0}, count{"peakInputTokens", p.PeakInputTokens, 0},
		count{"totalInputTokens", p.TotalInputTokens, 0}, count{"cachedInputTokens", p.CachedInputTokens, 0},
		count{"outputTokens", p.OutputTokens, 0}, count{"compactions", p.Compactions, 0})
}
