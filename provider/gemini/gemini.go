// Package gemini speaks the generateContent dialect of the Gemini API.
//
// It makes exactly one provider turn for a request, sends thought signatures
// back with the parts that they came with, and counts a request at the
// provider's count endpoint. The provider compacts nothing.
package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/internal/dialect"
	"github.com/forge-agent/forge/provider/internal/wire"
	"github.com/forge-agent/forge/tokencount"
)

// Provider is the default name of the provider.
const Provider = "gemini"

// DefaultEndpoint is the Gemini API's own.
const DefaultEndpoint = "https://generativelanguage.googleapis.com/v1beta"

// Options are the settings of a Model.
type Options struct {
	// Connection is where the requests go: the endpoint up to, and without,
	// "/models". An empty endpoint means DefaultEndpoint.
	Connection provider.Connection
	// Provider names who answers; empty means Provider. Signatures are bound
	// to the name.
	Provider string
	// Model is the model's name, with or without "models/". Required.
	Model string
	// Capabilities are window and limits; a zero window means that the catalog
	// is asked.
	Capabilities model.Capabilities
	// Thoughts asks for visible thoughts. ThinkingTokens bounds them where it
	// is not zero; ThinkingLevel ("low", "high") is what newer models take
	// instead.
	Thoughts       bool
	ThinkingTokens int
	ThinkingLevel  string
	// Extra is a JSON object of further members, sent as they stand.
	Extra json.RawMessage
}

// A Model is one model behind one endpoint. It is safe for concurrent use.
type Model struct {
	options      Options
	name         string
	capabilities model.Capabilities
	client       *wire.Client
}

// New checks the options.
func New(o Options) (*Model, error) {
	o.Provider = cmp.Or(o.Provider, Provider)
	o.Connection.Endpoint = cmp.Or(o.Connection.Endpoint, DefaultEndpoint)
	if o.ThinkingTokens < 0 {
		return nil, fmt.Errorf("%w: ThinkingTokens is negative", provider.ErrInvalid)
	}
	client, err := wire.New(o.Connection, o.Provider, o.Model, authorize)
	if err != nil {
		return nil, err
	}
	c := dialect.Capabilities(o.Capabilities, o.Provider, o.Model, tokencount.WireGemini)
	c.CountsRequests = true
	return &Model{options: o, name: strings.TrimPrefix(o.Model, "models/"), capabilities: c, client: client}, nil
}

func authorize(h http.Header, secret string) { h.Set("X-Goog-Api-Key", secret) }

// Capabilities returns window and limits.
func (m *Model) Capabilities() model.Capabilities { return m.capabilities }

// Stream makes one provider turn. The answer's message has no ID.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	body, err := m.Encode(r)
	if err != nil {
		return m.client.Refuse(err)
	}
	call := wire.Call{Path: "/models/" + m.name + ":streamGenerateContent", Query: "alt=sse", Body: body}
	return m.client.Stream(ctx, call, func() wire.Turn {
		return &turn{provider: m.options.Provider, model: m.options.Model}
	})
}

// CountRequest asks the provider's count endpoint for the whole request, with
// system text and tools.
func (m *Model) CountRequest(ctx context.Context, r model.Request) (model.Estimate, error) {
	body, err := m.encode(r, true)
	if err != nil {
		return model.Estimate{}, m.client.Fail(err)
	}
	return m.client.Count(ctx, wire.Call{Path: "/models/" + m.name + ":countTokens", Body: body}, "totalTokens")
}
