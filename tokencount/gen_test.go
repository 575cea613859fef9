package tokencount_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// words counts words: easy to check by hand.
type words struct{ name string }

func (words) Count(text string) int { return len(strings.Fields(text)) }
func (w words) Name() string {
	if w.name == "" {
		return "words"
	}
	return w.name
}

func text(s string) message.Block { return message.Text{Text: s} }

func genText(t *rapid.T) string {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`([a-z]{1,9}[ \n.]){0,30}`),
		rapid.StringMatching(`[0-9A-Fa-f]{0,60}`),
		rapid.SampledFrom([]string{"", "a", "你好，世界。再见", "\xff\xfe", strings.Repeat("=", 300), "func main() {\n\treturn\n}\n", `{"a": [1, 2]}`}),
	).Draw(t, "text")
}

func genArguments(t *rapid.T) string {
	switch rapid.IntRange(0, 3).Draw(t, "arguments") {
	case 0:
		return genText(t)
	case 1:
		b, _ := json.Marshal(map[string]any{"path": genText(t), "n": rapid.Int().Draw(t, "n")})
		return string(b)
	case 2:
		return `{"a": {"b": [1, 2, {"c": null}]}, "d": "` + "x" + `"}`
	}
	return `{"cut": "of`
}

func genOpaque(t *rapid.T) json.RawMessage {
	if rapid.Bool().Draw(t, "sealed") {
		return nil
	}
	return json.RawMessage(fmt.Sprintf(`{"data": %q}`, strings.Repeat("A", rapid.IntRange(0, 3000).Draw(t, "bytes"))))
}

func genBlock(t *rapid.T, depth int) message.Block {
	last := 5
	if depth > 0 {
		last = 1 // results hold texts and pictures
	}
	switch rapid.IntRange(0, last).Draw(t, "kind") {
	case 1:
		return message.Image{WidthPixels: rapid.IntRange(-1, 5000).Draw(t, "w"), HeightPixels: rapid.IntRange(-1, 5000).Draw(t, "h"),
			Detail: rapid.SampledFrom([]string{"", "low", "high"}).Draw(t, "detail")}
	case 2:
		return message.Reasoning{Text: genText(t), Provider: "p", Opaque: genOpaque(t)}
	case 3:
		return message.ToolCall{ID: "c", Name: genText(t), Arguments: genArguments(t)}
	case 4:
		r := message.ToolResult{CallID: "c"}
		for range rapid.IntRange(0, 3).Draw(t, "parts") {
			r.Content = append(r.Content, genBlock(t, depth+1))
		}
		return r
	case 5:
		return message.Opaque{Provider: "p", Type: "x", Data: genOpaque(t)}
	}
	return message.Text{Text: genText(t)}
}

func genMessage(t *rapid.T) message.Message {
	m := message.Message{
		Role:   rapid.SampledFrom([]message.Role{message.RoleSystem, message.RoleUser, message.RoleAssistant, message.RoleTool}).Draw(t, "role"),
		Origin: rapid.SampledFrom([]message.Origin{message.OriginAuthored, message.OriginInjected, message.OriginSummary}).Draw(t, "origin"),
	}
	for range rapid.IntRange(0, 4).Draw(t, "blocks") {
		m.Blocks = append(m.Blocks, genBlock(t, 0))
	}
	return m
}

func genTool(t *rapid.T) message.ToolDefinition {
	schema := rapid.SampledFrom([]string{"", "{}", "null", `{"type": "object"`, `[]`, `"text"`,
		`{"type": "object", "properties": {"path": {"type": "string", "description": "where"}, "mode": {"enum": ["r", "w"]}}, "required": ["path"]}`,
		`{"properties": {"list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": ["integer", "null"], "default": 3}}}}}}`,
		`{"properties": {"any": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"deep": {}}}]}}}`,
		strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200),
	}).Draw(t, "schema")
	return message.ToolDefinition{Name: genText(t), Description: genText(t), Parameters: json.RawMessage(schema)}
}

func genRequest(t *rapid.T) model.Request {
	var r model.Request
	for range rapid.IntRange(0, 2).Draw(t, "instructions") {
		r.Instructions = append(r.Instructions, genMessage(t))
	}
	for range rapid.IntRange(0, 6).Draw(t, "messages") {
		r.Messages = append(r.Messages, genMessage(t))
	}
	for range rapid.IntRange(0, 3).Draw(t, "tools") {
		r.Tools = append(r.Tools, genTool(t))
	}
	if rapid.Bool().Draw(t, "reminded") {
		r.Reminder = genText(t)
	}
	return r
}
