package anthropic_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/anthropic"
)

// The endpoint says which models it serves (F-CAP-03).
func TestModels(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Document(200, `{"data":[{"id":"b","max_input_tokens":200000,"max_tokens":64000}],"has_more":true,"last_id":"b"}`), modeltest.Document(200, `{"data":[{"id":"a"}],"has_more":false}`))
	key, err := provider.NewKey("not-a-real-key", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	got, err := anthropic.Models(t.Context(), provider.Connection{Endpoint: server.URL, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]provider.ModelInfo{{ID: "a"}, {ID: "b", MaxInputTokens: 200000, MaxOutputTokens: 64000}}, got); diff != "" {
		t.Error(diff)
	}
	if r := server.Requests()[0]; r.Method != "GET" || r.Path != "/v1/models" || len(r.Body) != 0 {
		t.Errorf("asked with %s %s %s", r.Method, r.Path, r.Body)
	}
	for _, bad := range []modeltest.Answer{modeltest.Document(200, `{}`), modeltest.Document(200, `<html>`), modeltest.Document(401, `{"error":{"message":"no"}}`)} {
		server := modeltest.NewServer(t, bad)
		var e *model.Error
		if got, err := anthropic.Models(t.Context(), provider.Connection{Endpoint: server.URL}); !errors.As(err, &e) || got != nil {
			t.Errorf("%s: %v, %v", bad.Body, got, err)
		}
	}
	if _, err := anthropic.Models(t.Context(), provider.Connection{Endpoint: "http://api.example.com"}); !errors.Is(err, provider.ErrInvalid) {
		t.Errorf("no encryption: %v", err)
	}
}
