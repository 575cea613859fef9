package codexapp

import (
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
)

// An Event is something that a front end may show. The implementations are the
// value types Admitted, Budgeted, Carried, TextDelta, ReasoningDelta,
// CallStarted, CallDecided, CallCompleted, UsageReported, Notice and Ended; a
// type switch over these is complete.
type Event interface{ event() }

// Admitted: a message is in the session.
type Admitted struct{ Message message.Message }

// Budgeted: the view was weighed and, unless its action is Stop, goes to Codex
// next. The Fit is shared and must not be changed.
type Budgeted struct{ Fit *contextwindow.Fit }

// Carried: the conversation is with Codex, and the turn begins.
type Carried struct {
	Carry  Carry
	Origin Origin
	// Reason says why the thread is not the one of the turn before.
	Reason string
	// WrapperTokens and WrapperBytes are what was sent besides the prompt.
	WrapperTokens, WrapperBytes int
}

// TextDelta is a piece of the answer's text, ReasoningDelta of its visible
// reasoning.
type (
	TextDelta      struct{ Text string }
	ReasoningDelta struct{ Text string }
)

// CallStarted: Codex begins a tool call.
type CallStarted struct{ Call message.ToolCall }

// CallDecided: Codex asked for leave, and the policy has spoken.
type CallDecided struct {
	// Call is the call that it is about, zero where Codex names none.
	Call     message.ToolCall
	Request  policy.Request
	Decision policy.Decision
}

// CallCompleted: a call has its result.
type CallCompleted struct {
	Call   message.ToolCall
	Result message.ToolResult
}

// UsageReported: Codex said how full its thread is.
type UsageReported struct {
	// OccupancyTokens is what the thread holds; Estimated says that Codex
	// reckoned it, Unknown that the number cannot be trusted.
	OccupancyTokens    int
	Estimated, Unknown bool
	// WindowTokens is the window that Codex goes by, zero for unknown.
	WindowTokens int
}

// Notice is a line for people.
type Notice struct {
	// Kind is "warning", "compaction", "overflow" or "retry".
	Kind string
	Text string
}

// Ended: the run is over.
type Ended struct{ Result Result }

func (Admitted) event()       {}
func (Budgeted) event()       {}
func (Carried) event()        {}
func (TextDelta) event()      {}
func (ReasoningDelta) event() {}
func (CallStarted) event()    {}
func (CallDecided) event()    {}
func (CallCompleted) event()  {}
func (UsageReported) event()  {}
func (Notice) event()         {}
func (Ended) event()          {}

func (e *Engine) show(v Event) {
	if e.opts.Observer != nil {
		e.opts.Observer(v)
	}
}

// warn tells a warning at once, and in the result of the next run.
func (e *Engine) warn(text string) {
	e.warnings = append(e.warnings, text)
	e.show(Notice{Kind: "warning", Text: text})
}
