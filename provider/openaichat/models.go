package openaichat

import (
	"context"

	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/internal/wire"
)

// listed is a model with the members that some servers add: OpenRouter
// (context_length, top_provider), vLLM (max_model_len), Groq (context_window),
// Mistral (max_context_length), llama.cpp (meta.n_ctx_train, which is what the
// model was trained with and may be above what the server takes, and is not
// read).
type listed struct {
	ID            string `json:"id"`
	ContextLength int    `json:"context_length"`
	MaxModelLen   int    `json:"max_model_len"`
	ContextWindow int    `json:"context_window"`
	MaxContext    int    `json:"max_context_length"`
	MaxCompletion int    `json:"max_completion_tokens"`
	TopProvider   struct {
		ContextLength int `json:"context_length"`
		MaxCompletion int `json:"max_completion_tokens"`
	} `json:"top_provider"`
}

// Models asks an endpoint which models it serves, sorted by name. Windows are
// zero where the endpoint does not state them, as OpenAI's own does not.
func Models(ctx context.Context, c provider.Connection) ([]provider.ModelInfo, error) {
	client, err := wire.New(c, "openai-compatible", "models", wire.Bearer)
	if err != nil {
		return nil, err
	}
	return client.List(ctx, wire.Call{Path: "/models"}, nil, func(body []byte) (wire.Page, error) {
		models, err := wire.DataList(body, func(m listed) provider.ModelInfo {
			window := max(m.ContextLength, m.MaxModelLen, m.ContextWindow, m.MaxContext)
			if m.TopProvider.ContextLength > 0 {
				window = m.TopProvider.ContextLength // what is really served
			}
			return provider.ModelInfo{ID: m.ID, WindowTokens: window, MaxOutputTokens: max(m.MaxCompletion, m.TopProvider.MaxCompletion)}
		})
		return wire.Page{Models: models}, err
	})
}
