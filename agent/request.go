package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/trace"
)

// maxReplays is how often a request is made again whose stream broke off in
// the middle: no tool has been run by then, so nothing is done twice
// (F-SEC-10). What was shown of it is withdrawn.
const maxReplays = 2

// ask sends a request until it is answered: a clean overflow is recovered from
// once (F-OVF-02), a stream that broke off is begun again.
func (n *run) ask(ctx context.Context, fit *contextwindow.Fit) (*model.Completed, error) {
	attempt := fit.Attempt
	for replays := 0; ; {
		n.result.Totals.Requests++
		done, said, err := n.stream(ctx)
		if err == nil {
			return done, nil
		}
		if trouble := n.unanswered(ctx, fit, attempt, err); trouble != nil {
			return nil, trouble
		}
		var failed *model.Error
		switch {
		case ctx.Err() != nil:
			n.keepSaid(ctx, said)
			return nil, ctx.Err()
		case errors.As(err, &failed) && errors.Is(failed, model.ErrContextOverflow):
			recovered, refused := n.recover(ctx, fit, attempt, failed)
			if refused != nil {
				return nil, refused
			}
			*fit = *recovered
			attempt++
		case replays < maxReplays && brokeOff(err):
			replays++
			attempt++
			n.a.show(Retrying{Reason: n.a.opts.Session.Redact(err.Error())})
			if err := n.emit(trace.Budgeted(fit, n.details(fit, attempt, "the stream broke off"))); err != nil {
				return nil, err
			}
		default:
			n.keepSaid(ctx, said)
			return nil, err
		}
	}
}

// brokeOff reports whether a stream ended in its middle, or held something
// that cannot be read. Before its first event the adapter has made its own
// retries.
func brokeOff(err error) bool {
	var failed *model.Error
	known := errors.As(err, &failed)
	switch {
	case errors.Is(err, model.ErrUnreadable):
		return true
	case errors.Is(err, model.ErrIncompleteStream):
		return !known || failed.Evidence || failed.Attempts <= 1
	}
	return known && failed.Evidence && errors.Is(err, model.ErrTransient)
}

// stream makes one physical request.
func (n *run) stream(ctx context.Context) (done *model.Completed, said string, err error) {
	var text strings.Builder
	for event, err := range n.a.opts.Model.Stream(ctx, n.manager.Request(n.input)) {
		if err != nil {
			return nil, text.String(), err
		}
		switch e := event.(type) {
		case model.TextDelta:
			text.WriteString(e.Text)
			n.a.show(TextDelta{Text: e.Text})
		case model.ReasoningDelta:
			n.a.show(ReasoningDelta{Text: e.Text})
		case model.Completed:
			done = &e
		}
	}
	if done == nil {
		return nil, text.String(), fmt.Errorf("%w without an error", model.ErrIncompleteStream)
	}
	return done, text.String(), nil
}

// unanswered records a request that failed.
func (n *run) unanswered(ctx context.Context, fit *contextwindow.Fit, attempt int, err error) error {
	outcome := trace.OutcomeFailed
	if ctx.Err() != nil {
		outcome = trace.OutcomeStopped
	}
	record := &trace.RequestCompleted{Request: fit.Step, Attempt: attempt, Outcome: outcome}
	at := n.a.opts.Session.Transcript().Len()
	return errors.Join(n.emit(record), n.addRequest(ctx, session.Request{At: at, End: at, Model: fit.Model, Time: n.a.opts.Now(), Failed: err.Error()}))
}

// recover makes a smaller request after a clean overflow.
func (n *run) recover(ctx context.Context, fit *contextwindow.Fit, attempt int, failed *model.Error) (*contextwindow.Fit, error) {
	if err := n.emit(trace.Overflow(fit.Step, attempt, fit.Estimate.Tokens, failed)); err != nil {
		return nil, err
	}
	next, err := n.manager.Recover(ctx, n.input, failed)
	if errors.Is(err, contextwindow.ErrPartial) {
		next, err = n.recoverWhole(ctx, failed)
	}
	var limit *contextwindow.LimitError
	if errors.As(err, &limit) {
		return nil, errors.Join(n.keepFit(ctx, next, trace.TriggerOverflow, attempt+1, "overflow"), err)
	}
	if err != nil {
		if errors.Is(err, contextwindow.ErrNotRecovered) && attempt > 1 {
			again := trace.Limit(fit)
			d := n.manager.Diagnose(fit)
			again.Reason, again.Diagnosis = trace.LimitOverflow, &d
			err = errors.Join(n.emit(again), err)
		}
		return nil, err
	}
	n.result.Totals.Recoveries++
	n.a.show(Notice{Kind: "overflow", Text: "the provider refused the request as too long; it is made smaller and sent once more"})
	return next, n.keepFit(ctx, next, trace.TriggerOverflow, attempt+1, "overflow")
}

