package gemini_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/gemini"
)

// The endpoint says which models it serves (F-CAP-03).
func TestModels(t *testing.T) {
	want := []provider.ModelInfo{{ID: "a"}, {ID: "b", MaxInputTokens: 1048576, MaxOutputTokens: 65536}}
	adaptertest.CheckModels(t, gemini.Models, "/models", want,
		`{"models":[{"name":"models/b","inputTokenLimit":1048576,"outputTokenLimit":65536,"supportedGenerationMethods":["generateContent"]},{"name":"models/embed","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"t"}`,
		`{"models":[{"name":"models/a"}]}`)
}
