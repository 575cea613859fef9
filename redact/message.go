package redact

import (
	"encoding/json"
	"strings"

	"github.com/forge-agent/forge/message"
)

// Message returns m without secrets, and what was found; the offsets of these
// hits mean nothing. A secret that is split over neighbouring blocks is found:
// its mark stands where it began. Without a hit it is m itself, blocks shared.
//
// The bytes of an image are not searched, unless it is text (SVG).
func (r *Redactor) Message(m message.Message) (message.Message, []Hit) {
	var t texts
	t.collect(m.Blocks)
	hits := r.slots(t.list)
	if len(hits) == 0 {
		return m, nil
	}
	next := 0
	m.Blocks = t.rebuild(m.Blocks, &next)
	return m, hits
}

// Messages redacts each message of a list. The list is copied when something
// was found.
func (r *Redactor) Messages(ms []message.Message) ([]message.Message, []Hit) {
	var all []Hit
	out := ms
	for i, m := range ms {
		clean, hits := r.Message(m)
		if len(hits) == 0 {
			continue
		}
		if len(all) == 0 {
			out = append([]message.Message(nil), ms...)
		}
		out[i] = clean
		all = append(all, hits...)
	}
	return out, all
}

// JSON returns data without secrets; valid JSON stays valid.
func (r *Redactor) JSON(data json.RawMessage) (json.RawMessage, []Hit) {
	s, hits := r.Text(string(data))
	if len(hits) == 0 {
		return data, nil
	}
	if json.Valid(data) && !json.Valid([]byte(s)) {
		s = `"` + markStart + `]"`
	}
	return json.RawMessage(s), hits
}

// texts are the strings of a message in order, each a slot that can be
// replaced.
type texts struct{ list []string }

func (t *texts) collect(bs []message.Block) {
	for _, b := range bs {
		switch b := b.(type) {
		case message.Text:
			t.list = append(t.list, b.Text)
		case message.Reasoning:
			t.list = append(t.list, b.Text, string(b.Opaque))
		case message.Image:
			t.list = append(t.list, b.URL)
			if isText(b) {
				t.list = append(t.list, string(b.Data))
			}
		case message.ToolCall:
			t.list = append(t.list, b.Arguments)
		case message.ToolResult:
			t.collect(b.Content)
		case message.Opaque:
			t.list = append(t.list, string(b.Data))
		}
	}
}

func isText(b message.Image) bool { return strings.HasPrefix(b.MediaType, "image/svg") }

// rebuild puts the slots back in the order of collect.
func (t *texts) rebuild(bs []message.Block, next *int) []message.Block {
	take := func() string {
		*next++
		return t.list[*next-1]
	}
	out := make([]message.Block, len(bs))
	for i, b := range bs {
		switch b := b.(type) {
		case message.Text:
			b.Text = take()
			out[i] = b
		case message.Reasoning:
			b.Text = take()
			b.Opaque = raw(take(), b.Opaque)
			out[i] = b
		case message.Image:
			b.URL = take()
			if isText(b) {
				b.Data = []byte(take())
			}
			out[i] = b
		case message.ToolCall:
			b.Arguments = take()
			out[i] = b
		case message.ToolResult:
			b.Content = t.rebuild(b.Content, next)
			out[i] = b
		case message.Opaque:
			b.Data = raw(take(), b.Data)
			out[i] = b
		default:
			out[i] = b
		}
	}
	return out
}

// raw keeps nil nil, unchanged bytes shared, and JSON valid.
func raw(s string, old json.RawMessage) json.RawMessage {
	switch {
	case s == string(old):
		return old
	case json.Valid(old) && !json.Valid([]byte(s)):
		return json.RawMessage(`"` + markStart + `]"`)
	}
	return json.RawMessage(s)
}

// slots redacts each string, and what is split over neighbours.
func (r *Redactor) slots(list []string) []Hit {
	var hits []Hit
	offset := 0
	for _, s := range list {
		for _, h := range r.find(s) {
			hits = append(hits, Hit{h.Rule, h.Start + offset, h.End + offset})
		}
		offset += len(s)
	}
	if len(list) > 1 {
		for _, h := range r.find(strings.Join(list, "")) {
			if crosses(list, h) {
				hits = append(hits, h)
			}
		}
	}
	hits = merge(hits)
	if len(hits) == 0 {
		return nil
	}
	offset = 0
	for i, s := range list {
		list[i] = r.cut(s, offset, hits)
		offset += len(s)
	}
	return hits
}

// crosses reports whether a hit in the joined list lies in more than one slot.
func crosses(list []string, h Hit) bool {
	offset := 0
	for _, s := range list {
		if h.Start < offset+len(s) {
			return h.End > offset+len(s)
		}
		offset += len(s)
	}
	return false
}

// cut takes the parts of the hits that lie in s out, which begins at offset.
// The mark stands in the slot where the hit begins.
func (r *Redactor) cut(s string, offset int, hits []Hit) string {
	var b strings.Builder
	from := 0
	for _, h := range hits {
		start, end := max(h.Start-offset, 0), min(h.End-offset, len(s))
		if start >= end {
			continue
		}
		b.WriteString(s[from:start])
		switch {
		case h.Start >= offset:
			b.WriteString(r.mark(h.Rule, end-start))
		case r.sameLength:
			b.WriteString(strings.Repeat("*", end-start))
		}
		from = end
	}
	b.WriteString(s[from:])
	return b.String()
}
