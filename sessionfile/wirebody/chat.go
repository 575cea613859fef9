package wirebody

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// ReadChatMessage reads one element of a chat-completions message list. The
// message has an id only if the element has one, and the role as the file
// names it when it is none of the dialect's ("exit" in a trajectory).
//
// Keys that the dialect does not have are given to other, which says whether
// it knows them; those that nobody knows become losses of b. A nil other
// knows none.
func ReadChatMessage(b *sessionfile.Builder, v sessionfile.Value,
	other func(key string, member sessionfile.Value) bool) message.Message {
	_, m := newReader(b, Chat).chatMessage(v, other)
	return m
}

// chatParts are the pieces of one message before they are put in order.
type chatParts struct {
	role     string
	content  sessionfile.Value
	thinking string
	details  json.RawMessage
	calls    []message.Block
	callID   string
	name     string
	refusal  string
}

func (r *reader) chatMessage(v sessionfile.Value, other func(string, sessionfile.Value) bool) (int, message.Message) {
	if v.Kind() != '{' {
		r.b.Lose(v.Line, "an element of the message list that is no object")
		return v.Line, message.Message{}
	}
	var p chatParts
	var m message.Message
	for key, member := range v.Members() {
		if member.Cut {
			continue // the source names it
		}
		switch key {
		case "role":
			p.role = member.Text()
		case "content":
			p.content = member
		case "id":
			m.ID = member.Text()
		case "name":
			p.name = member.Text()
		case "tool_calls":
			for e := range member.Elements() {
				p.calls = append(p.calls, r.chatCall(e)...)
			}
		case "function_call":
			if member.Kind() == '{' {
				p.calls = append(p.calls, functionCall("", member))
			}
		case "tool_call_id":
			p.callID = member.Text()
		case "reasoning_content", "reasoning":
			if text := member.Text(); text != "" {
				p.thinking = text
			}
		case "reasoning_details", "thinking_blocks":
			if member.Kind() == '[' {
				p.details = bytes.Clone(member.Raw)
			}
		case "refusal":
			p.refusal = member.Text()
		case "cache_control", "provider_specific_fields", "prefix", "partial":
			// Settings, or a second copy of the reasoning.
		default:
			if other != nil && other(key, member) {
				continue
			}
			if member.Kind() != 'n' && string(member.Raw) != "[]" && string(member.Raw) != `""` {
				r.b.Losef(member.Line, "unknown key %q in a chat message", key)
			}
		}
	}
	m.Role = chatRole(p.role)
	m.Blocks = r.chatBlocks(p, m.Role, v.Line)
	return v.Line, m
}

func chatRole(name string) message.Role {
	switch name {
	case "system", "developer":
		return message.RoleSystem
	case "function", "tool":
		return message.RoleTool
	}
	return message.Role(name)
}

// chatBlocks puts the pieces in the order in which the model wrote them:
// reasoning, text, calls.
func (r *reader) chatBlocks(p chatParts, role message.Role, line int) []message.Block {
	if role == message.RoleTool {
		content := r.blocks(p.content)
		for _, block := range content {
			// A tool message in Anthropic's words holds whole results.
			if _, ok := block.(message.ToolResult); ok {
				return content
			}
		}
		return []message.Block{message.ToolResult{CallID: p.callID, Name: p.name, Content: r.resultContent(p.content)}}
	}
	if p.name != "" {
		r.b.Lose(line, "the name of a participant is not kept")
	}
	var out []message.Block
	if block, ok := reasoningDetails(p.thinking, p.details); ok {
		out = append(out, block)
	}
	out = append(out, r.blocks(p.content)...)
	if p.refusal != "" {
		out = append(out, message.Text{Text: p.refusal})
	}
	return append(out, p.calls...)
}

func (r *reader) chatCall(v sessionfile.Value) []message.Block {
	id, kind := "", ""
	var function, custom sessionfile.Value
	for key, member := range v.Members() {
		switch key {
		case "id":
			id = member.Text()
		case "type":
			kind = member.Text()
		case "function":
			function = member
		case "custom":
			custom = member
		}
	}
	switch {
	case v.Cut:
		return nil
	case function.Kind() == '{':
		return []message.Block{functionCall(id, function)}
	case custom.Kind() == '{':
		return []message.Block{functionCall(id, custom)}
	}
	r.b.Losef(v.Line, "tool call of the unknown type %q, kept unread", kind)
	return []message.Block{r.opaque(v, kind)}
}

func functionCall(id string, v sessionfile.Value) message.ToolCall {
	call := message.ToolCall{ID: id}
	for key, member := range v.Members() {
		switch key {
		case "name":
			call.Name = member.Text()
		case "arguments", "input":
			call.Arguments = written(member)
		}
	}
	return call
}

// reasoningDetails joins the visible reasoning with what a provider wants
// back beside it. Details that only repeat the text are not kept a second
// time.
func reasoningDetails(text string, details json.RawMessage) (message.Reasoning, bool) {
	var list []struct {
		Type, Text, Thinking, Summary, Data, Signature, ID string
	}
	if json.Unmarshal(details, &list) != nil && len(details) > 0 {
		return message.Reasoning{Text: text, Opaque: details}, true
	}
	var visible strings.Builder
	sealed := false
	for _, d := range list {
		visible.WriteString(d.Text + d.Thinking + d.Summary)
		sealed = sealed || d.Data != "" || d.Signature != ""
	}
	if text == "" {
		text = visible.String()
	}
	out := message.Reasoning{Text: text}
	if sealed {
		out.Opaque = details
	}
	return out, text != "" || sealed
}
