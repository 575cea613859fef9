package compaction

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// serialize writes the messages [0, through) of t as text for a summarizer,
// one entry for each message, nothing left out but pictures and what only a
// provider can read, which are named.
func serialize(t *transcript.Transcript, through int) []string {
	entries := make([]string, 0, through)
	for i, m := range t.All() {
		if i == through {
			break
		}
		var b strings.Builder
		role := string(m.Role)
		if m.Origin != message.OriginAuthored {
			role += ", " + string(m.Origin)
		}
		fmt.Fprintf(&b, "[#%d %s]\n", i, role)
		for _, block := range m.Blocks {
			switch block := block.(type) {
			case message.Text:
				b.WriteString(block.Text)
			case message.ToolCall:
				fmt.Fprintf(&b, "calls %s %s", block.Name, block.Arguments)
			case message.ToolResult:
				fmt.Fprintf(&b, "result (%s): %s", outcomeName(block.Outcome), block.Text())
			case message.Image:
				fmt.Fprintf(&b, "(picture, %s)", block.MediaType)
			case message.Reasoning, message.Opaque:
				continue // invisible reasoning is no source (F-SUM-02)
			}
			b.WriteByte('\n')
		}
		entries = append(entries, b.String())
	}
	return entries
}

func outcomeName(o message.Outcome) string {
	if o == message.OutcomeUnknown {
		return "outcome unknown"
	}
	return string(o)
}

// chunk packs entries, in order, into pieces of at most limit tokens. An entry
// that alone weighs more is split on rune boundaries: nothing is dropped.
func chunk(entries []string, limit int, count func(string) int) []string {
	var chunks []string
	var current strings.Builder
	weight := 0
	flush := func() {
		if current.Len() > 0 {
			chunks = append(chunks, current.String())
			current.Reset()
			weight = 0
		}
	}
	for _, e := range entries {
		header, _, _ := strings.Cut(e, "\n")
		for i, piece := range splitEntry(e, max(1, limit-count(header)-4), count) {
			if i > 0 {
				piece = header + " goes on\n" + piece
			}
			n := count(piece)
			if weight+n > limit {
				flush()
			}
			current.WriteString(piece)
			weight += n
		}
	}
	flush()
	return chunks
}

// splitEntry halves a text until each piece fits.
func splitEntry(e string, limit int, count func(string) int) []string {
	if len(e) < 2 || count(e) <= limit {
		return []string{e}
	}
	cut := len(e) / 2
	for cut > 0 && !utf8.RuneStart(e[cut]) {
		cut--
	}
	if cut == 0 {
		return []string{e}
	}
	return append(splitEntry(e[:cut], limit, count), splitEntry(e[cut:], limit, count)...)
}
