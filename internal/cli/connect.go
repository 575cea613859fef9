package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/internal/credential"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/anthropic"
	"github.com/forge-agent/forge/provider/gemini"
	"github.com/forge-agent/forge/provider/openai"
	"github.com/forge-agent/forge/provider/openaichat"
	"github.com/forge-agent/forge/redact"
	"github.com/forge-agent/forge/transcript"
)

// endpoint is a provider as flags name it.
type endpoint struct{ provider, url string }

func (e *endpoint) flags(c *cobra.Command, use string) {
	c.Flags().StringVar(&e.provider, "provider", "", use+": openai, anthropic, gemini, ollama, …")
	c.Flags().StringVar(&e.url, "endpoint", "", "base URL of another endpoint than the provider's own")
}

// connection finds the route and its key.
func (e *endpoint) connection(env *Env) (credential.Route, provider.Connection, error) {
	route, err := findRoute(e.provider, e.url)
	if err != nil {
		return route, provider.Connection{}, err
	}
	store, err := keyStore(env)
	if err != nil {
		return route, provider.Connection{}, err
	}
	key, _, err := route.Key(env.Getenv, store)
	if err != nil {
		return route, provider.Connection{}, usageError{err}
	}
	if key.IsZero() && !route.Keyless() {
		return route, provider.Connection{}, usagef("there is no key for %s: run \"forge auth login %s\" or set %s", route.Endpoint, route.Name, route.Variables()[0])
	}
	return route, provider.Connection{Endpoint: route.Endpoint, Key: key, Client: provider.NewClient(http.ProxyFromEnvironment)}, nil
}

// model connects to a model of the provider.
func (e *endpoint) model(env *Env, id string) (model.Model, error) {
	route, c, err := e.connection(env)
	if err != nil {
		return nil, err
	}
	var m model.Model
	switch route.Dialect {
	case credential.Messages:
		m, err = anthropic.New(anthropic.Options{Connection: c, Provider: route.Name, Model: id})
	case credential.Gemini:
		m, err = gemini.New(gemini.Options{Connection: c, Provider: route.Name, Model: id})
	case credential.Responses:
		m, err = openai.New(openai.Options{Connection: c, Provider: route.Name, Model: id})
	case credential.Chat:
		m, err = openaichat.New(openaichat.Options{Connection: c, Provider: route.Name, Model: id})
	}
	if err != nil {
		return nil, usageError{err}
	}
	return m, nil
}

// chosen returns the strategy that the flags of compact name.
func (f *compactFlags) chosen(env *Env, sessionModel string) (compaction.Strategy, error) {
	if f.strategy == "extractive" {
		return compaction.Extractive{}, nil
	}
	if f.endpoint.provider == "" {
		return nil, usagef("--strategy %s asks a model: name its --provider; extractive needs none", f.strategy)
	}
	if f.dryRun {
		return nil, usagef("a dry run asks no model: use --strategy extractive to see what would be summarized")
	}
	id := f.summarizer
	if id == "" {
		id = sessionModel
	}
	if id == "" {
		return nil, usagef("--strategy %s: the session names no model; name one with --summarizer", f.strategy)
	}
	m, err := f.endpoint.model(env, id)
	if err != nil {
		return nil, err
	}
	if f.strategy == "native" {
		if _, ok := m.(model.NativeCompactor); !ok {
			return nil, usagef("--strategy native: %s does not compact on request; use model or extractive", f.endpoint.provider)
		}
		return compaction.Native{Model: m}, nil
	}
	return compaction.Model{Summarizer: compaction.ModelSummarizer{Model: m}}, nil
}

// announce says who gets what, before anything is sent.
func (f *compactFlags) announce(env *Env, sessionModel string) {
	id := f.summarizer
	if id == "" {
		id = sessionModel
	}
	fmt.Fprintf(env.Stderr, "asking %s of %s; recognised secrets are taken out before\n", id, f.endpoint.provider)
}

// redacted copies a transcript with recognised secrets taken out: what a model
// is asked about must not hold any (F-SUM-03, F-TST-06).
func redacted(t *transcript.Transcript) (*transcript.Transcript, error) {
	r := redact.New(nil)
	out := &transcript.Transcript{}
	for _, m := range t.All() {
		clean, _ := r.Message(m)
		if err := out.Append(clean); err != nil {
			return nil, fmt.Errorf("take secrets out: %w", err)
		}
	}
	return out, nil
}
