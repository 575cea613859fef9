package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/forge-agent/forge/redact"
)

// Layer is where a value comes from. A later layer beats an earlier one.
type Layer int

// The layers.
const (
	Default Layer = iota
	User
	Project
	Environment
	Flag
)

// String returns the layer's name.
func (l Layer) String() string {
	names := []string{"default", "user", "project", "environment", "flag"}
	if l < 0 || int(l) >= len(names) {
		return fmt.Sprintf("layer %d", int(l))
	}
	return names[l]
}

// MarshalText writes the layer's name.
func (l Layer) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Severity is what a finding means for a run.
type Severity string

// The severities.
const (
	// Fault: the file or the value cannot be used, and no run begins.
	Fault Severity = "error"
	// Refused: a project's value is more lenient than what holds without it,
	// or not the project's to set. It is not applied.
	Refused Severity = "refused"
	// Notice: a key that has no effect.
	Notice Severity = "notice"
)

// A Place is where something is stated.
type Place struct {
	// File is a path, empty for defaults, variables and flags.
	File string `json:"file,omitempty"`
	// Line and Column count from 1; a column is a character. 0 where there is
	// none.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Name is the variable or the flag.
	Name string `json:"name,omitempty"`
}

// String returns "file:line:column" or the name.
func (p Place) String() string {
	switch {
	case p.File == "":
		return p.Name
	case p.Line == 0:
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// A Finding is something that is wrong with a layer. Its text never holds a
// secret value.
type Finding struct {
	Severity Severity `json:"severity"`
	Layer    Layer    `json:"layer"`
	Place
	// Key is the key, empty when it concerns the whole file.
	Key string `json:"key,omitempty"`
	// Text says what is wrong and what to do.
	Text string `json:"text"`
}

// String returns one line: place, severity and text.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s", f.Place, f.Severity, f.Text)
}

// finish sorts findings by layer and place, so that every run says the same,
// and takes secrets out: a key that was pasted into the wrong place would be
// repeated.
func finish(fs []Finding) {
	if len(fs) == 0 {
		return
	}
	hide := redact.New(nil)
	for i := range fs {
		fs[i].Text, _ = hide.Text(fs[i].Text)
		fs[i].Key, _ = hide.Text(fs[i].Key)
	}
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Text, b.Text))
	})
}

// ErrInvalid is matched by the error of a configuration that cannot be used.
var ErrInvalid = errors.New("invalid configuration")

// An Error holds every fault of a configuration.
type Error struct{ Faults []Finding }

// Error names all of them, in one line.
func (e *Error) Error() string {
	texts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		texts[i] = f.Text
		if place := f.Place.String(); place != "" && !strings.HasPrefix(f.Text, place+" ") {
			texts[i] = place + ": " + f.Text
		}
	}
	return ErrInvalid.Error() + ": " + strings.Join(texts, "; ")
}

// Is reports whether target is ErrInvalid.
func (e *Error) Is(target error) bool { return target == ErrInvalid }

func faults(fs []Finding) error {
	var e Error
	for _, f := range fs {
		if f.Severity == Fault {
			e.Faults = append(e.Faults, f)
		}
	}
	if len(e.Faults) == 0 {
		return nil
	}
	return &e
}
