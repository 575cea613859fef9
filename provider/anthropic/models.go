package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/internal/wire"
)

// Models asks the endpoint which models it serves, sorted by name.
func Models(ctx context.Context, c provider.Connection) ([]provider.ModelInfo, error) {
	c.Endpoint = cmp.Or(c.Endpoint, DefaultEndpoint)
	client, err := wire.New(c, Provider, "models", authorize)
	if err != nil {
		return nil, err
	}
	call := wire.Call{Path: "/v1/models", Header: http.Header{"Anthropic-Version": {apiVersion}}}
	return client.List(ctx, call, url.Values{"limit": {"1000"}}, func(body []byte) (wire.Page, error) {
		models, err := wire.DataList(body, func(m struct {
			ID        string `json:"id"`
			MaxInput  int    `json:"max_input_tokens"`
			MaxOutput int    `json:"max_tokens"`
		}) provider.ModelInfo {
			return provider.ModelInfo{ID: m.ID, MaxInputTokens: m.MaxInput, MaxOutputTokens: m.MaxOutput}
		})
		if err != nil {
			return wire.Page{}, err
		}
		var more struct {
			HasMore bool   `json:"has_more"`
			LastID  string `json:"last_id"`
		}
		page := wire.Page{Models: models}
		if json.Unmarshal(body, &more) == nil && more.HasMore && more.LastID != "" {
			page.Next = url.Values{"limit": {"1000"}, "after_id": {more.LastID}}
		}
		return page, nil
	})
}
