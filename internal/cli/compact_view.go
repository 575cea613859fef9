package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// chatMessage is one message in the chat-completions form.
type chatMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// writeView writes a view as plain chat messages: text, tool calls and their
// results. Pictures are named, not copied; messages with nothing to show, such
// as sealed reasoning, are left out.
func writeView(path string, s *sessionfile.Session, ms []message.Message) error {
	out := []chatMessage{}
	for _, m := range append(append([]message.Message(nil), s.Instructions...), ms...) {
		out = append(out, chatMessages(m)...)
	}
	data, err := json.MarshalIndent(pairCalls(out), "", " ")
	if err != nil {
		return fmt.Errorf("write view: %w", err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		return usagef("write view: %w", err)
	}
	return nil
}

func chatMessages(m message.Message) []chatMessage {
	if m.Role == message.RoleTool {
		var out []chatMessage
		for _, b := range m.Blocks {
			if r, ok := b.(message.ToolResult); ok {
				out = append(out, chatMessage{Role: "tool", Content: blockText(r.Content), ToolCallID: r.CallID})
			}
		}
		return out
	}
	c := chatMessage{Role: string(m.Role), Content: blockText(m.Blocks)}
	for _, b := range m.Blocks {
		if call, ok := b.(message.ToolCall); ok {
			c.ToolCalls = append(c.ToolCalls, chatCall{ID: call.ID, Type: "function", Function: chatFunction{Name: call.Name, Arguments: chatArguments(call.Arguments)}})
		}
	}
	if c.Content == "" && len(c.ToolCalls) == 0 {
		return nil
	}
	return []chatMessage{c}
}

// chatArguments returns the arguments of a call as a JSON object, which other
// agents expect: free text becomes its only field.
func chatArguments(text string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return text
	}
	object = map[string]json.RawMessage{}
	if strings.TrimSpace(text) != "" {
		quoted, err := json.Marshal(text)
		if err != nil {
			return "{}"
		}
		object["input"] = quoted
	}
	data, err := json.Marshal(object)
	if err != nil {
		return "{}"
	}
	return string(data)
}

// What stands in a written view where the session has half a tool call.
const (
	noResult = "[The session holds no result of this call.]"
	noCall   = "[A tool result whose call the session does not hold.]\n"
)

// pairCalls puts every result right behind its call, as the chat form wants
// it. A session may have been cut in between: a call without a result gets a
// note, a result without a call is shown as text.
func pairCalls(ms []chatMessage) []chatMessage {
	waiting := map[string][]int{} // call id → results, in order
	for i, m := range ms {
		if m.Role == string(message.RoleTool) {
			waiting[m.ToolCallID] = append(waiting[m.ToolCallID], i)
		}
	}
	out, used := []chatMessage{}, map[int]bool{}
	for i, m := range ms {
		if used[i] {
			continue
		}
		if m.Role == string(message.RoleTool) {
			m = chatMessage{Role: string(message.RoleUser), Content: noCall + m.Content}
		}
		out = append(out, m)
		for _, call := range m.ToolCalls {
			for len(waiting[call.ID]) > 0 && waiting[call.ID][0] < i {
				waiting[call.ID] = waiting[call.ID][1:]
			}
			result := chatMessage{Role: string(message.RoleTool), ToolCallID: call.ID, Content: noResult}
			if at := waiting[call.ID]; len(at) > 0 {
				result, waiting[call.ID] = ms[at[0]], at[1:]
				used[at[0]] = true
			}
			out = append(out, result)
		}
	}
	return out
}

func blockText(bs []message.Block) string {
	var parts []string
	for _, b := range bs {
		switch b := b.(type) {
		case message.Text:
			parts = append(parts, b.Text)
		case message.Image:
			parts = append(parts, "[image, "+b.MediaType+"]")
		}
	}
	return strings.Join(parts, "\n")
}
