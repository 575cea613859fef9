// Package geminicli reads the session files of Gemini CLI: the older single
// document, and JSON lines with a header, messages that are written again
// when they change, and patches.
//
// Only what the model reads becomes a message: notices that are shown to the
// person are named as losses. A call and its result stand in one record
// there; here they are a call and a result.
package geminicli

import (
	"github.com/forge-agent/forge/sessionfile"
)

// Name is the format's name.
const Name = "gemini-cli"

// provider is who may read signatures of thoughts and other opaque data.
const provider = "gemini"

// Format returns the importer.
func Format() sessionfile.Format { return format{} }

type format struct{}

func (format) Name() string { return Name }

func (format) Match(h sessionfile.Head) bool {
	if h.Array {
		return false
	}
	for _, o := range h.Objects {
		switch {
		case o.Has("sessionId", "projectHash"), o.Kind("$rewindTo") != 0:
			return true
		case isRecord(o), o.Kind("sessionId") == '"' && len(o.Elements("messages")) > 0 && isRecord(o.Elements("messages")[0]):
			return true
		}
	}
	return false
}

// isRecord: a message record. Its time and id tell it from lines of other
// agents, which nest the message.
func isRecord(o sessionfile.HeadObject) bool {
	switch o.Text("type") {
	case "user", "gemini", "info", "error", "warning":
		return o.Has("id", "timestamp", "content") && !o.Has("message") && !o.Has("uuid")
	}
	return false
}

func (format) Import(src *sessionfile.Source) (*sessionfile.Session, error) {
	b := sessionfile.NewBuilder(src, Name)
	l := &reader{b: b, known: map[string]*record{}}
	if src.Head().Single {
		doc, err := src.Document()
		if err != nil {
			return nil, err
		}
		l.object(doc)
	} else {
		for v, err := range src.Objects() {
			if err != nil {
				return nil, err
			}
			l.object(v)
		}
	}
	w := &writer{b: b, starts: map[string]int{}, answered: map[string]bool{}, places: map[string]*record{}}
	w.write(l.list, l.edits)
	return b.Finish(), nil
}
