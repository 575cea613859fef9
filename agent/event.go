package agent

import (
	"time"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/tool"
)

// An Event is something that a front end may show. The implementations are
// the value types Admitted, Budgeted, TextDelta, ReasoningDelta, Retrying,
// Answered, CallPlanned, CallDecided, CallCompleted, Notice and Ended; a type
// switch over these is complete.
type Event interface{ event() }

// Admitted: a message is in the session.
type Admitted struct{ Message message.Message }

// Budgeted: a request was weighed and, unless its action is Stop, goes out
// next.
type Budgeted struct {
	// Step counts the requests of the run from 1.
	Step int
	// Fit is the outcome; it is shared and must not be changed.
	Fit *contextwindow.Fit
	// FreshUSD is what reading the part that no cache holds costs at list
	// prices, CachedUSD the rest; nil when a price is unknown.
	FreshUSD, CachedUSD *float64
}

// TextDelta is a piece of the answer's text, ReasoningDelta of its visible
// reasoning.
type (
	TextDelta      struct{ Text string }
	ReasoningDelta struct{ Text string }
)

// Retrying: what was shown of the present answer does not count; the request
// is made again.
type Retrying struct{ Reason string }

// Answered: the model has answered.
type Answered struct {
	Messages []message.Message
	// Usage is nil when nothing was reported, CostUSD when it or a price is
	// not known.
	Usage   *message.Usage
	CostUSD *float64
}

// CallPlanned: a tool call was understood; nothing has been run.
type CallPlanned struct {
	Call message.ToolCall
	Plan tool.Plan
}

// CallDecided: the policy has spoken.
type CallDecided struct {
	Call     message.ToolCall
	Decision policy.Decision
}

// CallCompleted: a call has its result, run or not.
type CallCompleted struct {
	Call message.ToolCall
	// Result is what the model will see first of it.
	Result message.ToolResult
	// Took is how long it ran, zero without a clock.
	Took time.Duration
}

// Notice is a line for people: a compaction, a warning, a broken cache.
type Notice struct {
	// Kind is "warning", "compaction", "projection", "overflow" or "cache".
	Kind string
	Text string
}

// Ended: the run is over.
type Ended struct{ Result Result }

func (Admitted) event()       {}
func (Budgeted) event()       {}
func (TextDelta) event()      {}
func (ReasoningDelta) event() {}
func (Retrying) event()       {}
func (Answered) event()       {}
func (CallPlanned) event()    {}
func (CallDecided) event()    {}
func (CallCompleted) event()  {}
func (Notice) event()         {}
func (Ended) event()          {}

func (a *Agent) show(e Event) {
	if a.opts.Observer != nil {
		a.opts.Observer(e)
	}
}
