package claudecode

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// wireBlock is one block of content.
type wireBlock struct {
	Type      string                           `json:"type"`
	Text      string                           `json:"text"`
	Thinking  string                           `json:"thinking"`
	Signature json.RawMessage                  `json:"signature"`
	Data      json.RawMessage                  `json:"data"` // redacted thinking
	ID        string                           `json:"id"`
	Name      string                           `json:"name"`
	Input     json.RawMessage                  `json:"input"`
	ToolUseID string                           `json:"tool_use_id"`
	Content   sessionfile.TextOrList[wirePart] `json:"content"`
	IsError   *bool                            `json:"is_error"`
	Source    *wireSource                      `json:"source"`

	raw json.RawMessage // of a type that is carried unread
	odd bool            // a field had an unexpected type
}

// wirePart is one part of a tool result. It is a type of its own, without
// content, so that hostile nesting ends here.
type wirePart struct {
	Type   string      `json:"type"`
	Text   string      `json:"text"`
	Source *wireSource `json:"source"`

	raw json.RawMessage // of a type that is carried unread
	odd bool            // a field had an unexpected type
}

type wireSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
}

// UnmarshalJSON reads a block, or a bare string as a text block.
func (b *wireBlock) UnmarshalJSON(data []byte) error {
	if v := (sessionfile.Value{Raw: data}); v.Kind() == '"' {
		*b = wireBlock{Type: "text", Text: v.Text()}
		return nil
	}
	type plain wireBlock
	var p plain
	odd, err := decode(data, &p)
	switch p.Type {
	case "text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image":
	default:
		p.raw = bytes.Clone(data)
	}
	*b = wireBlock(p)
	b.odd = odd
	return err
}

// UnmarshalJSON reads a part, or a bare string as a text part.
func (b *wirePart) UnmarshalJSON(data []byte) error {
	if v := (sessionfile.Value{Raw: data}); v.Kind() == '"' {
		*b = wirePart{Type: "text", Text: v.Text()}
		return nil
	}
	type plain wirePart
	var p plain
	odd, err := decode(data, &p)
	if p.Type != "text" && p.Type != "image" {
		p.raw = bytes.Clone(data)
	}
	*b = wirePart(p)
	b.odd = odd
	return err
}

// decode reports a field of an unexpected type apart from broken JSON.
func decode(data []byte, into any) (odd bool, err error) {
	err = json.Unmarshal(data, into)
	if mismatch := (*json.UnmarshalTypeError)(nil); errors.As(err, &mismatch) {
		return true, nil
	}
	return false, err
}

// carried are the block types that a server-side tool makes: they are part of
// the reply and go back to the provider as they are.
var carried = map[string]bool{
	"server_tool_use": true, "web_search_tool_result": true, "web_fetch_tool_result": true,
	"code_execution_tool_result": true, "bash_code_execution_tool_result": true,
	"text_editor_code_execution_tool_result": true, "mcp_tool_use": true, "mcp_tool_result": true,
	"container_upload": true, "document": true, "search_result": true, "compaction": true,
}

// convert turns the content of a line into blocks.
func (im *importer) convert(number int, c sessionfile.TextOrList[wireBlock]) []message.Block {
	if c.IsText {
		return []message.Block{message.Text{Text: c.Text}}
	}
	if c.Odd {
		im.b.Lose(number, "content of an unexpected type")
	}
	var out []message.Block
	for _, b := range c.List {
		out = append(out, im.block(number, b))
	}
	return out
}

func (im *importer) block(number int, b wireBlock) message.Block {
	if b.odd || b.Content.Odd {
		im.b.Lose(number, "content of an unexpected type")
	}
	switch b.Type {
	case "text":
		return message.Text{Text: b.Text}
	case "thinking":
		return message.Reasoning{Text: b.Thinking, Provider: provider, Opaque: notEmpty(b.Signature)}
	case "redacted_thinking":
		return message.Reasoning{Provider: provider, Opaque: notEmpty(b.Data)}
	case "tool_use":
		return message.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)}
	case "tool_result":
		return im.result(number, b)
	case "image":
		return im.image(number, b.Source)
	}
	if !carried[b.Type] {
		im.b.Losef(number, "content of the unknown type %q, carried unread", clip(b.Type))
	}
	return message.Opaque{Provider: provider, Type: b.Type, Data: b.raw}
}

// notEmpty leaves out null and the empty string.
func notEmpty(raw json.RawMessage) json.RawMessage {
	if s := string(raw); s == "" || s == "null" || s == `""` {
		return nil
	}
	return raw
}

func (im *importer) image(number int, source *wireSource) message.Block {
	if source == nil {
		im.b.Lose(number, "an image without its source")
		return message.Image{}
	}
	if source.Type == "url" {
		return message.Image{URL: source.URL, MediaType: source.MediaType}
	}
	img, ok := sessionfile.ImageFromBase64(source.MediaType, source.Data)
	if !ok {
		im.b.Lose(number, "an image whose data is no base64")
	}
	return img
}

// result converts a tool result. The API takes a result without is_error for
// a success.
func (im *importer) result(number int, b wireBlock) message.Block {
	r := message.ToolResult{CallID: b.ToolUseID, Outcome: message.OutcomeSuccess}
	if b.IsError != nil && *b.IsError {
		r.Outcome = message.OutcomeFailure
	}
	parts := b.Content.List
	if b.Content.IsText {
		parts = []wirePart{{Type: "text", Text: b.Content.Text}}
	}
	for _, p := range parts {
		if p.odd {
			im.b.Lose(number, "content of an unexpected type")
		}
		switch p.Type {
		case "image":
			r.Content = append(r.Content, im.image(number, p.Source))
			continue
		case "text":
		default:
			if p.Type != "tool_reference" {
				im.b.Losef(number, "a tool result with a part of the unknown type %q, kept as its JSON", clip(p.Type))
			}
			p.Text = string(p.raw)
		}
		if p.Text != "" {
			r.Truncated = r.Truncated || strings.HasPrefix(p.Text, "<persisted-output>")
			r.Content = append(r.Content, message.Text{Text: p.Text})
		}
	}
	return r
}
