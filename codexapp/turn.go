package codexapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/trace"
)

// turnRun is one turn of Codex as it goes on: of the prompt, or of a
// compaction that Forge asked for.
type turnRun struct {
	e       *Engine
	ctx     context.Context // of the run
	keep    context.Context // for what must be recorded even so
	request Request
	auth    *policy.Run
	result  *Result
	number  int    // of the request in the trace
	manual  bool   // a compaction that Forge asked for
	thread  string // Codex's ids
	id      string
	model   string

	ended  *turn // how Codex ended it, nil while it runs
	fault  error // why nothing more can be taken in
	stop   *ending
	sent   bool // the interruption was sent
	idle   bool // Codex said that the thread does nothing
	failed *turnError

	at, replied int            // messages before the present reply, and after its newest message
	first       *message.Usage // the first provider's report of the turn

	open, done  map[string]bool
	order       []string
	calls       map[string]message.ToolCall
	texts       map[string]*strings.Builder
	commands    map[string]string
	changes     map[string][]fileChange
	decisions   map[string]policy.Decision // by item
	compacting  map[string]int             // id of an open compaction → its place in the result
	compactions int
	questions   map[string]*question
	storeFailed bool
	refused     bool // the newest call was not allowed

	mu      sync.Mutex
	decided []answered
	wake    chan struct{}
}

// ending is how Forge ended a turn.
type ending struct {
	status        Status
	limit, reason string
}

func (n *run) newTurn(thread string, manual bool) *turnRun {
	return &turnRun{e: n.e, ctx: n.ctx, keep: n.keep, request: n.request, auth: n.auth, result: &n.result, number: n.number, manual: manual,
		thread: thread, model: n.model, at: n.e.opts.Session.Transcript().Len(),
		open: map[string]bool{}, done: map[string]bool{}, calls: map[string]message.ToolCall{}, texts: map[string]*strings.Builder{},
		commands: map[string]string{}, changes: map[string][]fileChange{}, decisions: map[string]policy.Decision{}, compacting: map[string]int{}, questions: map[string]*question{},
		wake: make(chan struct{}, 1)}
}

// follow takes in what Codex says until the turn has ended, and closes what
// was left open. begin starts the turn.
func (r *turnRun) follow(begin func() error) error {
	r.e.turn = r
	defer func() { r.e.turn = nil }()
	err := begin()
	if err == nil {
		err = r.loop()
	}
	r.closeDangling()
	if r.fault != nil {
		if r.ended == nil {
			r.e.client.die(r.fault) // what goes on unrecorded must not go on
		}
		return r.fault
	}
	return err
}

// loop takes in messages until the turn has ended. A turn that was interrupted
// has a bounded time to end.
func (r *turnRun) loop() error {
	limit := r.e.opts.Timeouts
	deadline := time.Now().Add(limit.Reply) // to begin
	interrupted := false
	for r.ended == nil && r.fault == nil {
		if r.stop != nil && !interrupted {
			interrupted, deadline = true, time.Now().Add(limit.Interrupt)
		}
		ctx := r.ctx
		if interrupted {
			ctx = r.keep
		}
		err := r.nextBy(ctx, deadline, interrupted || r.id == "")
		r.settleDecided()
		switch {
		case err == nil:
		case r.e.client.dead != nil:
			return err
		case errors.Is(err, errQuiet):
			if r.idle {
				return fmt.Errorf("%w: the thread is idle and the end of the turn was never told", ErrProtocol)
			}
		case interrupted:
			return r.e.client.die(fmt.Errorf("%w: the turn did not end within %s after it was interrupted", ErrSilent, limit.Interrupt))
		case r.ctx.Err() != nil:
			r.interrupt(StatusCancelled, "", "the run was cancelled")
		default:
			return r.e.client.die(fmt.Errorf("%w: the turn did not begin within %s", ErrSilent, limit.Reply))
		}
	}
	return nil
}

