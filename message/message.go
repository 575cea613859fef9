// Package message holds the values that a conversation with a model consists
// of: messages made of typed blocks, tool definitions and reported usage.
//
// They are plain values. A message knows nothing of stores, providers,
// windows or tokens, and the package does no input or output. Identity (the
// ID) is carried for the records above; it is not part of a message's content
// hash.
package message

import (
	"encoding/json"
	"time"
)

// Role says whose side of the conversation a message is on.
type Role string

// The roles. System messages carry instructions, tool messages carry only
// tool results.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Origin says who wrote a message where the role alone does not tell. It
// decides authority: only an authored user message can state what the user
// wants.
type Origin string

const (
	// OriginAuthored is the zero value: the role wrote it (the person, the
	// model, the tool).
	OriginAuthored Origin = ""
	// OriginInjected marks text that an agent's harness put into the
	// conversation: environment notes, reminders, instruction files.
	OriginInjected Origin = "injected"
	// OriginSummary marks a summary that stands for earlier messages.
	OriginSummary Origin = "summary"
)

// A Message is one entry of a conversation.
//
// The zero Message is invalid: an ID, a role and at least one block are
// needed before a transcript takes it. A Message is treated as immutable once
// it has been handed over; blocks may be shared between copies.
type Message struct {
	// ID is unique within a transcript and stable over forks and exports.
	ID string
	// Role is the side of the conversation.
	Role Role
	// Origin refines the role, see Origin.
	Origin Origin
	// Blocks is the content in order.
	Blocks []Block
	// Time is when the message was made; zero when unknown.
	Time time.Time
	// Model is the identifier of the model that wrote an assistant message;
	// empty when unknown or not an assistant's.
	Model string
}

// Authored reports whether the message was written by a person: user role,
// neither injected by a harness nor a summary.
func (m Message) Authored() bool {
	return m.Role == RoleUser && m.Origin == OriginAuthored
}

// Text returns the text blocks joined by newlines. Reasoning, tool calls and
// tool results are left out.
func (m Message) Text() string {
	var out []byte
	for _, b := range m.Blocks {
		t, ok := b.(Text)
		if !ok {
			continue
		}
		if len(m.Blocks) == 1 {
			return t.Text
		}
		if len(out) > 0 {
			out = append(out, '\n')
		}
		out = append(out, t.Text...)
	}
	return string(out)
}

// Kind names the type of a block in encodings and ledgers.
type Kind string

// The kinds, one for each block type.
const (
	KindText       Kind = "text"
	KindReasoning  Kind = "reasoning"
	KindImage      Kind = "image"
	KindToolCall   Kind = "tool-call"
	KindToolResult Kind = "tool-result"
	KindOpaque     Kind = "opaque"
)

// A Block is one typed piece of a message's content. The implementations are
// the value types Text, Reasoning, Image, ToolCall, ToolResult and Opaque; a
// type switch over these is complete.
type Block interface {
	Kind() Kind
	block()
}

// Text is what a person, a model or an instruction file said.
type Text struct {
	Text string
}

// Reasoning is a model's thinking. Text may be a visible excerpt or empty;
// Opaque is what the provider wants back unchanged (signatures, encrypted
// content), and goes only to the provider named.
type Reasoning struct {
	Text     string
	Provider string
	Opaque   json.RawMessage
}

// Image is a picture, either inline (Data) or by reference (URL).
type Image struct {
	// MediaType is the MIME type, for example "image/png".
	MediaType string
	// Data holds the decoded bytes; nil when the image is given by URL or
	// its bytes are unknown.
	Data []byte
	// URL is where the provider finds the image when Data is nil.
	URL string
	// Detail is the resolution the sender asked for ("low", "high",
	// "original"); empty means the provider's default.
	Detail string
	// WidthPixels and HeightPixels are zero when unknown.
	WidthPixels, HeightPixels int
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	// ID pairs the call with its result. It is unique among the calls that
	// still wait for a result.
	ID string
	// Name is the tool's name.
	Name string
	// Arguments is what the model wrote: usually a JSON object, for some
	// tools free text. It is kept as written, valid or not.
	Arguments string
}

// Outcome is whether a tool succeeded, as far as is known.
type Outcome string

// The outcomes. The zero value means that the source did not say.
const (
	OutcomeUnknown Outcome = ""
	OutcomeSuccess Outcome = "success"
	OutcomeFailure Outcome = "failure"
)

// ToolResult is what a tool answered to the call with the same ID.
type ToolResult struct {
	// CallID is the ID of the ToolCall that this answers.
	CallID string
	// Name is the tool's name, empty when only the call tells.
	Name string
	// Content holds Text and Image blocks.
	Content []Block
	// Outcome says whether the tool succeeded.
	Outcome Outcome
	// Truncated is set when the content is known to be cut.
	Truncated bool
	// OriginalBytes is the size before the cut, zero when not cut or unknown.
	OriginalBytes int
}

// Text returns the result's text blocks joined by newlines.
func (r ToolResult) Text() string { return Message{Blocks: r.Content}.Text() }

// Opaque is a provider's item that Forge carries without reading it: a native
// compaction item, a server-side tool call, a block type that an importer
// does not know. It goes back only to the provider named.
type Opaque struct {
	// Provider is who made the item and the only one it may be sent to.
	Provider string
	// Type is the provider's own name for the item.
	Type string
	// Data is the item's JSON, unchanged.
	Data json.RawMessage
}

// Kind returns KindText.
func (Text) Kind() Kind { return KindText }

// Kind returns KindReasoning.
func (Reasoning) Kind() Kind { return KindReasoning }

// Kind returns KindImage.
func (Image) Kind() Kind { return KindImage }

// Kind returns KindToolCall.
func (ToolCall) Kind() Kind { return KindToolCall }

// Kind returns KindToolResult.
func (ToolResult) Kind() Kind { return KindToolResult }

// Kind returns KindOpaque.
func (Opaque) Kind() Kind { return KindOpaque }

func (Text) block()       {}
func (Reasoning) block()  {}
func (Image) block()      {}
func (ToolCall) block()   {}
func (ToolResult) block() {}
func (Opaque) block()     {}

// ToolDefinition is a tool as advertised to a model.
type ToolDefinition struct {
	// Name is what the model calls the tool by.
	Name string
	// Description is the text the model reads.
	Description string
	// Parameters is the JSON schema of the arguments; empty for none.
	Parameters json.RawMessage
	// Server names the MCP server the tool comes from; empty for built-in.
	Server string
}

// Usage is what a provider reported for one request. Importers and adapters
// bring every provider's fields into this form: the parts are contained in
// the wholes.
type Usage struct {
	// InputTokens is everything the model read, cached parts included.
	InputTokens int
	// CachedInputTokens is the part of InputTokens read from a cache.
	CachedInputTokens int
	// CacheWriteInputTokens is the part of InputTokens written to a cache.
	CacheWriteInputTokens int
	// OutputTokens is everything the model wrote, reasoning included.
	OutputTokens int
	// ReasoningTokens is the part of OutputTokens that was reasoning.
	ReasoningTokens int
}
