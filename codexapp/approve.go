package codexapp

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/tool"
)

// question is a request of Codex that the policy decides on. reply makes the
// answer from the decision.
type question struct {
	id      json.RawMessage
	item    string // the item that it is about
	request policy.Request
	parts   [][]string
	reply   func(allowed bool) any
	cancel  context.CancelFunc
}

// answered is a question with its decision.
type answered struct {
	*question
	decision policy.Decision
}

// asked takes a request of the server. Every one is answered; what this client
// does not know is refused, so that nothing waits for ever.
func (r *turnRun) asked(m inbound) {
	switch m.Method {
	case askCommand:
		r.askCommand(m)
	case askFileChange:
		r.askFileChange(m)
	case askPermissions:
		r.askPermissions(m)
	case askUserInput:
		r.answer(m.ID, userInputReply{Answers: map[string]any{}})
		r.e.show(Notice{Kind: "warning", Text: "Codex asked a question in the middle of a turn; it was told that nobody answers"})
	case askElicitation:
		r.answer(m.ID, elicitationReply{Action: "decline"})
	case askDynamicTool:
		r.answer(m.ID, dynamicToolReply{ContentItems: []contentPart{{Type: "inputText", Text: "Forge has no such tool."}}})
	default:
		r.check(r.e.client.refuse(m.ID, "Forge does not know this request"))
	}
}

func (r *turnRun) answer(id json.RawMessage, result any) { r.check(r.e.client.answer(id, result)) }

// check ends the turn when nothing can be said to the server any more.
func (r *turnRun) check(err error) {
	if err != nil && r.fault == nil {
		r.fault = err
	}
}

// decide makes the answer to a question about a call: a "no" lets the turn go
// on without it.
func decide(allowed bool) any {
	if allowed {
		return decisionReply{Decision: "accept"}
	}
	return decisionReply{Decision: "decline"}
}

// read decodes the parameters of a question; a question that cannot be read is
// refused.
func (r *turnRun) read(m inbound, into any) bool {
	if err := json.Unmarshal(m.Params, into); err != nil {
		r.check(r.e.client.refuse(m.ID, "Forge cannot read this request"))
		return false
	}
	return true
}

// The names by which rules know what Codex does: those of Forge's own tools for
// the same.
const (
	commandTool = "run_command"
	patchTool   = "apply_patch"
	// workspaceScope is what an approval of changes for the whole run covers.
	workspaceScope = "files of the workspace"
)

// inWorkspace reports whether all paths are below the folder of the engine.
func (e *Engine) inWorkspace(paths []string) bool {
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(e.opts.Dir, p)
		}
		if rel, err := filepath.Rel(e.opts.Dir, p); err != nil || !filepath.IsLocal(rel) {
			return false
		}
	}
	return len(paths) > 0
}

func (r *turnRun) askCommand(m inbound) {
	var q commandQuestion
	if !r.read(m, &q) {
		return
	}
	if q.Command == "" {
		q.Command = r.commands[q.ItemID]
	}
	plain, parts := commandsOf(q.Command)
	request := policy.Request{Tool: commandTool, Risk: tool.RiskProcess, Command: plain, Scope: q.Cwd + "\x00" + q.Command,
		Summary: "run outside of Codex's sandbox: " + oneLine(q.Command)}
	if q.Kind == "writeStdin" {
		request.Summary, request.Scope = "write to a running program: "+oneLine(q.Command), ""
	}
	if len(q.Network) > 0 && string(q.Network) != "null" {
		request.Risk, request.Summary = tool.RiskNetwork, "let a program use the network: "+oneLine(q.Command)
	}
	if q.Reason != "" {
		request.Summary += " (" + oneLine(q.Reason) + ")"
	}
	r.ask(&question{id: m.ID, item: q.ItemID, request: request, parts: parts, reply: decide})
}

