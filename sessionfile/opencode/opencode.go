// Package opencode reads sessions that `opencode export` wrote: one JSON
// document with the messages of a session and their parts.
//
// A message of the assistant can hold several steps, each of them one model
// request. A tool call and its result are one part there; here they are a
// call and a result. Compactions and cleared tool results are kept as marks.
package opencode

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// Name is the format's name.
const Name = "opencode"

// Format returns the importer.
func Format() sessionfile.Format { return format{} }

type format struct{}

func (format) Name() string { return Name }

func (format) Match(h sessionfile.Head) bool {
	o := h.First()
	if !h.Single || h.Array || o.Kind("messages") != '[' || o.Object("info").Kind("id") != '"' {
		return false
	}
	messages := o.Elements("messages")
	return len(messages) == 0 || messages[0].Kind("info") == '{' && messages[0].Has("parts")
}

func (format) Import(src *sessionfile.Source) (*sessionfile.Session, error) {
	doc, err := src.Document()
	if err != nil {
		return nil, err
	}
	if redacted(doc) {
		return nil, src.Refuse(sessionfile.ErrRedacted, "it holds [redacted:…] in place of what was said",
			"export the session again without --sanitize")
	}
	b := sessionfile.NewBuilder(src, Name)
	x := &importer{b: b, starts: map[string]int{}, compactions: map[string]compaction{}}
	var messages sessionfile.Value
	for key, member := range doc.Members() {
		switch key {
		case "info":
			x.info(member)
		case "messages":
			messages = member
		case "todos":
			// The list as it is at the end; the tool calls that made it are
			// in the messages.
		default:
			b.Losef(member.Line, "unknown key %q in the export", key)
		}
	}
	x.messages(messages)
	x.projections()
	return b.Finish(), nil
}

// redacted reports whether the texts were replaced on export. A conversation
// about redaction has such a text here and there; a sanitized export has
// little else.
func redacted(doc sessionfile.Value) bool {
	taken, all := 0, 0
	for m := range doc.Member("messages").Elements() {
		for p := range m.Member("parts").Elements() {
			text := strings.TrimSpace(p.Member("text").Text())
			if text == "" {
				continue
			}
			all++
			if strings.HasPrefix(text, "[redacted:") && strings.HasSuffix(text, "]") {
				taken++
			}
		}
	}
	return taken > 0 && 2*taken >= all
}

// importer reads one export.
type importer struct {
	b *sessionfile.Builder
	// revertID names the message that the person went back to.
	revertID, revertPart string
	// starts is the number of transcript messages before each message.
	starts map[string]int
	// compactions are those that were asked for, by the asking message.
	compactions map[string]compaction
	// cleared are the results that the agent replaced later.
	cleared []clearing
	// times are the messages' times, to place the clearings.
	times []placed
}

func (x *importer) info(v sessionfile.Value) {
	s := x.b.Session
	for key, member := range v.Members() {
		switch key {
		case "id":
			s.ID = member.Text()
		case "version":
			s.Version = member.Text()
		case "revert":
			x.revertID, x.revertPart = member.Member("messageID").Text(), member.Member("partID").Text()
		case "parentID":
			if member.Kind() == '"' {
				x.b.Lose(member.Line, "the session is the child of another one, whose messages are not in the file")
			}
		}
	}
}

// messages reads the list. The last message is told apart: its unfinished
// calls may still run.
func (x *importer) messages(v sessionfile.Value) {
	var waiting *sessionfile.Value
	reverted := false
	take := func(e sessionfile.Value, last bool) {
		if x.revertID != "" && e.Member("info").Member("id").Text() == x.revertID && x.revertPart == "" {
			reverted = true
		}
		if reverted {
			x.b.Lose(e.Line, "a message that the person took back, not part of the context")
			return
		}
		x.message(e, last)
	}
	for e := range v.Elements() {
		if waiting != nil {
			take(*waiting, false)
		}
		waiting = &e
	}
	if waiting != nil {
		take(*waiting, true)
	}
	for _, id := range slices.Sorted(maps.Keys(x.compactions)) {
		if c := x.compactions[id]; !c.done {
			x.b.Mark(sessionfile.Mark{At: x.starts[id], Kind: sessionfile.MarkInterrupted, Line: c.line,
				Trigger: c.trigger, Detail: "a compaction that was asked for and not finished"})
		}
	}
}

// header is the info of one message.
type header struct {
	ID, Role, ParentID string
	ModelID            string
	ProviderID         string
	Summary            json.RawMessage
	Finish             string
	Time               struct{ Created, Completed float64 }
	Tokens             *tokens
	Error              *fault
	System             sessionfile.TextOrList[string]
}

type fault struct {
	Name string
	Data struct{ Message string }
}

func (f *fault) text() string {
	if f.Data.Message == "" {
		return f.Name
	}
	return f.Name + ": " + f.Data.Message
}

func (x *importer) message(v sessionfile.Value, last bool) {
	if v.Kind() != '{' {
		x.b.Lose(v.Line, "an element of the messages that is no object")
		return
	}
	var h header
	if err := v.Member("info").Decode(&h); err != nil {
		x.b.Lose(v.Line, "a message whose info has a value of the wrong type")
	}
	if h.ID == "" {
		h.ID = x.b.NextID()
	}
	at := moment(h.Time.Created)
	x.starts[h.ID] = x.b.Len()
	x.times = append(x.times, placed{at: x.b.Len(), time: at})
	parts := x.parts(v.Member("parts"), h)
	switch h.Role {
	case "user":
		x.user(v.Line, h, parts)
	case "assistant":
		x.instructions(h)
		x.assistant(v.Line, h, parts, last)
	default:
		x.b.Append(v.Line, message.Message{ID: h.ID, Role: message.Role(h.Role), Blocks: plainBlocks(parts), Time: at})
	}
}

// instructions keeps the system text, which early versions put into every
// reply.
func (x *importer) instructions(h header) {
	texts := h.System.List
	if h.System.IsText {
		texts = []string{h.System.Text}
	}
	var blocks []message.Block
	for _, text := range texts {
		if text != "" {
			blocks = append(blocks, message.Text{Text: text})
		}
	}
	if len(blocks) > 0 {
		x.b.Session.Instructions = []message.Message{{ID: "instructions", Role: message.RoleSystem, Blocks: blocks}}
	}
}
