package wirebody

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// reader reads one body, or single messages, into a builder.
type reader struct {
	b       *sessionfile.Builder
	dialect Dialect
	// provider owns opaque data.
	provider string
	body     *Body
	// unnamed are the calls without an id that wait for a result, by tool.
	unnamed map[string][]string
}

func newReader(b *sessionfile.Builder, d Dialect) *reader {
	provider := map[Dialect]string{Anthropic: "anthropic", Responses: "openai", Gemini: "gemini"}[d]
	return &reader{b: b, dialect: d, provider: provider, body: &Body{Dialect: d}, unnamed: map[string][]string{}}
}

// contentBytes is the size from which an unknown setting is worth a loss:
// settings are short, content is not.
const contentBytes = 200

// member reads one top-level key of a body.
func (r *reader) member(key string, v sessionfile.Value) {
	if r.reference(key, v) || r.content(key, v) {
		return
	}
	switch key {
	case "model", "modelId":
		r.b.Session.Model = v.Text()
	case "max_tokens", "max_completion_tokens", "max_output_tokens":
		r.outputTokens(v)
	case "generationConfig", "generation_config":
		for name, setting := range v.Members() {
			switch name {
			case "maxOutputTokens", "max_output_tokens":
				r.outputTokens(setting)
			case "responseSchema", "responseJsonSchema", "response_schema", "response_json_schema":
				r.answerSchema(setting)
			}
		}
	case "response_format":
		r.answerSchema(v.Member("json_schema").Member("schema"))
	case "text":
		r.answerSchema(v.Member("format").Member("schema"))
	default:
		if !slices.Contains(settings, key) && len(v.Raw) >= contentBytes {
			r.b.Losef(v.Line, "unknown request key %q", key)
			r.body.Complete = false
		}
	}
}

// settings are keys that may be long and hold no content for the model.
var settings = []string{"metadata", "safetySettings", "safety_settings", "toolConfig", "tool_config", "tool_choice",
	"logit_bias", "provider", "labels", "include", "stop", "stop_sequences", "models", "transforms"}

// reference names keys that point to content outside the body.
func (r *reader) reference(key string, v sessionfile.Value) bool {
	switch key {
	case "previous_response_id", "conversation", "prompt", "cachedContent", "cached_content", "container",
		"context_management", "mcp_servers", "plugins", "prediction", "documents":
		if v.Kind() != 'n' && v.Kind() != 0 {
			r.b.Losef(v.Line, "%s: content that the provider keeps or adds is not in the body", key)
			r.body.Complete = false
		}
		return true
	}
	return false
}

// content reads the keys that hold what the model reads.
func (r *reader) content(key string, v sessionfile.Value) bool {
	switch key {
	case "tools", "functions":
		r.tools(v)
	case "system", "instructions", "systemInstruction", "system_instruction":
		r.instructions(v)
	case "messages":
		for e := range v.Elements() {
			if r.dialect == Anthropic {
				r.anthropicMessage(e)
			} else {
				line, m := r.chatMessage(e, nil)
				r.append(line, m)
			}
		}
	case "input":
		if r.dialect != Responses {
			return false
		}
		r.responsesInput(v)
	case "contents":
		for e := range v.Elements() {
			r.geminiContent(e)
		}
	default:
		return false
	}
	return true
}

func (r *reader) outputTokens(v sessionfile.Value) {
	if n := v.Number(); n > 0 {
		r.body.OutputTokens = n
	}
}

func (r *reader) answerSchema(v sessionfile.Value) {
	if v.Kind() != '{' {
		return
	}
	r.body.AnswerSchema = bytes.Clone(v.Raw)
	r.body.Complete = false
	r.b.Lose(v.Line, "the schema of the answer is no part of the messages")
}

// append adds a message. Bodies have no ids of messages.
func (r *reader) append(line int, m message.Message) {
	if m.Role == "" && len(m.Blocks) == 0 {
		return // cut off; the source names it
	}
	if m.ID == "" {
		m.ID = r.b.NextID()
	}
	r.b.Append(line, m)
}

func (r *reader) instructions(v sessionfile.Value) {
	if parts := v.Member("parts"); parts.Kind() != 0 { // Gemini: a content
		v = parts
	}
	blocks := r.blocks(v)
	if len(blocks) == 0 {
		return
	}
	id := "instructions"
	if n := len(r.b.Session.Instructions); n > 0 {
		id = fmt.Sprintf("instructions/%d", n+1)
	}
	r.b.Session.Instructions = append(r.b.Session.Instructions,
		message.Message{ID: id, Role: message.RoleSystem, Blocks: blocks})
}

// unknown names the keys of an object that are not among the known ones.
func (r *reader) unknown(v sessionfile.Value, what string, known ...string) {
	for key, member := range v.Members() {
		if member.Kind() == 'n' || slices.Contains(known, key) {
			continue
		}
		if empty := string(member.Raw); empty == "[]" || empty == "{}" || empty == `""` {
			continue
		}
		r.b.Losef(member.Line, "unknown key %q in %s", key, what)
	}
}

// opaque keeps an item unread.
func (r *reader) opaque(v sessionfile.Value, kind string) message.Block {
	return message.Opaque{Provider: r.provider, Type: kind, Data: bytes.Clone(v.Raw)}
}

// written returns a value as a model writes arguments: a string as it is,
// anything else as compact JSON, nothing for null.
func written(v sessionfile.Value) string {
	switch v.Kind() {
	case '"':
		return v.Text()
	case 0, 'n':
		return ""
	}
	if v.Cut {
		return string(v.Raw)
	}
	return sessionfile.CompactJSON(v.Raw)
}
