package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider/internal/dialect"
	"github.com/forge-agent/forge/provider/internal/wire"
)

// phaseType is our name for the mark that a message of the model carries
// ("commentary", "final_answer"). The provider wants it back with the message,
// so it stands as an opaque block in front of the message's text.
const phaseType = "message_phase"

type purpose int

const (
	forAnswer purpose = iota
	forCount
	forCompaction
)

// Encode returns the body that Stream sends: settings, tools, instructions and
// then the input, so that a longer conversation only adds at the end. The same
// request gives the same bytes.
func (m *Model) Encode(r model.Request) ([]byte, error) { return m.encode(r, forAnswer) }

func (m *Model) encode(r model.Request, p purpose) ([]byte, error) {
	supported := m.capabilities.NativeCompaction == model.NativeCompactionOpaqueItem
	if err := dialect.Check(r.Messages, m.options.Provider, supported); err != nil {
		return nil, err
	}
	j := wire.NewJSON(wire.SizeHint(r))
	j.Open('{').Field("model", m.options.Model)
	m.writeSettings(j, r, p)
	writeTools(j, r.Tools)
	if text := dialect.Texts(r.Instructions); text != "" {
		j.Field("instructions", text)
	}
	j.Key("input").Open('[')
	for _, msg := range r.Messages {
		m.writeItems(j, msg)
	}
	if r.Reminder != "" { // behind the conversation, of which the provider's cache holds the beginning
		writeMessage(j, "developer", []message.Block{message.Text{Text: r.Reminder}})
	}
	j.Close(']').Close('}')
	return j.Bytes()
}

func (m *Model) writeSettings(j *wire.JSON, r model.Request, p purpose) {
	o := &m.options
	if p == forCompaction {
		return
	}
	if p == forAnswer {
		j.Key("store").Bool(false).Key("stream").Bool(true)
		if !o.NoReasoning {
			j.Key("include").Open('[').String("reasoning.encrypted_content").Close(']')
		}
		if r.OutputTokens > 0 {
			j.Key("max_output_tokens").Int(r.OutputTokens)
		}
		if o.CacheKey != "" {
			j.Field("prompt_cache_key", o.CacheKey)
		}
		if o.CompactAtTokens > 0 {
			j.Key("context_management").Open('[').Open('{').Field("type", "compaction").
				Key("compact_threshold").Int(o.CompactAtTokens).Close('}').Close(']')
		}
	}
	j.Field("truncation", "disabled") // a request that is too long is refused, not cut
	if o.Effort != "" || o.Summary != "" {
		j.Key("reasoning").Open('{')
		if o.Effort != "" {
			j.Field("effort", o.Effort)
		}
		if o.Summary != "" {
			j.Field("summary", o.Summary)
		}
		j.Close('}')
	}
	if p == forAnswer {
		j.Members(o.Extra, "Options.Extra", "model", "store", "stream", "include", "max_output_tokens", "prompt_cache_key",
			"context_management", "truncation", "reasoning", "tools", "instructions", "input", "previous_response_id", "conversation")
	}
}

func writeTools(j *wire.JSON, tools []message.ToolDefinition) {
	if len(tools) == 0 {
		return
	}
	j.Key("tools").Open('[')
	for _, t := range tools {
		j.Open('{').Field("type", "function").Field("name", t.Name)
		if t.Description != "" {
			j.Field("description", t.Description)
		}
		schema := []byte(t.Parameters)
		if len(schema) == 0 {
			schema = []byte(`{"type":"object","properties":{}}`)
		}
		j.Key("parameters").Raw(schema, "the schema of "+t.Name).Key("strict").Bool(false).Close('}')
	}
	j.Close(']')
}

