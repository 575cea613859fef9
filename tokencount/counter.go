// Package tokencount counts a whole model request: every token in exactly one
// category, so that the parts always sum to the total, with a method, a
// confidence and an error band.
//
// Text is counted by a tokenizer.Counter. A Profile says what a model family
// makes of it: how its own vocabulary differs, what stands around messages,
// calls and tools, what pictures and sealed reasoning weigh. The profiles are
// fitted on recorded requests (docs/ESTIMATES.md); ProfileOf finds the one for
// a Route. A Calibration corrects the counts of one model from the usage that
// its provider reports.
//
// Package tokencount does not decide anything about the counts, and it never
// talks to a provider.
package tokencount

import (
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/tokenizer"
)

// A Counter counts messages, tools and requests for one model family. It
// shares the concurrency rule of its tokenizer.Counter: one to a goroutine.
type Counter struct {
	text     tokenizer.Counter
	profile  Profile
	ratio    float64
	weighted bool
	scratch  []byte
}

// New returns a counter that counts text with text and frames it as profile
// says. text must not be nil; the zero profile adds nothing.
func New(text tokenizer.Counter, profile Profile) *Counter {
	p := profile.resolved(text.Name())
	return &Counter{text: text, profile: p, ratio: p.ratio(), weighted: p.TextWeights != TextWeights{}}
}

// Profile returns the profile as the counter uses it: with the method that
// its vocabulary allows.
func (c *Counter) Profile() Profile { return c.profile }

// Vocabulary returns the name of the text counter, for example "o200k_base".
func (c *Counter) Vocabulary() string { return c.text.Name() }

// Text counts a plain text without framing, rounded once.
func (c *Counter) Text(text string) int { return round(c.weigh(text)) }

// Plain counts a plain text without framing and says how far the count can be
// trusted: it is exact when the vocabulary is the family's own public one
// (resolution C21).
func (c *Counter) Plain(text string) model.Estimate {
	e := c.profile.Estimate(c.Text(text))
	if c.profile.Vocabulary != "" && c.profile.Vocabulary == c.text.Name() {
		e.Method, e.Confidence, e.BandTokens = model.MethodProviderTokenizer, model.ConfidenceExact, 0
	}
	return e
}

// A MessageCount holds the tokens of one message: one number for each block,
// in block order, and what the provider adds around the message.
type MessageCount struct {
	BlockTokens   []int
	FramingTokens int
}

// Total returns the tokens of the whole message.
func (n MessageCount) Total() int {
	total := n.FramingTokens
	for _, b := range n.BlockTokens {
		total += b
	}
	return total
}

// Message counts one message. Counts of messages add up: the tokens of a
// request are the sum over its messages, tools and the fixed framing.
func (c *Counter) Message(m message.Message) MessageCount {
	out := MessageCount{BlockTokens: make([]int, len(m.Blocks)), FramingTokens: c.profile.messageFraming(m)}
	for i, b := range m.Blocks {
		out.BlockTokens[i] = c.block(b)
	}
	return out
}

// Tool counts one tool definition with what the provider adds around it.
func (c *Counter) Tool(d message.ToolDefinition) int { return c.schema(d) }

// Fixed returns the framing that a request has besides its messages and
// tools. tools is the number of advertised tools.
func (c *Counter) Fixed(tools int) int { return c.profile.fixed(tools) }

// Request counts a whole request by category. The current request is the last
// run of authored user messages.
func (c *Counter) Request(r model.Request) Result {
	var out Result
	for _, m := range r.Instructions {
		out.Breakdown = out.Breakdown.Plus(c.breakdown(m, false))
	}
	if r.Reminder != "" {
		out.Breakdown[budget.Instructions] += c.Text(r.Reminder)
	}
	first, last := currentRequest(r.Messages)
	for i, m := range r.Messages {
		out.Breakdown = out.Breakdown.Plus(c.breakdown(m, i >= first && i < last))
	}
	for _, d := range r.Tools {
		out.Breakdown[budget.ToolSchemas] += c.Tool(d)
	}
	out.Breakdown[budget.Framing] += c.Fixed(len(r.Tools))
	out.Estimate = c.profile.Estimate(out.Breakdown.Total())
	return out
}

// A Result is the count of a request. Breakdown.Total() equals
// Estimate.Tokens.
type Result struct {
	Breakdown budget.Breakdown
	Estimate  model.Estimate
}

func (c *Counter) breakdown(m message.Message, current bool) budget.Breakdown {
	n := c.Message(m)
	var out budget.Breakdown
	for i, b := range m.Blocks {
		out[CategoryOf(m, b, current)] += n.BlockTokens[i]
	}
	out[budget.Framing] += n.FramingTokens
	return out
}

// currentRequest returns the range of the last run of authored user messages.
func currentRequest(ms []message.Message) (first, last int) {
	last = len(ms)
	for last > 0 && !ms[last-1].Authored() {
		last--
	}
	first = last
	for first > 0 && ms[first-1].Authored() {
		first--
	}
	return first, last
}

// CategoryOf returns the category of a block of a message. current says that
// the message is part of the current request.
func CategoryOf(m message.Message, b message.Block, current bool) budget.Category {
	switch b.(type) {
	case message.Image:
		return budget.Images
	case message.Opaque:
		if m.Origin == message.OriginSummary {
			return budget.Memory // a provider's own checkpoint
		}
		return budget.Reasoning
	case message.Reasoning:
		return budget.Reasoning
	case message.ToolCall:
		return budget.ToolCalls
	case message.ToolResult:
		return budget.ToolResults
	}
	switch {
	case m.Origin == message.OriginSummary:
		return budget.Memory
	case m.Role == message.RoleSystem, m.Origin == message.OriginInjected:
		return budget.Instructions
	case current:
		return budget.CurrentRequest
	}
	return budget.Conversation
}
