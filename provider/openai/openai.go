// Package openai speaks OpenAI's Responses dialect, without state at the
// provider: nothing is stored there, and encrypted reasoning goes back as it
// came.
//
// It makes exactly one provider turn for a request, never lets the provider
// truncate, counts a request at the provider's count endpoint and asks the
// provider for a compaction. The older chat-completions dialect is package
// openaichat.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/internal/dialect"
	"github.com/forge-agent/forge/provider/internal/wire"
	"github.com/forge-agent/forge/sessionfile/wirebody"
	"github.com/forge-agent/forge/tokencount"
)

// Provider is the default name of the provider.
const Provider = "openai"

// DefaultEndpoint is OpenAI's own.
const DefaultEndpoint = "https://api.openai.com/v1"

// Options are the settings of a Model.
type Options struct {
	// Connection is where the requests go: the endpoint up to, and without,
	// "/responses". An empty endpoint means DefaultEndpoint.
	Connection provider.Connection
	// Provider names who answers; empty means Provider. Reasoning is bound to
	// the name.
	Provider string
	// Model is the model's name as the endpoint takes it. Required.
	Model string
	// Capabilities are window and limits; a zero window means that the catalog
	// is asked.
	Capabilities model.Capabilities
	// Effort is the reasoning effort; empty leaves it to the provider.
	Effort string
	// Summary asks for visible summaries of reasoning ("auto", "concise",
	// "detailed"); empty does not.
	Summary string
	// NoReasoning does not ask for encrypted reasoning, which models that do
	// not reason refuse.
	NoReasoning bool
	// CacheKey groups requests that share a beginning; empty sends none.
	CacheKey string
	// NoCompaction declares native compaction unsupported, for hosts that do
	// not have it.
	NoCompaction bool
	// CompactAtTokens makes the provider compact by itself when the input
	// passes so many tokens; zero does not.
	CompactAtTokens int
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
	o.Provider = cmp.Or(o.Provider, Provider)
	o.Connection.Endpoint = cmp.Or(o.Connection.Endpoint, DefaultEndpoint)
	if o.CompactAtTokens < 0 {
		return nil, fmt.Errorf("%w: CompactAtTokens is negative", provider.ErrInvalid)
	}
	client, err := wire.New(o.Connection, o.Provider, o.Model, wire.Bearer)
	if err != nil {
		return nil, err
	}
	c := dialect.Capabilities(o.Capabilities, o.Provider, o.Model, tokencount.WireResponses)
	if !o.NoCompaction {
		c.NativeCompaction = model.NativeCompactionOpaqueItem
	}
	c.CountsRequests = true
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
	return m.client.Stream(ctx, wire.Call{Path: "/responses", Body: body}, func() wire.Turn {
		return &turn{provider: m.options.Provider, model: m.options.Model}
	})
}

// CountRequest asks the provider's count endpoint.
func (m *Model) CountRequest(ctx context.Context, r model.Request) (model.Estimate, error) {
	body, err := m.encode(r, forCount)
	if err != nil {
		return model.Estimate{}, m.client.Fail(err)
	}
	return m.client.Count(ctx, wire.Call{Path: "/responses/input_tokens", Body: body}, "input_tokens")
}

// CompactNative asks the provider to compact messages. The item is the whole
// list that it answers with, the next window as the provider wants it: user
// messages and one encrypted item. Nobody can read it.
func (m *Model) CompactNative(ctx context.Context, messages []message.Message) (model.NativeItem, error) {
	item := model.NativeItem{Provider: m.options.Provider, Model: m.options.Model}
	if m.options.NoCompaction {
		return item, m.client.Fail(errors.New("native compaction is switched off for this endpoint"))
	}
	body, err := m.encode(model.Request{Messages: messages}, forCompaction)
	if err != nil {
		return item, m.client.Fail(err)
	}
	answer, err := m.client.Do(ctx, wire.Call{Path: "/responses/compact", Body: body})
	if err != nil {
		return item, err
	}
	var reply struct {
		Output []json.RawMessage `json:"output"`
		Usage  json.RawMessage   `json:"usage"`
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		return item, m.client.Fail(wire.Malformed(answer, err))
	}
	if present(reply.Usage) {
		item.Usage, _ = wirebody.DecodeUsage(reply.Usage) // a loss of figures only
	}
	for _, raw := range reply.Output {
		var head struct {
			Type      string `json:"type"`
			Encrypted string `json:"encrypted_content"`
		}
		if json.Unmarshal(raw, &head) == nil && native(head.Type) && head.Encrypted != "" {
			item.Data, err = json.Marshal(reply.Output)
			return item, err
		}
	}
	return item, m.client.Fail(wire.Malformed(answer, errors.New("the provider made no compaction")))
}

// native reports whether an item of this type stands for a compacted range.
func native(kind string) bool { return kind == "compaction" || kind == "compaction_summary" }

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
