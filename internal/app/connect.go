package app

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/internal/credential"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/anthropic"
	"github.com/forge-agent/forge/provider/gemini"
	"github.com/forge-agent/forge/provider/openai"
	"github.com/forge-agent/forge/provider/openaichat"
)

// ErrNoModel: nothing says which model to ask, or there is no key for it. The
// text says what would serve.
var ErrNoModel = errors.New("no model can be asked")

// A Choice is the model that a session works with.
type Choice struct {
	// Route is the way to its provider, Key what goes there.
	Route credential.Route
	Key   provider.Key
	// Model is its name at the provider, Entry what the catalog knows of it.
	Model string
	Entry catalog.Model
	// Known says that the catalog has it.
	Known bool
	// WindowTokens is the user's window, zero for the catalog's.
	WindowTokens int
}

// preferred are the providers that are tried when nothing names one, with the
// model that is asked then: of each vendor the newest middle size in the
// catalog.
func preferred() [][2]string {
	return [][2]string{{"anthropic", "claude-sonnet-5-5"}, {"openai", "gpt-5.6-terra"}, {"gemini", "gemini-3.8-flash"}, {"deepseek", "deepseek-v4-flash"}}
}

// Choose settles provider and model: what the settings name, else the first
// provider with a key.
func Choose(v *config.Values, c *catalog.Catalog, keys *credential.Store, getenv func(string) string) (Choice, error) {
	name, id := v.Provider, v.Model
	entry, known := catalog.Model{}, false
	if id != "" {
		if entry, known = c.Lookup(id); !known {
			entry = catalog.Fallback(id)
		}
	}
	if name == "" && v.Endpoint != "" {
		return Choice{}, fmt.Errorf("%w: an endpoint is set and no provider; name the provider whose form it speaks", ErrNoModel)
	}
	if name == "" {
		found, fallback, err := search(entry.Provider, v, keys, getenv)
		if err != nil {
			return Choice{}, err
		}
		name, id = found, cmp.Or(id, fallback)
	}
	route, window, err := findRoute(name, v)
	if err != nil {
		return Choice{}, err
	}
	key, _, err := routeKey(route, name, v, keys, getenv)
	if err != nil {
		return Choice{}, err
	}
	if key.IsZero() && !route.Keyless() && v.Providers[name].Endpoint == "" {
		return Choice{}, fmt.Errorf("%w: there is no key for %s: run \"forge auth login %s\" or set %s",
			ErrNoModel, route.Endpoint, route.Name, route.Variables()[0])
	}
	for _, p := range preferred() {
		if id == "" && p[0] == name {
			id = p[1]
		}
	}
	if id == "" {
		return Choice{}, fmt.Errorf("%w: %s has no usual model; name one with --model", ErrNoModel, name)
	}
	if entry, known = c.Lookup(id); !known {
		entry = catalog.Fallback(id)
	}
	return Choice{Route: route, Key: key, Model: id, Entry: entry, Known: known, WindowTokens: cmp.Or(v.Context.WindowTokens, window)}, nil
}

// search returns the provider to ask when none is named: the maker of the
// model, else the first with a key.
func search(maker string, v *config.Values, keys *credential.Store, getenv func(string) string) (name, usual string, err error) {
	names := [][2]string{}
	if maker != "" {
		names = append(names, [2]string{maker, ""})
	} else if v.Model == "" {
		names = preferred()
	}
	for _, own := range sortedKeys(v.Providers) {
		names = append(names, [2]string{own, ""})
	}
	for _, n := range names {
		route, _, err := findRoute(n[0], v)
		if err != nil {
			continue // the maker is no provider that is known here
		}
		key, _, err := routeKey(route, n[0], v, keys, getenv)
		if err != nil {
			return "", "", err
		}
		if !key.IsZero() {
			return n[0], n[1], nil
		}
	}
	return "", "", noKey(v.Model)
}

