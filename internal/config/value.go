package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/forge-agent/forge/provider"
)

// auto is the word for a number of tokens that Forge chooses; it is kept as 0.
const auto = "auto"

// read returns the value that a node states for a key, or what is wrong with
// it, as the end of a sentence.
func (k *Key) read(n *node) (any, string) {
	if n.kind() == "null" {
		return nil, "is null; leave the key out instead"
	}
	wrong := func(want string) (any, string) { return nil, "must be " + want + ", not " + n.kind() }
	switch k.Type {
	case Boolean:
		if b, ok := n.value.(bool); ok {
			return b, ""
		}
		return wrong("true or false")
	case Integer, Number, Tokens:
		number, isNumber := n.value.(json.Number)
		text, isText := n.value.(string)
		switch {
		case isNumber:
			return k.number(string(number))
		case k.Type == Tokens && isText:
			return k.number(text)
		case k.Type == Tokens:
			return wrong(`a whole number or "auto"`)
		}
		return wrong("a number")
	case String, Choice:
		if text, ok := n.value.(string); ok {
			return k.text(text)
		}
		return wrong("text")
	case Strings:
		return k.strings(n)
	case Texts:
		return k.texts(n)
	}
	return wrong(string(k.Type))
}

// parseText reads the value of a variable or a flag.
func (k *Key) parseText(text string) (any, string) {
	switch k.Type {
	case Boolean:
		if b, err := strconv.ParseBool(text); err == nil {
			return b, ""
		}
		return nil, "must be true or false"
	case Integer, Number, Tokens:
		return k.number(text)
	case String, Choice:
		return k.text(text)
	}
	return nil, "can be set in a file only"
}

func (k *Key) number(text string) (any, string) {
	if k.Type == Tokens && text == auto {
		return 0, ""
	}
	bounds := fmt.Sprintf("from %s to %s", digits(k.Least), digits(k.Most))
	if k.Type == Number {
		f, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
			return nil, "must be a number " + bounds
		case !(f >= k.Least && f <= k.Most): // not a number is neither
			return nil, fmt.Sprintf("is %s, but must be %s", digits(f), bounds)
		}
		return f, ""
	}
	if k.Type == Tokens {
		bounds += ` or "auto"`
	}
	i, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return nil, "must be a whole number " + bounds
	case k.Least == k.Most && float64(i) != k.Least:
		return nil, fmt.Sprintf("is %d, but must be %s", i, digits(k.Least))
	case float64(i) < k.Least || float64(i) > k.Most:
		return nil, fmt.Sprintf("is %d, but must be %s", i, bounds)
	}
	return int(i), ""
}

func digits(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (k *Key) text(text string) (any, string) {
	switch {
	case text == "":
		return nil, "is empty; leave it out instead"
	case strings.ContainsFunc(text, unicode.IsControl):
		return nil, "holds a control character, such as the end of a line; remove it"
	case k.Type == Choice && !slices.Contains(k.Choices, text):
		return nil, k.noChoice(text)
	case k.Endpoint:
		if _, err := provider.ParseEndpoint(text); err != nil {
			return nil, "is no endpoint; use a base URL with https, or with http to this machine, without user, query and fragment"
		}
	case k.Variable && !variable(text):
		return nil, "is no name of an environment variable; use letters, digits and _. A key itself has no place in a configuration"
	}
	return text, ""
}

func (k *Key) noChoice(text string) string {
	hint := ""
	if near := nearest(text, k.Choices); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	if k.Path == rulesPath+"[].action" && text == "allow" {
		hint = `: a rule can only make a policy stricter. What need not be asked for stands in "policy.grants" of the user's configuration`
	}
	return fmt.Sprintf("is %q, but must be %s%s", clip(text), choices(k.Choices), hint)
}

func choices(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	if len(quoted) == 1 {
		return quoted[0]
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " or " + quoted[len(quoted)-1]
}

func (k *Key) strings(n *node) (any, string) {
	if n.list == nil {
		return nil, "must be a list of texts, not " + n.kind()
	}
	out := []string{}
	for i, e := range n.list {
		text, ok := e.value.(string)
		switch {
		case !ok:
			return nil, fmt.Sprintf("must be a list of texts, but entry %d is %s", i+1, e.kind())
		case strings.ContainsRune(text, 0):
			return nil, fmt.Sprintf("holds a NUL character in entry %d; remove it", i+1)
		case i == 0 && text == "":
			return nil, "begins with an empty text"
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return nil, "is an empty list; leave the key out instead"
	}
	return out, ""
}

func (k *Key) texts(n *node) (any, string) {
	if !n.object {
		return nil, "must be an object of texts, not " + n.kind()
	}
	out := map[string]string{}
	for _, m := range n.members {
		text, ok := m.value.value.(string)
		switch {
		case !ok:
			return nil, fmt.Sprintf("must hold texts, but %q is %s", clip(m.name), m.value.kind())
		case m.name == "" || strings.ContainsFunc(m.name, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == '=' || r == ':' }):
			return nil, fmt.Sprintf("holds %q, which is no name", clip(m.name))
		case strings.ContainsFunc(text, unicode.IsControl):
			return nil, fmt.Sprintf("holds a control character in %q; remove it", clip(m.name))
		}
		if _, twice := out[m.name]; twice {
			return nil, fmt.Sprintf("holds %q twice; remove one", clip(m.name))
		}
		out[m.name] = text
	}
	return out, ""
}

// variable reports whether a text can be the name of an environment variable.
func variable(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
