package tokencount

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/forge-agent/forge/message"
)

// maxSchemaDepth bounds how deeply a tool's schema is read. Anything deeper
// is counted as the JSON text that it is.
const maxSchemaDepth = 64

// A node is a JSON value whose objects keep the order of their members: a
// provider renders a schema in the order in which it was sent.
type node struct {
	kind    byte // '{' '[' '"' or 'v' for numbers, true, false and null
	text    string
	members []member
	items   []node
}

type member struct {
	name  string
	value node
}

var (
	errSchemaDepth = errors.New("schema is too deep")
	errSchemaRest  = errors.New("schema is followed by something else")
)

// parseSchema reads one JSON value with the order of its members.
func parseSchema(raw []byte) (node, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	n, err := readNode(d, 0)
	if err != nil {
		return node{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return node{}, errSchemaRest
	}
	return n, nil
}

func readNode(d *json.Decoder, depth int) (node, error) {
	if depth > maxSchemaDepth {
		return node{}, errSchemaDepth
	}
	t, err := d.Token()
	if err != nil {
		return node{}, err
	}
	switch t := t.(type) {
	case json.Delim:
		out := node{kind: byte(t)}
		for d.More() {
			name := ""
			if t == '{' {
				key, err := d.Token()
				if err != nil {
					return node{}, err
				}
				name, _ = key.(string)
			}
			v, err := readNode(d, depth+1)
			if err != nil {
				return node{}, err
			}
			if t == '{' {
				out.members = append(out.members, member{name, v})
			} else {
				out.items = append(out.items, v)
			}
		}
		_, err := d.Token() // the closing delimiter
		return out, err
	case string:
		return node{kind: '"', text: t}, nil
	case json.Number:
		return node{kind: 'v', text: t.String()}, nil
	case bool:
		return node{kind: 'v', text: strconv.FormatBool(t)}, nil
	}
	return node{kind: 'v', text: "null"}, nil
}

func (n node) get(name string) node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return node{}
}

// appendJSON writes the value as most providers' templates do: a space after
// each colon and comma, nothing escaped that need not be.
func appendJSON(dst []byte, n node) []byte {
	switch n.kind {
	case '{':
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(appendQuoted(dst, m.name), ": "...)
			dst = appendJSON(dst, m.value)
		}
		return append(dst, '}')
	case '[':
		dst = append(dst, '[')
		for i, v := range n.items {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendJSON(dst, v)
		}
		return append(dst, ']')
	case '"':
		return appendQuoted(dst, n.text)
	}
	return append(dst, n.text...)
}

// appendQuoted writes a JSON string.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c < ' ':
			dst = append(dst, `\u00`...)
			dst = append(dst, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// appendTypeScript writes a tool as OpenAI's models read it: a type whose
// argument is an object type, descriptions as comments (the renderer of
// github.com/openai/harmony, which the recorded requests confirm for the
// closed models).
func appendTypeScript(dst []byte, d message.ToolDefinition, schema node) []byte {
	dst = appendComment(dst, d.Description, "")
	dst = append(dst, "type "...)
	dst = append(dst, d.Name...)
	if len(schema.get("properties").members) == 0 {
		return append(dst, " = () => any;\n\n"...)
	}
	dst = append(dst, " = (_: "...)
	dst = appendObjectType(dst, schema, "")
	return append(dst, ") => any;\n\n"...)
}

func appendComment(dst []byte, text, indent string) []byte {
	if text == "" {
		return dst
	}
	for line := range strings.SplitSeq(text, "\n") {
		dst = append(append(append(dst, indent...), "// "...), line...)
		dst = append(dst, '\n')
	}
	return dst
}

func appendObjectType(dst []byte, schema node, indent string) []byte {
	required := map[string]bool{}
	for _, r := range schema.get("required").items {
		required[r.text] = true
	}
	dst = append(dst, "{\n"...)
	for _, p := range schema.get("properties").members {
		dst = appendComment(dst, p.value.get("title").text, indent)
		dst = appendComment(dst, p.value.get("description").text, indent)
		dst = append(append(dst, indent...), p.name...)
		if !required[p.name] {
			dst = append(dst, '?')
		}
		dst = append(dst, ": "...)
		dst = appendType(dst, p.value, indent+"    ")
		dst = append(dst, ',')
		if v := p.value.get("default"); v.kind != 0 {
			dst = appendJSON(append(dst, " // default: "...), v)
		}
		dst = append(dst, '\n')
	}
	return append(append(dst, indent...), '}')
}

// appendType writes the type of one value.
func appendType(dst []byte, s node, indent string) []byte {
	for _, name := range []string{"anyOf", "oneOf"} {
		if alternatives := s.get(name); len(alternatives.items) > 0 {
			for i, a := range alternatives.items {
				if i > 0 {
					dst = append(dst, " | "...)
				}
				dst = appendType(dst, a, indent)
			}
			return dst
		}
	}
	if values := s.get("enum"); len(values.items) > 0 {
		for i, v := range values.items {
			if i > 0 {
				dst = append(dst, " | "...)
			}
			dst = appendJSON(dst, v)
		}
		return dst
	}
	t := s.get("type")
	if t.kind == '[' {
		for i, one := range t.items {
			if i > 0 {
				dst = append(dst, " | "...)
			}
			dst = appendNamedType(dst, one.text, s, indent)
		}
		return dst
	}
	return appendNamedType(dst, strings.ToLower(t.text), s, indent)
}

func appendNamedType(dst []byte, name string, s node, indent string) []byte {
	switch name {
	case "object":
		if len(s.get("properties").members) == 0 {
			return append(dst, "object"...)
		}
		return appendObjectType(dst, s, indent)
	case "array":
		items := s.get("items")
		if items.kind == 0 {
			return append(dst, "Array<any>"...)
		}
		return append(appendType(dst, items, indent), "[]"...)
	case "integer":
		return append(dst, "number"...)
	case "":
		return append(dst, "any"...)
	}
	return append(dst, name...)
}

// properties counts the named properties of a schema, nested ones included.
func (n node) properties() int {
	total := len(n.get("properties").members)
	for _, m := range n.members {
		total += m.value.properties()
	}
	for _, v := range n.items {
		total += v.properties()
	}
	return total
}

// words calls yield with each text of a schema that a person wrote: names of
// properties, descriptions and the values of enumerations.
func (n node) words(yield func(string)) {
	for _, m := range n.members {
		switch {
		case m.name == "description" && m.value.kind == '"', m.name == "title" && m.value.kind == '"':
			yield(m.value.text)
		case m.name == "enum":
			for _, v := range m.value.items {
				yield(v.text)
			}
		case m.name == "properties":
			for _, p := range m.value.members {
				yield(p.name)
				p.value.words(yield)
			}
		default:
			m.value.words(yield)
		}
	}
	for _, v := range n.items {
		v.words(yield)
	}
}
