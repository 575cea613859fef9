// Package agent is the run loop of the native engine: it takes one request of
// a person through model requests and tool calls to a terminal status.
//
// Nothing about the context window is decided here: contextwindow.Manager
// stands before every model request, and the loop does what its Fit says. The
// loop admits every message to the session before anything depends on it,
// lets no tool run that the policy has not allowed, runs nothing twice, and
// ends every run with a status that is true.
//
// The package reads no configuration, environment or clock of its own, and
// shows nothing: a front end follows a run through an Observer.
package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tool"
	"github.com/forge-agent/forge/trace"
)

// ErrInvalid is wrapped by errors about arguments: nothing was run.
var ErrInvalid = errors.New("invalid argument")

// Options are what an Agent works with for as long as it lives.
type Options struct {
	// Model answers. Required.
	Model model.Model
	// Capabilities stand in the place of the model's own where they are not
	// zero: a window that the user set.
	Capabilities model.Capabilities
	// Counter counts for the model. Required.
	Counter *tokencount.Counter
	// Prices and Cache are the model's, from the catalog. Unknown prices make
	// costs unknown, and a limit in money an error.
	Prices catalog.Prices
	Cache  catalog.CacheRules
	// Session is where everything that is said is kept, opened for writing.
	// Its Info.ShownBytes says how much of a tool's result the model sees
	// first. Required; it stays the caller's.
	Session *session.Session
	// Window holds mode, reserves and compaction. Its Chain, Prices and Cache
	// are set by the agent. Calibrations may be shared by agents that run one
	// after the other.
	Window contextwindow.Options
	// Trace takes the events; nil for nobody. An error of it ends a run.
	Trace trace.Sink
	// Observer follows what happens, for a front end; nil for nobody. It is
	// called on the goroutine of the run and must not block for long.
	Observer func(Event)
	// Now is the clock; nil leaves times out, and then no time can be limited.
	Now func() time.Time
	// NewID makes ids of messages; nil means session.NewID.
	NewID func() string
	// Adapter and Forge name the adapter and the version in the trace.
	Adapter, Forge string
}

// An Agent works on one session with one model. It belongs to one goroutine.
// Make one with New.
type Agent struct {
	opts    Options
	caps    model.Capabilities
	manager *contextwindow.Manager // of the newest run; nil before the first
	usage   Totals                 // of all runs

	requests int       // of the session, stored so far
	answered time.Time // when the last one was
}

// New returns an agent. It reads nothing and sends nothing.
func New(o Options) (*Agent, error) {
	switch {
	case o.Model == nil:
		return nil, fmt.Errorf("make agent: %w: there is no model", ErrInvalid)
	case o.Counter == nil:
		return nil, fmt.Errorf("make agent: %w: there is no counter", ErrInvalid)
	case o.Session == nil:
		return nil, fmt.Errorf("make agent: %w: there is no session", ErrInvalid)
	}
	if o.Now == nil {
		o.Now = func() time.Time { return time.Time{} }
	}
	if o.NewID == nil {
		o.NewID = session.NewID
	}
	if o.Window.Calibrations == nil {
		o.Window.Calibrations = map[string]*tokencount.Calibration{}
	}
	caps := o.Model.Capabilities()
	if o.Capabilities.WindowTokens > 0 {
		caps = o.Capabilities
	}
	a := &Agent{opts: o, caps: caps}
	if _, err := a.newManager(o.Window.Mode); err != nil {
		return nil, fmt.Errorf("make agent: %w", err)
	}
	return a, nil
}

// A Request is what one run is asked to do, and what it may use for that. All
// of it is fixed for the run (F-CLS-13, F-RUN-07).
type Request struct {
	// Prompt is what the person says: text and images. Required.
	Prompt []message.Block
	// Notes are texts that the front end adds, files that the prompt names
	// for example. They follow the prompt as messages of the harness, without
	// the person's authority.
	Notes []string
	// Instructions are the fresh instructions, InstructionPaths the files
	// that they come from.
	Instructions     []message.Message
	InstructionPaths []string
	// Tools are what the model can call; nil for none.
	Tools *tool.Set
	// Policy decides about calls; nil denies all.
	Policy *policy.Policy
	// Confirm asks the person; nil means that nobody can be asked, and what
	// needs to be confirmed is denied.
	Confirm policy.Confirmer
	// Hooks are further opinions on a call; they can only make it stricter.
	Hooks []Hook
	// Limits end the run. The zero value has the defaults.
	Limits Limits
	// Run is the id of the run in the trace; empty for none.
	Run string
}

// A Hook gives an opinion on a call, for example that of a plugin.
type Hook func(ctx context.Context, q policy.Request) policy.Decision

