package credential

import (
	"fmt"
	"strings"

	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/anthropic"
	"github.com/forge-agent/forge/provider/gemini"
	"github.com/forge-agent/forge/provider/openai"
)

// Dialect is the wire format of a route.
type Dialect string

// The dialects.
const (
	Responses Dialect = "responses"
	Chat      Dialect = "chat"
	Messages  Dialect = "messages"
	Gemini    Dialect = "gemini"
)

// A Route is a named way to a provider.
type Route struct {
	// Name is what a user calls it.
	Name string
	// Endpoint is the base URL.
	Endpoint string
	// Dialect is how it is spoken to.
	Dialect Dialect
	// vendorEnv are the environment variables that the vendor's own programs
	// read. They hold for the vendor's endpoint only.
	vendorEnv []string
	// keyless says that it usually takes no key.
	keyless bool
}

// Routes lists the known routes. Their endpoints are the vendors' documented
// ones, and the default ports of the servers for one's own machine.
func Routes() []Route {
	return []Route{
		{Name: "anthropic", Endpoint: anthropic.DefaultEndpoint, Dialect: Messages, vendorEnv: []string{"ANTHROPIC_API_KEY"}},
		{Name: "deepseek", Endpoint: "https://api.deepseek.com/v1", Dialect: Chat, vendorEnv: []string{"DEEPSEEK_API_KEY"}},
		{Name: "gemini", Endpoint: gemini.DefaultEndpoint, Dialect: Gemini, vendorEnv: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}},
		{Name: "groq", Endpoint: "https://api.groq.com/openai/v1", Dialect: Chat, vendorEnv: []string{"GROQ_API_KEY"}},
		{Name: "llamacpp", Endpoint: "http://localhost:8080/v1", Dialect: Chat, keyless: true},
		{Name: "lmstudio", Endpoint: "http://localhost:1234/v1", Dialect: Chat, keyless: true},
		{Name: "mistral", Endpoint: "https://api.mistral.ai/v1", Dialect: Chat, vendorEnv: []string{"MISTRAL_API_KEY"}},
		{Name: "ollama", Endpoint: "http://localhost:11434/v1", Dialect: Chat, keyless: true},
		{Name: "openai", Endpoint: openai.DefaultEndpoint, Dialect: Responses, vendorEnv: []string{"OPENAI_API_KEY"}},
		{Name: "openrouter", Endpoint: "https://openrouter.ai/api/v1", Dialect: Chat, vendorEnv: []string{"OPENROUTER_API_KEY"}},
		{Name: "vllm", Endpoint: "http://localhost:8000/v1", Dialect: Chat, keyless: true},
		{Name: "xai", Endpoint: "https://api.x.ai/v1", Dialect: Chat, vendorEnv: []string{"XAI_API_KEY"}},
	}
}

// Find returns a route by its name. endpoint replaces the usual one where it
// is not empty: the vendor's variables do not hold for it.
func Find(name, endpoint string) (Route, error) {
	var names []string
	for _, r := range Routes() {
		if r.Name == name {
			if endpoint != "" && endpoint != r.Endpoint {
				r.Endpoint, r.vendorEnv = endpoint, nil
			}
			_, err := provider.ParseEndpoint(r.Endpoint)
			return r, err
		}
		names = append(names, r.Name)
	}
	return Route{}, fmt.Errorf("%w: unknown provider %q, use one of %s", provider.ErrInvalid, name, strings.Join(names, ", "))
}

// Keyless reports whether the route usually takes no key.
func (r Route) Keyless() bool { return r.keyless }

// Variables lists the environment variables that can hold the key, the first
// one first.
func (r Route) Variables() []string {
	return append([]string{"FORGE_" + strings.ToUpper(r.Name) + "_API_KEY"}, r.vendorEnv...)
}

// Key finds the key of a route: in the environment, then in the store. from
// says where it was; it is empty, and the key zero, when there is none.
func (r Route) Key(getenv func(string) string, s *Store) (key provider.Key, from string, err error) {
	for _, name := range r.Variables() {
		if secret := getenv(name); secret != "" {
			key, err := provider.NewKey(secret, r.Endpoint)
			if err != nil {
				return provider.Key{}, "", fmt.Errorf("read %s: %w", name, err)
			}
			return key, name, nil
		}
	}
	key, err = s.Key(r.Endpoint)
	if err != nil || key.IsZero() {
		return key, "", err
	}
	return key, FileName, nil
}
