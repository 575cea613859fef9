package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/trace"
)

// errTime ends a run that takes too long.
var errTime = errors.New("the run has reached its time limit")

// closing is how long recording may take once a run is cancelled.
const closing = 30 * time.Second

// lasting is a context for recording what was done: it outlives the end of
// the run, so that a cancelled run leaves a whole session.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), closing)
}

// admit stores messages, whatever becomes of the run.
func (a *Agent) admit(ctx context.Context, ms ...message.Message) ([]message.Message, error) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	return a.opts.Session.Append(ctx, ms...)
}

// run is one run as it goes on.
type run struct {
	a        *Agent
	request  Request
	limits   Limits
	auth     *policy.Run
	input    contextwindow.Input
	manager  *contextwindow.Manager
	result   Result
	ended    bool
	repeats  repeats
	answered int64  // bytes shown of the results of the present answer
	empty    int    // empty answers in a row
	denied   bool   // a call of the last answer was not allowed
	note     string // what the model is told after the results of its calls
	denials  int    // answers in a row whose calls were all denied
	summary  totalsOfTrace

	usageTold    bool // that a usage cannot be read
	frontChanged bool // instructions, tools or model are not those of the last run
}

// Run works on a request until it has a terminal status. The error says that
// nothing was run; whatever happens later is in the Result. Cancelling ctx
// ends the run, with a valid session and nothing left running.
func (a *Agent) Run(ctx context.Context, r Request) (*Result, error) {
	limits, err := r.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := a.checkRequest(r, limits); err != nil {
		return nil, err
	}
	cost := 0.0
	n := &run{a: a, request: r, limits: limits, auth: r.Policy.Begin(r.Confirm), result: Result{Totals: Totals{CostUSD: &cost}}}
	defer n.auth.End()
	if limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limits.Time, errTime)
		defer cancel()
	}
	if err := n.begin(ctx); err != nil {
		return nil, err
	}
	for !n.ended {
		n.step(ctx)
	}
	n.end(ctx)
	return &n.result, nil
}

func (a *Agent) checkRequest(r Request, l Limits) error {
	if !slices.ContainsFunc(r.Prompt, func(b message.Block) bool {
		t, isText := b.(message.Text)
		return b != nil && (!isText || strings.TrimSpace(t.Text) != "")
	}) {
		return fmt.Errorf("run: %w: the prompt is empty; say what is to be done", ErrInvalid)
	}
	if _, known := a.opts.Prices.Cost(message.Usage{InputTokens: 1, OutputTokens: 1}, nil); l.CostUSD > 0 && !known {
		return fmt.Errorf("run: %w: a limit of $%.2f cannot be held, since the prices of %s are not known; state them in models.json or leave the limit out",
			ErrInvalid, l.CostUSD, a.caps.Model)
	}
	return nil
}

// step makes one model request and what follows from it.
func (n *run) step(ctx context.Context) {
	if n.over(ctx) {
		return
	}
	n.input.Idle = n.idle()
	fit, err := n.manager.Fit(ctx, n.input)
	if errors.Is(err, contextwindow.ErrPartial) {
		fit, err = n.refitWhole(ctx)
	}
	if fit != nil {
		if kept := n.keepFit(ctx, fit, trace.TriggerBudget, 1, ""); kept != nil && err == nil {
			err = kept
		}
	}
	if err != nil {
		if fit == nil && ctx.Err() == nil {
			err = errors.Join(err, n.emit(&trace.CompactionFailed{Request: n.summary.requests + 1, Code: "strategy-failed"}))
		}
		n.stopUnsent(ctx, fit, err)
		return
	}
	done, err := n.ask(ctx, fit)
	if err != nil {
		n.fail(ctx, err)
		return
	}
	n.take(ctx, fit, done)
}

// over ends the run where a limit is reached before a request.
func (n *run) over(ctx context.Context) bool {
	t := &n.result.Totals
	switch {
	case ctx.Err() != nil:
		n.fail(ctx, ctx.Err())
	case t.Steps >= n.limits.Steps:
		n.limit("steps", fmt.Sprintf("the run has made %d model requests, which is its limit", t.Steps))
	case n.limits.CostUSD > 0 && t.CostUSD == nil:
		n.limit("cost", "an answer came without usage, so that the limit in money can no longer be held")
	case n.limits.CostUSD > 0 && *t.CostUSD >= n.limits.CostUSD:
		n.limit("cost", fmt.Sprintf("the run has cost $%.4f, its limit is $%.4f", *t.CostUSD, n.limits.CostUSD))
	}
	return n.ended
}

// refitWhole takes the whole conversation into memory when a new checkpoint
// needs it.
func (n *run) refitWhole(ctx context.Context) (*contextwindow.Fit, error) {
	if err := n.a.holdAll(ctx, &n.input); err != nil {
		return nil, err
	}
	var err error
	if n.manager, err = n.a.restored(ctx, n.a.opts.Window.Mode, &n.input); err != nil {
		return nil, fmt.Errorf("restore context window: %w", err)
	}
	n.a.manager = n.manager
	return n.manager.Fit(ctx, n.input)
}

