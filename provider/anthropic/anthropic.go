// Package anthropic speaks Anthropic's Messages dialect, at Anthropic or at a
// host that takes the same requests.
//
// It makes exactly one provider turn for a request, sends thinking back with
// its signatures, marks up to four cache points, counts a request at the
// provider's count endpoint and asks the provider for a compaction. Server
// tools and citations are carried unread or left out; they have no place in a
// coding agent's own tools.
package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/internal/dialect"
	"github.com/forge-agent/forge/provider/internal/wire"
	"github.com/forge-agent/forge/tokencount"
)

// Provider is the default name of the provider.
const Provider = "anthropic"

// DefaultEndpoint is Anthropic's own.
const DefaultEndpoint = "https://api.anthropic.com"

const (
	apiVersion = "2023-06-01"
	// betaEdit lets the provider compact when a request passes a threshold,
	// betaSummarize on demand (anthropic-sdk-go v2.15.0, beta.go).
	betaEdit      = "compact-2026-01-12"
	betaManage    = "context-management-2025-06-27"
	betaSummarize = "compact-2026-09-04"
	// fallbackOutputTokens is sent where neither request nor catalog state an
	// output cap: the dialect has no request without one.
	fallbackOutputTokens = 4096
)

// Options are the settings of a Model.
type Options struct {
	// Connection is where the requests go: the endpoint without "/v1". An
	// empty endpoint means DefaultEndpoint.
	Connection provider.Connection
	// Provider names who answers; empty means Provider. Thinking is bound to
	// the name.
	Provider string
	// Model is the model's name as the endpoint takes it. Required.
	Model string
	// Capabilities are window and limits; a zero window means that the catalog
	// is asked.
	Capabilities model.Capabilities
	// ThinkingTokens is the budget for thinking of models that take one; zero
	// asks for none.
	ThinkingTokens int
	// Effort makes thinking adaptive with this effort ("low" to "max"); empty
	// does not.
	Effort string
	// NoCache sends no cache points; LongCache asks for the hour instead of
	// five minutes.
	NoCache, LongCache bool
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
	if o.ThinkingTokens < 0 || o.CompactAtTokens < 0 {
		return nil, fmt.Errorf("%w: a number of tokens is negative", provider.ErrInvalid)
	}
	client, err := wire.New(o.Connection, o.Provider, o.Model, authorize)
	if err != nil {
		return nil, err
	}
	c := dialect.Capabilities(o.Capabilities, o.Provider, o.Model, tokencount.WireMessages)
	if !o.NoCompaction {
		c.NativeCompaction = model.NativeCompactionOpaqueItem
	}
	if !o.NoCache {
		c.PromptCache.Breakpoints = maxBreakpoints
	}
	c.CountsRequests = true
	return &Model{options: o, capabilities: c, client: client}, nil
}

func authorize(h http.Header, secret string) { h.Set("X-Api-Key", secret) }

// Capabilities returns window and limits.
func (m *Model) Capabilities() model.Capabilities { return m.capabilities }

// Stream makes one provider turn. The answer's message has no ID. Usage is
// that of the answer; a compaction that the provider made on the way is not in
// it.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	body, err := m.Encode(r)
	if err != nil {
		return m.client.Refuse(err)
	}
	return m.client.Stream(ctx, m.call("/v1/messages", body), func() wire.Turn {
		return &turn{provider: m.options.Provider, model: m.options.Model}
	})
}

func (m *Model) call(path string, body []byte) wire.Call {
	h := http.Header{"Anthropic-Version": {apiVersion}}
	var betas []string
	if bytes.Contains(body, []byte(`"context_management":`)) {
		betas = append(betas, betaManage, betaEdit)
	}
	if bytes.Contains(body, []byte(`"compaction"`)) {
		betas = append(betas, betaSummarize)
	}
	if len(betas) > 0 {
		h.Set("Anthropic-Beta", strings.Join(betas, ","))
	}
	return wire.Call{Path: path, Header: h, Body: body}
}

// CountRequest asks the provider's count endpoint.
func (m *Model) CountRequest(ctx context.Context, r model.Request) (model.Estimate, error) {
	body, err := m.encode(r, forCount)
	if err != nil {
		return model.Estimate{}, m.client.Fail(err)
	}
	return m.client.Count(ctx, m.call("/v1/messages/count_tokens", body), "input_tokens")
}

// CompactNative asks the provider to summarize messages. The item is the list
// of blocks that it answers with; they are signed and go back as they are.
func (m *Model) CompactNative(ctx context.Context, messages []message.Message) (model.NativeItem, error) {
	item := model.NativeItem{Provider: m.options.Provider, Model: m.options.Model}
	if m.options.NoCompaction {
		return item, m.client.Fail(errors.New("native compaction is switched off for this endpoint"))
	}
	body, err := m.encode(model.Request{Messages: messages}, forCompaction)
	if err != nil {
		return item, m.client.Fail(err)
	}
	answer, err := m.client.Do(ctx, m.call("/v1/messages", body))
	if err != nil {
		return item, err
	}
	var reply struct {
		Content []json.RawMessage `json:"content"`
		Usage   json.RawMessage   `json:"usage"`
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		return item, m.client.Fail(wire.Malformed(answer, err))
	}
	var used usage
	if _, err := used.take(reply.Usage); err == nil {
		item.Usage = used.normal()
	}
	for _, block := range reply.Content {
		var head struct {
			Type    string
			Content *string
		}
		if json.Unmarshal(block, &head) == nil && head.Type == nativeType && head.Content != nil && *head.Content != "" {
			item.Data, err = json.Marshal(reply.Content)
			return item, err
		}
	}
	return item, m.client.Fail(wire.Malformed(answer, errors.New("the provider made no compaction")))
}
