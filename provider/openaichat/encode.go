package openaichat

import (
	"encoding/json"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider/internal/dialect"
	"github.com/forge-agent/forge/provider/internal/wire"
)

// Encode returns the body that Stream sends: settings, tools and then the
// messages, so that a longer conversation only adds at the end. The same
// request gives the same bytes.
func (m *Model) Encode(r model.Request) ([]byte, error) {
	if err := dialect.Check(r.Messages, m.options.Provider, false); err != nil {
		return nil, err
	}
	o := &m.options
	j := wire.NewJSON(wire.SizeHint(r))
	j.Open('{').Field("model", o.Model).Key("stream").Bool(true)
	if !o.OmitStreamOptions {
		j.Key("stream_options").Open('{').Key("include_usage").Bool(true).Close('}')
	}
	if r.OutputTokens > 0 {
		j.Key(o.OutputCapField).Int(r.OutputTokens)
	}
	if o.Effort != "" {
		j.Field("reasoning_effort", o.Effort)
	}
	j.Members(o.Extra, "Options.Extra", "model", "stream", "stream_options", "messages", "tools", "reasoning_effort", "max_tokens", "max_completion_tokens")
	writeTools(j, r.Tools)
	j.Key("messages").Open('[')
	for _, instruction := range r.Instructions {
		m.writeMessage(j, instruction)
	}
	var images []message.Block
	for _, msg := range r.Messages {
		if msg.Role != message.RoleTool {
			images = flushImages(j, images)
		}
		images = append(images, m.writeMessage(j, msg)...)
	}
	flushImages(j, images)
	if r.Reminder != "" {
		// Behind the conversation, of which the provider's cache holds the
		// beginning; many servers take system messages at the beginning only.
		j.Open('{').Field("role", "user").Field("content", r.Reminder).Close('}')
	}
	j.Close(']').Close('}')
	return j.Bytes()
}

func writeTools(j *wire.JSON, tools []message.ToolDefinition) {
	if len(tools) == 0 {
		return
	}
	j.Key("tools").Open('[')
	for _, t := range tools {
		j.Open('{').Field("type", "function").Key("function").Open('{').Field("name", t.Name)
		if t.Description != "" {
			j.Field("description", t.Description)
		}
		if len(t.Parameters) > 0 {
			j.Key("parameters").Raw(t.Parameters, "the schema of "+t.Name)
		}
		j.Close('}').Close('}')
	}
	j.Close(']')
}

// writeMessage writes one message, or as many as it has tool results. It
// returns pictures of tool results, for which the dialect has no place: they
// follow as a user message once all results are there.
func (m *Model) writeMessage(j *wire.JSON, msg message.Message) []message.Block {
	if msg.Role == message.RoleAssistant {
		m.writeAssistant(j, msg)
		return nil
	}
	var images, rest []message.Block
	for _, b := range msg.Blocks {
		switch b := b.(type) {
		case message.ToolResult:
			j.Open('{').Field("role", "tool").Field("tool_call_id", b.CallID).Field("content", resultText(b)).Close('}')
			for _, inner := range b.Content {
				if img, ok := inner.(message.Image); ok && dialect.HasImage(img) {
					images = append(images, img)
				}
			}
		case message.Text, message.Image:
			rest = append(rest, b)
		}
	}
	if len(rest) > 0 && msg.Role == message.RoleTool {
		return append(images, rest...)
	}
	if len(rest) > 0 {
		role := "user"
		if msg.Role == message.RoleSystem {
			role = "system"
		}
		writeContent(j, role, rest)
	}
	return images
}

func flushImages(j *wire.JSON, images []message.Block) []message.Block {
	if len(images) > 0 {
		writeContent(j, "user", images)
	}
	return nil
}

// resultText is what a tool answered, with a mark for each picture.
func resultText(r message.ToolResult) string {
	if text, ok := dialect.Only(r.Content); ok {
		return text
	}
	var parts []string
	for _, b := range r.Content {
		switch b := b.(type) {
		case message.Text:
			parts = append(parts, b.Text)
		case message.Image:
			mark := dialect.MissingImage
			if dialect.HasImage(b) {
				mark = "[image follows]"
			}
			parts = append(parts, mark)
		}
	}
	return strings.Join(parts, "\n")
}

