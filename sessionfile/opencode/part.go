package opencode

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// part is one part of a message.
type part struct {
	line int
	raw  []byte

	ID        string
	Type      string
	Text      string
	Synthetic bool
	Ignored   bool
	Metadata  json.RawMessage

	Mime     string
	Filename string
	URL      string

	CallID string
	Tool   string
	State  state

	Auto        bool
	Overflow    bool
	TailStartID string `json:"tail_start_id"`

	Prompt string
	Error  *fault
	Time   struct{ Created float64 }
	Tokens *tokens
}

// state is how far a tool call came.
type state struct {
	Status      string
	Input       json.RawMessage
	Raw         string
	Output      *string
	Error       *string
	Metadata    json.RawMessage
	Time        struct{ Start, End, Compacted float64 }
	Attachments []part
}

func (x *importer) parts(v sessionfile.Value, h header) []part {
	var out []part
	for e := range v.Elements() {
		if e.Cut || e.Kind() != '{' {
			continue
		}
		p := part{line: e.Line, raw: e.Raw}
		if err := e.Decode(&p); err != nil {
			x.b.Losef(e.Line, "a %s part with a value of the wrong type", p.Type)
		}
		if x.revertPart != "" && h.ID == x.revertID && p.ID == x.revertPart {
			x.b.Lose(e.Line, "parts that the person took back, not part of the context")
			break
		}
		out = append(out, p)
	}
	return out
}

// block returns a part that stands for itself, nil for one without content.
func (x *importer) block(p part, provider string) message.Block {
	switch p.Type {
	case "text":
		return message.Text{Text: p.Text}
	case "reasoning":
		out := message.Reasoning{Text: p.Text}
		if meta := bytes.TrimSpace(p.Metadata); len(meta) > 2 && meta[0] == '{' {
			out.Provider, out.Opaque = provider, bytes.Clone(meta)
		}
		return out
	case "file":
		return x.file(p, provider)
	case "step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction", "tool", "subtask":
		return nil
	}
	x.b.Losef(p.line, "a part of the unknown type %q, kept unread", p.Type)
	return message.Opaque{Provider: provider, Type: p.Type, Data: bytes.Clone(p.raw)}
}

// file returns an attachment. Text files and folders are not sent: their
// content stands in a text part beside them.
func (x *importer) file(p part, provider string) message.Block {
	switch {
	case p.Mime == "text/plain" || p.Mime == "application/x-directory":
		return nil
	case strings.HasPrefix(p.Mime, "image/"):
		img := sessionfile.ImageFromURL(p.URL)
		img.MediaType = p.Mime
		return img
	}
	raw := p.raw
	if len(raw) == 0 {
		raw, _ = json.Marshal(map[string]string{"mime": p.Mime, "filename": p.Filename, "url": p.URL}) // strings always encode
	}
	return message.Opaque{Provider: provider, Type: "file", Data: bytes.Clone(raw)}
}

func plainBlocks(parts []part) []message.Block {
	var out []message.Block
	for _, p := range parts {
		if p.Text != "" {
			out = append(out, message.Text{Text: p.Text})
		}
	}
	return out
}

// The texts that OpenCode shows the model for results it no longer has.
const (
	interruptedText = "[Tool execution was interrupted]"
	clearedText     = "[Old tool result content cleared]"
)

// result returns what a tool answered. A call that never finished has a
// result only if the conversation went on: then the model reads that it was
// interrupted.
func (x *importer) result(p part, id string, last bool) (message.ToolResult, bool) {
	r := message.ToolResult{CallID: id, Name: p.Tool}
	text := func(s string) { r.Content = append(r.Content, message.Text{Text: s}) }
	var meta struct {
		Interrupted bool
		Truncated   bool
		Output      any
	}
	_ = json.Unmarshal(p.State.Metadata, &meta) // what does not decode stays empty
	output, isText := meta.Output.(string)
	switch {
	case p.State.Status == "completed":
		r.Outcome = message.OutcomeSuccess
		if p.State.Output != nil {
			text(*p.State.Output)
		}
	case p.State.Status == "error" && meta.Interrupted && isText:
		r.Outcome = message.OutcomeFailure
		text(output)
	case p.State.Status == "error":
		r.Outcome = message.OutcomeFailure
		if p.State.Error != nil {
			text(*p.State.Error)
		}
	case last:
		return r, false
	default:
		x.b.Lose(p.line, "a tool call without a result; the agent tells the model that it was interrupted")
		r.Outcome = message.OutcomeFailure
		text(interruptedText)
	}
	r.Truncated = meta.Truncated
	for _, a := range p.State.Attachments {
		a.line = p.line
		if img, ok := x.file(a, "").(message.Image); ok {
			r.Content = append(r.Content, img)
		} else {
			x.b.Losef(p.line, "an attachment of a tool result (%s) is not kept", a.Mime)
		}
	}
	return r, true
}

// tokens are OpenCode's figures: input leaves out both cache figures.
type tokens struct {
	Total, Input, Output, Reasoning float64
	Cache                           struct{ Read, Write float64 }
}

// maxTokens is far above any request.
const maxTokens = 1 << 40

// usage normalises the figures. Whether output contains the reasoning
// differs between versions: the total tells, and without a total the figures
// are separate.
func (t *tokens) usage() *message.Usage {
	if t == nil {
		return nil
	}
	input := t.Input + t.Cache.Read + t.Cache.Write
	if low := min(t.Input, t.Output, t.Reasoning, t.Cache.Read, t.Cache.Write); low < 0 || input+t.Output == 0 ||
		input+t.Output+t.Reasoning > maxTokens {
		return nil
	}
	output := t.Output + t.Reasoning
	if t.Total > 0 && t.Total == input+t.Output && t.Reasoning <= t.Output {
		output = t.Output
	}
	return &message.Usage{
		InputTokens:           int(input),
		CachedInputTokens:     int(t.Cache.Read),
		CacheWriteInputTokens: int(t.Cache.Write),
		OutputTokens:          int(output),
		ReasoningTokens:       int(t.Reasoning),
	}
}

// moment reads milliseconds since 1970.
func moment(ms float64) time.Time {
	if ms <= 0 || ms > math.MaxInt32*100_000.0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}