// writeItems writes the items that a message consists of.
func (m *Model) writeItems(j *wire.JSON, msg message.Message) {
	role := "user"
	switch msg.Role {
	case message.RoleSystem:
		role = "developer"
	case message.RoleAssistant:
		m.writeAssistant(j, msg)
		return
	}
	var content []message.Block
	flush := func() {
		if len(content) > 0 {
			writeMessage(j, role, content)
		}
		content = nil
	}
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case message.Text, message.Image:
			content = append(content, b)
		case message.ToolResult:
			flush()
			writeResult(j, b)
		case message.Opaque:
			flush()
			m.writeUnread(j, b)
		}
	}
	flush()
}

func writeMessage(j *wire.JSON, role string, content []message.Block) {
	j.Open('{').Field("type", "message").Field("role", role).Key("content")
	writeContent(j, content)
	j.Close('}')
}

func writeContent(j *wire.JSON, content []message.Block) {
	j.Open('[')
	for _, b := range content {
		switch b := b.(type) {
		case message.Text:
			j.Open('{').Field("type", "input_text").Field("text", b.Text).Close('}')
		case message.Image:
			writeImage(j, b)
		}
	}
	j.Close(']')
}

func writeImage(j *wire.JSON, b message.Image) {
	if !dialect.HasImage(b) {
		j.Open('{').Field("type", "input_text").Field("text", dialect.MissingImage).Close('}')
		return
	}
	j.Open('{').Field("type", "input_image")
	switch {
	case len(b.Data) > 0:
		j.Key("image_url").DataURL(dialect.MediaType(b), b.Data)
	case strings.HasPrefix(b.URL, "file:"):
		j.Field("file_id", strings.TrimPrefix(b.URL, "file:"))
	default:
		j.Field("image_url", b.URL)
	}
	detail := b.Detail
	if detail == "" {
		detail = "auto"
	}
	j.Field("detail", detail).Close('}')
}

func writeResult(j *wire.JSON, b message.ToolResult) {
	j.Open('{').Field("type", "function_call_output").Field("call_id", dialect.SafeID(b.CallID)).Key("output")
	if dialect.OnlyText(b.Content) {
		j.String(b.Text())
	} else {
		writeContent(j, b.Content)
	}
	j.Close('}')
}

// writeAssistant writes what the model said, thought and called, in its order.
func (m *Model) writeAssistant(j *wire.JSON, msg message.Message) {
	phase := ""
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case message.Text:
			j.Open('{').Field("type", "message").Field("role", "assistant").Field("content", b.Text)
			if phase != "" {
				j.Field("phase", phase)
			}
			j.Close('}')
			phase = ""
		case message.Image:
			writeMessage(j, "user", []message.Block{b}) // the dialect has no picture of the model's own
		case message.Reasoning:
			if b.Provider == m.options.Provider && len(b.Opaque) > 0 {
				j.Raw(b.Opaque, "reasoning of the assistant")
			}
		case message.ToolCall:
			arguments := b.Arguments
			if strings.TrimSpace(arguments) == "" {
				arguments = "{}"
			}
			j.Open('{').Field("type", "function_call").Field("call_id", dialect.SafeID(b.ID)).Field("name", b.Name).
				Field("arguments", arguments).Close('}')
		case message.ToolResult:
			writeResult(j, b)
		case message.Opaque:
			if b.Type == phaseType && b.Provider == m.options.Provider {
				_ = json.Unmarshal(b.Data, &phase) // another form is no phase
				continue
			}
			m.writeUnread(j, b)
		}
	}
}

// writeUnread writes an item, or each item of a list, as it came.
func (m *Model) writeUnread(j *wire.JSON, b message.Opaque) {
	if b.Provider != m.options.Provider || b.Type == phaseType || native(b.Type) && m.options.NoCompaction {
		return
	}
	data := bytes.TrimSpace(b.Data)
	if len(data) == 0 || data[0] != '[' {
		j.Raw(data, "an item of the provider")
		return
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		j.Fail("encode request: an item of the provider is no JSON")
	}
	for _, raw := range list {
		j.Raw(raw, "an item of the provider")
	}
}
