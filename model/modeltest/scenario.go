package modeltest

import (
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// A scenario is an answer that every dialect can give, and what an adapter
// must make of it.
type scenario struct {
	name            string
	text, reasoning string
	calls           []message.ToolCall
	// anyIDs: the adapter gives ids where the provider gave none or gave one
	// twice.
	anyIDs bool
	usage  *message.Usage
	stop   model.StopReason
}

// succeeds lists the answers that end well.
func succeeds() []scenario {
	const look = "I look."
	one := message.ToolCall{ID: "call_1", Name: "read_file", Arguments: `{"path":"a.go"}`}
	two := message.ToolCall{ID: "call_2", Name: "read_file", Arguments: `{"path":"b.go"}`}
	small := &message.Usage{InputTokens: 120, OutputTokens: 12}
	return []scenario{
		{name: "text", text: "Hello, wörld 🌍! 你好。", usage: small, stop: model.StopEnd},
		{name: "cached", text: "Yes.", usage: &message.Usage{InputTokens: 5000, CachedInputTokens: 4000, OutputTokens: 2}, stop: model.StopEnd},
		{name: "reasoning", text: "It is 42.", reasoning: "Six times seven.", usage: &message.Usage{InputTokens: 130, OutputTokens: 40, ReasoningTokens: 30}, stop: model.StopEnd},
		{name: "reasoning-and-call", reasoning: "I must read it.", calls: []message.ToolCall{one}, usage: &message.Usage{InputTokens: 130, OutputTokens: 40, ReasoningTokens: 20}, stop: model.StopToolCall},
		{name: "call", text: look, calls: []message.ToolCall{one}, usage: small, stop: model.StopToolCall},
		{name: "parallel-calls", calls: []message.ToolCall{one, two}, usage: small, stop: model.StopToolCall},
		{name: "broken-arguments", calls: []message.ToolCall{{ID: "call_1", Name: "read_file", Arguments: `{"path": "a.go`}}, usage: small, stop: model.StopToolCall},
		{name: "no-arguments", calls: []message.ToolCall{{ID: "call_1", Name: "list_files"}}, usage: small, stop: model.StopToolCall},
		{name: "unicode-arguments", calls: []message.ToolCall{{ID: "call_1", Name: "read_file", Arguments: `{"path":"ü/日本\"\n"}`}}, usage: small, stop: model.StopToolCall},
		{name: "duplicate-ids", calls: []message.ToolCall{one, two}, anyIDs: true, usage: small, stop: model.StopToolCall},
		{name: "missing-ids", calls: []message.ToolCall{one, two}, anyIDs: true, usage: small, stop: model.StopToolCall},
		{name: "empty", usage: &message.Usage{InputTokens: 120}, stop: model.StopEnd},
		{name: "no-usage", text: "Hello.", stop: model.StopEnd},
		{name: "output-cap", text: "A long sto", usage: small, stop: model.StopOutput},
		{name: "refusal", text: "I cannot help with that.", usage: small, stop: model.StopRefusal},
		{name: "unknown-event", text: "Hello.", usage: small, stop: model.StopEnd},
		{name: "unknown-stop", text: "Hello.", usage: small, stop: model.StopUnknown},
	}
}

// A failure is an answer that ends in an error.
type failure struct {
	name string
	kind error
	// evidence: something was said before.
	evidence bool
	// used and limit are the numbers that the answer states.
	used, limit int
	// requests is how many are made before the error is passed on.
	requests int
	status   int
}

// fails lists the answers that fail by what the provider says.
func fails() []failure {
	return []failure{
		{name: "overflow", kind: model.ErrContextOverflow, used: 210000, limit: 200000, requests: 1, status: 400},
		{name: "overflow-first-event", kind: model.ErrContextOverflow, requests: 1},
		{name: "overflow-after-text", kind: model.ErrContextOverflow, evidence: true, requests: 1},
		{name: "overflow-after-call", kind: model.ErrContextOverflow, evidence: true, requests: 1},
		{name: "fault-first-event", kind: model.ErrTransient, requests: attempts},
		{name: "fault-after-text", kind: model.ErrTransient, evidence: true, requests: 1},
		{name: "rate-limited", kind: model.ErrRateLimited, requests: attempts, status: 429},
		{name: "bad-request", requests: 1, status: 400},
		{name: "unauthorized", requests: 1, status: 401},
	}
}

// attempts is the bound on requests that a subject is made with.
const attempts = 3

// bodies are error bodies of every shape; each is kept as it is.
func bodies() map[string]string {
	return map[string]string{
		"nested": `{"error":{"message":"bad thing","type":"invalid_request_error","code":"bad"}}`,
		"flat":   `{"object":"error","message":"bad thing","code":400}`,
		"array":  `[{"error":{"message":"bad thing"}}]`,
		"string": `"bad thing"`,
		"plain":  "bad thing\n",
		"page":   "<html><body>bad thing</body></html>",
		"cut":    `{"error":{"message":"bad thing`,
		"binary": "bad thing\x00\xff\xfe",
	}
}
