package codexapp

import (
	"context"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
)

// A Request is what one run is asked to do.
type Request struct {
	// Prompt is what the person says: text and images. Required.
	Prompt []message.Block
	// Notes are texts that the front end adds. They follow the prompt,
	// without the person's authority.
	Notes []string
	// Instructions go to Codex beside its own; it reads the project's
	// instruction files by itself unless Options.Config says otherwise.
	Instructions     []message.Message
	InstructionPaths []string
	// Policy decides about what Codex asks for, and its profile picks Codex's
	// sandbox: read-only for safe, the workspace for workspace-write. Nil
	// denies all, in the read-only sandbox.
	Policy *policy.Policy
	// Confirm asks the person; nil means that nobody can be asked, and what
	// needs to be confirmed is denied.
	Confirm policy.Confirmer
	// Hooks are further opinions; they can only make a decision stricter.
	Hooks []func(context.Context, policy.Request) policy.Decision
	// Run is the id of the run in the trace; empty for none.
	Run string
}

// Status is how a run ended.
type Status string

// The statuses; they are those of the native engine.
const (
	// StatusCompleted: the model said that it is done.
	StatusCompleted Status = "completed"
	// StatusFailed: a fault of Codex, its provider or the store.
	StatusFailed Status = "failed"
	// StatusCancelled: somebody ended it.
	StatusCancelled Status = "cancelled"
	// StatusLimitReached: the context window, a budget or a limit of the
	// account.
	StatusLimitReached Status = "limit_reached"
	// StatusDenied: something that it needed was not allowed.
	StatusDenied Status = "denied"
)

// Origin says where the thread of a run comes from.
type Origin string

// The origins.
const (
	// OriginFresh: a new thread, with nothing or the wrapper in it.
	OriginFresh Origin = "fresh"
	// OriginKept: the thread of the run before.
	OriginKept Origin = "kept"
	// OriginResumed: the same, loaded again after a restart.
	OriginResumed Origin = "resumed"
	// OriginRebuilt: a new thread in the place of one that no longer agreed
	// with the session, or was stuck; the wrapper carries the conversation.
	OriginRebuilt Origin = "rebuilt"
)

// A Result is what a run came to.
type Result struct {
	// Status is how it ended, Reason why, in one line for people; empty when
	// it completed.
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Limit names what was reached: "context" or "account". Empty otherwise.
	Limit string `json:"limit,omitempty"`
	// Text is the model's last text.
	Text string `json:"text"`
	// Carry is how the conversation got to Codex, Origin where the thread
	// comes from, and Rebuilt why a thread was not used again (a fixed word).
	Carry   Carry  `json:"carry"`
	Origin  Origin `json:"origin,omitempty"`
	Rebuilt string `json:"rebuilt,omitempty"`
	// Thread is Codex's id of the thread.
	Thread string `json:"thread,omitempty"`
	// WrapperTokens and WrapperBytes are the text that carried the
	// conversation; zero for none.
	WrapperTokens int `json:"wrapperTokens,omitempty"`
	WrapperBytes  int `json:"wrapperBytes,omitempty"`
	// OccupancyTokens is how full the thread is now by Codex's word,
	// OccupancyUnknown says that its number cannot be trusted. WindowTokens is
	// the window that Codex goes by, zero for unknown.
	OccupancyTokens  int  `json:"occupancyTokens,omitempty"`
	OccupancyUnknown bool `json:"occupancyUnknown,omitempty"`
	WindowTokens     int  `json:"windowTokens,omitempty"`
	// Compactions are Codex's, in order.
	Compactions []Compaction `json:"compactions,omitempty"`
	// Totals is what the run took.
	Totals Totals `json:"totals"`
	// Warnings are lines for people.
	Warnings []string `json:"warnings,omitempty"`
	// Err is the fault behind a failure, nil for none.
	Err error `json:"-"`
}

// Totals counts what a run took, as Codex reported it. Compactions by a
// provider itself are not in it: Codex leaves their usage out.
type Totals struct {
	// Steps are model requests with a report.
	Steps int `json:"steps"`
	// ToolCalls were begun, Denied is how many of Codex's questions were
	// answered with no.
	ToolCalls int `json:"toolCalls"`
	Denied    int `json:"denied"`
	// OutputBytes is what tools answered.
	OutputBytes       int64 `json:"outputBytes"`
	InputTokens       int   `json:"inputTokens"`
	CachedInputTokens int   `json:"cachedInputTokens"`
	OutputTokens      int   `json:"outputTokens"`
}
