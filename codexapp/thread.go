package codexapp

import (
	"fmt"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/trace"
)

// byThread runs the prompt in the thread that Codex keeps for the session, and
// in a new one behind the active view where that cannot be used.
func (n *run) byThread() error {
	reason, err := n.takeUp()
	if err != nil {
		return err
	}
	if n.result.Origin != "" {
		reason, err = n.makeRoom()
	}
	switch {
	case err != nil:
		return err
	case n.result.Origin != "" && reason == "":
		r, err := n.prompted(n.e.state.Thread, "")
		if err != nil {
			return err
		}
		n.completedRequest(r)
		n.conclude(r)
		return nil
	}
	return n.rebuild(reason)
}

// takeUp looks whether the known thread still agrees with the session, and
// loads it where the server does not have it. Without an origin there is no
// thread to use, for the reason returned.
func (n *run) takeUp() (reason string, err error) {
	e := n.e
	ok, reason := e.state.agrees(e.opts.Session, n.before, hashOf(n.request.Instructions), e.settings())
	if !ok {
		return reason, nil
	}
	if e.loaded {
		n.result.Origin = OriginKept
		return "", nil
	}
	sandbox, _ := n.sandbox()
	var reply threadResponse
	err = e.client.call(n.ctx, methodThreadResume, threadResumeParams{ThreadID: e.state.Thread, Cwd: e.opts.Dir, Model: e.opts.Model, ModelProvider: e.opts.ModelProvider,
		ApprovalPolicy: approvals, Sandbox: sandbox, Config: e.opts.Config, DeveloperInstructions: textOf(n.request.Instructions), ExcludeTurns: true}, &reply)
	switch {
	case isRefusal(err), err == nil && reply.Thread.ID != e.state.Thread:
		return "not-found", nil
	case err != nil:
		return "", fmt.Errorf("resume the thread: %w", err)
	}
	var turns turnsResponse
	err = e.client.call(n.ctx, methodTurns, turnsParams{ThreadID: e.state.Thread, Limit: 1, ItemsView: "notLoaded", SortDirection: "desc"}, &turns)
	switch {
	case isRefusal(err): // an old thread without a list of turns
		return "not-found", nil
	case err != nil:
		return "", fmt.Errorf("resume the thread: %w", err)
	case len(turns.Data) == 0 || turns.Data[0].ID != e.state.LastTurn:
		return "continued-elsewhere", nil
	}
	if reply.Model != "" {
		n.model = reply.Model
	}
	e.loaded, n.result.Origin = true, OriginResumed
	return "", nil
}

// makeRoom looks before the prompt goes out whether the thread can take it.
// Codex checks only what stands in the thread already, and sends a prompt of
// any size. A thread that is full, or whose occupancy is not known since an
// overflow, is compacted first; what does not help gives a reason to leave the
// thread.
func (n *run) makeRoom() (reason string, err error) {
	e := n.e
	b, err := budget.New(e.capabilities().WindowTokens, e.opts.Capabilities.MaxOutputTokens, e.opts.Window.Budget)
	if err != nil {
		return "", err
	}
	b = b.WithMaxInput(e.opts.Capabilities.MaxInputTokens)
	prompt := n.promptTokens()
	if prompt > b.AvailableTokens {
		return "", n.refusePrompt(b, prompt)
	}
	room := b.WindowTokens
	if e.mode() == contextwindow.Compact {
		room = b.AvailableTokens
	}
	if e.state.Full || e.state.OccupancyTokens+prompt > room {
		e.show(Notice{Kind: "compaction", Text: "Codex's thread has no room for the prompt, or does not know how full it is: it is compacted first"})
		if err := n.compactThread(); err != nil {
			return "", err
		}
		if e.state.Full || e.state.OccupancyTokens+prompt > room {
			return "stuck", nil
		}
	}
	return "", n.threadBudget(b, prompt, contextwindow.Send)
}

func (e *Engine) mode() contextwindow.Mode {
	if e.opts.Window.Mode == "" {
		return contextwindow.Warn
	}
	return e.opts.Window.Mode
}

