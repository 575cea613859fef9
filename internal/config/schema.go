package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of a configuration file,
// made from the table of keys.
func Schema() []byte {
	t := newTable(Keys())
	root := t.schemaOf("")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = fmt.Sprintf("Configuration of Forge, version %d", Version)
	root["required"] = []string{"version"}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		return nil // maps, lists, texts and finite numbers only
	}
	return out.Bytes()
}

// schemaOf describes the object at a path of the table.
func (t *table) schemaOf(at string) map[string]any {
	properties := map[string]any{}
	out := map[string]any{"type": "object", "additionalProperties": false}
	for _, name := range t.inside[at] {
		path := join(at, name)
		var below map[string]any
		switch key := t.byPath[path]; {
		case key == nil:
			below = t.schemaOf(path)
		case key.Type == Objects:
			entry := t.schemaOf(path + "[]")
			if action := t.byPath[path+"[].action"]; action != nil && action.Default == "" {
				entry["required"] = []string{"action"}
			}
			if path == grantsPath {
				entry["anyOf"] = []any{required("tool"), required("risk"), required("command")}
			}
			below = map[string]any{"type": "array", "items": entry, "description": key.describe()}
		default:
			below = key.schema()
		}
		if name == "*" {
			out["patternProperties"] = map[string]any{"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$": below}
			below["minProperties"] = 1
			continue
		}
		properties[name] = below
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	return out
}

func required(name string) map[string]any { return map[string]any{"required": []string{name}} }

func (k *Key) schema() map[string]any {
	out := map[string]any{"description": k.describe()}
	texts := map[string]any{"type": "string"}
	switch k.Type {
	case Boolean:
		out["type"] = "boolean"
	case Integer, Number:
		out["type"] = "integer"
		if k.Type == Number {
			out["type"] = "number"
		}
		k.bounds(out)
	case Tokens:
		number := map[string]any{"type": "integer"}
		k.bounds(number)
		out["anyOf"] = []any{number, map[string]any{"const": auto}}
	case Choice:
		out["enum"] = k.Choices
	case Strings:
		out["type"], out["items"], out["minItems"] = "array", texts, 1
	case Texts:
		out["type"], out["additionalProperties"] = "object", texts
	case String:
		out["type"], out["minLength"] = "string", 1
	}
	if k.Default != nil && k.Default != "" {
		out["default"] = k.shown(k.Default)
	}
	return out
}

func (k *Key) bounds(out map[string]any) {
	out["minimum"], out["maximum"] = bound(k.Least), bound(k.Most)
}

// bound keeps whole numbers whole.
func bound(f float64) any {
	if f == math.Trunc(f) {
		return int(f)
	}
	return f
}

// describe is the key's text with what a project may do.
func (k *Key) describe() string {
	if rule := k.Project.sentence(); rule != "" {
		return k.Doc + " " + rule
	}
	return k.Doc
}

func (r Rule) sentence() string {
	switch r {
	case Never:
		return "A project may not set it."
	case Raise:
		return "A project may only raise it."
	case Lower:
		return "A project may only lower it."
	case Stricter:
		return "A project may only make it stricter."
	case SwitchOff:
		return "A project may only switch it off."
	case Add:
		return "A project's are added."
	case Narrow:
		return "A project may only take entries away."
	case Propose:
		return "A project may set it for a server that you have not named; such a server is not started before you agree."
	}
	return ""
}

// short is the rule in a table.
func (r Rule) short() string {
	words := map[Rule]string{Never: "no", Raise: "raise only", Lower: "lower only", Stricter: "stricter only",
		SwitchOff: "switch off only", Add: "adds", Narrow: "take away only", Propose: "propose", Free: "yes"}
	return words[r]
}

// kind is the type in a table.
func (k *Key) kind() string {
	switch k.Type {
	case Choice:
		return "`" + strings.Join(k.Choices, "`, `") + "`"
	case Integer, Number:
		if k.Least == k.Most {
			return "`" + digits(k.Least) + "`"
		}
		return digits(k.Least) + " to " + digits(k.Most)
	case Tokens:
		return digits(k.Least) + " to " + digits(k.Most) + ", `auto`"
	case Boolean:
		return "true, false"
	case Strings:
		return "list of texts"
	case Texts:
		return "names with texts"
	case Objects:
		return "list of objects"
	case String:
		if k.Endpoint {
			return "URL"
		}
		return "text"
	}
	return "anything"
}

// documented are the keys that a reader needs: without what is ignored.
func documented() []Key {
	return slices.DeleteFunc(Keys(), func(k Key) bool { return k.Path == "compaction" })
}
