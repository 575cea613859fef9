package openaichat_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/openaichat"
)

// The endpoint says which models it serves (F-CAP-03).
func TestModels(t *testing.T) {
	want := []provider.ModelInfo{{ID: "a", WindowTokens: 7000}, {ID: "b", WindowTokens: 8000, MaxOutputTokens: 100}, {ID: "c"}}
	adaptertest.CheckModels(t, openaichat.Models, "/models", want,
		`{"data":[{"id":"b","context_length":9000,"top_provider":{"context_length":8000,"max_completion_tokens":100}},{"id":"a","max_model_len":7000},{"id":"a"},{"id":""},{"id":"c","context_window":-5}]}`)
}
