package codex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// readItem reports whether items of the type are read; others are carried.
func readItem(kind string) bool {
	switch kind {
	case "message", "reasoning", "function_call", "function_call_output", "custom_tool_call",
		"custom_tool_call_output", "local_shell_call", "tool_search_call", "tool_search_output",
		"agent_message", "ghost_snapshot":
		return true
	}
	return false
}

// carried are the types of items that a server-side tool or the provider's
// compaction makes.
var carried = map[string]bool{
	"web_search_call": true, "image_generation_call": true, "compaction": true, "compaction_summary": true,
	"context_compaction": true, "compaction_trigger": true, "file_search_call": true,
	"code_interpreter_call": true, "mcp_call": true, "mcp_list_tools": true, "computer_call": true,
}

// readItem keeps a response item.
func (ro *rollout) readItem(v sessionfile.Value, l *wireLine) {
	it := &l.Payload.item
	var raw json.RawMessage
	if !readItem(it.Type) {
		raw = bytes.Clone(v.Member("payload").Raw)
		if !carried[it.Type] {
			ro.losef(v.Line, "items of the unknown type %q, carried unread", clip(it.Type))
		}
	}
	messages, byModel := ro.convert(v.Line, it, raw)
	for i := range messages {
		messages[i].Time = l.Timestamp.Time
	}
	if len(messages) > 0 || byModel {
		ro.add(v, l, said{messages, byModel})
	}
}

// convert turns an item into messages without time. A user message whose
// parts have different origins gives several.
func (ro *rollout) convert(line int, it *item, raw json.RawMessage) (messages []message.Message, byModel bool) {
	one := func(role message.Role, origin message.Origin, block message.Block) []message.Message {
		return []message.Message{{ID: it.ID, Role: role, Origin: origin, Blocks: []message.Block{block}}}
	}
	assistant := func(block message.Block) ([]message.Message, bool) {
		return one(message.RoleAssistant, message.OriginAuthored, block), true
	}
	switch it.Type {
	case "message":
		return ro.message(line, it)
	case "reasoning":
		block := ro.reasoning(it)
		if block.Text == "" && len(block.Opaque) == 0 {
			ro.lose(line, "reasoning whose content is not in the file")
			return nil, true
		}
		return assistant(block)
	case "function_call", "custom_tool_call", "local_shell_call", "tool_search_call":
		return assistant(ro.call(it))
	case "function_call_output", "custom_tool_call_output":
		return one(message.RoleTool, message.OriginAuthored, ro.output(line, it)), false
	case "tool_search_output":
		result := message.ToolResult{CallID: it.CallID, Outcome: message.OutcomeSuccess}
		if len(it.Tools) > 0 {
			result.Content = []message.Block{message.Text{Text: string(it.Tools)}}
		}
		return one(message.RoleTool, message.OriginAuthored, result), false
	case "agent_message":
		// From another agent: not a person's words.
		blocks := ro.parts(line, it.Content)
		if len(blocks) == 0 {
			return nil, false
		}
		return []message.Message{{ID: it.ID, Role: message.RoleUser, Origin: message.OriginInjected, Blocks: blocks}}, false
	case "ghost_snapshot":
		return nil, false
	}
	return assistant(message.Opaque{Provider: provider, Type: it.Type, Data: raw})
}

func (ro *rollout) message(line int, it *item) ([]message.Message, bool) {
	blocks := ro.parts(line, it.Content)
	switch it.Role {
	case "assistant":
		if len(blocks) == 0 {
			ro.lose(line, "assistant message without content")
			return nil, true
		}
		return []message.Message{{ID: it.ID, Role: message.RoleAssistant, Blocks: blocks}}, true
	case "user":
	case "developer", "system":
		if len(blocks) == 0 {
			return nil, false
		}
		return []message.Message{{ID: it.ID, Role: message.RoleSystem, Origin: message.OriginInjected, Blocks: blocks}}, false
	default:
		ro.losef(line, "a message of the unknown role %q, kept as injected user text", clip(it.Role))
	}
	var out []message.Message
	before := message.OriginAuthored
	for i, block := range blocks {
		origin := before
		switch {
		case it.Role != "user":
			origin = message.OriginInjected
		case isWrapper(block):
			origin = message.OriginInjected
		case len(it.Passed.Kinds) == len(blocks):
			origin = originOfKind(it.Passed.Kinds[i], before)
		default:
			if t, ok := block.(message.Text); ok {
				origin = originOf(t.Text)
			}
		}
		if n := len(out); n > 0 && origin == before {
			out[n-1].Blocks = append(out[n-1].Blocks, block)
			continue
		}
		m := message.Message{ID: it.ID, Role: message.RoleUser, Origin: origin, Blocks: []message.Block{block}}
		if n := len(out); n > 0 && m.ID != "" {
			m.ID = fmt.Sprintf("%s/part%d", m.ID, n+1)
		}
		out, before = append(out, m), origin
	}
	return out, false
}

