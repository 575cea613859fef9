// Package contextwindow keeps a conversation inside a model's context window.
//
// A Manager stands before each model request: Fit derives the active view,
// weighs it, and says whether it may be sent; Reconcile takes the provider's
// usage in and improves the next estimate. It is the one gate: whoever asks a
// model (the native engine, Codex, a replay, a library's own loop) goes
// through it, and the mode picks the action, never the measurement.
//
// The package does no input or output and reads no clock.
package contextwindow

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// Mode is what is done about a request that is over budget (F-MOD).
type Mode string

const (
	// Off measures and traces, and says nothing (F-MOD-01).
	Off Mode = "off"
	// Warn measures, warns, and still sends; it is the default (F-MOD-02).
	Warn Mode = "warn"
	// Compact relieves a request that is over budget, or stops it
	// (F-MOD-03).
	Compact Mode = "compact"
)

// ErrInvalid is wrapped by errors about arguments.
var ErrInvalid = errors.New("invalid argument")

// ErrNothing is wrapped when a person asks for a compaction and there is
// nothing old enough for one.
var ErrNothing = errors.New("nothing to compact")

// ErrLimitReached is wrapped by *LimitError.
var ErrLimitReached = errors.New("context limit reached")

// ErrPartial: the transcript holds only what follows a checkpoint
// (transcript.Resume), and what is asked for needs all of it. Load the whole
// session and go on with a new manager.
var ErrPartial = errors.New("the transcript does not hold the whole conversation")

// A LimitError says that a request must not be sent because its mandatory
// part alone does not fit (F-CLS-12, F-EVT-05).
type LimitError struct {
	// Budget is what was available.
	Budget budget.Budget
	// MandatoryTokens is what could not be left out.
	MandatoryTokens int
	// Breakdown is the whole request by category.
	Breakdown budget.Breakdown
	// Largest is the heaviest category of the request.
	Largest budget.Category
	// Mandatory says that the mandatory part alone does not fit; otherwise
	// the mode Compact could free nothing more.
	Mandatory bool
	// Diagnosis says what fills the window and what helps.
	Diagnosis Diagnosis
}

// Error names the exhausted budget, its heaviest part and what helps.
func (e *LimitError) Error() string {
	what, tokens := "the request weighs", e.Breakdown.Total()
	if e.Mandatory {
		what, tokens = "instructions, current request, tools and pending results weigh", e.MandatoryTokens
	}
	return fmt.Sprintf("%s: %s %d tokens, %d are available in a window of %d; %s",
		ErrLimitReached, what, tokens, e.Budget.AvailableTokens, e.Budget.WindowTokens, e.Diagnosis)
}

// Unwrap returns ErrLimitReached.
func (e *LimitError) Unwrap() error { return ErrLimitReached }

// Options are the settings of a Manager. Nil and the zero value mean the
// defaults.
type Options struct {
	// Mode defaults to Warn.
	Mode Mode
	// Budget holds the two reserves.
	Budget budget.Settings
	// Compaction holds the settings of the mode Compact.
	Compaction Compaction
	// Calibrations holds what was learned of models, by id; nil for nothing.
	// The manager reads and writes it.
	Calibrations map[string]*tokencount.Calibration
}

// A Manager keeps one conversation with one model window. It belongs to one
// goroutine. Make one with New.
type Manager struct {
	capabilities model.Capabilities
	budget       budget.Budget
	mode         Mode
	counter      *tokencount.Counter
	view         *activeview.View
	calibrations map[string]*tokencount.Calibration
	changes      int // changes of the input applied so far
	uncompleted  int // uncompleted turns left out so far
	step         int
	sent         *Fit // the last fit, until its usage came in

	compaction  Compaction
	index       compaction.Index
	through     int                       // messages summarized in the view
	active      *checkpoint.Checkpoint    // what stands for them, nil for none
	users       []activeview.RetainedUser // user messages of the range that stay
	kept        []int                     // the request that was current when the checkpoint was made
	scheduler   *projection.Scheduler
	clearings   []Clearing // what the scheduler saw, for a restart
	told        int        // clearings that Progress has returned
	observed    int        // messages that the scheduler has
	before      int        // messages that were sent before a restart
	answered    bool       // the last request went out
	lastModel   string
	compacted   map[message.Hash]bool // ranges that were summarized
	claims      claims
	windows     int  // checkpoints installed
	newContext  bool // the model asked for one
	recovered   bool // a request was recovered, with recoveredAt messages before it
	recoveredAt int
	settings    budget.Settings
}