// writeContent writes a message of texts and pictures: a plain string where
// there are only texts, since the smaller servers take nothing else.
func writeContent(j *wire.JSON, role string, blocks []message.Block) {
	j.Open('{').Field("role", role)
	if dialect.OnlyText(blocks) {
		j.Field("content", message.Message{Blocks: blocks}.Text()).Close('}')
		return
	}
	j.Key("content").Open('[')
	for _, b := range blocks {
		switch b := b.(type) {
		case message.Text:
			j.Open('{').Field("type", "text").Field("text", b.Text).Close('}')
		case message.Image:
			writeImage(j, b)
		}
	}
	j.Close(']').Close('}')
}

func writeImage(j *wire.JSON, b message.Image) {
	if !dialect.HasImage(b) {
		j.Open('{').Field("type", "text").Field("text", dialect.MissingImage).Close('}')
		return
	}
	j.Open('{').Field("type", "image_url").Key("image_url").Open('{').Key("url")
	if len(b.Data) > 0 {
		j.DataURL(dialect.MediaType(b), b.Data)
	} else {
		j.String(b.URL)
	}
	if b.Detail != "" {
		j.Field("detail", b.Detail)
	}
	j.Close('}').Close('}')
}

func (m *Model) writeAssistant(j *wire.JSON, msg message.Message) {
	text := msg.Text()
	calls, reasoning := 0, m.reasoning(msg)
	for _, b := range msg.Blocks {
		if b.Kind() == message.KindToolCall {
			calls++
		}
	}
	if text == "" && calls == 0 {
		return // nothing that this provider could read
	}
	j.Open('{').Field("role", "assistant")
	thinking := ""
	for _, r := range reasoning {
		switch {
		case r.details != nil:
			j.Key(r.field).Raw(r.details, "reasoning of the assistant")
		case r.field == thinkingPart:
			thinking = r.text
		default:
			j.Field(r.field, r.text)
		}
	}
	switch {
	case thinking != "":
		writeThinking(j, thinking, text)
	case text != "":
		j.Field("content", text)
	default:
		j.Key("content").Raw([]byte("null"), "")
	}
	if calls > 0 {
		j.Key("tool_calls").Open('[')
		for _, b := range msg.Blocks {
			call, ok := b.(message.ToolCall)
			if !ok {
				continue
			}
			arguments := call.Arguments
			if strings.TrimSpace(arguments) == "" {
				arguments = "{}"
			}
			j.Open('{').Field("id", call.ID).Field("type", "function").Key("function").Open('{').
				Field("name", call.Name).Field("arguments", arguments).Close('}').Close('}')
		}
		j.Close(']')
	}
	j.Close('}')
}

// thinkingPart is our name for reasoning that stands among the parts of the
// content, as Mistral has it.
const thinkingPart = "thinking"

func writeThinking(j *wire.JSON, thinking, text string) {
	j.Key("content").Open('[').Open('{').Field("type", "thinking").Key("thinking").Open('[').
		Open('{').Field("type", "text").Field("text", thinking).Close('}').Close(']').Close('}')
	if text != "" {
		j.Open('{').Field("type", "text").Field("text", text).Close('}')
	}
	j.Close(']')
}

// sentReasoning is one member with reasoning: a text, or a list that is
// carried unread.
type sentReasoning struct {
	field, text string
	details     json.RawMessage
}

// reasoning collects what goes back. A block's opaque part is the name of the
// member that the server used, as a JSON string, or OpenRouter's list of
// details.
func (m *Model) reasoning(msg message.Message) []sentReasoning {
	if m.options.Reasoning == ReasoningNever {
		return nil
	}
	var out []sentReasoning
	add := func(field, text string, details json.RawMessage) {
		for i := range out {
			if out[i].field == field && details == nil {
				out[i].text += text
				return
			}
		}
		out = append(out, sentReasoning{field, text, details})
	}
	for _, b := range msg.Blocks {
		r, ok := b.(message.Reasoning)
		if !ok || r.Provider != "" && r.Provider != m.options.Provider || m.options.Reasoning == ReasoningSameProvider && r.Provider == "" {
			continue
		}
		var field string
		switch {
		case len(r.Opaque) > 0 && r.Opaque[0] == '[':
			add("reasoning_details", "", r.Opaque)
			continue
		case json.Unmarshal(r.Opaque, &field) == nil && reasoningField(field):
		default:
			field = string(ReasoningContent)
		}
		if r.Text != "" {
			add(field, r.Text, nil)
		}
	}
	return out
}

func reasoningField(name string) bool {
	return name == "reasoning" || name == "reasoning_content" || name == thinkingPart
}
