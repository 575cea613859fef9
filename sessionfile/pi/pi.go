// Package pi reads the session files of the coding agent pi: version 1, a
// plain sequence of entries, and versions 2 and 3, a tree of entries whose
// context is the path to the last one.
//
// What pi does with its own context is kept as marks: a compaction replaces
// everything before its first kept entry by a summary. The short sentences
// that pi puts around a summary or around the output of a command that the
// person ran are not reproduced; they weigh some fifteen tokens each.
package pi

import (
	"github.com/forge-agent/forge/sessionfile"
)

// Name is the format's name.
const Name = "pi"

// Format returns the importer.
func Format() sessionfile.Format { return format{} }

type format struct{}

func (format) Name() string { return Name }

// Match looks for pi's header, or for its entries where the header is gone.
func (format) Match(h sessionfile.Head) bool {
	if h.Array {
		return false
	}
	for _, o := range h.Objects {
		switch o.Text("type") {
		case "session":
			if o.Has("id", "timestamp") && o.Has("cwd") {
				return true
			}
		case "message":
			if o.Object("message").Kind("role") == '"' && o.Has("timestamp") && !o.Has("uuid") {
				return true
			}
		}
	}
	return false
}

func (format) Import(src *sessionfile.Source) (*sessionfile.Session, error) {
	b := sessionfile.NewBuilder(src, Name)
	r := &reader{b: b}
	for v, err := range src.Objects() {
		if err != nil {
			return nil, err
		}
		r.entry(v)
	}
	path := r.path()
	w := &writer{b: b, resends: r.version < 2, all: r.entries,
		starts: map[*entry]int{}, ids: map[string]*entry{}}
	w.write(path)
	if b.Session.Model == "" {
		b.Session.Model, b.Session.Provider = r.model, r.provider
	}
	return b.Finish(), nil
}
