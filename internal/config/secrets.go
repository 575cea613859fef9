package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// Secrets are texts by name that are never shown: formatting, JSON and
// structured records show the names only. Index it to get a text.
type Secrets map[string]string

const hidden = "(hidden)"

// String returns the names.
func (s Secrets) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, name+"="+hidden)
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// Format writes the names, whatever the verb.
func (s Secrets) Format(w fmt.State, _ rune) { io.WriteString(w, s.String()) }

// LogValue returns the names.
func (s Secrets) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON writes an object with the names. It cannot be read back.
func (s Secrets) MarshalJSON() ([]byte, error) {
	out := map[string]string{}
	for name := range s {
		out[name] = hidden
	}
	return json.Marshal(out)
}

// Expand returns the texts with every "${NAME}" replaced by the variable of
// that name, and an error that names the variables that are not set. Only a
// text that is a reference as a whole is one.
func (s Secrets) Expand(getenv func(string) string) (map[string]string, error) {
	out, missing := map[string]string{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		out[name] = s[name]
		if from, ok := reference(s[name]); ok {
			if out[name] = getenv(from); out[name] == "" {
				missing = append(missing, from)
			}
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: set %s, which the configuration refers to", ErrInvalid, strings.Join(missing, ", "))
	}
	return out, nil
}

// reference returns the variable that a text refers to.
func reference(text string) (string, bool) {
	name, ok := strings.CutPrefix(text, "${")
	if !ok || !strings.HasSuffix(name, "}") {
		return "", false
	}
	name = strings.TrimSuffix(name, "}")
	return name, variable(name)
}
