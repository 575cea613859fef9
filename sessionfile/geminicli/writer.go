package geminicli

import (
	"slices"
	"strings"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// writer turns records into messages, requests and marks.
type writer struct {
	b *sessionfile.Builder
	// context are the records written so far that the model reads.
	context []*record
	// starts is the number of messages before each of them, by id.
	starts map[string]int
	// places finds them by id.
	places map[string]*record
	// answered are the calls whose results are written.
	answered map[string]bool
}

func (w *writer) write(list []*record, edits []edit) {
	for i, r := range list {
		for len(edits) > 0 && edits[0].after <= i {
			w.edit(edits[0])
			edits = edits[1:]
		}
		w.record(r)
	}
	for _, e := range edits {
		w.edit(e)
	}
}

// record adds one record.
func (w *writer) record(r *record) {
	switch r.kind {
	case "user", "gemini":
	case "error":
		w.fault(r)
		return
	default:
		w.b.Losef(r.line, "a notice of the kind %q, which only the person sees", r.kind)
		return
	}
	if !onlyResults(r) {
		w.context = append(w.context, r)
	}
	if _, known := w.starts[r.id]; !known {
		w.starts[r.id], w.places[r.id] = w.b.Len(), r
	}
	for i, m := range w.messages(r) {
		first, end := w.b.Append(r.line, m)
		if i == 0 && r.kind == "gemini" {
			w.b.Request(sessionfile.Request{At: first, End: end, Model: r.model, Usage: r.usage, Time: r.time, Line: r.line})
			if r.model != "" {
				w.b.Session.Model, w.b.Session.Provider = r.model, provider
			}
		}
	}
}

// fault reads a notice of an error. Those of the provider end a request.
func (w *writer) fault(r *record) {
	text := message.Message{Blocks: r.content}.Text()
	overflow := sessionfile.SaysOverflow(text)
	if !overflow && !strings.Contains(text, "API Error") {
		w.b.Losef(r.line, "a notice of the kind %q, which only the person sees", r.kind)
		return
	}
	w.b.Request(sessionfile.Request{At: w.b.Len(), End: w.b.Len(), Time: r.time, Line: r.line, Failed: text})
	if overflow {
		w.b.Mark(sessionfile.Mark{At: w.b.Len(), Kind: sessionfile.MarkOverflow, Line: r.line, Detail: text})
	}
}

// messages returns the messages that a record consists of: what was said,
// and the results of the calls in it.
func (w *writer) messages(r *record) []message.Message {
	m := message.Message{ID: r.id, Role: message.RoleUser, Time: r.time}
	if m.ID == "" {
		m.ID = w.b.NextID()
	}
	if r.kind == "user" {
		m.Blocks = slices.DeleteFunc(slices.Clone(r.content), func(block message.Block) bool {
			result, ok := block.(message.ToolResult)
			return ok && w.answered[result.CallID] // stands in the record of the call
		})
		if injected(m.Text()) {
			m.Origin = message.OriginInjected
		}
		if len(m.Blocks) == 0 && len(r.content) > 0 {
			return nil
		}
		return []message.Message{m}
	}
	m.Role, m.Model = message.RoleAssistant, r.model
	m.Blocks = append(slices.Clone(r.thoughts), r.content...)
	results := message.Message{ID: m.ID + "/results", Role: message.RoleTool, Time: r.time}
	for _, c := range r.calls {
		if !slices.ContainsFunc(r.content, func(block message.Block) bool {
			written, ok := block.(message.ToolCall)
			return ok && written.ID == c.id
		}) {
			m.Blocks = append(m.Blocks, message.ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments})
		}
		if c.answered {
			w.answered[c.id] = true
			results.Blocks = append(results.Blocks, message.ToolResult{CallID: c.id, Name: c.name, Content: c.result, Outcome: c.outcome})
		}
	}
	if len(results.Blocks) == 0 {
		return []message.Message{m}
	}
	return []message.Message{m, results}
}

// injected reports whether Gemini CLI itself wrote a text of the user's side:
// the note on the environment, and the push when the model stopped short.
func injected(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "<session_context>") || text == "System: Please continue." || text == "Please continue."
}

// onlyResults reports whether a record is the function responses to calls.
// New lists have them; elsewhere they stand in the records of the calls.
func onlyResults(r *record) bool {
	return len(r.content) > 0 && !slices.ContainsFunc(r.content, func(block message.Block) bool {
		return block.Kind() != message.KindToolResult
	})
}

// edit reads a new list of messages that took the place of the old one:
// results that were cleared, a compaction, or messages that were added.
func (w *writer) edit(e edit) {
	e.records = slices.DeleteFunc(e.records, func(r *record) bool {
		return r.kind != "user" && r.kind != "gemini" || onlyResults(r)
	})
	same := func(a, b *record) bool { return a.id == b.id && a.id != "" }
	old := w.context
	kept := 0
	for kept < min(len(old), len(e.records)) && same(old[len(old)-1-kept], e.records[len(e.records)-1-kept]) {
		kept++
	}
	head := 0
	for head < min(len(old), len(e.records)) && same(old[head], e.records[head]) {
		head++
	}
	switch {
	case head == len(old):
		for _, r := range e.records[head:] {
			w.record(r)
		}
	case kept == len(old):
		for _, r := range e.records[:len(e.records)-kept] {
			w.b.Lose(e.line, "a message that the agent put in front of the others, kept where it was added")
			w.record(r)
		}
	default:
		w.compaction(e, kept)
	}
	for _, r := range e.records {
		w.changed(e.line, r)
	}
	w.context = e.records
}

// compaction marks that all but the last kept messages were replaced.
func (w *writer) compaction(e edit, kept int) {
	change := &activeview.Change{Kind: activeview.ChangeCompaction, KeepFrom: w.b.Len()}
	if kept > 0 {
		change.KeepFrom = w.starts[e.records[len(e.records)-kept].id]
	}
	for _, r := range e.records[:len(e.records)-kept] {
		_, known := w.places[r.id]
		for _, m := range w.messages(r) {
			if len(m.Blocks) == 0 {
				continue
			}
			if !known && r.kind == "user" {
				m.Origin = message.OriginSummary
			} else if !known {
				m.Origin = message.OriginInjected
			}
			change.Replacement = append(change.Replacement, m)
		}
	}
	w.b.Mark(sessionfile.Mark{At: w.b.Len(), Kind: sessionfile.MarkCompaction, Line: e.line, Change: change})
}

// changed compares a message of a new list with the one that was written.
func (w *writer) changed(line int, r *record) {
	old, known := w.places[r.id]
	if !known || old == r {
		return
	}
	was, is := message.Message{Blocks: old.content}.Text(), message.Message{Blocks: r.content}.Text()
	if was != is {
		w.b.Lose(line, "a message that the agent changed in its own view, kept as it was said")
	}
	for _, c := range r.calls {
		i := slices.IndexFunc(old.calls, func(o call) bool { return o.id == c.id })
		if i < 0 || !c.answered || !old.calls[i].answered {
			continue
		}
		standIn := message.Message{Blocks: c.result}.Text()
		if standIn == (message.Message{Blocks: old.calls[i].result}).Text() {
			continue
		}
		w.b.Mark(sessionfile.Mark{At: w.b.Len(), Kind: sessionfile.MarkProjection, Line: line,
			Change: &activeview.Change{Kind: activeview.ChangeProjection, Results: w.b.Refs([]string{c.id}), StandIn: standIn}})
	}
}
