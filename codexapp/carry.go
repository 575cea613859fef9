package codexapp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/trace"
)

// byWrapper runs the prompt in a fresh thread behind the active view.
func (n *run) byWrapper() error {
	n.result.Origin = OriginFresh
	return n.behindView("per-turn", true)
}

// behindView runs the prompt in a new thread behind the active view. A view
// that the provider refuses as too long, before anything has happened, is made
// smaller once (F-OVF-02).
func (n *run) behindView(reason string, ephemeral bool) error {
	fit, in, err := n.fit()
	if err != nil {
		return err
	}
	if fit.Estimate.Tokens > fit.Budget.WindowTokens {
		return n.overWindow(fit)
	}
	for {
		r, err := n.turnBehind(in, reason, ephemeral)
		if err != nil {
			return err
		}
		untouched := r.refusedUntouched()
		if untouched && n.result.WrapperBytes > 0 {
			n.e.state.Spoilt = "wrapper-refused" // Codex would drop the wrapper to make room
		}
		if fit.Attempt > 1 || fit.Mode != contextwindow.Compact || !untouched {
			n.conclude(r)
			return nil
		}
		smaller, err := n.manager.Recover(n.ctx, in, r.refusal())
		if smaller != nil {
			if kept := n.keepFit(smaller); kept != nil {
				return kept
			}
		}
		if err != nil {
			return err
		}
		fit = smaller
	}
}

// overWindow refuses a view that no window of this size takes. A native adapter
// sends it in the modes off and warn, and its provider says no; Codex would
// drop the wrapper to make room.
func (n *run) overWindow(f *contextwindow.Fit) error {
	d := n.manager.Diagnose(f)
	d.Remedy = "use the mode compact, or " + d.Remedy
	l := trace.Limit(f)
	l.Diagnosis = &d
	if err := n.emit(l); err != nil {
		return err
	}
	return &contextwindow.LimitError{Budget: f.Budget, MandatoryTokens: f.MandatoryTokens, Breakdown: f.Breakdown, Largest: l.Largest, Diagnosis: d}
}

// refusedUntouched reports whether the provider refused the turn as too long
// before the model had said or done anything.
func (r *turnRun) refusedUntouched() bool {
	return r.ended != nil && r.ended.Error.kind() == "contextWindowExceeded" && r.replied == 0 && len(r.order) == 0
}

func (r *turnRun) refusal() *model.Error {
	return &model.Error{Kind: model.ErrContextOverflow, Provider: engineName, Model: r.model, Code: "contextWindowExceeded", Message: clean(r.ended.Error.Message)}
}

// fit weighs the view of the session with the wrapper around it, and makes it
// fit in the mode compact.
func (n *run) fit() (*contextwindow.Fit, contextwindow.Input, error) {
	e := n.e
	in := contextwindow.Input{Instructions: n.request.Instructions, Transcript: e.opts.Session.Transcript(), Uncompleted: e.uncompleted(),
		Wrapper: func(ms []message.Message) int { return e.overhead(n.earlier(ms)) }}
	m, err := e.manager(e.capabilities())
	if err != nil {
		return nil, in, err
	}
	n.manager = m
	fit, err := m.Fit(n.ctx, in)
	if fit != nil {
		if kept := n.keepFit(fit); kept != nil {
			return fit, in, kept
		}
	}
	return fit, in, err
}

// earlier is the part of a view that the wrapper carries: what stands before
// the prompt.
func (n *run) earlier(ms []message.Message) []message.Message {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].ID == n.prompt[0].ID {
			return ms[:i]
		}
	}
	return ms
}

// turnBehind starts a thread, puts the view into it and runs the prompt.
func (n *run) turnBehind(in contextwindow.Input, reason string, ephemeral bool) (*turnRun, error) {
	e := n.e
	started, err := n.startThread(ephemeral)
	if err != nil {
		return nil, err
	}
	text := wrap(n.earlier(n.manager.Request(in).Messages))
	n.result.WrapperTokens, n.result.WrapperBytes = e.opts.Counter.Text(text), len(text)
	if text != "" {
		items := []injectItem{{Type: "message", Role: "user", Content: []contentPart{{Type: "input_text", Text: text}}}}
		if err := e.client.call(n.ctx, methodInject, injectParams{ThreadID: started, Items: items}, nil); err != nil {
			return nil, fmt.Errorf("carry the conversation into Codex: %w", err)
		}
	}
	r, err := n.prompted(started, reason)
	if r != nil {
		n.completedRequest(r)
	}
	if err == nil && ephemeral {
		err = e.client.post(methodUnsubscribe, threadParams{ThreadID: started})
	}
	return r, err
}

// startThread starts a thread of Codex. One that is ephemeral leaves no file
// with Codex: the session is the record.
func (n *run) startThread(ephemeral bool) (string, error) {
	e := n.e
	sandbox, _ := n.sandbox()
	var reply threadResponse
	err := e.client.call(n.ctx, methodThreadStart, threadStartParams{Cwd: e.opts.Dir, Model: e.opts.Model, ModelProvider: e.opts.ModelProvider,
		ApprovalPolicy: approvals, Sandbox: sandbox, Config: e.opts.Config, DeveloperInstructions: textOf(n.request.Instructions), Ephemeral: ephemeral}, &reply)
	if err != nil {
		return "", fmt.Errorf("start a thread: %w", err)
	}
	if reply.Thread.ID == "" {
		return "", fmt.Errorf("start a thread: %w: it has no id", ErrProtocol)
	}
	if reply.Model != "" {
		n.model = reply.Model
	}
	e.lastUsage = nil
	e.state = threadState{Session: e.opts.Session.ID(), Thread: reply.Thread.ID, Instructions: hashOf(n.request.Instructions), Settings: e.settings(), WindowTokens: e.window}
	e.loaded = true
	return reply.Thread.ID, nil
}