// New returns a manager for a model with these capabilities. counter counts
// for the model's family. opts may be nil.
func New(c model.Capabilities, counter *tokencount.Counter, opts *Options) (*Manager, error) {
	if counter == nil {
		return nil, fmt.Errorf("%w: the counter is nil", ErrInvalid)
	}
	var o Options
	if opts != nil {
		o = *opts
	}
	switch o.Mode {
	case "":
		o.Mode = Warn
	case Off, Warn, Compact:
	default:
		return nil, fmt.Errorf("%w: unknown mode %q, use off, warn or compact", ErrInvalid, o.Mode)
	}
	var err error
	if o.Compaction, err = o.Compaction.withDefaults(); err != nil {
		return nil, err
	}
	if o.Calibrations == nil {
		o.Calibrations = map[string]*tokencount.Calibration{}
	}
	b, err := budget.New(c.WindowTokens, c.MaxOutputTokens, o.Budget)
	if err != nil {
		return nil, err
	}
	scheduler, err := projection.New(projection.Options{Prices: o.Compaction.Prices, Cache: o.Compaction.Cache})
	if err != nil {
		return nil, fmt.Errorf("make scheduler of projections: %w", err)
	}
	return &Manager{scheduler: scheduler,
		capabilities: c, budget: b.WithMaxInput(c.MaxInputTokens), mode: o.Mode, counter: counter, view: activeview.New(counter),
		calibrations: o.Calibrations, settings: o.Budget, compaction: o.Compaction, compacted: map[message.Hash]bool{},
	}, nil
}

// Budget returns the arithmetic of the window.
func (m *Manager) Budget() budget.Budget { return m.budget }

// Lines yields the whole ledger of the last Fit.
func (m *Manager) Lines() iter.Seq[activeview.Line] { return m.view.Lines() }

// Input is what the next request is made from.
type Input struct {
	// Instructions are the fresh instructions of this run.
	Instructions []message.Message
	// Tools are the advertised tools.
	Tools []message.ToolDefinition
	// Transcript is the whole conversation so far. Every Fit of a Manager
	// gets the same, growing transcript.
	Transcript *transcript.Transcript
	// Changes are what another agent did to its own view, in order, when its
	// session is played back. The slice may only grow between calls.
	Changes []activeview.Change
	// Uncompleted are turns that failed or were cancelled: they are recorded
	// and not shown to the model (resolution C16). The slice may only grow.
	Uncompleted []transcript.Turn
	// Model is the model that will answer, for sessions that switch; empty
	// means the one in the capabilities. Calibration is kept for each.
	Model string
	// Idle is the time since the last request, for judging whether the
	// provider's cache still holds it; zero when unknown.
	Idle time.Duration
	// Wrapper says how many tokens it takes, besides their content, to carry
	// these messages into another engine (F-BUD-06); of no messages, what it
	// takes in any case. Nil when the request goes out as it is.
	Wrapper func([]message.Message) int
	// Complete says that instructions, tools and transcript are everything
	// the provider will see. A live run is complete; most session files are
	// not.
	Complete bool
}

// Action is what the gate decided.
type Action string

const (
	// Send: the request fits.
	Send Action = "send"
	// SendOverBudget: the request is over budget and the mode lets it pass.
	SendOverBudget Action = "send-over-budget"
	// Stop: the request must not be sent.
	Stop Action = "stop"
)

// A Fit is the outcome of looking at one request. It is the caller's to keep.
type Fit struct {
	// Step counts the requests of this manager from 1; Attempt counts the
	// physical attempts of this one, from 1.
	Step    int
	Attempt int
	// Mode and Capabilities are those of the manager.
	Mode         Mode
	Capabilities model.Capabilities
	// Model is the model that will answer.
	Model string
	// Budget is the arithmetic of the window.
	Budget budget.Budget
	// Breakdown is the estimated request by category; it sums to
	// Estimate.Tokens.
	Breakdown budget.Breakdown
	// CountedTokens is the local count before calibration.
	CountedTokens int
	// MandatoryTokens is the part that can never be left out.
	MandatoryTokens int
	// Estimate is the weight of the request with its error band.
	Estimate model.Estimate
	// Verdict says whether it fits, Action what is done about it.
	Verdict budget.Verdict
	Action  Action
	// Warning is a line for people: the request is over budget and the mode
	// warns, or a checkpoint took effect. Empty for none.
	Warning string
	// Diagnosis says what fills the window and what helps, where the action is
	// Stop; nil otherwise.
	Diagnosis *Diagnosis
	// Relief lists what the mode Compact did to make the request fit, in
	// order; Compactions are the checkpoints among it, Projections the tool
	// results that were cleared, and the new ones that point to earlier ones.
	Relief      []Relief
	Compactions []CompactionReport
	Projections []ProjectionReport
	// Clearings are the decisions behind the projections, with tokens and
	// money.
	Clearings []projection.Decision
	// Reminder goes to the model with this request only; empty for none.
	// ReminderTier says how urgent it is.
	Reminder     string
	ReminderTier Tier
	// PrefixTokens is how much of the request, as counted, is the unchanged
	// beginning of the one before: what a provider's cache can cover.
	PrefixTokens int
	// FreshTokens is the estimated rest: what has to be read anew, or
	// written to the cache.
	FreshTokens int
	// Checkpoint is what stands for the summarized messages, nil for none.
	Checkpoint *checkpoint.Checkpoint
	// RetainedMessages is how many transcript messages are in the window.
	RetainedMessages int
	// Ledger is what changed in the ledger since the last Fit; the first one
	// carries the whole ledger. LedgerHash stands for the full ledger.
	Ledger     activeview.Delta
	LedgerHash activeview.LedgerHash
	// InstructionsHash stands for the instructions (F-CLS-13).
	InstructionsHash message.Hash
	// Restructured is true when the view is not just the former one with new
	// messages at the end: the provider's cache does not cover it.
	Restructured bool
	// Visited is how many items were looked at for this Fit.
	Visited int

	sample tokencount.Sample
}
