package geminicli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// record is one message record, in its newest form.
type record struct {
	line     int
	id       string
	kind     string
	time     time.Time
	content  []message.Block
	thoughts []message.Block
	calls    []call
	usage    *message.Usage
	model    string
}

// call is a tool call with what came of it.
type call struct {
	id, name  string
	arguments string
	result    []message.Block
	answered  bool
	outcome   message.Outcome
}

// reader holds the records of a file in order, with what was done to the
// list as a whole.
type reader struct {
	b     *sessionfile.Builder
	list  []*record
	known map[string]*record
	edits []edit
}

// edit is a list of messages that took the place of all records so far.
type edit struct {
	line    int
	after   int // number of records before the edit
	records []*record
}

// object reads one line, or the whole older document.
func (l *reader) object(v sessionfile.Value) {
	for key, member := range v.Members() {
		switch key {
		case "$rewindTo":
			l.rewind(member)
			return
		case "$set":
			l.header(member)
			return
		case "type":
			l.put(v)
			return
		case "sessionId", "projectHash":
			l.header(v)
			return
		}
	}
	if v.Member("messages").Kind() == '[' {
		l.header(v)
		return
	}
	l.b.Lose(v.Line, "a line of an unknown kind")
}

// header reads the session's fields, at first and as they change.
func (l *reader) header(v sessionfile.Value) {
	for key, member := range v.Members() {
		switch key {
		case "sessionId":
			l.b.Session.ID = member.Text()
		case "messages":
			if len(l.list) == 0 {
				for e := range member.Elements() {
					l.put(e)
				}
				continue
			}
			l.replace(member)
		case "kind":
			if member.Text() == "subagent" {
				l.b.Lose(member.Line, "the session of a sub-agent; the main conversation is in another file")
			}
		case "projectHash", "startTime", "lastUpdated", "summary", "directories", "activeExtensionName":
			// Facts about the session; the summary is a title.
		default:
			l.b.Losef(member.Line, "unknown key %q of the session", key)
		}
	}
}

// put adds a record, or its newer form.
func (l *reader) put(v sessionfile.Value) {
	r := l.record(v)
	if r == nil {
		return
	}
	if old, known := l.known[r.id]; known && r.id != "" {
		r.line = old.line
		*old = *r
		return
	}
	l.known[r.id] = r
	l.list = append(l.list, r)
}

// rewind takes back a record and all after it; one that is not there takes
// back everything.
func (l *reader) rewind(v sessionfile.Value) {
	at := slices.IndexFunc(l.list, func(r *record) bool { return r.id == v.Text() })
	if at < 0 {
		l.b.Lose(v.Line, "a rewind to a message that is not in the file takes back everything before it")
		at = 0
	}
	for _, r := range l.list[at:] {
		if r.kind == "user" || r.kind == "gemini" {
			l.b.Lose(r.line, "a message that the person took back, not part of the context")
		}
		delete(l.known, r.id)
	}
	l.list = l.list[:at]
	l.edits = slices.DeleteFunc(l.edits, func(e edit) bool { return e.after > at })
}

// replace notes a new list for what is there.
func (l *reader) replace(v sessionfile.Value) {
	e := edit{line: v.Line, after: len(l.list)}
	for m := range v.Elements() {
		r := l.record(m)
		if r == nil {
			continue
		}
		e.records = append(e.records, r)
		if _, known := l.known[r.id]; !known && r.id != "" {
			l.known[r.id] = r // what is written again later changes it here
		}
	}
	l.edits = append(l.edits, e)
}

// record decodes a message record; nil when it is none.
func (l *reader) record(v sessionfile.Value) *record {
	if v.Kind() != '{' {
		l.b.Lose(v.Line, "a message that is no object")
		return nil
	}
	r := &record{line: v.Line}
	for key, member := range v.Members() {
		if member.Cut && key != "content" {
			continue
		}
		switch key {
		case "id":
			r.id = member.Text()
		case "type":
			r.kind = member.Text()
		case "timestamp":
			r.time, _ = time.Parse(time.RFC3339, member.Text()) // zero when it does not parse
		case "content":
			r.content = l.content(member)
		case "thoughts":
			r.thoughts = thoughts(member)
		case "tokens":
			r.usage = l.usage(member)
		case "model":
			r.model = member.Text()
		case "toolCalls":
			for e := range member.Elements() {
				r.calls = append(r.calls, l.call(e))
			}
		case "displayContent":
			// What the person saw in place of the content.
		default:
			l.b.Losef(member.Line, "unknown key %q of a message", key)
		}
	}
	if r.kind == "" && v.Cut {
		return nil
	}
	return r
}

