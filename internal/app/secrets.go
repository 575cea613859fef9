package app

import (
	"fmt"
	"net/http"
	"os"

	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/redact"
)

// Secrets returns the values that a run knows to be secret: the key in use and
// what MCP servers are given.
func Secrets(v *config.Values, c Choice, getenv func(string) string) []redact.Value {
	var out []redact.Value
	add := func(name, text string) {
		if text != "" {
			out = append(out, redact.Value{Name: name, Text: text})
		}
	}
	if u, err := provider.ParseEndpoint(c.Route.Endpoint); err == nil && !c.Key.IsZero() {
		if secret, err := c.Key.Reveal(u); err == nil {
			add("key-of-"+c.Route.Name, secret)
		}
	}
	for _, name := range sortedKeys(v.Providers) {
		if own := v.Providers[name]; own.KeyVariable != "" {
			add(own.KeyVariable, getenv(own.KeyVariable))
		}
	}
	for _, name := range sortedKeys(v.MCP.Servers) {
		s := v.MCP.Servers[name]
		for _, group := range []config.Secrets{s.Env, s.Headers} {
			values, err := group.Expand(getenv)
			if err != nil {
				continue // the server is not started: that is reported
			}
			for _, key := range sortedKeys(values) {
				add(key, values[key])
			}
		}
	}
	return out
}

// maxImageBytes is the largest picture that is sent.
const maxImageBytes = 20 << 20

// ReadImage reads a picture that goes with a request.
func ReadImage(path string) (message.Image, error) {
	info, err := os.Stat(path)
	if err != nil {
		return message.Image{}, fmt.Errorf("read picture: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxImageBytes {
		return message.Image{}, fmt.Errorf("read picture %s: it is no file of at most %d bytes", path, maxImageBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return message.Image{}, fmt.Errorf("read picture: %w", err)
	}
	switch kind := http.DetectContentType(data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return message.Image{MediaType: kind, Data: data}, nil
	default:
		return message.Image{}, fmt.Errorf("read picture %s: its content is %s; give a png, jpeg, gif or webp", path, kind)
	}
}
