package wirebody

import (
	"bytes"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// responsesInput reads the input of a Responses body. Items that one reply
// of the model consists of (reasoning, text, calls) become one message.
func (r *reader) responsesInput(v sessionfile.Value) {
	if v.Kind() == '"' {
		r.append(v.Line, message.Message{Role: message.RoleUser, Blocks: r.blocks(v)})
		return
	}
	var reply message.Message
	line := v.Line
	flush := func() {
		if len(reply.Blocks) > 0 {
			r.append(line, reply)
		}
		reply = message.Message{Role: message.RoleAssistant}
	}
	flush()
	for e := range v.Elements() {
		if e.Cut {
			continue
		}
		role, blocks := r.responsesItem(e)
		if role != message.RoleAssistant {
			flush()
			if role != "" {
				m := message.Message{Role: role, Blocks: blocks}
				if len(blocks) == 1 && blocks[0].Kind() == message.KindOpaque {
					m.Origin = message.OriginInjected // a tool or the provider made it
				}
				r.append(e.Line, m)
			}
			continue
		}
		if len(reply.Blocks) == 0 {
			line = e.Line
		}
		reply.Blocks = append(reply.Blocks, blocks...)
	}
	flush()
}

// item is the union of the input items.
type item struct {
	Type      string
	Role      string
	CallID    string
	Name      string
	Status    string
	arguments sessionfile.Value
	content   sessionfile.Value
	output    sessionfile.Value
	summary   sessionfile.Value
	encrypted string
}

func readItem(v sessionfile.Value) item {
	var it item
	for key, member := range v.Members() {
		switch key {
		case "type":
			it.Type = member.Text()
		case "role":
			it.Role = member.Text()
		case "call_id":
			it.CallID = member.Text()
		case "name":
			it.Name = member.Text()
		case "arguments", "input":
			it.arguments = member
		case "content":
			it.content = member
		case "output":
			it.output = member
		case "summary":
			it.summary = member
		case "encrypted_content":
			it.encrypted = member.Text()
		}
	}
	return it
}

// carried are items that are kept unread, with the side they stand on.
var carried = map[string]message.Role{
	"web_search_call": message.RoleAssistant, "file_search_call": message.RoleAssistant,
	"computer_call": message.RoleAssistant, "computer_call_output": message.RoleUser,
	"code_interpreter_call": message.RoleAssistant, "image_generation_call": message.RoleAssistant,
	"local_shell_call": message.RoleAssistant, "local_shell_call_output": message.RoleUser,
	"shell_call": message.RoleAssistant, "shell_call_output": message.RoleUser,
	"apply_patch_call": message.RoleAssistant, "apply_patch_call_output": message.RoleUser,
	"tool_search_call": message.RoleAssistant, "tool_search_output": message.RoleUser,
	"mcp_list_tools": message.RoleAssistant, "mcp_call": message.RoleAssistant,
	"mcp_approval_request": message.RoleAssistant, "mcp_approval_response": message.RoleUser,
	"compaction": message.RoleUser, "compaction_summary": message.RoleUser,
}

// responsesItem reads one item; an empty role means that it holds nothing.
func (r *reader) responsesItem(v sessionfile.Value) (message.Role, []message.Block) {
	if v.Kind() != '{' {
		r.b.Lose(v.Line, "an element of the input that is no object")
		return "", nil
	}
	it := readItem(v)
	switch it.Type {
	case "", "message":
		r.unknown(v, "an input message", "type", "role", "content", "id", "status", "phase")
		role := chatRole(it.Role)
		return role, r.blocks(it.content)
	case "function_call", "custom_tool_call":
		return message.RoleAssistant, []message.Block{
			message.ToolCall{ID: it.CallID, Name: it.Name, Arguments: written(it.arguments)}}
	case "function_call_output", "custom_tool_call_output":
		return message.RoleTool, []message.Block{
			message.ToolResult{CallID: it.CallID, Name: it.Name, Content: r.resultContent(it.output)}}
	case "reasoning":
		return message.RoleAssistant, []message.Block{r.responsesReasoning(v, it)}
	case "item_reference":
		r.b.Lose(v.Line, "item_reference: content that the provider keeps or adds is not in the body")
		r.body.Complete = false
		return "", nil
	}
	role, known := carried[it.Type]
	if !known {
		r.b.Losef(v.Line, "input item of the unknown type %q, kept unread", it.Type)
		role = message.RoleUser
	}
	return role, []message.Block{r.opaque(v, it.Type)}
}

// responsesReasoning keeps the whole item as opaque when it carries encrypted
// reasoning, beside the visible text.
func (r *reader) responsesReasoning(v sessionfile.Value, it item) message.Reasoning {
	var visible []string
	for _, list := range []sessionfile.Value{it.summary, it.content} {
		for e := range list.Elements() {
			if text := e.Member("text").Text(); text != "" {
				visible = append(visible, text)
			}
		}
	}
	out := message.Reasoning{Text: strings.Join(visible, "\n")}
	if it.encrypted != "" {
		out.Provider, out.Opaque = r.provider, bytes.Clone(v.Raw)
	}
	return out
}
