package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/forge-agent/forge/message"
)

// Bounds of what a server says about a tool. The schema's is far beyond what a
// model reads with profit; the name's is that of the protocol.
const (
	maxSchemaBytes      = 64 << 10
	maxDescriptionBytes = 8 << 10
	maxToolName         = 128
	maxSchemaDepth      = 64
)

// An entry is a tool of a server that was checked.
type entry struct {
	name        string // the server's
	description string // safe, without label
	schema      json.RawMessage
	hints       string // what the server claims about its risk
}

// take checks the tools of a list and keeps those that can be used, by name.
func (c *connection) take(tools []*sdk.Tool) {
	missing := slices.Clone(c.server.Allow)
	for _, t := range tools {
		if c.server.Allow != nil && !slices.Contains(c.server.Allow, t.Name) {
			c.excluded++
			continue
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == t.Name })
		switch {
		case strings.TrimSpace(t.Name) == "":
			c.report(Refused, "", "it listed a tool without a name.")
			continue
		case len(t.Name) > maxToolName:
			c.report(Refused, t.Name, fmt.Sprintf("its name has %d bytes, more than %d, so it is left out.", len(t.Name), maxToolName))
			continue
		case slices.ContainsFunc(c.entries, func(e entry) bool { return e.name == t.Name }):
			c.report(Refused, t.Name, "it is listed twice; the first one counts.")
			continue
		}
		schema, warning, err := readSchema(t.InputSchema)
		if err != nil {
			c.report(Refused, t.Name, err.Error()+", so it is left out.")
			continue
		}
		if warning != "" {
			c.report(Altered, t.Name, warning)
		}
		c.entries = append(c.entries, entry{name: t.Name, schema: schema, description: c.describe(t), hints: hints(t.Annotations)})
	}
	for _, name := range missing {
		c.report(Refused, name, "its allow list names it, and the server has no such tool. Correct the list.")
	}
	slices.SortFunc(c.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
}

// describe returns a tool's description, safe and bounded.
func (c *connection) describe(t *sdk.Tool) string {
	text := t.Description
	if strings.TrimSpace(text) == "" {
		text = t.Title
	}
	if len(text) > maxDescriptionBytes {
		c.report(Altered, t.Name, fmt.Sprintf("its description has %d bytes; what comes after the first %d is left out.", len(text), maxDescriptionBytes))
		text = clip(text, maxDescriptionBytes)
	}
	safe := cleanLines(text)
	if safe != strings.ReplaceAll(text, "\r\n", "\n") {
		c.report(Altered, t.Name, "its description holds characters that cannot be seen; they are shown as escapes.")
	}
	return clip(strings.TrimSpace(safe), 2*maxDescriptionBytes)
}

// hints are what a server claims about the effects of a tool.
func hints(a *sdk.ToolAnnotations) string {
	if a == nil {
		return ""
	}
	var out []string
	if a.ReadOnlyHint {
		out = append(out, "read-only")
	}
	if a.DestructiveHint != nil {
		out = append(out, map[bool]string{true: "destructive", false: "not destructive"}[*a.DestructiveHint])
	}
	if a.IdempotentHint {
		out = append(out, "idempotent")
	}
	if a.OpenWorldHint != nil {
		out = append(out, map[bool]string{true: "open world", false: "closed world"}[*a.OpenWorldHint])
	}
	return strings.Join(out, ", ")
}

// readSchema returns the parameters of a tool: what the server sent, with
// sorted members, so that it is the same at every start, and without hidden
// characters in texts for people. A missing type becomes object. The warning is
// for what some providers refuse.
func readSchema(sent any) (schema json.RawMessage, warning string, err error) {
	if sent == nil {
		return nil, "", errors.New("it has no schema")
	}
	// A schema that is no object would come back from JSON as another type.
	data, err := json.Marshal(sent)
	if err != nil {
		return nil, "", errors.New("its schema is no JSON")
	}
	if len(data) > maxSchemaBytes {
		return nil, "", fmt.Errorf("its schema has %d bytes, more than %d", len(data), maxSchemaBytes)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var object map[string]any
	if err := dec.Decode(&object); err != nil || object == nil {
		return nil, "", errors.New("its schema is not a JSON object")
	}
	if err := checkSchema(object); err != nil {
		return nil, "", err
	}
	if _, ok := object["type"]; !ok {
		object["type"] = "object"
	}
	if !cleanSchema(object, 0) {
		return nil, "", fmt.Errorf("its schema is nested more than %d deep", maxSchemaDepth)
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		if _, ok := object[word]; ok {
			warning = fmt.Sprintf("its schema has %s at the top, which some providers refuse. If a request fails because of it, leave the tool out of the allow list.", word)
		}
	}
	schema, err = encode(object)
	if err == nil && len(schema) > 2*maxSchemaBytes {
		err = fmt.Errorf("its schema has %d bytes with its hidden characters shown, more than %d", len(schema), 2*maxSchemaBytes)
	}
	return schema, warning, err
}

// checkSchema refuses what no provider takes as the parameters of a tool.
func checkSchema(object map[string]any) error {
	if kind, ok := object["type"]; ok && kind != "object" {
		return errors.New("its schema does not describe an object")
	}
	if properties, ok := object["properties"]; ok {
		list, ok := properties.(map[string]any)
		if !ok {
			return errors.New("the properties of its schema are no object")
		}
		for _, name := range slices.Sorted(maps.Keys(list)) {
			switch list[name].(type) {
			case map[string]any, bool:
			default:
				return fmt.Errorf("the property %q of its schema is no schema", shown(name, 80))
			}
		}
	}
	if required, ok := object["required"]; ok {
		list, ok := required.([]any)
		if !ok || slices.ContainsFunc(list, func(v any) bool { _, ok := v.(string); return !ok }) {
			return errors.New("what its schema requires is no list of names")
		}
	}
	return nil
}

// cleanSchema makes the texts for people safe, in place, and reports whether
// the nesting is within its bound.
func cleanSchema(value any, depth int) bool {
	if depth > maxSchemaDepth {
		return false
	}
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if text, ok := inner.(string); ok && (name == "description" || name == "title" || name == "$comment") {
				v[name] = cleanLines(text)
			} else if !cleanSchema(inner, depth+1) {
				return false
			}
		}
	case []any:
		for _, inner := range v {
			if !cleanSchema(inner, depth+1) {
				return false
			}
		}
	}
	return true
}

// encode writes JSON that shows hidden characters as escapes and no others.
func encode(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, fmt.Errorf("its schema cannot be written: %w", err)
	}
	return escapeJSON(bytes.TrimRight(out.Bytes(), "\n")), nil
}

// escapeJSON writes hidden characters in the strings of a JSON text as escapes,
// which changes no value: outside strings JSON has none.
func escapeJSON(data []byte) json.RawMessage {
	if !bytes.ContainsFunc(data, hidden) {
		return data
	}
	var out bytes.Buffer
	for _, r := range string(data) {
		switch {
		case !hidden(r):
			out.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

// label says whose words a description is.
func label(server string, e entry) string {
	text := fmt.Sprintf("[MCP server %s, in its own words] ", server)
	if e.description == "" {
		return strings.TrimSuffix(text, ", in its own words] ") + "] It says nothing about this tool."
	}
	return text + e.description
}

// definition is what a model reads of a tool.
func definition(server, name string, e entry) message.ToolDefinition {
	return message.ToolDefinition{Name: name, Description: label(server, e), Parameters: e.schema, Server: server}
}
