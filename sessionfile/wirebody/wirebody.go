// Package wirebody reads the body of one model request as it went over the
// wire, in the dialects of four providers: chat completions, Anthropic
// Messages, OpenAI Responses and Gemini generateContent.
//
// It turns a body into the values of package message, for programs that
// compare a local count with a provider's (Decode, DecodeUsage), and it is
// the importer for files that hold one such body (Format). It sends nothing
// and writes no bodies: that is the work of the adapters under provider/.
// Settings of a request that hold no content, such as a temperature, are not
// kept.
package wirebody

import (
	"fmt"
	"slices"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/sessionfile"
)

// Dialect names the wire format of a request body.
type Dialect string

// The dialects. Their values are also the Format of a session that is read
// from such a body.
const (
	Chat      Dialect = "chat-request"
	Anthropic Dialect = "anthropic-request"
	Responses Dialect = "responses-request"
	Gemini    Dialect = "gemini-request"
)

// A Body is what one request body says.
type Body struct {
	// Dialect is the wire format.
	Dialect Dialect
	// Model is the model asked for, empty when only the URL tells (Gemini,
	// Bedrock).
	Model string
	// Instructions is the system text that stands outside the messages. The
	// chat dialect has none: its system messages are in Messages.
	Instructions []message.Message
	// Messages is the conversation, as a Transcript takes it.
	Messages []message.Message
	// Tools are the advertised tools.
	Tools []message.ToolDefinition
	// OutputTokens is the cap on the answer, zero when the body has none.
	OutputTokens int
	// AnswerSchema is the JSON schema that the answer must follow, nil for
	// none. Providers make the model read it in one way or another.
	AnswerSchema []byte
	// Complete is true when the body holds all content that the model read.
	// It does not when it points to content that the provider keeps, when it
	// names tools that the provider defines, or with an AnswerSchema, which
	// nobody knows the rendering of.
	Complete bool
	// Losses are what the values above do not hold.
	Losses []sessionfile.Loss
}

// Request returns the body as a model request.
func (b *Body) Request() model.Request {
	return model.Request{
		Instructions: b.Instructions,
		Messages:     b.Messages,
		Tools:        b.Tools,
		OutputTokens: b.OutputTokens,
	}
}

// Detect tells the dialect of a body by its keys, "" when it is none.
func Detect(o sessionfile.HeadObject) Dialect {
	switch {
	case o.Kind("contents") == '[' && len(o.Elements("contents")) > 0 && o.Elements("contents")[0].Kind("parts") == '[':
		return Gemini
	case isResponses(o):
		return Responses
	case o.Kind("messages") != '[':
		return ""
	case isAnthropic(o):
		return Anthropic
	}
	for _, m := range o.Elements("messages") {
		return asChat(m)
	}
	return ""
}

func asChat(m sessionfile.HeadObject) Dialect {
	if m.Kind("role") == '"' {
		return Chat
	}
	return ""
}

// isResponses: the input is a text or a list of items, beside a model or
// something that only this dialect has.
func isResponses(o sessionfile.HeadObject) bool {
	switch o.Kind("input") {
	case '"':
	case '[':
		items := o.Elements("input")
		if len(items) == 0 || !items[0].Has("role") && !items[0].Has("type") {
			return false
		}
	default:
		return false
	}
	return o.Has("model") || o.Has("instructions") || o.Has("previous_response_id")
}

// isAnthropic: a system text beside the messages, or blocks and tools as
// only Anthropic has them.
func isAnthropic(o sessionfile.HeadObject) bool {
	if o.Has("anthropic_version") || o.Kind("system") == '"' || o.Kind("system") == '[' {
		return true
	}
	for _, t := range o.Elements("tools") {
		if t.Has("input_schema") {
			return true
		}
	}
	for _, m := range o.Elements("messages") {
		for _, part := range m.Elements("content") {
			switch part.Text("type") {
			case "tool_use", "tool_result", "thinking", "redacted_thinking":
				return true
			case "image", "document":
				return part.Has("source")
			}
		}
	}
	return false
}

// Decode reads a body. It fails when the bytes are no JSON object or the
// dialect is none of the four; anything else that it cannot keep is named in
// Losses.
func Decode(data []byte) (*Body, error) {
	var dialect Dialect
	var body *Body
	format := decoder{take: func(b *sessionfile.Builder, v sessionfile.Value, d Dialect) (*sessionfile.Session, error) {
		dialect = d
		body = read(b, v, d)
		return b.Finish(), nil
	}}
	s, err := sessionfile.Read("request body", data, []sessionfile.Format{format}, nil)
	if err != nil {
		return nil, fmt.Errorf("decode request body: %w", err)
	}
	body.Dialect, body.Model = dialect, s.Model
	body.Instructions, body.Tools, body.Losses = s.Instructions, s.Tools, s.Losses
	body.Messages = slices.Collect(func(yield func(message.Message) bool) {
		for _, m := range s.Transcript.All() {
			if !yield(m) {
				return
			}
		}
	})
	return body, nil
}

// decoder is the Format of a body in any dialect.
type decoder struct {
	take func(*sessionfile.Builder, sessionfile.Value, Dialect) (*sessionfile.Session, error)
}

func (decoder) Name() string { return "a request body" }

func (decoder) Match(h sessionfile.Head) bool {
	return h.Single && !h.Array && Detect(h.First()) != ""
}

func (d decoder) Import(src *sessionfile.Source) (*sessionfile.Session, error) {
	v, err := src.Document()
	if err != nil {
		return nil, err
	}
	dialect := Detect(src.Head().First())
	return d.take(sessionfile.NewBuilder(src, string(dialect)), v, dialect)
}

// Format returns the importer for files that hold one request body in the
// Anthropic, Responses or Gemini dialect. The session has one request, at
// the end and without a reply. (Chat-completions bodies share their keys with
// saved conversations; package chat reads both.)
func Format() sessionfile.Format { return format{} }

type format struct{}

func (format) Name() string { return "request-body" }

func (format) Match(h sessionfile.Head) bool {
	if !h.Single || h.Array {
		return false
	}
	d := Detect(h.First())
	return d != "" && d != Chat
}

func (format) Import(src *sessionfile.Source) (*sessionfile.Session, error) {
	return decoder{take: func(b *sessionfile.Builder, v sessionfile.Value, d Dialect) (*sessionfile.Session, error) {
		body := read(b, v, d)
		b.Session.Complete = body.Complete
		b.Request(sessionfile.Request{At: b.Len(), End: b.Len(), Model: b.Session.Model, Line: v.Line})
		return b.Finish(), nil
	}}.Import(src)
}

// ReadChat reads a chat-completions request body into the builder.
func ReadChat(b *sessionfile.Builder, v sessionfile.Value) *Body { return read(b, v, Chat) }

// read fills the builder's session and returns what has no place in it.
func read(b *sessionfile.Builder, v sessionfile.Value, d Dialect) *Body {
	r := newReader(b, d)
	r.body.Complete = !v.Cut
	for key, member := range v.Members() {
		r.member(key, member)
	}
	return r.body
}
