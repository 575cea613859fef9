// Package codexapp runs a conversation on Codex: a client of its app server,
// and an engine that carries a session of Forge into it.
//
// The engine that makes the model requests is Codex, with its own
// instructions, tools, sandbox and compaction. Forge decides what it is handed
// and says what it sees: the active view that a native adapter would send, the
// weight of the wrapper around it, and every usage and compaction that Codex
// reports (F-PKG-07, F-BUD-06). The point at which Codex compacts is Codex's
// own; Forge neither sets nor claims it.
//
// The conversation gets there in one of two ways. As a [Wrapper], each prompt
// goes into a fresh thread behind a text with the active view. As a [Thread],
// Codex keeps the conversation, and only what is new is sent; where the thread
// and the session no longer agree, it is rebuilt from the active view.
//
// Everything that Codex reports is stored in the session as it comes, since its
// own files keep less. Approvals that Codex asks for go to the policy. Sign-in
// is Codex's: no file of credentials is read.
package codexapp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/trace"
)

// Carry is how a conversation gets into Codex.
type Carry string

// The ways.
const (
	// Wrapper: each prompt begins a fresh thread, behind a text with the
	// bounded active view.
	Wrapper Carry = "wrapper"
	// Thread: Codex keeps one thread for the session, and only the new turn
	// is sent.
	Thread Carry = "thread"
)

// Timeouts are how long the engine waits. Zero means the default.
type Timeouts struct {
	// Reply is how long a request may go unanswered: 60 s.
	Reply time.Duration
	// Idle is how long a server with a running turn may say nothing before it
	// is asked whether it lives: 2 min. A server that answers may go on.
	Idle time.Duration
	// Interrupt is how long a turn may take to end once it was interrupted:
	// 20 s. After that the server is ended.
	Interrupt time.Duration
	// Exit is how long the server may take to end when its input is closed,
	// and again when it gets a signal: 3 s.
	Exit time.Duration
}

func (t Timeouts) withDefaults() Timeouts {
	for _, v := range []struct {
		at       *time.Duration
		standard time.Duration
	}{{&t.Reply, time.Minute}, {&t.Idle, 2 * time.Minute}, {&t.Interrupt, 20 * time.Second}, {&t.Exit, 3 * time.Second}} {
		if *v.at <= 0 {
			*v.at = v.standard
		}
	}
	return t
}

// DefaultCompactionsPerTurn is how many compactions one turn may take. Codex
// has no limit of its own.
const DefaultCompactionsPerTurn = 2

// Options are what an Engine works with for as long as it lives.
type Options struct {
	// Path is the program, best from Find. Required.
	Path string
	// Environ is the whole environment of Codex, entries "NAME=value".
	Environ []string
	// Dir is the folder that it works in, absolute. Required.
	Dir string
	// Model and ModelProvider are Codex's names for them; empty for what
	// Codex is configured to use.
	Model, ModelProvider string
	// Config are settings for Codex's own configuration, by dotted key: for
	// example "project_doc_max_bytes": 0 when the instructions of a run hold
	// the project's files already. Nil for none.
	Config map[string]any
	// Carry defaults to Wrapper.
	Carry Carry
	// Session is where everything is kept. It is opened for writing. Required;
	// it stays the caller's.
	Session *session.Session
	// Capabilities are those of the model; its window counts until Codex
	// reports a smaller one, or any where this one is the cautious guess for an
	// unknown model (model.WindowFallback). Required.
	Capabilities model.Capabilities
	// Counter counts for the model. Required.
	Counter *tokencount.Counter
	// Window holds mode, reserves and compaction of the view. Its Chain is set
	// by the engine. Its Calibrations are for turns of Codex only: what Codex
	// sends besides the view is learned there.
	Window contextwindow.Options
	// CompactionsPerTurn is how often Codex may compact in one turn before it
	// is interrupted; zero means DefaultCompactionsPerTurn.
	CompactionsPerTurn int
	// Timeouts default as said there.
	Timeouts Timeouts
	// Trace takes the events; nil for nobody. An error of it ends a run.
	Trace trace.Sink
	// Observer follows what happens, for a front end; nil for nobody. It is
	// called on the goroutine of the run and must not block for long.
	Observer func(Event)
	// Now is the clock; nil leaves times out.
	Now func() time.Time
	// NewID makes ids of messages; nil means session.NewID.
	NewID func() string
	// Forge is the version of Forge.
	Forge string

	connect func() (conn, error) // stands in for starting the program
}

// An Engine works on one session. It belongs to one goroutine. Make one with
// New and close it.
type Engine struct {
	opts      Options
	client    *client
	turn      *turnRun // the running turn, nil for none
	version   string
	window    int // tokens, as Codex reported it; zero for unknown
	lastUsage *tokenUsage
	state     threadState
	loaded    bool // the running server has the thread of the state
	warnings  []string
	closed    bool
}

