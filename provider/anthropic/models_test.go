package anthropic_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/anthropic"
)

// The endpoint says which models it serves (F-CAP-03).
func TestModels(t *testing.T) {
	want := []provider.ModelInfo{{ID: "a"}, {ID: "b", MaxInputTokens: 200000, MaxOutputTokens: 64000}}
	adaptertest.CheckModels(t, anthropic.Models, "/v1/models", want,
		`{"data":[{"id":"b","max_input_tokens":200000,"max_tokens":64000}],"has_more":true,"last_id":"b"}`,
		`{"data":[{"id":"a"}],"has_more":false}`)
}