// take admits an answer and runs what it calls.
func (n *run) take(ctx context.Context, fit *contextwindow.Fit, done *model.Completed) {
	t := &n.result.Totals
	t.Steps++
	at := n.a.opts.Session.Transcript().Len()
	calls, text := read(done.Messages)
	if len(calls) == 0 && text == "" {
		done.Messages = nil // reasoning alone is no answer that a provider takes back
	}
	stored, err := n.admitAnswer(ctx, done.Messages)
	if err == nil {
		err = n.account(ctx, fit, done, at)
	}
	if err != nil {
		n.fail(ctx, err)
		return
	}
	calls, text = read(stored) // as stored: without secrets
	if text != "" {
		n.result.Text = text
	}
	switch {
	case len(calls) > 0:
		n.empty = 0
		n.call(ctx, calls)
	case text == "":
		n.emptyAnswer(done.Stop)
	default:
		n.conclude(done.Stop)
	}
}

// maxEmpty is how many empty answers in a row are asked for again (fault
// B18): one.
const maxEmpty = 1

// declined says what a refusal is: some providers end a stream so when a
// filter of theirs stopped it.
const declined = "the model declined to answer, or a filter of the provider stopped it"

func (n *run) emptyAnswer(stop model.StopReason) {
	n.empty++
	if stop == model.StopRefusal {
		n.finish(StatusFailed, declined)
		return
	}
	if n.empty > maxEmpty {
		n.finish(StatusFailed, fmt.Sprintf("the model gave %d empty answers in a row; try again, or another model", n.empty))
		return
	}
	n.a.show(Retrying{Reason: "the answer was empty"})
}

// conclude ends a run whose model calls no more tools.
func (n *run) conclude(stop model.StopReason) {
	switch stop {
	case model.StopOutput:
		n.limit("output-tokens", "the answer was cut at the output limit; raise reservedOutputTokens, or ask for less at once")
	case model.StopWindow:
		n.limit("context", "the context window was full before the answer ended")
	case model.StopRefusal:
		n.finish(StatusFailed, declined)
	default:
		if n.denied {
			n.finish(StatusDenied, "the model ended after a call that was not allowed")
			return
		}
		n.finish(StatusCompleted, "")
	}
}

// read returns the calls of an answer and its last text.
func read(ms []message.Message) (calls []message.ToolCall, text string) {
	for _, m := range ms {
		if t := strings.TrimSpace(m.Text()); t != "" {
			text = t
		}
		for _, b := range m.Blocks {
			if c, ok := b.(message.ToolCall); ok {
				calls = append(calls, c)
			}
		}
	}
	return calls, text
}

func (n *run) finish(s Status, reason string) {
	if !n.ended {
		n.ended, n.result.Status, n.result.Reason = true, s, n.a.opts.Session.Redact(reason)
	}
}

func (n *run) limit(name, reason string) {
	if !n.ended {
		n.result.Limit = name
		n.finish(StatusLimitReached, reason)
	}
}

// fail ends the run with the truth about a fault.
func (n *run) fail(ctx context.Context, err error) {
	var limit *contextwindow.LimitError
	switch {
	case n.ended:
	case errors.Is(context.Cause(ctx), errTime):
		n.limit("time", fmt.Sprintf("the run has taken %s, which is its limit", n.limits.Time))
	case ctx.Err() != nil:
		n.finish(StatusCancelled, "the run was cancelled")
	case errors.As(err, &limit):
		n.limit("context", limit.Error())
	default:
		n.result.Err = err
		n.finish(StatusFailed, err.Error())
	}
}

// end gives the turn its status and closes the trace of the run.
func (n *run) end(ctx context.Context) {
	ctx, cancel := lasting(ctx)
	defer cancel()
	s := n.a.opts.Session
	err := errors.Join(n.a.settlePending(ctx), n.closeTurn(ctx))
	status := session.Failed
	switch n.result.Status {
	case StatusCompleted:
		status = session.Completed
	case StatusCancelled:
		status = session.Cancelled
	}
	if _, finish := s.Finish(ctx, status); finish != nil {
		err = errors.Join(err, finish)
	}
	if n.manager != nil {
		n.manager.EndRun()
	}
	err = errors.Join(err, n.emit(n.completed()))
	if err != nil {
		n.result.Status, n.result.Err = StatusFailed, errors.Join(n.result.Err, err)
		n.result.Reason = strings.TrimPrefix(n.result.Reason+"; ", "; ") + "the end of the run could not be recorded: " + err.Error()
	}
	n.a.usage.add(n.result.Totals)
	n.a.show(Ended{Result: n.result})
}

func (n *run) idle() time.Duration {
	now := n.a.opts.Now()
	if now.IsZero() || n.a.answered.IsZero() || !now.After(n.a.answered) {
		return 0
	}
	return now.Sub(n.a.answered)
}

func (t *Totals) add(o Totals) {
	t.Steps += o.Steps
	t.Requests += o.Requests
	t.ToolCalls += o.ToolCalls
	t.Denied += o.Denied
	t.Refused += o.Refused
	t.OutputBytes += o.OutputBytes
	t.InputTokens += o.InputTokens
	t.CachedInputTokens += o.CachedInputTokens
	t.OutputTokens += o.OutputTokens
	t.Unreported += o.Unreported
	t.Compactions += o.Compactions
	t.Projections += o.Projections
	t.Recoveries += o.Recoveries
	switch {
	case o.CostUSD == nil:
		t.CostUSD = nil
	case t.CostUSD == nil && t.Steps == o.Steps:
		sum := *o.CostUSD
		t.CostUSD = &sum
	case t.CostUSD != nil:
		sum := *t.CostUSD + *o.CostUSD
		t.CostUSD = &sum
	}
}
