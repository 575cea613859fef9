package codexapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/transcript"
)

// run is one run as it goes on.
type run struct {
	e       *Engine
	ctx     context.Context
	keep    context.Context // is not cancelled: what was done is recorded
	request Request
	auth    *policy.Run
	result  Result
	model   string
	before  int               // messages of the session before the prompt
	prompt  []message.Message // as admitted, with the notes
	number  int               // of the newest request in the trace
	manager *contextwindow.Manager
	summary totalsOfTrace
	ended   bool
}

// Run carries a prompt to Codex and follows the turn to its end. The error says
// that nothing was run; whatever happens later is in the Result, and the
// session is valid then. Cancelling ctx interrupts the turn.
func (e *Engine) Run(ctx context.Context, r Request) (*Result, error) {
	if e.closed {
		return nil, fmt.Errorf("run: %w: the engine is closed", ErrInvalid)
	}
	if !slices.ContainsFunc(r.Prompt, says) {
		return nil, fmt.Errorf("run: %w: the prompt is empty; say what is to be done", ErrInvalid)
	}
	n := &run{e: e, ctx: ctx, keep: context.WithoutCancel(ctx), request: r, auth: r.Policy.Begin(r.Confirm), model: e.opts.Capabilities.Model,
		result: Result{Carry: e.opts.Carry}}
	defer n.auth.End()
	if err := n.begin(); err != nil {
		return nil, err
	}
	n.work()
	n.end()
	return &n.result, nil
}

func says(b message.Block) bool {
	switch v := b.(type) {
	case message.Text:
		return strings.TrimSpace(v.Text) != ""
	case message.Image:
		return true
	}
	return false
}

// begin admits the prompt: what the person said is in the session before
// anything can fail.
func (n *run) begin() error {
	e, s := n.e, n.e.opts.Session
	if err := s.HoldAll(n.ctx); err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	if err := e.settle(n.ctx); err != nil {
		return err
	}
	n.before = s.Transcript().Len()
	notes := slices.Clone(n.request.Notes)
	if e.opts.Carry == Wrapper {
		notes = append(notes, e.unfinished()) // a thread holds what failed in it
	}
	admitted := []message.Message{{ID: e.opts.NewID(), Role: message.RoleUser, Blocks: n.request.Prompt, Time: e.opts.Now()}}
	for _, text := range notes {
		if strings.TrimSpace(text) != "" {
			admitted = append(admitted, message.Message{ID: e.opts.NewID(), Role: message.RoleUser, Origin: message.OriginInjected,
				Blocks: []message.Block{message.Text{Text: text}}, Time: e.opts.Now()})
		}
	}
	stored, err := s.Append(n.ctx, admitted...)
	if err != nil {
		return fmt.Errorf("admit request: %w", err)
	}
	n.prompt = stored
	for _, m := range stored {
		e.show(Admitted{Message: m})
	}
	return nil
}

// unfinished tells the model about the newest turn when it did not complete.
func (e *Engine) unfinished() string {
	u, ok := e.opts.Session.Unfinished()
	if !ok {
		return ""
	}
	return fmt.Sprintf("[Note of the harness: what came of it is not shown: %s]", u)
}

// settle ends what an interrupted run has left.
func (e *Engine) settle(ctx context.Context) error {
	return e.opts.Session.Settle(ctx, func(r message.ToolResult) message.Message {
		return message.Message{ID: e.opts.NewID(), Role: message.RoleTool, Time: e.opts.Now(), Blocks: []message.Block{r}}
	})
}

// work does the run.
func (n *run) work() {
	if err := n.emit(n.started()); err != nil {
		n.fail(err)
		return
	}
	if err := n.e.client.alive(n.ctx); err != nil && n.e.client.dead == nil {
		n.fail(err) // cancelled
		return
	}
	if n.e.client.dead != nil {
		if err := n.e.start(n.ctx); err != nil {
			n.fail(err)
			return
		}
		n.e.show(Notice{Kind: "retry", Text: "Codex had ended and was started again"})
	}
	carry := n.byWrapper
	if n.e.opts.Carry == Thread {
		carry = n.byThread
	}
	if err := carry(); err != nil {
		n.fail(err)
	}
}