// approvals is when Codex asks: whenever it wants to leave its sandbox.
const approvals = "on-request"

// sandbox picks Codex's sandbox from the profile of the policy, as thread/start
// and as turn/start name it.
func (n *run) sandbox() (string, *sandboxPolicy) {
	if p := n.request.Policy; p != nil && p.Profile() == policy.WorkspaceWrite {
		return "workspace-write", &sandboxPolicy{Type: "workspaceWrite"}
	}
	return "read-only", &sandboxPolicy{Type: "readOnly"}
}

// prompted runs the turn of the prompt in a thread.
func (n *run) prompted(threadID, reason string) (*turnRun, error) {
	e := n.e
	n.result.Thread = threadID
	if n.result.Origin == OriginRebuilt {
		n.result.Rebuilt = reason
	}
	err := n.emit(&trace.EngineTurn{Request: max(1, n.number), Engine: engineName, Version: e.version, Carry: string(n.result.Carry), Thread: threadID,
		Origin: string(n.result.Origin), Reason: reason, WrapperTokens: n.result.WrapperTokens, WrapperBytes: n.result.WrapperBytes, OccupancyTokens: e.state.OccupancyTokens})
	if err != nil {
		return nil, err
	}
	e.show(Carried{Carry: n.result.Carry, Origin: n.result.Origin, Reason: reason, WrapperTokens: n.result.WrapperTokens, WrapperBytes: n.result.WrapperBytes})
	if err := n.ctx.Err(); err != nil {
		return nil, err
	}
	r := n.newTurn(threadID, false)
	_, sandbox := n.sandbox()
	err = r.follow(func() error {
		var reply turnResponse
		err := e.client.call(n.keep, methodTurnStart, turnStartParams{ThreadID: threadID, Input: n.input(), Cwd: e.opts.Dir,
			ApprovalPolicy: approvals, SandboxPolicy: sandbox}, &reply)
		if err != nil {
			return fmt.Errorf("start the turn: %w", err)
		}
		r.begun(reply.Turn.ID)
		return nil
	})
	if r.first != nil && e.state.HiddenTokens == 0 && n.result.Origin != OriginKept && n.result.Origin != OriginResumed {
		e.state.HiddenTokens = max(0, r.first.InputTokens-n.result.WrapperTokens-n.promptTokens()-e.opts.Counter.Text(textOf(n.request.Instructions)))
	}
	return r, err
}

// input is the prompt as Codex takes it.
func (n *run) input() []userInput {
	var out []userInput
	for _, m := range n.prompt {
		for _, b := range m.Blocks {
			switch v := b.(type) {
			case message.Text:
				out = append(out, userInput{Type: "text", Text: v.Text})
			case message.Image:
				url := v.URL
				if v.Data != nil {
					url = "data:" + v.MediaType + ";base64," + base64.StdEncoding.EncodeToString(v.Data)
				}
				out = append(out, userInput{Type: "image", URL: url})
			}
		}
	}
	return out
}

// promptTokens is what the prompt with its notes weighs.
func (n *run) promptTokens() int {
	tokens := 0
	for _, m := range n.prompt {
		tokens += n.e.opts.Counter.Message(m).Total()
	}
	return tokens
}

// settings stand for what a thread is started with besides instructions.
func (e *Engine) settings() message.Hash {
	body, err := json.Marshal([]any{e.opts.Dir, e.opts.Model, e.opts.ModelProvider, e.opts.Config})
	if err != nil {
		return message.Hash{} // a configuration that is no JSON is refused with the first message
	}
	return sha256.Sum256(body)
}

func textOf(ms []message.Message) string {
	var texts []string
	for _, m := range ms {
		texts = append(texts, m.Text())
	}
	return strings.Join(texts, "\n\n")
}

func hashOf(ms []message.Message) message.Hash {
	h := sha256.New()
	for _, m := range ms {
		d := m.Hash()
		h.Write(d[:])
	}
	return message.Hash(h.Sum(nil))
}

// tooLong refuses a prompt that does not fit whatever is left out: Codex would
// send it without a check.
func (n *run) tooLong(b budget.Budget, categories budget.Breakdown) *contextwindow.LimitError {
	return &contextwindow.LimitError{Budget: b, MandatoryTokens: categories[budget.CurrentRequest], Breakdown: categories, Largest: budget.CurrentRequest, Mandatory: true,
		Diagnosis: contextwindow.Diagnosis{Category: budget.CurrentRequest, Tokens: categories[budget.CurrentRequest],
			Percent: 100 * categories[budget.CurrentRequest] / max(1, categories.Total()), Remedy: "shorten the request, or put the text into a file that can be read in parts"}}
}

// isRefusal reports whether the server refused a request and lives.
func isRefusal(err error) bool {
	var refused *ReplyError
	return errors.As(err, &refused)
}
