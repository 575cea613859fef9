package compaction

import (
	"strings"

	"github.com/forge-agent/forge/message"
)

// unit is a piece of a user's message that is kept or left out as a whole: one
// sentence, or several that belong together.
type unit struct {
	message int32
	text    string // a piece of the message's text
	statement
	system bool // from a system message inside the transcript
	quoted bool
	behind bool   // what stands before it in its sentence was leave, and is held back
	key    uint64 // of the folded text: the same key, the same statement
}

// reader turns messages into units. It holds buffers only; the zero reader is
// ready to use.
type reader struct {
	folded []byte
	hits   []hit
	masked []span
}

// What a short message is: its statements are kept together, because the
// second sentence of a short message usually explains the first.
const (
	shortMessageBytes = 170
	boundBytes        = 320 // two sentences that belong together, at most
	longMessageBytes  = 1600
)

// units appends the units of one authored or system message.
func (r *reader) units(dst []unit, index int, m message.Message) []unit {
	for _, b := range m.Blocks {
		if t, ok := b.(message.Text); ok {
			dst = r.textUnits(dst, index, t.Text, m.Role == message.RoleSystem)
		}
	}
	return dst
}

func (r *reader) textUnits(dst []unit, index int, text string, system bool) []unit {
	first := len(dst)
	sentences := segment(text)
	proseBytes := 0
	for _, s := range sentences {
		proseBytes += s.end - s.start
	}
	var last sentence
	for i, s := range sentences {
		u := r.unit(index, text[s.start:s.end])
		u.system, u.quoted = system, s.quoted
		switch {
		case s.quoted:
			u.score -= 40
		case system:
			u.score -= 24
		}
		if s.quoted && u.kind != KindAuthority || u.score < pinScore && u.kind != KindAuthority {
			u.kind, u.prohibition = KindOther, false
		}
		if i > 0 && len(dst) > first && adjacent(text, last.span, s.span) && last.quoted == s.quoted {
			if joined, ok := join(dst[len(dst)-1], u, text, last, s, proseBytes); ok {
				joined.key = r.key(joined.text)
				dst[len(dst)-1] = joined
				last.end = s.end
				continue
			}
		}
		dst = append(dst, u)
		last = s
	}
	rankInMessage(dst[first:], proseBytes)
	return dst
}

// adjacent reports whether only space stands between two pieces of a text.
func adjacent(text string, a, b span) bool {
	return b.start >= a.end && strings.TrimSpace(text[a.end:b.start]) == ""
}

// join puts b to a where they belong together: b points back to a, a fragment
// follows a statement, or both stand in a short message. last is the place of
// a, s that of b.
func join(a, b unit, text string, last, s sentence, proseBytes int) (unit, bool) {
	if a.small || b.small || a.behind || b.behind || a.kind == KindAuthority || b.kind == KindAuthority || s.end-last.start > boundBytes {
		return a, false
	}
	if a.poses && last.block == s.block && b.score > 0 {
		joined := b
		joined.text = text[last.start:s.end]
		if joined.score += 14; joined.score >= pinScore {
			joined.kind = KindCondition
		}
		return joined, true
	}
	pinned := a.kind != KindOther || b.kind != KindOther
	together := proseBytes <= shortMessageBytes && pinned ||
		last.block == s.block && b.back && b.kind != KindOther ||
		last.block == s.block && a.kind != KindOther && strings.Count(b.text, " ") <= 3 && b.score > 0
	if !together {
		return a, false
	}
	joined := a
	if b.score > a.score {
		joined.statement = b.statement
	}
	joined.lean = max(a.lean, b.lean)
	joined.prohibition, joined.correction = a.prohibition || b.prohibition, a.correction || b.correction
	joined.back = a.back
	joined.text = text[last.start:s.end]
	return joined, true
}

// rankInMessage makes room for others: a text that is long states much that is
// not for later, and people say rules in short messages.
func rankInMessage(units []unit, proseBytes int) {
	switch {
	case proseBytes <= 240:
		for i := range units {
			if units[i].score > 0 {
				units[i].score += 8
			}
		}
	case proseBytes > longMessageBytes:
		for i := range units {
			units[i].score -= 14
			if units[i].score < pinScore && units[i].kind != KindAuthority {
				units[i].kind, units[i].prohibition = KindOther, false
			}
		}
	}
}

