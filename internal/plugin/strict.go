package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A member is one that an object may have.
type member struct {
	name     string
	required bool
	read     func(at string, data []byte) error
}

// into reads a value of a fixed kind. Null is no value.
func into[T any](to *T) func(string, []byte) error {
	return func(at string, data []byte) error {
		if bytes.Equal(data, []byte("null")) {
			return fmt.Errorf("%s is null: leave it out or give it a value", at)
		}
		if err := json.Unmarshal(data, to); err != nil {
			return fmt.Errorf("%s must be %s", at, inWords(to))
		}
		return nil
	}
}

func inWords(to any) string {
	switch to.(type) {
	case *string:
		return "a text"
	case *int:
		return "a whole number"
	case *[]string:
		return "a list of texts"
	}
	return "of another kind"
}

// object reads one JSON object with known members only, each at most once.
func object(at string, data []byte, members []member) error {
	seen := map[string]bool{}
	err := entries(at, data, func(name string, value []byte) error {
		i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		if i < 0 {
			return unknown(at, name, members)
		}
		seen[name] = true
		return members[i].read(join(at, name), value)
	})
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.required && !seen[m.name] {
			return fmt.Errorf("%s is missing", join(at, m.name))
		}
	}
	return nil
}

// entries yields the members of one JSON object and refuses repeated ones and
// what stands behind it.
func entries(at string, data []byte, yield func(name string, value []byte) error) error {
	place := at
	if place == "" {
		place = "it"
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	token, err := dec.Token()
	if err != nil {
		return invalid(place, err)
	}
	if token != json.Delim('{') {
		return fmt.Errorf("%s must be a JSON object", place)
	}
	var seen []string
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return invalid(place, err)
		}
		name, _ := token.(string)
		if slices.Contains(seen, name) {
			return fmt.Errorf("%s is given twice", join(at, clip(name)))
		}
		seen = append(seen, name)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return invalid(place, err)
		}
		if err := yield(name, value); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return invalid(place, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("there is text after the end of %s", place)
	}
	return nil
}

func invalid(place string, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%s is no valid JSON at byte %d: %w", place, syntax.Offset, err)
	}
	return fmt.Errorf("%s is no complete JSON", place)
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func unknown(at, name string, members []member) error {
	var names []string
	best, distance := "", len(name)/2+2
	for _, m := range members {
		names = append(names, m.name)
		if d := edits(strings.ToLower(name), strings.ToLower(m.name)); d < distance {
			best, distance = m.name, d
		}
	}
	if best != "" {
		return fmt.Errorf("%s is unknown; did you mean %s?", join(at, clip(name)), join(at, best))
	}
	return fmt.Errorf("%s is unknown; use %s", join(at, clip(name)), strings.Join(names, ", "))
}

// edits counts the single bytes to insert, remove or replace between two
// texts. Texts that are far longer than any member are not compared.
func edits(a, b string) int {
	if len(a) > maxNameBytes {
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
