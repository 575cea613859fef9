// Package codex reads rollout files of Codex, versions 0.39 to 0.171: one
// JSON object {timestamp, type, payload} on a line.
//
// The transcript holds the response items, which are what the model sees:
// each item is a message. What the events repeat for the screen is used to
// check that nothing is missing, and otherwise not read. Bookkeeping lines
// (turn_context, world_state, settings, snapshots of the working tree) leave
// no message. A compaction becomes a mark whose replacement is the new
// history; turns that were rolled back are left out and named. The parents of
// a fork or a reverted thread are read from the files around the given one.
package codex

import (
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// Name is the name of the format.
const Name = "codex"

// provider names whom opaque data may go back to: all providers of Codex
// speak the Responses dialect of this one.
const provider = "openai"

// Format returns the importer.
func Format() sessionfile.Format { return format{} }

type format struct{}

func (format) Name() string { return Name }

// Match looks for the envelope with one of the types that every version has.
func (format) Match(h sessionfile.Head) bool {
	if h.Array {
		return false
	}
	for _, o := range h.Objects {
		if !o.Has("type", "payload") || o.Kind("payload") != '{' {
			continue
		}
		switch o.Text("type") {
		case "session_meta", "response_item", "event_msg", "turn_context", "compacted", "token_usage_record":
			return true
		}
	}
	return false
}

// Import reads the file, and the files that it continues.
func (format) Import(src *sessionfile.Source) (*sessionfile.Session, error) {
	im := &importer{b: sessionfile.NewBuilder(src, Name), texts: map[string]string{}}
	own := &rollout{im: im}
	if err := own.readAll(src, noOrdinal); err != nil {
		return nil, err
	}
	entries := own.entries
	if own.meta.base.ThreadID != "" {
		parents, err := im.readParents(src, &own.meta)
		if err != nil {
			return nil, err
		}
		entries = append(parents, entries...)
	}
	newBuilder(im, entries).build()
	im.describe(&own.meta)
	return im.b.Finish(), nil
}

// importer holds what the files of one session share.
type importer struct {
	b     *sessionfile.Builder
	texts map[string]string
}

// minShared is the length from which equal texts are kept once. A compaction
// repeats the texts it retains, and events repeat what messages say.
const minShared = 64

// shared returns the first copy of a text.
func (im *importer) shared(text string) string {
	if len(text) < minShared {
		return text
	}
	if first, known := im.texts[text]; known {
		return first
	}
	im.texts[text] = text
	return text
}

// describe fills the fields of the session that the header tells.
func (im *importer) describe(m *meta) {
	s := im.b.Session
	s.ID, s.Version, s.Provider = m.id, m.version, m.provider
	if m.instructions == "" || m.user && im.saidEarly(m.instructions) {
		return
	}
	origin := message.OriginAuthored
	if m.user {
		origin = message.OriginInjected
	}
	s.Instructions = []message.Message{{ID: "instructions", Role: message.RoleSystem, Origin: origin,
		Blocks: []message.Block{message.Text{Text: m.instructions}}}}
}

// saidEarly reports whether one of the first messages holds the text: old
// versions send the user's instructions as a message and note them in the
// header too.
func (im *importer) saidEarly(text string) bool {
	t := im.b.Session.Transcript
	for i := range min(t.Len(), 8) {
		if strings.Contains(t.At(i).Text(), strings.TrimSpace(text)) {
			return true
		}
	}
	return false
}