func (l *reader) content(v sessionfile.Value) []message.Block {
	switch v.Kind() {
	case '"':
		return []message.Block{message.Text{Text: v.Text()}}
	case '{':
		return wirebody.ReadGeminiPart(l.b, v)
	}
	var out []message.Block
	for e := range v.Elements() {
		if e.Kind() == '"' {
			out = append(out, message.Text{Text: e.Text()})
		} else if !e.Cut {
			out = append(out, wirebody.ReadGeminiPart(l.b, e)...)
		}
	}
	return out
}

// thoughts are headlines and summaries of the model's reasoning, made for the
// person: Gemini CLI does not send them back (measured: the input grows
// without them).
func thoughts(v sessionfile.Value) []message.Block {
	var out []message.Block
	for e := range v.Elements() {
		subject, description := e.Member("subject").Text(), e.Member("description").Text()
		out = append(out, message.Reasoning{Provider: provider, Text: strings.Trim(subject+"\n"+description, "\n")})
	}
	return out
}

// call reads one record of a tool call. Its result is a list of parts with
// one function response; resultDisplay and the like are what the person saw.
func (l *reader) call(v sessionfile.Value) call {
	var c call
	var result sessionfile.Value
	for key, member := range v.Members() {
		switch key {
		case "id":
			c.id = member.Text()
		case "name":
			c.name = member.Text()
		case "args":
			var out bytes.Buffer
			if json.Compact(&out, member.Raw) == nil && member.Kind() != 'n' {
				c.arguments = out.String()
			}
		case "status":
			switch member.Text() {
			case "success":
				c.outcome = message.OutcomeSuccess
			case "error", "cancelled":
				c.outcome = message.OutcomeFailure
			}
		case "result":
			result = member
		}
	}
	c.result, c.answered = l.result(result, c.id)
	return c
}

// result returns the content of a call's result. Where the list holds the
// responses to several calls, only the one to this call counts.
func (l *reader) result(v sessionfile.Value, id string) (blocks []message.Block, answered bool) {
	list := l.content(v)
	own := slices.IndexFunc(list, func(block message.Block) bool {
		r, ok := block.(message.ToolResult)
		return ok && id != "" && r.CallID == id
	})
	if own >= 0 {
		return list[own].(message.ToolResult).Content, true
	}
	for _, block := range list {
		answered = true
		switch block := block.(type) {
		case message.ToolResult:
			blocks = append(blocks, block.Content...)
		case message.Text, message.Image:
			blocks = append(blocks, block)
		case message.Opaque:
			blocks = append(blocks, message.Text{Text: string(block.Data)})
		default:
			l.b.Losef(v.Line, "a %s in a tool result is not kept", block.Kind())
		}
	}
	return blocks, answered
}

// usage reads Gemini CLI's figures: input contains the cached tokens, output
// leaves out the thoughts, and tool stands for text that tools of the
// provider added to the input.
func (l *reader) usage(v sessionfile.Value) *message.Usage {
	if v.Kind() != '{' {
		return nil
	}
	var t struct{ Input, Output, Cached, Thoughts, Tool float64 }
	if v.Decode(&t) != nil || min(t.Input, t.Output, t.Cached, t.Thoughts, t.Tool) < 0 ||
		max(t.Input, t.Output, t.Cached, t.Thoughts, t.Tool) > 1<<40 {
		l.b.Lose(v.Line, "a usage that cannot be read")
		return nil
	}
	if t.Input+t.Output+t.Thoughts == 0 {
		return nil
	}
	return &message.Usage{
		InputTokens:       int(t.Input + t.Tool),
		CachedInputTokens: int(min(t.Cached, t.Input)),
		OutputTokens:      int(t.Output + t.Thoughts),
		ReasoningTokens:   int(t.Thoughts),
	}
}
