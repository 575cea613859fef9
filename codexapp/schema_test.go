package codexapp_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/forge-agent/forge/codexapp"
)

// schema is as much of a JSON schema as the comparison needs.
type schema struct {
	Ref         string                     `json:"$ref"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
	AllOf       []json.RawMessage          `json:"allOf"`
	AnyOf       []json.RawMessage          `json:"anyOf"`
	OneOf       []json.RawMessage          `json:"oneOf"`
	Items       json.RawMessage            `json:"items"`
	Enum        []string                   `json:"enum"`
	Definitions map[string]json.RawMessage `json:"definitions"`
}

func parseSchema(t testing.TB, data json.RawMessage) schema {
	t.Helper()
	var s schema
	if string(data) == "true" || len(data) == 0 {
		return s
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatalf("schema: %v: %.200s", err, data)
	}
	return s
}

// variants are the forms that a value may have.
func variants(t testing.TB, definitions map[string]json.RawMessage, s schema) []schema {
	if s.Ref != "" {
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		return variants(t, definitions, parseSchema(t, definitions[name]))
	}
	out := []schema{s}
	for _, list := range [][]json.RawMessage{s.AllOf, s.AnyOf, s.OneOf} {
		for _, v := range list {
			out = append(out, variants(t, definitions, parseSchema(t, v))...)
		}
	}
	return out
}

// compare checks that each member of a struct is one of the schema's.
func compare(t *testing.T, path string, typ reflect.Type, definitions map[string]json.RawMessage, s schema) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8 {
		if typ.Kind() == reflect.Slice {
			var items json.RawMessage
			for _, v := range variants(t, definitions, s) {
				if len(v.Items) > 0 {
					items = v.Items
				}
			}
			if s = parseSchema(t, items); reflect.DeepEqual(s, schema{}) {
				return // anything
			}
		}
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return
	}
	forms := variants(t, definitions, s)
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		found := false
		for _, form := range forms {
			if p, ok := form.Properties[name]; ok {
				found = true
				compare(t, path+"."+name, field.Type, definitions, parseSchema(t, p))
				break
			}
		}
		if !found {
			t.Errorf("%s: the binary's schema has no member %q", path, name)
		}
	}
}

// The structs and methods of the client are those of the binary's own schema.
func TestRealSchema(t *testing.T) {
	program, dir := codexProgram(t), t.TempDir()
	cmd := exec.CommandContext(withTimeout(t), program, "app-server", "generate-json-schema", "--out", dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CODEX_HOME=" + dir}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for file, value := range codexapp.WireTypes() {
		s := parseSchema(t, must(os.ReadFile(filepath.Join(dir, file))))
		compare(t, file, reflect.TypeOf(value), s.Definitions, s)
	}
	for file, methods := range codexapp.Methods() {
		s := parseSchema(t, must(os.ReadFile(filepath.Join(dir, file))))
		var known []string
		for _, form := range variants(t, s.Definitions, s) {
			known = append(known, parseSchema(t, form.Properties["method"]).Enum...)
		}
		for _, m := range methods {
			if !slices.Contains(known, m) {
				t.Errorf("%s has no method %q", file, m)
			}
		}
		for _, m := range known {
			if file == "ServerRequest.json" && !slices.Contains(methods, m) {
				t.Logf("the server can ask %s, which is refused", m)
			}
		}
	}
}
