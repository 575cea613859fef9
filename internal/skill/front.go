package skill

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of the Agent Skills format (agentskills.io, specification).
const (
	// MaxNameBytes is the longest name; names are ASCII.
	MaxNameBytes = 64
	// MaxDescriptionRunes is the longest description, in characters.
	MaxDescriptionRunes = 1024
)

// maxFrontBytes bounds the front matter that is parsed. The two fields that
// count take a tenth of it.
const maxFrontBytes = 16 << 10

// validName is the format's rule: words of small letters and digits with
// single hyphens between them.
var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// A front is the front matter of a SKILL.md, as far as it is used.
type front struct{ name, description string }

var errNoFront = errors.New(`it does not begin with front matter: the first line must be "---", then name and description, then "---"`)

// parse splits a SKILL.md into front matter and body. Fields that are not used
// are passed over; aliases are not followed, so that no document grows.
func parse(data []byte) (front, []byte, error) {
	head, body, err := split(bytes.TrimPrefix(data, []byte("\uFEFF")))
	if err != nil {
		return front{}, nil, err
	}
	if !utf8.Valid(head) {
		return front{}, nil, errors.New("its front matter is not valid UTF-8")
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(head, &doc); err != nil {
		return front{}, nil, fmt.Errorf("its front matter is no YAML: %w", err)
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return front{}, nil, errors.New(`its front matter is no list of fields such as "name: my-skill"`)
	}
	fields, err := scalars(doc.Content[0], "name", "description")
	if err != nil {
		return front{}, nil, err
	}
	f := front{name: fields["name"], description: strings.TrimSpace(fields["description"])}
	return f, body, f.validate()
}

func (f front) validate() error {
	switch n := utf8.RuneCountInString(f.description); {
	case f.name == "":
		return errors.New("its front matter has no name")
	case len(f.name) > MaxNameBytes:
		return fmt.Errorf("its name has %d characters; the most is %d", len(f.name), MaxNameBytes)
	case !validName.MatchString(f.name):
		return fmt.Errorf("its name is %q: use small letters, digits and single hyphens between them", f.name)
	case n == 0:
		return errors.New("its front matter has no description")
	case n > MaxDescriptionRunes:
		return fmt.Errorf("its description has %d characters; the most is %d", n, MaxDescriptionRunes)
	}
	return nil
}

// split finds the lines "---" around the front matter.
func split(data []byte) (head, body []byte, err error) {
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || !isFence(first) {
		return nil, nil, errNoFront
	}
	for at := 0; at < len(rest) && at <= maxFrontBytes; {
		line, _, _ := bytes.Cut(rest[at:], []byte("\n"))
		if isFence(line) {
			return rest[:at], rest[min(at+len(line)+1, len(rest)):], nil
		}
		at += len(line) + 1
	}
	return nil, nil, fmt.Errorf(`its front matter does not end with a line "---" within %d bytes`, maxFrontBytes)
}

func isFence(line []byte) bool { return string(bytes.TrimRight(line, " \t\r")) == "---" }

// scalars returns the named fields of a mapping, which must be plain text.
func scalars(mapping *yaml.Node, names ...string) (map[string]string, error) {
	out := map[string]string{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		for _, name := range names {
			if key.Kind != yaml.ScalarNode || key.Value != name {
				continue
			}
			if _, twice := out[name]; twice {
				return nil, fmt.Errorf("its front matter has two fields %q", name)
			}
			if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
				return nil, fmt.Errorf("its %s is no text", name)
			}
			out[name] = value.Value
		}
	}
	return out, nil
}