// Limits bound one run. Zero means the default, where there is one.
type Limits struct {
	// Steps is the most model requests that are answered; ToolCalls the most
	// calls that are run.
	Steps, ToolCalls int
	// Time is how long the run may take; zero for no limit.
	Time time.Duration
	// OutputBytes is the most that tools may answer in all, as stored; zero
	// for no limit.
	OutputBytes int64
	// StoredBytes is the most that is stored of one result; beginning and end
	// stay. Zero means tool.MaxOutputBytes, which is the most.
	StoredBytes int
	// CostUSD is the most that the answers may cost at list prices; zero for
	// no limit. With unknown prices it is an error.
	CostUSD float64
}

// Default limits of a run.
const (
	DefaultSteps     = 200
	DefaultToolCalls = 400
)

func (l Limits) withDefaults() (Limits, error) {
	if l.Steps < 0 || l.ToolCalls < 0 || l.Time < 0 || l.OutputBytes < 0 || l.StoredBytes < 0 || l.CostUSD < 0 {
		return l, fmt.Errorf("%w: a limit is negative; use 0 for the default", ErrInvalid)
	}
	if l.Steps == 0 {
		l.Steps = DefaultSteps
	}
	if l.ToolCalls == 0 {
		l.ToolCalls = DefaultToolCalls
	}
	return l, nil
}

// Status is how a run ended.
type Status string

// The statuses. Each has an exit code in the command line.
const (
	// StatusCompleted: the model said that it is done.
	StatusCompleted Status = "completed"
	// StatusFailed: a fault of the provider, the store or the model.
	StatusFailed Status = "failed"
	// StatusCancelled: the context of the run was cancelled.
	StatusCancelled Status = "cancelled"
	// StatusLimitReached: a limit of the run or of the context window.
	StatusLimitReached Status = "limit_reached"
	// StatusDenied: the model ended after something that it needed was
	// denied.
	StatusDenied Status = "denied"
)

// A Result is what a run came to.
type Result struct {
	// Status is how it ended, Reason why, in one line for people; empty when
	// it completed.
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"`
	// Limit names what was reached: "steps", "tool-calls", "time",
	// "output-bytes", "cost", "context", "output-tokens", "repetition". Empty
	// otherwise.
	Limit string `json:"limit,omitempty"`
	// Text is the model's last text.
	Text string `json:"text"`
	// Totals is what the run took.
	Totals Totals `json:"totals"`
	// Err is the fault behind a failure, nil for none.
	Err error `json:"-"`
}

// Totals counts what runs took.
type Totals struct {
	// Steps are answered model requests, Requests are those sent, repeated
	// ones included.
	Steps    int `json:"steps"`
	Requests int `json:"requests"`
	// ToolCalls were run, Denied were not allowed, Refused had no plan or
	// were repeated.
	ToolCalls int `json:"toolCalls"`
	Denied    int `json:"denied"`
	Refused   int `json:"refused"`
	// OutputBytes is what tools answered, as stored.
	OutputBytes int64 `json:"outputBytes"`
	// InputTokens and the next two sum what the provider reported; Unreported
	// counts answers without usage.
	InputTokens       int `json:"inputTokens"`
	CachedInputTokens int `json:"cachedInputTokens"`
	OutputTokens      int `json:"outputTokens"`
	Unreported        int `json:"unreported,omitempty"`
	// CostUSD is at list prices; nil when a price or usage is not known.
	CostUSD *float64 `json:"costUSD"`
	// Compactions, Projections and Recoveries are what the context window
	// did.
	Compactions int `json:"compactions"`
	Projections int `json:"projections"`
	Recoveries  int `json:"recoveries"`
}

// RequestNewContext notes that the model wants a new context window: the next
// request begins one (P-TOOL-02). It answers what the tool tells the model.
func (a *Agent) RequestNewContext() string {
	if a.manager == nil {
		return "There is no context window yet."
	}
	return a.manager.RequestNewContext()
}

// Session returns the session that the agent works on.
func (a *Agent) Session() *session.Session { return a.opts.Session }

// Capabilities returns the capabilities in force.
func (a *Agent) Capabilities() model.Capabilities { return a.caps }

// Totals returns what all runs of this agent took.
func (a *Agent) Totals() Totals { return a.usage }

// A Window describes the context window as the next request would find it.
type Window struct {
	// Fit is the measured request, without anything done about it.
	Fit *contextwindow.Fit
	// Lines is the whole ledger.
	Lines []activeview.Line
	// Diagnosis says what fills it.
	Diagnosis contextwindow.Diagnosis
	// Mode is the mode that runs use; Fit is measured as in warn.
	Mode contextwindow.Mode
	// Next says in a line what would be done about the next request.
	Next string
}
