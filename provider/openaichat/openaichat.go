// Package openaichat speaks the chat-completions dialect: OpenAI's older one,
// which DeepSeek, OpenRouter, Groq, Mistral, xAI, vLLM, llama.cpp, LM Studio,
// Ollama and others take as well.
//
// It makes exactly one provider turn for a request. What a server wants back
// of its reasoning goes back under the name that the server used. It has no
// native compaction: the dialect has none.
package openaichat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/internal/dialect"
	"github.com/forge-agent/forge/provider/internal/wire"
	"github.com/forge-agent/forge/tokencount"
)

// Reasoning says what of a model's visible reasoning goes back to it.
type Reasoning string

const (
	// ReasoningSameProvider is the default: reasoning that this provider sent
	// goes back under the name that it used, any other does not.
	ReasoningSameProvider Reasoning = ""
	// ReasoningNever: none goes back, for servers that refuse it (the first
	// deepseek-reasoner) or waste tokens on it.
	ReasoningNever Reasoning = "never"
	// ReasoningContent: all that is not of another provider goes back, and as
	// reasoning_content where the server's own name is not known. DeepSeek
	// asks for it in a dialogue with tools.
	ReasoningContent Reasoning = "reasoning_content"
)

// Options are the settings of a Model.
type Options struct {
	// Connection is where the requests go: the endpoint up to, and without,
	// "/chat/completions".
	Connection provider.Connection
	// Provider names who answers, for example "deepseek"; empty means
	// "openai-compatible". Reasoning is bound to the name.
	Provider string
	// Model is the model's name as the endpoint takes it. Required.
	Model string
	// Capabilities are window and limits; a zero window means that the catalog
	// is asked, which has a small one for a model that it does not know.
	Capabilities model.Capabilities
	// Reasoning says what goes back of the model's reasoning.
	Reasoning Reasoning
	// Effort goes as reasoning_effort when set.
	Effort string
	// OutputCapField is the member for the output cap: "max_tokens" (the
	// default) or "max_completion_tokens", which OpenAI's reasoning models
	// ask for.
	OutputCapField string
	// OmitStreamOptions leaves the request for usage out, for servers that
	// refuse it. Without usage no estimate is ever checked.
	OmitStreamOptions bool
	// Extra is a JSON object of further members, sent as they stand.
	Extra json.RawMessage
}

// A Model is one model behind one endpoint. It is safe for concurrent use.
type Model struct {
	options      Options
	capabilities model.Capabilities
	client       *wire.Client
}

// New checks the options.
func New(o Options) (*Model, error) {
	o.Provider = cmp.Or(o.Provider, "openai-compatible")
	switch o.OutputCapField {
	case "":
		o.OutputCapField = "max_tokens"
	case "max_tokens", "max_completion_tokens":
	default:
		return nil, fmt.Errorf("%w: unknown member %q for the output cap", provider.ErrInvalid, o.OutputCapField)
	}
	switch o.Reasoning {
	case ReasoningSameProvider, ReasoningNever, ReasoningContent:
	default:
		return nil, fmt.Errorf("%w: unknown rule %q for reasoning", provider.ErrInvalid, o.Reasoning)
	}
	client, err := wire.New(o.Connection, o.Provider, o.Model, wire.Bearer)
	if err != nil {
		return nil, err
	}
	c := dialect.Capabilities(o.Capabilities, o.Provider, o.Model, tokencount.WireChat)
	return &Model{options: o, capabilities: c, client: client}, nil
}

// Capabilities returns window and limits.
func (m *Model) Capabilities() model.Capabilities { return m.capabilities }

// Stream makes one provider turn. The answer's message has no ID.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	body, err := m.Encode(r)
	if err != nil {
		return m.client.Refuse(err)
	}
	return m.client.Stream(ctx, wire.Call{Path: "/chat/completions", Body: body}, func() wire.Turn {
		return &turn{provider: m.options.Provider, model: m.options.Model}
	})
}
