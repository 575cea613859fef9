package trace

import (
	"cmp"
	"fmt"
	"math"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// ContextBudgeted stands before every model request (F-EVT-06): what it
// weighs, what it may weigh, and what was decided about each item (F-EVT-02).
// What the provider reported later is in the RequestCompleted with the same
// numbers.
type ContextBudgeted struct {
	// Request counts the requests of a run from 1. A retry of the same
	// request has the same number and the next Attempt, from 1.
	Request int `json:"request"`
	Attempt int `json:"attempt"`
	// RetryReason says why there is a second attempt, empty for the first.
	RetryReason string `json:"retryReason,omitempty"`
	// Adapter is what talks to the provider, for example "recorded".
	Adapter string `json:"adapter,omitempty"`
	// Model will answer, empty when unknown.
	Model string `json:"model,omitempty"`
	// Mode is the mode of the context window.
	Mode string `json:"mode"`

	// WindowTokens is everything the model accepts; WindowSource says where
	// the number comes from.
	WindowTokens int                `json:"windowTokens"`
	WindowSource model.WindowSource `json:"windowSource"`
	// ReserveTokens is kept free, AvailableTokens is the rest: the most that
	// the request may weigh. OutputTokens is the cap on the answer,
	// BufferTokens what is kept for estimation error inside the reserve.
	ReserveTokens   int `json:"reserveTokens"`
	AvailableTokens int `json:"availableTokens"`
	OutputTokens    int `json:"outputTokens"`
	BufferTokens    int `json:"bufferTokens"`

	// Categories sum to Estimate.Tokens. The cost of the tool schemas is
	// their category.
	Categories budget.Breakdown `json:"categories"`
	Estimate   model.Estimate   `json:"estimate"`
	// CountedTokens is the local count before it was corrected by what the
	// provider reported earlier.
	CountedTokens int `json:"countedTokens"`
	// MandatoryTokens is the part that can never be left out.
	MandatoryTokens int `json:"mandatoryTokens"`
	// Verdict says whether it fits, Action what was done about it.
	Verdict budget.Verdict       `json:"verdict"`
	Action  contextwindow.Action `json:"action"`

	// RetainedMessages is how many transcript messages are in the window.
	RetainedMessages int `json:"retainedMessages"`
	// Summarized is the range that a checkpoint stands for, null when none
	// does.
	Summarized *SummarizedRange `json:"summarized,omitempty"`
	// Strategy and ReclaimedTokens say what was done to make it fit; empty
	// and zero when nothing was.
	Strategy        string `json:"strategy,omitempty"`
	ReclaimedTokens int    `json:"reclaimedTokens,omitempty"`
	// PrefixTokens is how much of the request, as counted, is the unchanged
	// beginning of the one before: what a provider's cache can cover.
	// FreshTokens is the estimated rest.
	PrefixTokens int `json:"prefixTokens"`
	FreshTokens  int `json:"freshTokens"`
	// Restructured is true when the view is not just the former one with new
	// messages at its end: the provider's cache does not cover it.
	Restructured bool `json:"restructured,omitempty"`
	// Instructions says which instructions were in force (F-CLS-13).
	Instructions Instructions `json:"instructions"`

	// Ledger says what changed in the ledger since the last request.
	Ledger LedgerChange `json:"ledger"`
}

// Instructions is the snapshot of the instructions of a run.
type Instructions struct {
	// Hash stands for all of them.
	Hash message.Hash `json:"hash"`
	// Paths are the files they were read from, relative to the workspace.
	Paths []string `json:"paths,omitempty"`
}

// A SummarizedRange is a stretch of the transcript that is in the window as
// a checkpoint only.
type SummarizedRange struct {
	// FromMessage is the first message and ThroughMessage the last, by id;
	// Messages is how many they are.
	FromMessage    string `json:"fromMessage"`
	ThroughMessage string `json:"throughMessage"`
	Messages       int    `json:"messages"`
	// Checkpoint is the id of the checkpoint that stands for them.
	Checkpoint string `json:"checkpoint"`
}

// A LedgerChange brings the ledger from one request to the next. The ledger
// that it leads to is found by taking the lines of Removed out, then putting
// Changed and Added in; Hash stands for the result.
type LedgerChange struct {
	// Whole is true when the ledger starts anew: Added holds all of it.
	Whole bool `json:"whole,omitempty"`
	// Removed are ids of lines that are gone, Changed are lines with a known
	// id in their new form, Added are new lines.
	Removed []string          `json:"removed,omitempty"`
	Changed []activeview.Line `json:"changed,omitempty"`
	Added   []activeview.Line `json:"added,omitempty"`
	// Hash stands for the whole ledger of this request.
	Hash activeview.LedgerHash `json:"hash"`
}

// Type returns TypeContextBudgeted.
func (*ContextBudgeted) Type() Type { return TypeContextBudgeted }

func (p *ContextBudgeted) check() error {
	err := checkCounts(count{"request", p.Request, 1}, count{"attempt", p.Attempt, 1},
		count{"windowTokens", p.WindowTokens, 0}, count{"reserveTokens", p.ReserveTokens, 0},
		count{"availableTokens", p.AvailableTokens, 0}, count{"outputTokens", p.OutputTokens, 0},
		count{"bufferTokens", p.BufferTokens, 0}, count{"estimate", p.Estimate.Tokens, 0},
		count{"bandTokens", p.Estimate.BandTokens, 0}, count{"countedTokens", p.CountedTokens, 0},
		count{"mandatoryTokens", p.MandatoryTokens, 0}, count{"retainedMessages", p.RetainedMessages, 0},
		count{"reclaimedTokens", p.ReclaimedTokens, 0}, count{"prefixTokens", p.PrefixTokens, 0}, count{"freshTokens", p.FreshTokens, 0})
	if err != nil {
		return err
	}
	for c, n := range p.Categories {
		if err := checkCounts(count{budget.Category(c).String(), n, 0}); err != nil {
			return err
		}
	}
	if total := p.Categories.Total(); total != p.Estimate.Tokens {
		return fmt.Errorf("categories sum to %d, the estimate is %d", total, p.Estimate.Tokens)
	}
	if p.Summarized != nil {
		if err := checkCounts(count{"summarized messages", p.Summarized.Messages, 0}); err != nil {
			return err
		}
	}
	for _, lines := range [][]activeview.Line{p.Ledger.Changed, p.Ledger.Added} {
		for _, l := range lines {
			if err := checkCounts(count{"tokens of a ledger line", l.Tokens, 0}, count{"framingTokens of a ledger line", l.FramingTokens, 0}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Details is what a budget event says besides the Fit. The zero value is a
// first attempt of an unnamed adapter.
type Details struct {
	// Adapter is what talks to the provider.
	Adapter string
	// BufferTokens is the setting that went into the reserve; zero takes the
	// one of the Fit's budget.
	BufferTokens int
	// Attempt is the physical attempt; zero means 1. RetryReason goes with a
	// later one.
	Attempt     int
	RetryReason string
	// InstructionPaths are relative to the workspace.
	InstructionPaths []string
	// Summarized, Strategy and ReclaimedTokens say what compaction did.
	Summarized      *SummarizedRange
	Strategy        string
	ReclaimedTokens int
}

// Budgeted makes the event for a Fit. It shares the ledger's lines with f.
func Budgeted(f *contextwindow.Fit, d Details) *ContextBudgeted {
	return &ContextBudgeted{
		Request: f.Step, Attempt: max(1, d.Attempt), RetryReason: d.RetryReason,
		Adapter: d.Adapter, Model: f.Model, Mode: string(f.Mode),
		WindowTokens: f.Budget.WindowTokens, WindowSource: f.Capabilities.WindowSource,
		ReserveTokens: f.Budget.ReserveTokens, AvailableTokens: f.Budget.AvailableTokens,
		OutputTokens: f.Budget.OutputTokens, BufferTokens: cmp.Or(d.BufferTokens, f.Budget.BufferTokens),
		Categories: f.Breakdown, Estimate: f.Estimate, CountedTokens: f.CountedTokens, MandatoryTokens: f.MandatoryTokens,
		Verdict: f.Verdict, Action: f.Action, RetainedMessages: f.RetainedMessages,
		Summarized: d.Summarized, Strategy: d.Strategy, ReclaimedTokens: max(0, d.ReclaimedTokens),
		PrefixTokens: max(0, f.PrefixTokens), FreshTokens: max(0, f.FreshTokens),
		Restructured: f.Restructured, Instructions: Instructions{Hash: f.InstructionsHash, Paths: d.InstructionPaths},
		Ledger: LedgerChange{
			Whole: f.Step == 1, Removed: f.Ledger.Removed, Changed: f.Ledger.Changed, Added: f.Ledger.Added, Hash: f.LedgerHash,
		},
	}
}

// Warning makes the warning that goes with a Fit, nil when there is none.
func Warning(f *contextwindow.Fit) *ContextWarning {
	if f.Warning == "" {
		return nil
	}
	code := WarningOverBudget
	if len(f.Compactions) > 0 {
		code = WarningCompacted
	}
	return &ContextWarning{
		Request: f.Step, Code: code, EstimatedTokens: f.Estimate.Tokens, AvailableTokens: f.Budget.AvailableTokens,
	}
}

// Limit makes the event for a request that must not be sent: because its
// mandatory part does not fit, or because nothing that was tried was enough.
func Limit(f *contextwindow.Fit) *LimitReached {
	reason := LimitMandatory
	if f.Verdict == budget.Overflow {
		reason = LimitNoProgress
	}
	p := &LimitReached{
		Request: f.Step, Reason: reason, AvailableTokens: f.Budget.AvailableTokens, WindowTokens: f.Budget.WindowTokens,
		MandatoryTokens: f.MandatoryTokens, Categories: f.Breakdown, Diagnosis: f.Diagnosis,
	}
	for c, n := range f.Breakdown {
		if n > f.Breakdown[p.Largest] {
			p.Largest = budget.Category(c)
		}
	}
	return p
}

// Completed makes the event for an answered request. r is what Reconcile
// returned, nil when the usage is not one to compare with; u is nil when
// nothing was reported. costUSD is nil when the price is unknown.
func Completed(request int, r *contextwindow.Reconciliation, u *message.Usage, costUSD *float64) *RequestCompleted {
	p := &RequestCompleted{Request: request, Attempt: 1, Outcome: OutcomeAnswered, Usage: UsageOf(u), CostUSD: costUSD}
	if r != nil {
		p.Comparison = &Comparison{EstimatedTokens: r.EstimatedTokens, BandTokens: r.BandTokens, ReportedTokens: r.ReportedTokens}
	}
	return p
}

func checkCost(usd *float64) error {
	if usd != nil && (math.IsNaN(*usd) || *usd < 0 || *usd > 1e12) {
		return fmt.Errorf("costUSD is out of range")
	}
	return nil
}
