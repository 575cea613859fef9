package scripted

import (
	"context"
	"fmt"
	"time"

	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/anthropic"
	"github.com/forge-agent/forge/provider/gemini"
	"github.com/forge-agent/forge/provider/openai"
	"github.com/forge-agent/forge/provider/openaichat"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// ModelOf names a usual model of a dialect, one that the catalog knows.
func ModelOf(d wirebody.Dialect) string {
	switch d {
	case wirebody.Responses:
		return "gpt-5"
	case wirebody.Anthropic:
		return "claude-sonnet-4-5"
	case wirebody.Gemini:
		return "gemini-2.5-pro"
	}
	return "deepseek-chat"
}

// ProviderOf names the route of the command line that speaks a dialect.
func ProviderOf(d wirebody.Dialect) string {
	switch d {
	case wirebody.Responses:
		return "openai"
	case wirebody.Anthropic:
		return "anthropic"
	case wirebody.Gemini:
		return "gemini"
	}
	return "deepseek"
}

// Connect returns the adapter of a dialect, connected to the server. A retry
// does not wait, and a stream that says nothing for idle ends; zero idle means
// the adapter's own bound.
func (s *Server) Connect(d wirebody.Dialect, caps model.Capabilities, idle time.Duration) (model.Model, error) {
	name := ModelOf(d)
	c := provider.Connection{Endpoint: s.URL(), IdleTimeout: idle, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	switch d {
	case wirebody.Responses:
		return openai.New(openai.Options{Connection: c, Model: name, Capabilities: caps})
	case wirebody.Chat:
		return openaichat.New(openaichat.Options{Connection: c, Provider: ProviderOf(d), Model: name, Capabilities: caps})
	case wirebody.Anthropic:
		return anthropic.New(anthropic.Options{Connection: c, Model: name, Capabilities: caps})
	case wirebody.Gemini:
		return gemini.New(gemini.Options{Connection: c, Model: name, Capabilities: caps})
	}
	return nil, fmt.Errorf("connect to the scripted provider: unknown dialect %q", d)
}
