package codex

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// readCompacted keeps a new history.
func (ro *rollout) readCompacted(v sessionfile.Value, l *wireLine) {
	p := &l.Payload
	c := compacted{summary: ro.im.shared(p.Message), id: p.CompactionID}
	if p.Replacement != nil {
		c.replacement = []message.Message{}
	}
	for i, r := range p.Replacement {
		if r.Type == "compaction" || r.Type == "compaction_summary" {
			c.opaque = true
		}
		messages, _ := ro.convert(v.Line, &r.item, r.raw)
		for _, m := range messages {
			if m.ID == "" {
				m.ID = fmt.Sprintf("replacement-%d-%d", v.Line, i+1)
			}
			if m.Role == message.RoleUser && c.summary != "" && m.Text() == c.summary {
				m.Origin = message.OriginSummary
			}
			m.Time = l.Timestamp.Time
			c.replacement = append(c.replacement, m)
		}
	}
	ro.add(v, l, c)
}

// compact records a compaction: the replacement stands for everything before
// it. With nothing before it, the file begins in the middle, and what the
// replacement holds is all there is.
func (bu *builder) compact(e *entry, c compacted) {
	bu.dropSummaryReply(e, c)
	bu.flush()
	replacement := c.replacement
	if replacement == nil {
		replacement = bu.rebuilt(e, c.summary)
	}
	mark := sessionfile.Mark{Kind: sessionfile.MarkCompaction, Line: e.line}
	if bu.b.Len() == 0 {
		for _, m := range replacement {
			bu.append(e, m)
		}
	} else {
		mark.Change = &activeview.Change{Kind: activeview.ChangeCompaction, Opaque: c.opaque,
			Replacement: replacement, KeepFrom: bu.b.Len()}
	}
	mark.At = bu.b.Len()
	bu.compactions = append(bu.compactions, compactionMark{mark: len(bu.b.Session.Marks), requests: len(bu.b.Session.Requests)})
	bu.b.Mark(mark)
}

// dropSummaryReply takes out the reply that is the summary: the program
// writes it down as an ordinary reply before the new history. Old versions do
// not say which reply it was; there it is the one directly before, whose text
// the summary ends in.
func (bu *builder) dropSummaryReply(e *entry, c compacted) {
	if c.id != "" || len(bu.pending) == 0 {
		return // with an id, the reply's usage has told already
	}
	text := ""
	for _, p := range bu.pending {
		for _, m := range p.messages {
			text += m.Text()
			for _, block := range m.Blocks {
				if block.Kind() == message.KindToolCall {
					return
				}
			}
		}
	}
	if text = strings.TrimSpace(text); text != "" && strings.HasSuffix(strings.TrimSpace(c.summary), text) {
		bu.pendingSummary = true
	}
}

// retainedBytes is how much of the user's messages a compaction keeps when
// the file does not say: 20,000 tokens of four bytes (measured, CODEX.md
// section 3).
const retainedBytes = 20_000 * 4

// rebuilt is the new history as old versions make it: the injected context,
// the user's messages, newest first within a bound, and the summary.
func (bu *builder) rebuilt(e *entry, summary string) []message.Message {
	t := bu.b.Session.Transcript
	var context, users []message.Message
	for i := 0; i < t.Len(); i++ {
		m := t.At(i)
		if m.Origin != message.OriginInjected {
			break
		}
		context = append(context, m)
	}
	room := retainedBytes
	for i := t.Len() - 1; i >= len(context) && room > 0; i-- {
		m := t.At(i)
		if !m.Authored() {
			continue
		}
		text := m.Text()
		if len(text) > room {
			m.Blocks = []message.Block{message.Text{Text: cutMiddle(text, room)}}
		}
		room -= len(text)
		users = append(users, m)
	}
	out := context
	for i := len(users) - 1; i >= 0; i-- {
		out = append(out, users[i])
	}
	if summary != "" {
		out = append(out, message.Message{ID: fmt.Sprintf("summary-%d", e.line), Role: message.RoleUser,
			Origin: message.OriginSummary, Blocks: []message.Block{message.Text{Text: summary}}, Time: e.time})
	}
	return out
}

// cutMiddle keeps both ends of a text within about so many bytes.
func cutMiddle(text string, bytes int) string {
	head, tail := bytes/2, len(text)-bytes/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s…%d tokens truncated…%s", text[:head], (tail-head)/4, text[tail:])
}
