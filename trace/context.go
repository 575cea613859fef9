package trace

import (
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// WarningCode says what a warning is about.
type WarningCode string

// The warnings.
const (
	// WarningOverBudget: the request weighs more than AvailableTokens and is
	// sent all the same.
	WarningOverBudget WarningCode = "over-budget"
	// WarningCompacted: a compaction was made (P-ROW-04).
	WarningCompacted WarningCode = "compacted"
	// WarningFallback: a compaction failed and a simpler one stands in.
	WarningFallback WarningCode = "fallback"
	// WarningUndercount: estimates of this model are too low again and again
	// (F-EST-03).
	WarningUndercount WarningCode = "undercount"
)

// ContextWarning is something that the user was told.
type ContextWarning struct {
	// Request is the number of the request.
	Request int `json:"request"`
	// Code says what it is about.
	Code WarningCode `json:"code"`
	// EstimatedTokens and AvailableTokens are the numbers behind it.
	EstimatedTokens int `json:"estimatedTokens"`
	AvailableTokens int `json:"availableTokens"`
}

// Type returns TypeContextWarning.
func (*ContextWarning) Type() Type { return TypeContextWarning }

func (p *ContextWarning) check() error {
	return checkCounts(count{"request", p.Request, 1}, count{"estimatedTokens", p.EstimatedTokens, 0},
		count{"availableTokens", p.AvailableTokens, 0})
}

// LimitReason is the typed reason of a stop (F-EVT-05).
type LimitReason string

// The reasons.
const (
	// LimitMandatory: instructions, current request, tools and pending
	// results alone do not fit.
	LimitMandatory LimitReason = "mandatory-overflow"
	// LimitNoProgress: compaction reclaims too little or runs in circles.
	LimitNoProgress LimitReason = "no-progress"
	// LimitOverflow: the provider refused the retry as well.
	LimitOverflow LimitReason = "second-overflow"
)

// LimitReached says that a request was not sent because of the context.
type LimitReached struct {
	// Request is the number of the request.
	Request int `json:"request"`
	// Reason is why.
	Reason LimitReason `json:"reason"`
	// WindowTokens, AvailableTokens and MandatoryTokens are the arithmetic.
	WindowTokens    int `json:"windowTokens"`
	AvailableTokens int `json:"availableTokens"`
	MandatoryTokens int `json:"mandatoryTokens"`
	// Categories is the whole request, Largest its heaviest category.
	Categories budget.Breakdown `json:"categories"`
	Largest    budget.Category  `json:"largest"`
	// Diagnosis says what stands out and what helps, nil when nobody looked.
	Diagnosis *contextwindow.Diagnosis `json:"diagnosis,omitempty"`
}

// Type returns TypeLimitReached.
func (*LimitReached) Type() Type { return TypeLimitReached }

func (p *LimitReached) check() error {
	for c, n := range p.Categories {
		if err := checkCounts(count{budget.Category(c).String(), n, 0}); err != nil {
			return err
		}
	}
	return checkCounts(count{"request", p.Request, 1}, count{"windowTokens", p.WindowTokens, 0},
		count{"availableTokens", p.AvailableTokens, 0}, count{"mandatoryTokens", p.MandatoryTokens, 0})
}

// ContextOverflow says that a provider refused a request as too long. The
// provider's text is left out: it may quote the request.
type ContextOverflow struct {
	// Request and Attempt name the ContextBudgeted that was refused.
	Request int `json:"request"`
	Attempt int `json:"attempt"`
	// Provider refused with HTTP Status (zero when not from HTTP) and its own
	// Code.
	Provider string `json:"provider,omitempty"`
	Status   int    `json:"status,omitempty"`
	Code     string `json:"code,omitempty"`
	// EstimatedTokens is what was said before (F-OVF-04).
	EstimatedTokens int `json:"estimatedTokens"`
	// UsedTokens and LimitTokens are what the provider stated, zero when it
	// did not.
	UsedTokens  int `json:"usedTokens,omitempty"`
	LimitTokens int `json:"limitTokens,omitempty"`
	// Evidence is true when the attempt had already produced something, so
	// that it must not be retried.
	Evidence bool `json:"evidence"`
}

// Type returns TypeContextOverflow.
func (*ContextOverflow) Type() Type { return TypeContextOverflow }

func (p *ContextOverflow) check() error {
	return checkCounts(count{"request", p.Request, 1}, count{"attempt", p.Attempt, 1}, count{"status", p.Status, 0},
		count{"estimatedTokens", p.EstimatedTokens, 0}, count{"usedTokens", p.UsedTokens, 0}, count{"limitTokens", p.LimitTokens, 0})
}

// Overflow makes the event for a provider's refusal of a request that was
// estimated at estimatedTokens.
func Overflow(request, attempt, estimatedTokens int, err *model.Error) *ContextOverflow {
	return &ContextOverflow{
		Request: request, Attempt: max(1, attempt), Provider: err.Provider, Status: max(0, err.Status), Code: err.Code,
		EstimatedTokens: estimatedTokens, UsedTokens: max(0, err.UsedTokens), LimitTokens: max(0, err.LimitTokens), Evidence: err.Evidence,
	}
}

// ContextMark is something that the agent that wrote a session file did to
// its own context. Kind has the names of sessionfile.MarkKind: "compaction",
// "projection", "overflow", "interrupted".
type ContextMark struct {
	// Request is the number of the first request after the mark. It may be
	// one more than there are when nothing followed.
	Request int `json:"request"`
	// Kind says what happened.
	Kind string `json:"kind"`
	// Line is the line of the session file, zero when unknown.
	Line int `json:"line,omitempty"`
	// Trigger is the agent's own word for the cause ("auto", "manual").
	Trigger string `json:"trigger,omitempty"`
	// TokensBefore and TokensAfter are what the agent recorded, zero when it
	// did not.
	TokensBefore int `json:"tokensBefore,omitempty"`
	TokensAfter  int `json:"tokensAfter,omitempty"`
	// Opaque is true when the replacement is encrypted by its provider.
	Opaque bool `json:"opaque,omitempty"`
}

// Type returns TypeContextMark.
func (*ContextMark) Type() Type { return TypeContextMark }

func (p *ContextMark) check() error {
	return checkCounts(count{"request", p.Request, 1}, count{"line", p.Line, 0},
		count{"tokensBefore", p.TokensBefore, 0}, count{"tokensAfter", p.TokensAfter, 0})
}

// Trigger says why Forge compacts.
type Trigger string

// The triggers.
const (
	TriggerBudget   Trigger = "budget"   // the request would be over budget
	TriggerManual   Trigger = "manual"   // somebody asked for it
	TriggerOverflow Trigger = "overflow" // the provider refused a request
)

// CompactionStarted says that Forge begins a compaction.
type CompactionStarted struct {
	// Compaction is an id that the end of the compaction repeats.
	Compaction string `json:"compaction"`
	// Request is the number of the request that it is made for.
	Request int `json:"request"`
	// Trigger is why.
	Trigger Trigger `json:"trigger"`
	// Strategy is forge-summary or provider-native; Method is extractive,
	// model, native or fresh-window (resolution C22).
	Strategy string `json:"strategy"`
	Method   string `json:"method"`
	// Model makes the summary, empty when no model does.
	Model string `json:"model,omitempty"`
	// FromMessage to ThroughMessage is the range, by id; SourceHash stands
	// for it.
	FromMessage    string       `json:"fromMessage"`
	ThroughMessage string       `json:"throughMessage"`
	Messages       int          `json:"messages"`
	SourceHash     message.Hash `json:"sourceHash"`
	// TokensBefore is the weight of the request before.
	TokensBefore int `json:"tokensBefore"`
}

// Type returns TypeCompactionStarted.
func (*CompactionStarted) Type() Type { return TypeCompactionStarted }

func (p *CompactionStarted) check() error {
	return checkCounts(count{"request", p.Request, 1}, count{"messages", p.Messages, 0}, count{"tokensBefore", p.TokensBefore, 0})
}

// CompactionCompleted says that a compaction took effect.
type CompactionCompleted struct {
	// Compaction and Request are those of the start.
	Compaction string `json:"compaction"`
	Request    int    `json:"request"`
	// Strategy and Method are what was used in the end; after a fallback
	// they differ from the start.
	Strategy string `json:"strategy"`
	Method   string `json:"method"`
	// Mark is what a person sees of it in the conversation (P-ROW-01).
	Mark CompactionMark `json:"mark"`
	// SourceHash stands for the summarized range, OutputHash for what stands
	// in its place; of an opaque item nothing else is recorded (F-NAT-03).
	SourceHash message.Hash `json:"sourceHash"`
	OutputHash message.Hash `json:"outputHash"`
	Opaque     bool         `json:"opaque,omitempty"`
	// TokensBefore and TokensAfter are the weight of the request.
	TokensBefore int `json:"tokensBefore"`
	TokensAfter  int `json:"tokensAfter"`
	// Usage and CostUSD are what the compaction itself took, null when it
	// took no model call or the price is unknown.
	Usage   *Usage   `json:"usage"`
	CostUSD *float64 `json:"costUSD"`
}

// A CompactionMark stands in a conversation where a compaction was made.
type CompactionMark struct {
	// ID is the checkpoint's id, ThroughMessage the last message it covers.
	ID             string `json:"id"`
	ThroughMessage string `json:"throughMessageId"`
	// Generation counts the compactions of a session from 1.
	Generation int `json:"generation"`
	// SummaryTokens is the weight of the summary; Summarized is how many
	// messages it stands for.
	SummaryTokens int `json:"summaryTokens"`
	Summarized    int `json:"summarized"`
}

// Type returns TypeCompactionCompleted.
func (*CompactionCompleted) Type() Type { return TypeCompactionCompleted }

func (p *CompactionCompleted) check() error {
	if err := checkCost(p.CostUSD); err != nil {
		return err
	}
	if err := p.Usage.check(); err != nil {
		return err
	}
	return checkCounts(count{"request", p.Request, 1}, count{"tokensBefore", p.TokensBefore, 0}, count{"tokensAfter", p.TokensAfter, 0},
		count{"generation", p.Mark.Generation, 0}, count{"summaryTokens", p.Mark.SummaryTokens, 0}, count{"summarized", p.Mark.Summarized, 0})
}

// CompactionFailed says that a compaction had no effect.
type CompactionFailed struct {
	// Compaction and Request are those of the start.
	Compaction string `json:"compaction"`
	Request    int    `json:"request"`
	// Code is a fixed word for the cause, never a provider's text.
	Code string `json:"code"`
	// Fallback is the method that is tried next, empty when none is.
	Fallback string `json:"fallback,omitempty"`
	// CostUSD is what the attempt took, null when unknown or nothing.
	CostUSD *float64 `json:"costUSD"`
}

// Type returns TypeCompactionFailed.
func (*CompactionFailed) Type() Type { return TypeCompactionFailed }

func (p *CompactionFailed) check() error {
	if err := checkCost(p.CostUSD); err != nil {
		return err
	}
	return checkCounts(count{"request", p.Request, 1})
}