// compactThread lets Codex compact its thread now. That it fails is no error:
// the thread is as full as before then.
func (n *run) compactThread() error {
	e := n.e
	e.state.Full = true // until the end of it is told
	r := n.newTurn(e.state.Thread, true)
	err := r.follow(func() error {
		err := e.client.call(n.keep, methodCompact, threadParams{ThreadID: e.state.Thread}, nil)
		if err != nil {
			return fmt.Errorf("compact the thread: %w", err)
		}
		return nil
	})
	switch {
	case isRefusal(err):
		return nil
	case err != nil:
		return err
	case r.stop != nil:
		n.finish(r.stop.status, r.stop.reason)
		return n.ctx.Err()
	}
	return nil
}

// rebuild starts a new thread behind the active view.
func (n *run) rebuild(reason string) error {
	e := n.e
	if old := e.state.Thread; old != "" && e.loaded {
		if err := e.client.post(methodUnsubscribe, threadParams{ThreadID: old}); err != nil {
			return err
		}
	}
	n.result.Origin = OriginRebuilt
	switch {
	case reason == "" && n.before == 0:
		n.result.Origin, reason = OriginFresh, "first"
	case reason == "":
		reason = "no-thread"
	}
	return n.behindView(reason, false)
}

// Ids and reasons of the two ledger lines that stand for a thread of Codex.
const (
	threadLine   = "codex-thread"
	promptLine   = "prompt"
	reasonThread = "held by Codex, by its own word"
)

// refusePrompt traces and returns that the prompt alone is too long.
func (n *run) refusePrompt(b budget.Budget, prompt int) error {
	if err := n.threadBudget(b, prompt, contextwindow.Stop); err != nil {
		return err
	}
	categories := n.threadCategories(prompt)
	err := n.emit(&trace.LimitReached{Request: n.number, Reason: trace.LimitMandatory, WindowTokens: b.WindowTokens, AvailableTokens: b.AvailableTokens,
		MandatoryTokens: prompt, Categories: categories, Largest: budget.CurrentRequest})
	if err != nil {
		return err
	}
	return n.tooLong(b, categories)
}

// threadCategories is what a turn in the thread weighs: what Codex says that
// the thread holds, and the prompt.
func (n *run) threadCategories(prompt int) budget.Breakdown {
	var out budget.Breakdown
	hidden := min(n.e.state.HiddenTokens, n.e.state.OccupancyTokens)
	out[budget.Instructions] = hidden
	out[budget.Conversation] = n.e.state.OccupancyTokens - hidden
	out[budget.CurrentRequest] = prompt
	return out
}

// threadBudget traces the budget of a turn whose conversation Codex holds. The
// ledger has one line for all of that: nothing else is known of it.
func (n *run) threadBudget(b budget.Budget, prompt int, action contextwindow.Action) error {
	e := n.e
	n.number++
	categories := n.threadCategories(prompt)
	hash := message.Hash(e.state.Prefix)
	lines := []activeview.Line{
		{ID: threadLine, Label: "thread of Codex", Category: budget.Conversation, Hash: hash, Tokens: categories[budget.Conversation],
			FramingTokens: 0, Decision: activeview.Kept, Reason: reasonThread},
		{ID: promptLine, Label: "user", Category: budget.CurrentRequest, Hash: n.prompt[0].Hash(), Tokens: prompt, Decision: activeview.Kept, Reason: activeview.ReasonCurrentRequest},
	}
	var ledger activeview.LedgerHash
	for _, l := range lines {
		ledger.Add(l)
	}
	total := categories.Total()
	verdict := b.Check(total, prompt)
	if action != contextwindow.Stop && verdict != budget.Fits {
		action = contextwindow.SendOverBudget
	}
	c := e.capabilities()
	n.summary.look(total, verdict, action)
	return n.emit(&trace.ContextBudgeted{Request: n.number, Attempt: 1, Adapter: adapterName, Model: n.model, Mode: string(e.mode()),
		WindowTokens: b.WindowTokens, WindowSource: c.WindowSource, ReserveTokens: b.ReserveTokens, AvailableTokens: b.AvailableTokens,
		OutputTokens: b.OutputTokens, BufferTokens: b.BufferTokens, Categories: categories,
		Estimate:      model.Estimate{Tokens: total, Method: e.opts.Counter.Profile().Method, Confidence: model.ConfidenceEstimated},
		CountedTokens: prompt, MandatoryTokens: prompt, Verdict: verdict, Action: action,
		PrefixTokens: e.state.OccupancyTokens, FreshTokens: prompt,
		Instructions: trace.Instructions{Hash: hashOf(n.request.Instructions), Paths: n.request.InstructionPaths},
		Ledger:       trace.LedgerChange{Whole: true, Added: lines, Hash: ledger}})
}
