package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/forge-agent/forge/redact"
)

// show returns a value for people: as JSON, and never a secret.
func (k *Key) show(value any) string {
	shown := k.shown(value)
	if shown == nil {
		return "not set"
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(shown); err != nil {
		return "not readable"
	}
	return printable(strings.TrimSuffix(out.String(), "\n"))
}

// printable escapes what could change how a terminal shows a line: JSON lets
// controls above ASCII and changes of direction through.
func printable(text string) string {
	var out strings.Builder
	for _, r := range text {
		if unicode.IsGraphic(r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, "\\u%04x", r)
		}
	}
	return out.String()
}

// shown returns a value without secrets, ready for JSON.
func (k *Key) shown(value any) any {
	switch v := value.(type) {
	case map[string]string:
		if k.Secret {
			return Secrets(v)
		}
	case int:
		if k.Type == Tokens && v == 0 {
			return auto
		}
	case string:
		return k.redact(v)
	case []string:
		out := make([]string, len(v))
		for i := range v {
			out[i] = k.redact(v[i])
		}
		return out
	case []map[string]any:
		out := make([]map[string]any, len(v))
		for i := range v {
			out[i] = map[string]any{}
			for _, name := range slices.Sorted(maps.Keys(v[i])) {
				out[i][name] = k.shown(v[i][name])
			}
		}
		return out
	}
	return value
}

func (k *Key) redact(text string) string {
	if k.hide == nil {
		k.hide = func() *redact.Redactor { return redact.New(nil) }
	}
	text, _ = k.hide().Text(text)
	return text
}
