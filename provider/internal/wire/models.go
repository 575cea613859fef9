package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/forge-agent/forge/provider"
)

const (
	maxListPages  = 50
	maxModelNames = 10_000
)

// A Page is one page of a list of models.
type Page struct {
	Models []provider.ModelInfo
	// Next is the query of the next page, empty on the last.
	Next url.Values
}

// List asks for a list of models page by page, and sorts it by name.
func (c *Client) List(ctx context.Context, call Call, first url.Values, read func(body []byte) (Page, error)) ([]provider.ModelInfo, error) {
	var out []provider.ModelInfo
	call.Method = http.MethodGet
	query := first
	for range maxListPages {
		call.Query = query.Encode()
		body, err := c.Do(ctx, call)
		if err != nil {
			return nil, err
		}
		page, err := read(body)
		if err != nil {
			return nil, c.Fail(Malformed(body, err))
		}
		for _, m := range page.Models {
			if m.ID != "" {
				out = append(out, clean(m))
			}
		}
		if len(page.Next) == 0 || len(out) > maxModelNames {
			break
		}
		query = page.Next
	}
	slices.SortFunc(out, func(a, b provider.ModelInfo) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b provider.ModelInfo) bool { return a.ID == b.ID }), nil
}

// clean takes numbers out that cannot be windows.
func clean(m provider.ModelInfo) provider.ModelInfo {
	for _, n := range []*int{&m.WindowTokens, &m.MaxInputTokens, &m.MaxOutputTokens} {
		if *n < 0 || *n > 1_000_000_000 {
			*n = 0
		}
	}
	return m
}

// DataList reads the "data" list that most endpoints serve.
func DataList[T any](body []byte, info func(T) provider.ModelInfo) ([]provider.ModelInfo, error) {
	var list struct {
		Data *[]T `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	if list.Data == nil {
		return nil, errors.New("the answer holds no list of models")
	}
	out := make([]provider.ModelInfo, len(*list.Data))
	for i, m := range *list.Data {
		out[i] = info(m)
	}
	return out, nil
}
