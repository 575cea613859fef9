package wirebody

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// geminiContent reads one element of contents. Calls without an id get one
// from their place, and their results the same, in order and by name, as the
// provider pairs them.
func (r *reader) geminiContent(v sessionfile.Value) {
	m := message.Message{ID: r.b.NextID()}
	role, parts := "user", sessionfile.Value{}
	for key, member := range v.Members() {
		switch key {
		case "role":
			role = member.Text()
		case "parts":
			parts = member
		default:
			r.b.Losef(member.Line, "unknown key %q in a content", key)
		}
	}
	switch role {
	case "model":
		m.Role = message.RoleAssistant
	case "function":
		m.Role = message.RoleTool
	case "user", "":
		m.Role = message.RoleUser
	default:
		m.Role = message.Role(role)
	}
	m.Blocks = r.blocks(parts)
	for i, block := range m.Blocks {
		switch block := block.(type) {
		case message.ToolCall:
			if block.ID == "" {
				block.ID = fmt.Sprintf("%s.%d", m.ID, i+1)
				r.unnamed[block.Name] = append(r.unnamed[block.Name], block.ID)
				m.Blocks[i] = block
			}
		case message.ToolResult:
			if waiting := r.unnamed[block.Name]; block.CallID == "" && len(waiting) > 0 {
				block.CallID, r.unnamed[block.Name] = waiting[0], waiting[1:]
				m.Blocks[i] = block
			}
		}
	}
	if len(m.Blocks) == 0 && v.Cut {
		return // the source names it
	}
	r.append(v.Line, m)
}

// geminiPart is one element of parts.
type geminiPart struct {
	Text             *string           `json:"text"`
	Thought          bool              `json:"thought"`
	ThoughtSignature string            `json:"thoughtSignature"`
	InlineData       *geminiData       `json:"inlineData"`
	FileData         *geminiData       `json:"fileData"`
	FunctionCall     *geminiCall       `json:"functionCall"`
	FunctionResponse *FunctionResponse `json:"functionResponse"`
}

type geminiData struct{ MimeType, Data, FileURI string }

type geminiCall struct {
	ID, Name string
	Args     json.RawMessage
}

// FunctionResponse is what a tool answered, in Gemini's words.
type FunctionResponse struct {
	ID, Name string
	Response json.RawMessage
	Parts    []json.RawMessage
}

// Content returns the answer as blocks: the text when it is an object with
// one text, its JSON otherwise. It reports whether the object says that the
// tool failed.
func (f FunctionResponse) Content() (content []message.Block, failed bool) {
	var texts []string
	members := 0
	for key, member := range (sessionfile.Value{Raw: f.Response}).Members() {
		members++
		failed = failed || key == "error"
		if member.Kind() == '"' {
			texts = append(texts, member.Text())
		}
	}
	text := ""
	if members == 1 && len(texts) == 1 {
		text = texts[0]
	} else {
		text = written(sessionfile.Value{Raw: f.Response})
	}
	return []message.Block{message.Text{Text: text}}, failed
}

// ReadGeminiPart reads one element of a Gemini parts list.
func ReadGeminiPart(b *sessionfile.Builder, v sessionfile.Value) []message.Block {
	return newReader(b, Gemini).part(v)
}

func (r *reader) geminiPart(v sessionfile.Value) []message.Block {
	var p geminiPart
	if err := v.Decode(&p); err != nil {
		r.b.Lose(v.Line, "a part with a value of the wrong type, kept unread")
		return []message.Block{r.opaque(v, "part")}
	}
	var out []message.Block
	if p.ThoughtSignature != "" {
		out = append(out, r.reasoning("", p.ThoughtSignature))
	}
	switch {
	case p.FunctionCall != nil:
		return append(out, message.ToolCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name,
			Arguments: written(sessionfile.Value{Raw: p.FunctionCall.Args})})
	case p.FunctionResponse != nil:
		return append(out, r.functionResponse(v, *p.FunctionResponse))
	case p.InlineData != nil:
		img, ok := sessionfile.ImageFromBase64(p.InlineData.MimeType, p.InlineData.Data)
		if !ok || !isImage(p.InlineData.MimeType) {
			return append(out, r.opaque(v, p.InlineData.MimeType))
		}
		return append(out, img)
	case p.FileData != nil:
		if !isImage(p.FileData.MimeType) {
			return append(out, r.opaque(v, p.FileData.MimeType))
		}
		return append(out, message.Image{MediaType: p.FileData.MimeType, URL: p.FileData.FileURI})
	case p.Text != nil && p.Thought:
		return append(out, message.Reasoning{Text: *p.Text})
	case p.Text != nil:
		return append(out, message.Text{Text: *p.Text})
	case len(out) > 0:
		return out
	}
	kind := "part"
	for key := range v.Members() {
		kind = key
		break
	}
	if kind != "executableCode" && kind != "codeExecutionResult" {
		r.b.Losef(v.Line, "content of the unknown type %q, kept unread", kind)
	}
	return []message.Block{r.opaque(v, kind)}
}

func isImage(mediaType string) bool { return bytes.HasPrefix([]byte(mediaType), []byte("image/")) }

func (r *reader) functionResponse(v sessionfile.Value, f FunctionResponse) message.Block {
	result := message.ToolResult{CallID: f.ID, Name: f.Name}
	var failed bool
	if result.Content, failed = f.Content(); failed {
		result.Outcome = message.OutcomeFailure
	}
	for _, raw := range f.Parts {
		for _, block := range r.geminiPart(sessionfile.Value{Raw: raw, Line: v.Line}) {
			if _, ok := block.(message.Image); ok {
				result.Content = append(result.Content, block)
			} else {
				r.b.Losef(v.Line, "a %s inside a tool result is not kept", block.Kind())
			}
		}
	}
	return result
}