// noKey says in one message what would serve.
func noKey(id string) error {
	var remote, local []string
	for _, r := range credential.Routes() {
		if r.Keyless() {
			local = append(local, fmt.Sprintf("%s (%s)", r.Name, r.Endpoint))
			continue
		}
		remote = append(remote, r.Variables()[1]) // the vendor's own
	}
	what := "no provider is named and no key is set"
	if id != "" {
		what = fmt.Sprintf("no key is set for a provider of %s", id)
	}
	return fmt.Errorf("%w: %s.\n"+
		"  Set one of %s, or run \"forge auth login PROVIDER\".\n"+
		"  With a server on this machine: forge run --provider ollama --model NAME \"…\"; known are %s.\n"+
		"  Without any key, look at a session of another agent: forge replay FILE",
		ErrNoModel, what, strings.Join(remote, ", "), strings.Join(local, ", "))
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// findRoute returns a route of the user's own or a known one, and the window
// that the user states for it.
func findRoute(name string, v *config.Values) (credential.Route, int, error) {
	if own, ok := v.Providers[name]; ok {
		route := credential.Route{Name: name, Endpoint: own.Endpoint, Dialect: credential.Dialect(own.Dialect)}
		if _, err := provider.ParseEndpoint(own.Endpoint); err != nil {
			return route, 0, fmt.Errorf("provider %q of the configuration: %w", name, err)
		}
		return route, own.WindowTokens, nil
	}
	route, err := credential.Find(name, v.Endpoint)
	return route, 0, err
}

func routeKey(route credential.Route, name string, v *config.Values, keys *credential.Store, getenv func(string) string) (provider.Key, string, error) {
	if own, ok := v.Providers[name]; ok && own.KeyVariable != "" {
		if secret := getenv(own.KeyVariable); secret != "" {
			key, err := provider.NewKey(secret, route.Endpoint)
			return key, own.KeyVariable, err
		}
	}
	return route.Key(getenv, keys)
}

// auto leaves a setting to the provider.
const auto = "auto"

// Connect makes the adapter for a choice. Nothing is sent.
func Connect(c Choice, v *config.Values) (model.Model, error) {
	conn := provider.Connection{Endpoint: c.Route.Endpoint, Key: c.Key, Client: provider.NewClient(http.ProxyFromEnvironment)}
	caps := c.Capabilities()
	effort := v.ReasoningEffort
	if effort == auto || v.Thinking == "off" {
		effort = ""
	}
	switch c.Route.Dialect {
	case credential.Messages:
		return anthropic.New(anthropic.Options{Connection: conn, Provider: c.Route.Name, Model: c.Model, Capabilities: caps, Effort: effort})
	case credential.Gemini:
		o := gemini.Options{Connection: conn, Provider: c.Route.Name, Model: c.Model, Capabilities: caps, Thoughts: v.Thinking != "off"}
		if effort == "low" || effort == "high" {
			o.ThinkingLevel = effort
		}
		return gemini.New(o)
	case credential.Responses:
		return openai.New(openai.Options{Connection: conn, Provider: c.Route.Name, Model: c.Model, Capabilities: caps, Effort: effort, NoReasoning: v.Thinking == "off"})
	case credential.Chat:
		return openaichat.New(openaichat.Options{Connection: conn, Provider: c.Route.Name, Model: c.Model, Capabilities: caps, Effort: effort})
	}
	return nil, fmt.Errorf("connect to %s: unknown dialect %q; use responses, chat, messages or gemini", c.Route.Name, c.Route.Dialect)
}

// Capabilities are the catalog's with the user's window in front.
func (c Choice) Capabilities() model.Capabilities {
	caps := c.Entry.Capabilities()
	caps.Provider, caps.Model = c.Route.Name, c.Model
	if c.WindowTokens > 0 {
		caps.WindowTokens, caps.WindowSource, caps.MaxInputTokens = c.WindowTokens, model.WindowFromUser, 0
	}
	return caps
}