// parts converts the content of a message or of a tool's output.
func (ro *rollout) parts(line int, c sessionfile.TextOrList[wirePart]) []message.Block {
	if c.Odd {
		ro.lose(line, "content of an unexpected type")
	}
	list := c.List
	if c.IsText {
		list = []wirePart{{Type: "text", Text: c.Text}}
	}
	var out []message.Block
	for _, p := range list {
		switch {
		case p.Type == "input_image" && p.ImageURL != "":
			img := sessionfile.ImageFromURL(p.ImageURL)
			img.Detail = p.Detail
			out = append(out, img)
		case p.Type == "input_image":
			ro.lose(line, "an image without its source")
		case p.raw == nil || p.Type == "" && p.Content != "":
			if text := ro.im.shared(p.Text + p.Content); text != "" {
				out = append(out, message.Text{Text: text})
			}
		default:
			if p.Type != "encrypted_content" {
				ro.losef(line, "content of the unknown type %q, carried unread", clip(p.Type))
			}
			out = append(out, message.Opaque{Provider: provider, Type: p.Type, Data: p.raw})
		}
	}
	return out
}

func (ro *rollout) reasoning(it *item) message.Reasoning {
	var texts []string
	for _, list := range [][]wirePart{it.Summary.List, it.Content.List} {
		for _, p := range list {
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
	}
	r := message.Reasoning{Text: ro.im.shared(strings.Join(texts, "\n\n")), Provider: provider}
	if s := string(it.Encrypted); s != "" && s != "null" && s != `""` {
		r.Opaque = it.Encrypted
	}
	return r
}

func (ro *rollout) call(it *item) message.ToolCall {
	c := message.ToolCall{ID: it.CallID, Name: it.Name}
	if c.ID == "" {
		c.ID = it.ID
	}
	arguments := it.Arguments
	switch it.Type {
	case "custom_tool_call":
		arguments = it.Input
	case "local_shell_call":
		c.Name, arguments = "local_shell", it.Action
	case "tool_search_call":
		c.Name = "tool_search"
	}
	if it.Namespace != "" {
		c.Name = it.Namespace + "." + c.Name
	}
	c.Arguments = string(arguments)
	if v := (sessionfile.Value{Raw: arguments}); v.Kind() == '"' {
		c.Arguments = v.Text()
	} else if v.Kind() == 'n' {
		c.Arguments = ""
	}
	return c
}

// output converts a tool's output, as the model saw it.
func (ro *rollout) output(line int, it *item) message.ToolResult {
	r := message.ToolResult{CallID: it.CallID}
	for _, block := range ro.parts(line, it.Output) {
		if o, ok := block.(message.Opaque); ok {
			block = message.Text{Text: string(o.Data)}
		}
		r.Content = append(r.Content, block)
	}
	text := r.Text()
	r.Outcome = outcome(text)
	for _, p := range it.Output.List {
		if p.Success != nil {
			r.Outcome = message.OutcomeFailure
			if *p.Success {
				r.Outcome = message.OutcomeSuccess
			}
		}
	}
	if m := cutMark.FindStringSubmatch(text); m != nil {
		r.Truncated = true
		if n, err := strconv.Atoi(m[1]); err == nil && m[2] == "chars" {
			r.OriginalBytes = len(text) - len(m[0]) + n
		}
	}
	return r
}

// cutMark is what the program puts in place of the middle of a long output.
var cutMark = regexp.MustCompile(`…(\d+) (chars|tokens) truncated…`)

var exitCode = regexp.MustCompile(`(?:Process exited with code|Exit code:|"exit_code":) ?(-?\d+)`)

// outcome reads the exit code from the frame that the program puts around a
// command's output: before it, or after it in the older JSON form.
func outcome(text string) message.Outcome {
	const frame = 300
	head, tail := text, ""
	if len(text) > frame {
		head = text[:frame]
	}
	if strings.HasPrefix(text, `{"output":`) {
		head, tail = "", text[max(0, len(text)-frame):]
	}
	m := exitCode.FindStringSubmatch(head + tail)
	switch {
	case m == nil:
		return message.OutcomeUnknown
	case m[1] == "0":
		return message.OutcomeSuccess
	}
	return message.OutcomeFailure
}
