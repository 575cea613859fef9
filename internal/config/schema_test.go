package config_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/config"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("forge.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("forge.json") // checks it against draft 2020-12 too
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// beyond are the faults that the schema cannot see: what lies between two
// values, and the form of a text.
func beyond(text string) bool {
	for _, part := range []string{"is no endpoint", "is no name of an environment variable", "unknown provider", `"command"`, `"url"`, "has no \"dialect\"", "has no \"endpoint\"",
		"control character", "NUL character", "begins with an empty text", "which is no name"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// F-PKG-03, issue behaviour 6: the schema and the program agree on every
// document, apart from what no schema can say.
func TestSchemaAgrees(t *testing.T) {
	schema := compiled(t)
	rapid.Check(t, func(t *rapid.T) {
		doc := document(t)
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			spoil(t, doc)
		}
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		said := schema.Validate(instance)
		var faults, seen []config.Finding
		for _, f := range config.Check(config.User, "f", data) {
			if f.Severity == config.Fault {
				faults = append(faults, f)
				if !beyond(f.Text) {
					seen = append(seen, f)
				}
			}
		}
		if said != nil && len(faults) == 0 || said == nil && len(seen) > 0 {
			t.Fatalf("%s\nschema: %v\nprogram: %v", data, said, faults)
		}
	})
}

// spoil puts a value of any kind somewhere.
func spoil(t *rapid.T, doc map[string]any) {
	value := rapid.SampledFrom([]any{nil, true, "", "auto", "allow", 0, -1, 1.5, 1 << 40, []any{}, []any{1}, map[string]any{}, map[string]any{"action": "deny"},
		[]any{map[string]any{"risk": "read"}}, []any{map[string]any{"tool": 1}}}).Draw(t, "value")
	path := rapid.SampledFrom(config.Keys()).Draw(t, "key").Path
	if list, _, inside := strings.Cut(path, "[]"); inside {
		path = list
	}
	names := strings.Split(strings.Replace(path, "*", "a", 1), ".")
	names = names[:rapid.IntRange(1, len(names)).Draw(t, "depth")]
	if rapid.IntRange(0, 5).Draw(t, "unknown") == 0 {
		names[len(names)-1] += "x"
	}
	for _, name := range names[:len(names)-1] {
		below, ok := doc[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			doc[name] = below
		}
		doc = below
	}
	doc[names[len(names)-1]] = value
}