// unit classifies one piece of text.
func (r *reader) unit(index int, raw string) unit {
	u := unit{message: int32(index), text: raw, statement: r.classify(raw), key: hashWords(r.folded)}
	// Leave with a condition to it ("yes, but only the tests") states the
	// condition; the leave itself is held back.
	if u.kind == KindAuthority {
		if rest, ok := cutLeave(raw); ok {
			if rest := r.unit(index, rest); rest.kind != KindAuthority && !rest.small {
				rest.behind = true
				return rest
			}
		}
		return u
	}
	if u.small {
		return u
	}
	// A sentence states what its strongest clause states.
	for rest := raw; ; {
		_, after, ok := cutClause(rest)
		if clause := rest[:len(rest)-len(after)]; len(clause) < len(raw) && len(clause) > 12 {
			if st := r.classify(clause); st.kind != KindAuthority && st.score-4 > u.score {
				u.score, u.kind, u.prohibition = st.score-4, st.kind, st.prohibition
				u.lean = max(u.lean, st.lean-4)
			}
		}
		if !ok {
			return u
		}
		rest = after
	}
}

// leaveBytes is how long the leave before a condition may be: "yes, go ahead".
const leaveBytes = 40

// cutLeave returns what follows a short leave and a contrast.
func cutLeave(s string) (rest string, ok bool) {
	start, cut := -1, -1
	for _, mark := range []string{", but ", ". But ", "; but ", " - but ", " — but ", ", however ", ", except ", ", aber ", ", mais ", ", pero ", ", mas ", ", ma ", ", però ",
		", maar ", ", ale ", ", но ", "，但", "，不过", "、ただし", "が、", "지만 ", "지만, "} {
		if i := strings.Index(s, mark); i > 0 && i <= leaveBytes && (cut < 0 || i < start) {
			start, cut = i, i+len(mark)
		}
	}
	if cut < 0 {
		return "", false
	}
	return s[cut:], true
}

// cutClause splits a sentence behind its first clause.
func cutClause(s string) (before, after string, ok bool) {
	cut, length := -1, 0
	for _, mark := range []string{"; ", " — ", " – ", ", but ", ", so ", ": ", "；", "，", "? "} {
		if i := strings.Index(s, mark); i > 0 && (cut < 0 || i < cut) {
			cut, length = i, len(mark)
		}
	}
	if cut < 0 {
		return s, "", false
	}
	return s[:cut], s[cut+length:], true
}

func (r *reader) classify(raw string) statement {
	r.folded = appendFolded(r.folded[:0], raw)
	r.masked = quotedSpans(r.masked[:0], r.folded)
	r.hits = cues().scan(r.hits[:0], r.folded, r.masked)
	return classify(raw, r.folded, r.hits)
}

func (r *reader) key(raw string) uint64 {
	r.folded = appendFolded(r.folded[:0], raw)
	return hashWords(r.folded)
}

// hashWords is FNV-1a over the word bytes of a folded text.
func hashWords(folded []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range folded {
		if wordByte(c) {
			h = (h ^ uint64(c)) * 1099511628211
		}
	}
	return h
}

// observation reports whether a message of the user role is what a tool
// answered: agents that have no tool calls write the answers there.
func observation(text string) bool {
	head := text[:min(len(text), 200)]
	tail := strings.TrimRight(text[max(0, len(text)-200):], " \n")
	return strings.HasPrefix(head, "<returncode>") || strings.HasPrefix(head, "<output>") || strings.HasPrefix(head, "<tool_result") ||
		strings.HasPrefix(head, "<local-command-stdout>") || strings.HasPrefix(head, "<bash-stdout>") ||
		strings.HasPrefix(head, "Observation:") || strings.HasPrefix(head, "OBSERVATION:") || strings.HasPrefix(head, "[File: ") ||
		strings.HasSuffix(tail, "bash-$") || strings.Contains(tail, "\n(Current directory: ") && strings.HasSuffix(tail, "$")
}