// New starts Codex and returns an engine for the session. The error says in
// one line what is missing: it wraps ErrInvalid, ErrNotFound, ErrStart,
// ErrVersion, ErrExited, ErrSilent or ErrProtocol. The session is not changed.
func New(ctx context.Context, o Options) (*Engine, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Timeouts = o.Timeouts.withDefaults()
	if o.Carry == "" {
		o.Carry = Wrapper
	}
	if o.CompactionsPerTurn == 0 {
		o.CompactionsPerTurn = DefaultCompactionsPerTurn
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
	if o.connect == nil {
		o.connect = func() (conn, error) { return start(o.Path, o.Dir, o.Environ, o.Timeouts.Exit) }
	}
	e := &Engine{opts: o}
	if _, err := e.manager(o.Capabilities); err != nil {
		return nil, fmt.Errorf("make engine: %w", err)
	}
	if e.state = readState(o.Session); e.state.Settings == e.settings() && e.state.WindowTokens > 0 && e.state.WindowTokens <= maxTokens {
		e.window = e.state.WindowTokens
	}
	if err := e.start(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

func (o *Options) check() error {
	bad := func(what string) error { return fmt.Errorf("make engine: %w: %s", ErrInvalid, what) }
	switch {
	case o.Path == "" && o.connect == nil:
		return bad("there is no program; use Find")
	case o.Dir == "":
		return bad("there is no folder to work in")
	case o.Session == nil:
		return bad("there is no session")
	case o.Counter == nil:
		return bad("there is no counter")
	case o.Carry != "" && o.Carry != Wrapper && o.Carry != Thread:
		return bad(fmt.Sprintf("unknown way to carry a conversation %q: use wrapper or thread", o.Carry))
	case o.CompactionsPerTurn < 0:
		return bad("a negative number of compactions")
	}
	return nil
}

// start starts the server and shakes hands.
func (e *Engine) start(ctx context.Context) error {
	c, err := e.opts.connect()
	if err != nil {
		return err
	}
	e.loaded = false
	e.client = newClient(c, e.opts.Timeouts, e.handle)
	if err := e.shakeHands(ctx); err != nil {
		e.client.close()
		if errors.Is(err, ErrExited) {
			return fmt.Errorf("%w: %w; its configuration may be wrong: try \"codex\" by itself", ErrStart, err)
		}
		return fmt.Errorf("start Codex: %w", err)
	}
	return nil
}

func (e *Engine) shakeHands(ctx context.Context) error {
	var hello initializeResponse
	err := e.client.call(ctx, methodInitialize, initializeParams{ClientInfo: clientInfo{Name: "forge", Title: "Forge", Version: orUnknown(e.opts.Forge)},
		Capabilities: capabilities{OptOut: unwanted()}}, &hello)
	if err != nil {
		return err
	}
	version, warning, err := checkVersion(hello.UserAgent)
	if err != nil {
		return err
	}
	if e.version = version; warning != "" {
		e.warn(warning)
	}
	if err := e.client.send(notification{Method: methodInitialized}); err != nil {
		return err
	}
	var who accountResponse
	err = e.client.call(ctx, methodAccountRead, struct{}{}, &who)
	var refused *ReplyError
	switch {
	case errors.As(err, &refused): // it can be done without
	case err != nil:
		return err
	case who.RequiresOpenAIAuth && who.Account == nil:
		e.warn("Codex is not signed in; run \"codex login\"")
	}
	return nil
}

// unwanted are notifications that are not looked at and can be large.
func unwanted() []string {
	return []string{"item/commandExecution/outputDelta", "item/fileChange/outputDelta", "item/fileChange/patchUpdated", "turn/diff/updated",
		"turn/plan/updated", "item/plan/delta", "item/reasoning/textDelta", "thread/started"}
}

func orUnknown(version string) string {
	if version == "" {
		return "unknown"
	}
	return version
}

// Version returns Codex's version, empty when it does not say.
func (e *Engine) Version() string { return e.version }

// Carry returns how conversations are carried.
func (e *Engine) Carry() Carry { return e.opts.Carry }

// Session returns the session that the engine works on.
func (e *Engine) Session() *session.Session { return e.opts.Session }

// Strays counts what the running server sent without rule.
func (e *Engine) Strays() Strays { return e.client.strays() }

// Close ends Codex and everything that it started. It can be called twice.
func (e *Engine) Close() error {
	e.closed = true
	if e.client != nil {
		e.client.close()
	}
	return nil
}

var _ io.Closer = (*Engine)(nil)

// manager makes a manager for the session as it is, for a model with these
// capabilities.
func (e *Engine) manager(c model.Capabilities) (*contextwindow.Manager, error) {
	o := e.opts.Window
	o.Compaction.Chain = e.opts.Session.Chain()
	if o.Compaction.Now == nil {
		o.Compaction.Now = e.opts.Now
	}
	return contextwindow.New(c, e.opts.Counter, &o)
}

// capabilities are those given, with the window that Codex goes by where that
// is smaller, or where the one given was only a cautious guess.
func (e *Engine) capabilities() model.Capabilities {
	c := e.opts.Capabilities
	if e.window >= budget.MinWindowTokens && (e.window < c.WindowTokens || c.WindowSource == model.WindowFallback) {
		c.WindowTokens, c.WindowSource = e.window, model.WindowFromProvider
	}
	return c
}
