package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/redact"
	"github.com/forge-agent/forge/tool"
	"github.com/forge-agent/forge/trace"
)

// bytesPerToken is what a token holds at least in text that is seldom denser:
// the results of one answer may take half of the window (fault B2).
const bytesPerToken = 3

// maxDenials is how many answers in a row may consist of denied calls only.
const maxDenials = 5

// call runs the calls of an answer, one after the other, each only once and
// each with its result stored before the next begins.
func (n *run) call(ctx context.Context, calls []message.ToolCall) {
	n.denied = false
	seen := map[message.Hash]bool{}
	denied := 0
	n.answered = 0
	room := int64(n.manager.Budget().AvailableTokens) * bytesPerToken / 2
	for i, c := range calls {
		if n.answered > room {
			n.leave(ctx, calls[i:], "Not run: the results of the calls before it in this answer fill half of the window. Look at them, then call again.")
			break
		}
		switch {
		case ctx.Err() != nil:
			n.fail(ctx, ctx.Err()) // end answers what is left
			return
		case n.result.Totals.ToolCalls >= n.limits.ToolCalls:
			n.leave(ctx, calls[i:], fmt.Sprintf("Not run: the run has made %d tool calls, which is its limit.", n.limits.ToolCalls))
			n.limit("tool-calls", fmt.Sprintf("the run has made %d tool calls, which is its limit", n.limits.ToolCalls))
			return
		}
		id := projection.CallHash(c)
		ran := n.one(ctx, c, seen[id])
		seen[id] = true
		if ran == callDenied {
			denied++
		}
		if n.ended {
			return
		}
	}
	if n.ended {
		return
	}
	if n.note != "" {
		if _, err := n.a.admit(ctx, n.a.noteMessage("[Note of the harness: "+n.note+"]")); err != nil {
			n.fail(ctx, err)
			return
		}
		n.note = ""
	}
	n.denied = denied > 0
	n.denials++
	if denied < len(calls) {
		n.denials = 0
	}
	if n.denials >= maxDenials {
		n.finish(StatusDenied, fmt.Sprintf("%d answers in a row asked for nothing but calls that are not allowed", n.denials))
	}
}

// leave answers calls that are not run.
func (n *run) leave(ctx context.Context, calls []message.ToolCall, text string) {
	n.result.Totals.Refused += len(calls)
	if err := n.a.answer(ctx, calls, text); err != nil {
		n.fail(ctx, err)
	}
}

// fate is what became of a call.
type fate string

const (
	callRun     fate = "run"
	callRefused fate = "refused"
	callDenied  fate = "denied"
)

// one plans, authorizes and runs a call, and stores its result.
func (n *run) one(ctx context.Context, c message.ToolCall, again bool) fate {
	started := n.a.opts.Now()
	became, plan, decision, result := n.outcome(ctx, c, again)
	result = bounded(result, n.limits.StoredBytes)
	t := &n.result.Totals
	switch became {
	case callRun:
		t.ToolCalls++
	case callDenied:
		t.Denied++
	case callRefused:
		t.Refused++
	}
	stored, err := n.a.admit(ctx, n.a.resultMessage(result.Message(c)))
	if err != nil {
		n.fail(ctx, fmt.Errorf("store the result of %s: %w", c.Name, err))
		return became
	}
	whole, _ := stored[0].Blocks[0].(message.ToolResult)
	size := int64(len(whole.Text()))
	t.OutputBytes += size
	shown := tool.Shown(whole, n.a.opts.Session.Header().Info.ShownBytes)
	n.answered += int64(len(shown.Text()))
	event := CallCompleted{Call: c, Result: shown}
	if now := n.a.opts.Now(); now.After(started) {
		event.Took = now.Sub(started)
	}
	n.a.show(Admitted{Message: stored[0]})
	n.a.show(event)
	err = n.emit(&trace.ToolCompleted{Request: n.summary.requests, Tool: c.Name, Call: projection.CallHash(c), Risk: string(plan.Risk),
		Decision: string(decision.Action), Cause: string(decision.Cause), Fate: string(became), Outcome: string(whole.Outcome),
		OutputBytes: size, Truncated: whole.Truncated, OutputHash: projection.ContentHash(whole), DurationMS: event.Took.Milliseconds()})
	if err != nil {
		n.fail(ctx, err)
		return became
	}
	n.watch(c, whole, plan, became)
	if n.limits.OutputBytes > 0 && t.OutputBytes > n.limits.OutputBytes {
		n.limit("output-bytes", fmt.Sprintf("tools have answered %d bytes, the limit is %d", t.OutputBytes, n.limits.OutputBytes))
	}
	return became
}

