package wirebody

import (
	"bytes"
	"encoding/json"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// part is one element of a content list: the union of what the chat,
// Anthropic and Responses dialects put there, since saved conversations mix
// them.
type part struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      json.RawMessage `json:"data"`
	Refusal   string          `json:"refusal"`
	ImageURL  json.RawMessage `json:"image_url"`
	Detail    string          `json:"detail"`
	FileID    string          `json:"file_id"`
	Source    *imageSource    `json:"source"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   *bool           `json:"is_error"`
}

type imageSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
	FileID    string `json:"file_id"`
}

// unread are types of content that are known and carried without reading.
var unread = map[string]bool{
	"server_tool_use": true, "mcp_tool_use": true, "mcp_tool_result": true, "web_search_tool_result": true,
	"web_fetch_tool_result": true, "code_execution_tool_result": true, "bash_code_execution_tool_result": true,
	"text_editor_code_execution_tool_result": true, "tool_search_tool_result": true, "container_upload": true,
	"document": true, "search_result": true, "tool_reference": true, "compaction": true,
	"file": true, "input_file": true, "input_audio": true, "audio": true, "video_url": true,
}

// blocks reads a content value: a string, a list of parts, or one part.
func (r *reader) blocks(v sessionfile.Value) []message.Block {
	switch v.Kind() {
	case '"':
		if text := v.Text(); text != "" {
			return []message.Block{message.Text{Text: text}}
		}
	case '[':
		var out []message.Block
		for e := range v.Elements() {
			if !e.Cut {
				out = append(out, r.part(e)...)
			}
		}
		return out
	case '{':
		if !v.Cut {
			return r.part(v)
		}
	case 0, 'n':
	default:
		r.b.Lose(v.Line, "content that is neither text nor parts, kept as text")
		return []message.Block{message.Text{Text: string(v.Raw)}}
	}
	return nil
}

// part reads one element of a content list.
func (r *reader) part(v sessionfile.Value) []message.Block {
	if v.Kind() == '"' {
		return r.blocks(v)
	}
	if v.Kind() != '{' {
		r.b.Lose(v.Line, "content that is neither text nor parts, kept as text")
		return []message.Block{message.Text{Text: string(v.Raw)}}
	}
	if r.dialect == Gemini {
		return r.geminiPart(v)
	}
	var p part
	if err := v.Decode(&p); err != nil {
		r.b.Losef(v.Line, "a %s part with a value of the wrong type, kept unread", p.Type)
		return []message.Block{r.opaque(v, p.Type)}
	}
	switch p.Type {
	case "text", "input_text", "output_text", "summary_text", "reasoning_text", "":
		if p.Text == nil {
			break
		}
		r.unknown(v, "a text part", "type", "text", "cache_control", "id", "citations", "annotations", "logprobs")
		r.annotations(v)
		return []message.Block{message.Text{Text: *p.Text}}
	case "refusal":
		return []message.Block{message.Text{Text: p.Refusal}}
	case "thinking":
		return []message.Block{r.reasoning(p.Thinking, p.Signature)}
	case "redacted_thinking":
		return []message.Block{message.Reasoning{Provider: r.provider, Opaque: bytes.Clone(p.Data)}}
	case "image_url", "input_image":
		return []message.Block{p.imageByURL()}
	case "image":
		return []message.Block{r.imageBySource(v, p)}
	case "tool_use":
		return []message.Block{message.ToolCall{ID: p.ID, Name: p.Name,
			Arguments: written(sessionfile.Value{Raw: p.Input, Line: v.Line})}}
	case "tool_result":
		return []message.Block{message.ToolResult{CallID: p.ToolUseID, Outcome: outcome(p.IsError),
			Content: r.resultContent(sessionfile.Value{Raw: p.Content, Line: v.Line})}}
	}
	if !unread[p.Type] {
		r.b.Losef(v.Line, "content of the unknown type %q, kept unread", p.Type)
	}
	return []message.Block{r.opaque(v, p.Type)}
}

// annotations names what stands beside a text and is not kept.
func (r *reader) annotations(v sessionfile.Value) {
	for key, member := range v.Members() {
		if (key == "citations" || key == "annotations") && member.Kind() == '[' && len(bytes.TrimSpace(member.Raw)) > 2 {
			r.b.Losef(member.Line, "%s of a text part are not kept", key)
		}
	}
}

func outcome(isError *bool) message.Outcome {
	switch {
	case isError == nil:
		return message.OutcomeUnknown
	case *isError:
		return message.OutcomeFailure
	}
	return message.OutcomeSuccess
}

// reasoning returns thinking with its signature.
func (r *reader) reasoning(text, signature string) message.Reasoning {
	out := message.Reasoning{Text: text}
	if signature != "" {
		out.Provider = r.provider
		out.Opaque, _ = json.Marshal(signature) // a string always encodes
	}
	return out
}

// imageByURL: {"image_url": {"url", "detail"}} in chat, and
// {"image_url": "…", "detail"} in Responses.
func (p part) imageByURL() message.Image {
	v := sessionfile.Value{Raw: p.ImageURL}
	if v.Kind() == '"' {
		img := sessionfile.ImageFromURL(v.Text())
		img.Detail = p.Detail
		return img
	}
	var holder struct{ URL, Detail string }
	_ = json.Unmarshal(p.ImageURL, &holder) // what does not decode stays empty
	img := sessionfile.ImageFromURL(holder.URL)
	img.Detail = holder.Detail
	if holder.URL == "" && p.FileID != "" {
		img.URL = "file:" + p.FileID
	}
	return img
}

// imageBySource reads Anthropic's image block.
func (r *reader) imageBySource(v sessionfile.Value, p part) message.Block {
	switch s := p.Source; {
	case s == nil:
		r.b.Losef(v.Line, "content of the unknown type %q, kept unread", p.Type)
		return r.opaque(v, p.Type)
	case s.Type == "url":
		return message.Image{MediaType: s.MediaType, URL: s.URL}
	case s.Type == "file":
		return message.Image{MediaType: s.MediaType, URL: "file:" + s.FileID}
	default:
		img, ok := sessionfile.ImageFromBase64(s.MediaType, s.Data)
		if !ok {
			r.b.Lose(v.Line, "an image whose data is no base64, kept unread")
			return r.opaque(v, p.Type)
		}
		return img
	}
}

// resultContent reads what a tool answered: text and images. Other content is
// kept as its JSON, which is what the model read.
func (r *reader) resultContent(v sessionfile.Value) []message.Block {
	blocks := r.blocks(v)
	for i, block := range blocks {
		switch block := block.(type) {
		case message.Text, message.Image:
		case message.Opaque:
			blocks[i] = message.Text{Text: string(block.Data)}
		default:
			r.b.Losef(v.Line, "a %s inside a tool result is not kept", block.Kind())
			blocks[i] = message.Text{}
		}
	}
	return blocks
}
