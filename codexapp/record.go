package codexapp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/tool"
	"github.com/forge-agent/forge/trace"
)

// engineName names Codex in traces and sessions.
const engineName = "codex"

// known reports whether items of this kind are read; others are kept as they
// came.
func (it *item) known() bool {
	switch it.Type {
	case "userMessage", "agentMessage", "reasoning", "plan", "contextCompaction":
		return true
	}
	return it.calls()
}

// calls reports whether an item is a tool call.
func (it *item) calls() bool {
	return slices.Contains([]string{"commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "webSearch", "imageView"}, it.Type)
}

// call is the item as a tool call. Arguments are what Codex says of it: what
// the model wrote is not in its events.
func (it *item) call() message.ToolCall {
	c := message.ToolCall{ID: it.ID}
	var arguments any
	switch it.Type {
	case "commandExecution":
		c.Name, arguments = "shell", struct {
			Command string `json:"command"`
			Cwd     string `json:"cwd"`
		}{it.Command, it.Cwd}
	case "fileChange":
		c.Name, arguments = "apply_patch", struct {
			Changes []fileChange `json:"changes"`
		}{it.Changes}
	case "mcpToolCall":
		c.Name, arguments = it.Server+"."+it.Tool, it.Arguments
	case "dynamicToolCall":
		c.Name, arguments = strings.TrimPrefix(it.Namespace+"."+it.Tool, "."), it.Arguments
	case "webSearch":
		c.Name, arguments = "web_search", struct {
			Query string `json:"query"`
		}{it.Query}
	case "imageView":
		c.Name, arguments = "view_image", struct {
			Path string `json:"path"`
		}{it.Path}
	}
	if body, err := json.Marshal(arguments); err == nil && string(body) != "null" {
		c.Arguments = string(body)
	}
	return c
}

// result is what came of the call. Output beyond what Forge keeps of any tool
// loses its middle.
func (it *item) result() message.ToolResult {
	r := message.ToolResult{CallID: it.ID, Name: it.call().Name}
	text := ""
	switch it.Type {
	case "commandExecution":
		text = it.AggregatedOutput
		if it.ExitCode != nil && *it.ExitCode != 0 {
			text = strings.TrimPrefix(strings.TrimRight(text, "\n")+fmt.Sprintf("\n[exit code %d]", *it.ExitCode), "\n")
		}
	case "mcpToolCall":
		if text = string(it.Result); it.Failure != nil {
			text = it.Failure.Message
		}
	case "dynamicToolCall":
		text = string(it.ContentItems)
	case "webSearch":
		text = string(it.Results)
	}
	switch {
	case it.Status == "declined":
		text = strings.TrimSpace(text + "\n[it was not allowed and did not run]")
		r.Outcome = message.OutcomeFailure
	case it.Status == "failed", it.ExitCode != nil && *it.ExitCode != 0, it.Success != nil && !*it.Success:
		r.Outcome = message.OutcomeFailure
	case it.Status == "completed", it.Success != nil:
		r.Outcome = message.OutcomeSuccess
	}
	if len(text) > tool.MaxOutputBytes {
		r.Truncated, r.OriginalBytes = true, len(text)
		out := tool.NewOutput(tool.MaxOutputBytes)
		out.Write([]byte(text))
		text = out.Result(r.Outcome).Text
	}
	if text == "null" {
		text = ""
	}
	if text != "" {
		r.Content = []message.Block{message.Text{Text: text}}
	}
	return r
}

// thinking is the visible text of a reasoning item.
func (it *item) thinking() string {
	texts := it.Summary
	if len(texts) == 0 {
		var content []string
		if json.Unmarshal(it.Content, &content) == nil {
			texts = content
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n\n"))
}

// message makes a message of the session.
func (r *turnRun) message(role message.Role, b message.Block) message.Message {
	m := message.Message{ID: r.e.opts.NewID(), Role: role, Blocks: []message.Block{b}, Time: r.e.opts.Now()}
	if role == message.RoleAssistant {
		m.Model = r.model
	}
	return m
}

// admit stores a message of the turn and returns it as it was stored, without
// secrets; as it was given when it cannot be stored, which ends the turn.
func (r *turnRun) admit(m message.Message) message.Message {
	if r.storeFailed {
		return m
	}
	stored, err := r.e.opts.Session.Append(r.keep, m)
	if err != nil {
		r.storeFailed = true
		r.check(fmt.Errorf("record what Codex did: %w", err))
		return m
	}
	r.e.show(Admitted{Message: stored[0]})
	if m.Role == message.RoleAssistant {
		r.replied = r.e.opts.Session.Transcript().Len()
	}
	return stored[0]
}

// started takes the beginning of an item.
func (r *turnRun) started(it item) {
	switch {
	case it.Type == "contextCompaction":
		r.compactionStarted(it.ID)
	case it.Type == "agentMessage":
		r.texts[it.ID] = &strings.Builder{}
		r.texts[it.ID].WriteString(it.Text)
	case it.calls():
		r.callStarted(it)
	}
}

func (r *turnRun) callStarted(it item) {
	if r.open[it.ID] || r.done[it.ID] || it.ID == "" {
		return // told twice
	}
	switch it.Type {
	case "commandExecution":
		r.commands[it.ID] = it.Command
		if d, denied := r.forbidden(it.Command); denied {
			r.interrupt(StatusDenied, "", fmt.Sprintf("Codex began a command that is not allowed (%s); the turn was interrupted", d.Reason))
		}
	case "fileChange":
		r.changes[it.ID] = it.Changes
	}
	r.open[it.ID] = true
	r.order = append(r.order, it.ID)
	r.result.Totals.ToolCalls++
	stored := r.admit(r.message(message.RoleAssistant, it.call()))
	c, _ := stored.Blocks[0].(message.ToolCall)
	r.calls[it.ID] = c
	r.e.show(CallStarted{Call: c})
}

// completed takes the end of an item.
func (r *turnRun) completed(it item) {
	switch {
	case it.Type == "userMessage":
		// Forge's own words.
	case it.Type == "agentMessage":
		delete(r.texts, it.ID)
		if strings.TrimSpace(it.Text) == "" {
			return
		}
		r.result.Text = strings.TrimSpace(r.admit(r.message(message.RoleAssistant, message.Text{Text: it.Text})).Text())
	case it.Type == "plan":
		if strings.TrimSpace(it.Text) != "" {
			r.admit(r.message(message.RoleAssistant, message.Text{Text: it.Text}))
		}
	case it.Type == "reasoning":
		if text := it.thinking(); text != "" {
			r.admit(r.message(message.RoleAssistant, message.Reasoning{Text: text, Provider: engineName}))
		}
	case it.Type == "contextCompaction":
		r.compactionCompleted(it.ID)
	case it.calls():
		r.callStarted(it) // where its beginning was not told
		if r.open[it.ID] {
			r.refused = it.Status == "declined"
			r.callCompleted(it.ID, it.result(), it.DurationMS)
		}
	default:
		r.admit(r.message(message.RoleAssistant, message.Opaque{Provider: engineName, Type: it.Type, Data: it.raw}))
	}
}

func (r *turnRun) callCompleted(id string, result message.ToolResult, took int64) {
	delete(r.open, id)
	r.done[id] = true
	call := r.calls[id]
	result.Name = call.Name
	stored := r.admit(r.message(message.RoleTool, result))
	result, _ = stored.Blocks[0].(message.ToolResult)
	r.result.Totals.OutputBytes += int64(len(result.Text()))
	r.e.show(CallCompleted{Call: call, Result: result})
	event := &trace.ToolCompleted{Request: r.number, Tool: call.Name, Call: projection.CallHash(call), Fate: "run", Outcome: string(result.Outcome),
		OutputBytes: int64(len(result.Text())), OutputHash: projection.ContentHash(result), Truncated: result.Truncated, DurationMS: min(max(took, 0), maxTokens)}
	if d, asked := r.decisions[id]; asked {
		event.Decision, event.Cause = string(d.Action), string(d.Cause)
	}
	if r.refused {
		event.Fate = "denied"
	}
	r.check(r.e.emit(event))
}

// closeDangling ends what Codex began and never ended: with the turn nothing
// of it goes on.
func (r *turnRun) closeDangling() {
	for _, id := range r.order {
		if r.open[id] {
			r.refused = false
			r.callCompleted(id, message.ToolResult{CallID: id, Outcome: message.OutcomeUnknown,
				Content: []message.Block{message.Text{Text: "[the turn ended before Codex reported a result; whether the call had an effect is not known]"}}}, 0)
		}
	}
	var ids []string
	for id := range r.texts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if text := r.texts[id].String(); strings.TrimSpace(text) != "" {
			r.admit(r.message(message.RoleAssistant, message.Text{Text: text + " […]"}))
		}
	}
	clear(r.texts)
	r.closeCompactions()
	for _, q := range r.questions {
		q.cancel()
	}
	clear(r.questions)
}