// recoverWhole does the same with the whole conversation in memory: the
// smaller request needs a checkpoint of messages that are not held.
func (n *run) recoverWhole(ctx context.Context, failed *model.Error) (*contextwindow.Fit, error) {
	if _, err := n.refitWhole(ctx); err != nil {
		return nil, err
	}
	return n.manager.Recover(ctx, n.input, failed)
}

// keepSaid keeps what the model had said when its answer broke off.
func (n *run) keepSaid(ctx context.Context, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	m := message.Message{Role: message.RoleAssistant, Blocks: []message.Block{message.Text{Text: text}}}
	if _, err := n.admitAnswer(ctx, []message.Message{m}); err != nil {
		n.result.Err = errors.Join(n.result.Err, err)
	}
}

// admitAnswer stores the messages of an answer.
func (n *run) admitAnswer(ctx context.Context, ms []message.Message) ([]message.Message, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	out := make([]message.Message, len(ms))
	for i, m := range ms {
		m.ID, m.Time = n.a.opts.NewID(), n.a.opts.Now()
		if m.Model == "" && m.Role == message.RoleAssistant {
			m.Model = n.a.caps.Model
		}
		out[i] = m
	}
	stored, err := n.a.admit(ctx, out...)
	if err != nil {
		return nil, fmt.Errorf("admit answer: %w", err)
	}
	for _, m := range stored {
		n.a.show(Admitted{Message: m})
	}
	return stored, nil
}

// account takes in what an answer cost and how good its estimate was.
func (n *run) account(ctx context.Context, fit *contextwindow.Fit, done *model.Completed, at int) error {
	t := &n.result.Totals
	record := session.Request{At: at, End: n.a.opts.Session.Transcript().Len(), Model: fit.Model, Time: n.a.opts.Now()}
	var rec *contextwindow.Reconciliation
	var usd *float64
	if u := done.Usage; u != nil {
		record.Usage = &session.Usage{InputTokens: u.InputTokens, CachedInputTokens: u.CachedInputTokens, CacheWriteInputTokens: u.CacheWriteInputTokens,
			OutputTokens: u.OutputTokens, ReasoningTokens: u.ReasoningTokens}
		t.InputTokens += u.InputTokens
		t.CachedInputTokens += u.CachedInputTokens
		t.OutputTokens += u.OutputTokens
		if r, err := n.manager.Reconcile(*u); err == nil && u.InputTokens > 0 {
			rec = &r
			n.tellEstimate(r)
		}
		if cost, known := n.a.opts.Prices.Cost(*u, nil); known {
			usd = &cost
		}
	} else {
		t.Unreported++
		n.tellUsage(done.UsageProblem)
	}
	switch {
	case usd == nil:
		t.CostUSD = nil
	case t.CostUSD != nil:
		*t.CostUSD += *usd
	}
	n.a.show(Answered{Messages: done.Messages, Usage: done.Usage, CostUSD: usd})
	completed := trace.Completed(fit.Step, rec, done.Usage, usd)
	completed.Attempt = max(1, fit.Attempt)
	if err := n.emit(completed); err != nil {
		return err
	}
	return n.addRequest(ctx, record)
}

// tellUsage says once that a provider's usage cannot be read.
func (n *run) tellUsage(problem string) {
	if problem == "" || n.usageTold {
		return
	}
	n.usageTold = true
	n.a.show(Notice{Kind: "warning", Text: fmt.Sprintf("the usage that the provider reports cannot be read (%s): what such requests cost is not known, and estimates are not checked against it", problem)})
}

// tellEstimate warns when the provider's count shows that something is wrong.
func (n *run) tellEstimate(r contextwindow.Reconciliation) {
	switch {
	case r.Suspicious:
		n.a.show(Notice{Kind: "warning", Text: fmt.Sprintf("the provider reports %d tokens where about %d were sent: it may have cut the request in silence", r.ReportedTokens, r.EstimatedTokens)})
	case r.Blocked:
		n.a.show(Notice{Kind: "warning", Text: "estimates for this model were too low again and again: it is kept from automatic compaction"})
	}
}

// addRequest stores a request with what the window has decided since the last
// one.
func (n *run) addRequest(ctx context.Context, r session.Request) error {
	window, err := json.Marshal(n.manager.Progress(false))
	if err != nil {
		return fmt.Errorf("record request: %w", err)
	}
	r.Window = window
	ctx, cancel := lasting(ctx)
	defer cancel()
	if err := n.a.opts.Session.AddRequest(ctx, r); err != nil {
		return fmt.Errorf("record request: %w", err)
	}
	n.a.requests++
	n.a.answered = r.Time
	return nil
}