func (r *turnRun) askFileChange(m inbound) {
	var q fileQuestion
	if !r.read(m, &q) {
		return
	}
	changes := r.changes[q.ItemID]
	var names []string
	for _, c := range changes {
		names = append(names, c.Path)
	}
	request := policy.Request{Tool: patchTool, Risk: tool.RiskWrite, Summary: "change " + oneLine(strings.Join(names, ", ")), Diff: diffOf(changes)}
	if r.e.inWorkspace(names) && q.GrantRoot == "" {
		request.Scope = workspaceScope
	}
	if len(names) == 0 {
		request.Summary = "change files that Codex does not name"
	}
	if q.GrantRoot != "" {
		request.Summary += ", and whatever else is below " + oneLine(q.GrantRoot)
	}
	if q.Reason != "" {
		request.Summary += " (" + oneLine(q.Reason) + ")"
	}
	r.ask(&question{id: m.ID, item: q.ItemID, request: request, reply: decide})
}

func (r *turnRun) askPermissions(m inbound) {
	var q permissionsQuestion
	if !r.read(m, &q) {
		return
	}
	risk := tool.RiskWrite
	var wanted struct {
		Network json.RawMessage `json:"network"`
	}
	if json.Unmarshal(q.Permissions, &wanted) != nil || len(wanted.Network) > 0 && string(wanted.Network) != "null" {
		risk = tool.RiskNetwork
	}
	request := policy.Request{Tool: "request_permissions", Risk: risk, Summary: "widen Codex's sandbox for this turn: " + oneLine(string(q.Permissions))}
	if q.Reason != "" {
		request.Summary += " (" + oneLine(q.Reason) + ")"
	}
	r.ask(&question{id: m.ID, item: q.ItemID, request: request, reply: func(allowed bool) any {
		if !allowed {
			return permissionsReply{Permissions: json.RawMessage("{}"), Scope: "turn"}
		}
		return permissionsReply{Permissions: q.Permissions, Scope: "turn"}
	}})
}

// ask lets the policy decide, on a goroutine of its own: a person may take
// long, and what Codex says meanwhile is taken in.
func (r *turnRun) ask(q *question) {
	ctx, cancel := context.WithCancel(r.ctx)
	q.cancel = cancel
	r.questions[string(q.id)] = q
	var opinions []policy.Decision
	for _, part := range q.parts {
		one := q.request
		one.Command = part
		if d := r.request.Policy.Decide(one); d.Action == policy.Deny {
			opinions = append(opinions, d)
		}
	}
	for _, hook := range r.request.Hooks {
		opinions = append(opinions, hook(ctx, q.request))
	}
	go func() {
		d := r.auth.Authorize(ctx, q.request, opinions...)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.decided = append(r.decided, answered{q, d})
		select {
		case r.wake <- struct{}{}:
		default: // it has been woken already
		}
	}()
}

// settle answers a question that was decided. One that Codex has dropped
// meanwhile gets no answer.
func (r *turnRun) settle(a answered) {
	a.cancel()
	if r.questions[string(a.id)] != a.question {
		return
	}
	delete(r.questions, string(a.id))
	r.decisions[a.item] = a.decision
	if !a.decision.Allowed() {
		r.result.Totals.Denied++
	}
	r.e.show(CallDecided{Call: r.calls[a.item], Request: a.request, Decision: a.decision})
	r.answer(a.id, a.reply(a.decision.Allowed()))
}

// drop forgets a question that Codex has settled itself.
func (r *turnRun) drop(id json.RawMessage) {
	if q := r.questions[string(id)]; q != nil {
		q.cancel()
		delete(r.questions, string(id))
	}
}

// forbidden reports whether a rule denies a command that Codex runs inside of
// its sandbox, where it asks nobody.
func (r *turnRun) forbidden(line string) (policy.Decision, bool) {
	plain, parts := commandsOf(line)
	for _, argv := range append([][]string{plain}, parts...) {
		d := r.request.Policy.Decide(policy.Request{Tool: commandTool, Risk: tool.RiskProcess, Command: argv})
		if d.Action == policy.Deny && d.Cause == policy.CauseRule {
			return d, true
		}
	}
	return policy.Decision{}, false
}

func diffOf(changes []fileChange) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s\n%s", c.Kind.Type, c.Path, c.Diff)
		if !strings.HasSuffix(c.Diff, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// oneLine keeps foreign text on one line, for a person to decide on: all of
// it, since what is not shown cannot be decided.
func oneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
}
