package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/internal/wire"
)

// Models asks the endpoint which models it serves that can answer, sorted by
// name.
func Models(ctx context.Context, c provider.Connection) ([]provider.ModelInfo, error) {
	c.Endpoint = cmp.Or(c.Endpoint, DefaultEndpoint)
	client, err := wire.New(c, Provider, "models", authorize)
	if err != nil {
		return nil, err
	}
	return client.List(ctx, wire.Call{Path: "/models"}, url.Values{"pageSize": {"1000"}}, func(body []byte) (wire.Page, error) {
		var list struct {
			Models *[]struct {
				Name    string   `json:"name"`
				Input   int      `json:"inputTokenLimit"`
				Output  int      `json:"outputTokenLimit"`
				Methods []string `json:"supportedGenerationMethods"`
			} `json:"models"`
			Next string `json:"nextPageToken"`
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return wire.Page{}, err
		}
		if list.Models == nil {
			return wire.Page{}, errors.New("the answer holds no list of models")
		}
		var page wire.Page
		for _, m := range *list.Models {
			if len(m.Methods) == 0 || slices.Contains(m.Methods, "generateContent") {
				page.Models = append(page.Models, provider.ModelInfo{ID: strings.TrimPrefix(m.Name, "models/"), MaxInputTokens: m.Input, MaxOutputTokens: m.Output})
			}
		}
		if list.Next != "" {
			page.Next = url.Values{"pageSize": {"1000"}, "pageToken": {list.Next}}
		}
		return page, nil
	})
}