// conclude takes in how a turn of the prompt ended.
func (n *run) conclude(r *turnRun) {
	t := r.ended
	switch {
	case r.stop != nil && t.Status != "completed", r.stop != nil && r.stop.status == StatusDenied:
		n.result.Limit = r.stop.limit
		n.finish(r.stop.status, r.stop.reason)
	case t.Status == "completed" && r.refused:
		n.finish(StatusDenied, "the model ended after a call that was not allowed")
	case t.Status == "completed":
		n.finish(StatusCompleted, "")
	case t.Status == "interrupted":
		n.finish(StatusCancelled, "Codex interrupted the turn")
	default:
		n.failed(cmp.Or(t.Error, r.failed, &turnError{Message: "Codex gave no reason"}))
	}
}

// failed says what a failed turn means, and what to do.
func (n *run) failed(e *turnError) {
	what := clean(e.Message)
	switch kind := e.kind(); kind {
	case "contextWindowExceeded":
		n.limit("context", "the context window of Codex's thread is full: "+what+" The next prompt makes room first")
		if n.result.Carry == Wrapper {
			n.result.Reason = "the context window was full within the turn: " + what + " The next prompt begins a fresh thread"
		}
	case "sessionBudgetExceeded", "usageLimitExceeded", "rateLimitExceeded":
		n.limit("account", "Codex has reached a limit of the account: "+what)
	case "unauthorized":
		n.result.Err = errors.New(what)
		n.finish(StatusFailed, "Codex is not allowed to use its provider: "+what+" Run \"codex login\", or set the key that its configuration names")
	default:
		n.result.Err = errors.New(what)
		n.finish(StatusFailed, strings.TrimSuffix("Codex's turn failed: "+what+" ("+kind+")", " ()"))
	}
}

func (n *run) finish(s Status, reason string) {
	if !n.ended {
		n.ended, n.result.Status, n.result.Reason = true, s, reason
	}
}

func (n *run) limit(name, reason string) {
	if !n.ended {
		n.result.Limit = name
		n.finish(StatusLimitReached, reason)
	}
}

// fail ends the run with the truth about a fault.
func (n *run) fail(err error) {
	var limit *contextwindow.LimitError
	switch {
	case n.ended:
	case errors.As(err, &limit):
		n.limit("context", limit.Error())
	case n.ctx.Err() != nil:
		n.finish(StatusCancelled, "the run was cancelled")
	default:
		n.result.Err = err
		n.finish(StatusFailed, err.Error())
	}
}

// end gives the turn its status, and keeps what is known of the thread.
func (n *run) end() {
	e, s := n.e, n.e.opts.Session
	status := session.Failed
	switch n.result.Status {
	case StatusCompleted:
		status = session.Completed
	case StatusCancelled:
		status = session.Cancelled
	}
	err := n.closeTurn()
	if _, finish := s.Finish(n.keep, status); finish != nil {
		err = errors.Join(err, finish)
	}
	err = errors.Join(err, e.keepState(n.keep))
	if n.manager != nil {
		n.manager.EndRun()
	}
	n.result.OccupancyTokens, n.result.OccupancyUnknown, n.result.WindowTokens = e.state.OccupancyTokens, e.state.Full, e.window
	n.result.Warnings, e.warnings = e.warnings, nil
	err = errors.Join(err, n.emit(n.completed()))
	if err != nil {
		n.result.Status, n.result.Err = StatusFailed, errors.Join(n.result.Err, err)
		n.result.Reason = strings.TrimPrefix(n.result.Reason+"; ", "; ") + "the end of the run could not be recorded: " + err.Error()
	}
	e.show(Ended{Result: n.result})
}

// closeTurn writes down that a prompt got no answer. Without it the next
// prompt would belong to the same turn, and one that was too long for the
// window would keep every later one out.
func (n *run) closeTurn() error {
	t := n.e.opts.Session.Transcript()
	if t.Len() == 0 || !t.At(t.Len()-1).Authored() {
		return nil
	}
	_, err := n.e.opts.Session.Append(n.keep, message.Message{ID: n.e.opts.NewID(), Role: message.RoleAssistant, Origin: message.OriginInjected,
		Blocks: []message.Block{message.Text{Text: "[no answer: " + string(n.result.Status) + "]"}}, Time: n.e.opts.Now()})
	return err
}

// uncompleted are the turns that no view may show (resolution C16).
func (e *Engine) uncompleted() []transcript.Turn {
	var out []transcript.Turn
	for i := range e.opts.Session.Uncompleted {
		if n := len(out); n > 0 && out[n-1].End == i {
			out[n-1].End++
			continue
		}
		out = append(out, transcript.Turn{Start: i, End: i + 1})
	}
	return out
}