// bounded keeps beginning and end of a result that is longer than what may be
// stored of it.
func bounded(r tool.Result, most int) tool.Result {
	if most <= 0 || len(r.Text) <= most {
		return r
	}
	out := tool.NewOutput(most)
	out.WriteString(r.Text)
	cut := out.Result(r.Outcome)
	cut.OriginalBytes = max(cut.OriginalBytes, r.OriginalBytes)
	return cut
}

// outcome brings a call to a result, run or not.
func (n *run) outcome(ctx context.Context, c message.ToolCall, again bool) (fate, tool.Plan, policy.Decision, tool.Result) {
	none := policy.Decision{}
	if again {
		return callRefused, tool.Plan{}, none, tool.Failure("Not run: the same call stands above in the same answer, and its result is there. Call again if it is to be run twice.")
	}
	set := n.request.Tools
	if set == nil {
		return callRefused, tool.Plan{}, none, tool.Failure("Not run: there are no tools in this run.")
	}
	plan, err := set.Plan(ctx, c)
	if err != nil {
		var bad *tool.CallError
		if errors.As(err, &bad) {
			return callRefused, plan, none, bad.Result()
		}
		return callRefused, plan, none, tool.Failure("The run ended before this call was run.")
	}
	n.a.show(CallPlanned{Call: c, Plan: plan})
	q := policy.Ask(plan)
	var opinions []policy.Decision
	for _, hook := range n.request.Hooks {
		opinions = append(opinions, hook(ctx, q))
	}
	decision := n.auth.Authorize(ctx, q, opinions...)
	n.a.show(CallDecided{Call: c, Decision: decision})
	if !decision.Allowed() {
		return callDenied, plan, decision, tool.Failure(fmt.Sprintf("Not allowed: %s (%s). It was not run. Do without it, or say what you would need it for.", decision.Reason, decision.Source))
	}
	result := plan.Run(ctx)
	if redact.Marked(c.Arguments) {
		result.Text += redactedArguments
	}
	return callRun, plan, decision, result
}

// redactedArguments is told where a call did not do quite what it says: secrets
// are taken out before anything is stored or run.
const redactedArguments = "\n[Note of the harness: the call holds a mark [redacted:…] where text looked like a secret, and was run with the mark, not with the secret. Let the user put the real value in.]"

// Repetition: a call that gives the same result again and again, with nothing
// written in between, is no progress (fault B21).
const (
	repeatWindow = 24 // newest calls that are looked at
	repeatWarn   = 4  // equal ones among them that are told
	repeatStop   = 8  // equal ones among them that end the run
)

// repeats are the newest calls with their results, by hash.
type repeats struct{ recent []message.Hash }

// watch looks for a run that goes in circles.
func (n *run) watch(c message.ToolCall, r message.ToolResult, plan tool.Plan, became fate) {
	if became == callRun && plan.Risk == tool.RiskWrite && r.Outcome != message.OutcomeFailure {
		n.repeats.recent = nil
		return
	}
	call, content := projection.CallHash(c), projection.ContentHash(r)
	key := call
	for i := range key {
		key[i] ^= content[i]
	}
	n.repeats.recent = append(n.repeats.recent, key)
	if len(n.repeats.recent) > repeatWindow {
		n.repeats.recent = slices.Delete(n.repeats.recent, 0, 1)
	}
	count := 0
	for _, k := range n.repeats.recent {
		if k == key {
			count++
		}
	}
	switch {
	case count >= repeatStop:
		n.limit("repetition", fmt.Sprintf("%s was called %d times with the same arguments and the same result, and nothing was written in between", c.Name, count))
	case count == repeatWarn:
		n.note = fmt.Sprintf("%s has given this same result %d times now, and no file was changed in between. Calling it again changes nothing: go on with what is known, or say what is missing.", c.Name, count)
	}
}