// nextBy takes one message in, by the deadline if that counts.
func (r *turnRun) nextBy(ctx context.Context, deadline time.Time, counts bool) error {
	if counts {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	return r.e.client.next(ctx, r.wake)
}

func (r *turnRun) settleDecided() {
	r.mu.Lock()
	decided := r.decided
	r.decided = nil
	r.mu.Unlock()
	for _, a := range decided {
		r.settle(a)
	}
}

// interrupt ends the turn for a reason of Forge's own; the first one counts.
func (r *turnRun) interrupt(status Status, limit, reason string) {
	if r.stop == nil {
		r.stop = &ending{status, limit, reason}
	}
	r.sendInterrupt()
}

func (r *turnRun) sendInterrupt() {
	if r.stop == nil || r.sent || r.id == "" || r.ended != nil || r.e.client.dead != nil {
		return
	}
	r.sent = true
	r.check(r.e.client.post(methodInterrupt, interruptParams{ThreadID: r.thread, TurnID: r.id}))
}

// handle takes a notification or a request of the server, whenever it comes.
// What it does not know it passes over; a request always gets an answer.
func (e *Engine) handle(_ context.Context, m inbound) {
	r := e.turn
	if m.ID != nil {
		if r == nil || r.ended != nil {
			e.client.refuse(m.ID, "no turn is running")
			return
		}
		r.asked(m)
		return
	}
	switch m.Method {
	case noteWarning:
		var n warningNote
		if json.Unmarshal(m.Params, &n) == nil && n.Message != "" {
			e.show(Notice{Kind: "warning", Text: "Codex: " + clean(n.Message)})
		}
	case noteConfigWarning:
		var n configWarningNote
		if json.Unmarshal(m.Params, &n) == nil && n.Summary != "" {
			e.show(Notice{Kind: "warning", Text: "Codex: " + clean(n.Summary)})
		}
	case noteUsage:
		var n usageNote
		if json.Unmarshal(m.Params, &n) != nil {
			return
		}
		switch {
		case r != nil && n.ThreadID == r.thread:
			r.usage(n)
		case r == nil && n.ThreadID == e.state.Thread:
			e.noteUsage(n.TokenUsage)
		}
	default:
		if r != nil && r.ended == nil {
			r.noted(m)
		}
	}
}

// noted takes a notification of the turn.
func (r *turnRun) noted(m inbound) {
	switch m.Method {
	case noteTurnStarted, noteTurnCompleted:
		var n turnNote
		if json.Unmarshal(m.Params, &n) == nil && n.ThreadID == r.thread {
			r.turnNote(m.Method, n.Turn)
		}
	case noteItemStarted, noteItemCompleted:
		var n itemNote
		if json.Unmarshal(m.Params, &n) != nil || n.ThreadID != r.thread {
			return
		}
		if m.Method == noteItemStarted {
			r.started(n.Item)
		} else {
			r.completed(n.Item)
		}
	case noteTextDelta:
		var n deltaNote
		if json.Unmarshal(m.Params, &n) == nil && n.ThreadID == r.thread {
			if b := r.texts[n.ItemID]; b != nil && b.Len() < MaxLineBytes {
				b.WriteString(n.Delta)
			}
			r.e.show(TextDelta{Text: n.Delta})
		}
	case noteThinkingDelta:
		var n deltaNote
		if json.Unmarshal(m.Params, &n) == nil && n.ThreadID == r.thread {
			r.e.show(ReasoningDelta{Text: n.Delta})
		}
	case noteError:
		var n errorNote
		if json.Unmarshal(m.Params, &n) != nil || n.ThreadID != r.thread {
			return
		}
		if n.WillRetry {
			r.e.show(Notice{Kind: "retry", Text: "Codex tries again: " + clean(n.Error.Message)})
		} else {
			r.failed = &n.Error
		}
	case noteStatus:
		var n statusNote
		if json.Unmarshal(m.Params, &n) == nil && n.ThreadID == r.thread && r.id != "" {
			r.idle = n.Status.Type != "active"
		}
	case noteResolved:
		var n resolvedNote
		if json.Unmarshal(m.Params, &n) == nil {
			r.drop(n.RequestID)
		}
	}
}

func (r *turnRun) turnNote(method string, t turn) {
	switch {
	case method == noteTurnStarted && r.id == "":
		r.begun(t.ID)
	case method == noteTurnCompleted && t.ID == r.id && t.ID != "":
		r.ended = &t
		r.e.state.LastTurn = t.ID
		if t.Error == nil && t.Status == "failed" {
			t.Error = r.failed
		}
		if t.Error.kind() == "contextWindowExceeded" {
			r.overflowed()
		}
	}
}

// begun learns the id of the turn, from the reply or the notification.
func (r *turnRun) begun(id string) {
	if r.id != "" || id == "" {
		return
	}
	r.id = id
	r.e.state.LastTurn = id
	r.sendInterrupt()
}

// overflowed notes that the provider refused the thread as too long. What
// Codex says of its occupancy afterwards is made up: the window less all that
// was ever spent, or zero.
func (r *turnRun) overflowed() {
	r.e.state.Full = true
	o := r.e.state
	r.check(r.e.emit(&trace.ContextOverflow{Request: max(1, r.number), Attempt: 1, Provider: engineName, Code: "contextWindowExceeded",
		EstimatedTokens: o.OccupancyTokens, LimitTokens: o.WindowTokens, Evidence: r.replied > 0}))
	if !r.storeFailed {
		at := r.e.opts.Session.Transcript().Len()
		if err := r.e.opts.Session.AddMark(r.keep, session.Mark{At: at, Kind: "overflow", TokensBefore: o.OccupancyTokens}); err != nil {
			r.check(fmt.Errorf("record overflow: %w", err))
		}
	}
	r.e.show(Notice{Kind: "overflow", Text: "the provider refused the request as too long for the window"})
}
