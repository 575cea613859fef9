package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/forge-agent/forge/internal/inspect"
)

// tabColumns is how wide a tab is drawn.
const tabColumns = 4

// cleanLine makes foreign text safe to draw on one line.
func cleanLine(s string) string {
	s = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(s)
	return safe(s)
}

// safe makes one line of foreign text safe. A mark without a character to
// stand on is replaced too: it would change the one that is drawn before it.
func safe(s string) string {
	s = inspect.Clean(s)
	if cluster, n := next(s); cluster != "" && n == 0 {
		return "\ufffd" + s[len(cluster):]
	}
	return s
}

// cleanLines splits foreign text into lines that are safe to draw. Line ends
// at the end of the text make no lines.
func cleanLines(s string) []string {
	s = strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	lines := strings.Split(strings.ReplaceAll(s, "\t", strings.Repeat(" ", tabColumns)), "\n")
	for i, l := range lines {
		lines[i] = safe(l)
	}
	return lines
}

// cells is the width of safe text on the screen.
func cells(s string) int { return ansi.StringWidth(s) }

// cut shortens safe text to at most width columns, with "…" at its end then.
func cut(s string, width int) string {
	if len(s) <= width || cells(s) <= width {
		return s
	}
	used, room := 0, 0 // room is how much stays before the "…"
	for at := 0; at < len(s); {
		cluster, n := next(s[at:])
		if used+n > width-1 {
			break
		}
		used, at = used+n, at+len(cluster)
		room = at
	}
	if width < 1 {
		return ""
	}
	return s[:room] + "…"
}

// pad fills safe text up to width columns, and cuts what is wider.
func pad(s string, width int) string {
	s = cut(s, width)
	return s + strings.Repeat(" ", max(0, width-cells(s)))
}

// next takes the first character off a text, with everything that combines
// with it, and says how wide it is.
func next(s string) (cluster string, width int) {
	return ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
}

// A span is safe text in one look, without line ends.
type span struct {
	text string
	look look
}

func plain(text string) span { return span{text: text} }

// wrap lays spans out in lines of at most width columns. A line breaks at a
// space, beside a wide character, or where a word has no room in a line of its
// own. Spaces at a break are left out.
func wrap(spans []span, width int) [][]span {
	w := wrapper{width: max(width, 2)}
	for _, s := range spans {
		for rest := s.text; rest != ""; {
			cluster, n := next(rest)
			rest = rest[len(cluster):]
			w.add(cluster, n, s.look)
		}
	}
	w.word()
	w.flush()
	return w.lines
}

// A wrapper collects a word until it is known where it goes.
type wrapper struct {
	width     int
	lines     [][]span
	line      []span // what is in the line for good
	used      int
	gap       []span // spaces after it
	gapWidth  int
	open      []span // the word that is being read
	openWidth int
}

func (w *wrapper) add(cluster string, n int, l look) {
	switch {
	case cluster == " ":
		w.word()
		w.gap, w.gapWidth = appendSpan(w.gap, cluster, l), w.gapWidth+1
		return
	case n > w.width: // cannot be: two columns are the least
		cluster, n = "…", 1
	case n >= 2: // ideographs and emoji may be parted
		w.word()
	case w.openWidth+n > w.width:
		w.word()
	}
	w.open, w.openWidth = appendSpan(w.open, cluster, l), w.openWidth+n
	if n >= 2 {
		w.word()
	}
}

// word puts the open word into the line, or into a new one.
func (w *wrapper) word() {
	if w.openWidth == 0 && len(w.open) == 0 {
		return
	}
	switch {
	case w.used > 0 && w.used+w.gapWidth+w.openWidth > w.width:
		w.flush()
	case w.gapWidth+w.openWidth <= w.width:
		for _, s := range w.gap {
			w.line = appendSpan(w.line, s.text, s.look)
		}
		w.used += w.gapWidth
	}
	for _, s := range w.open {
		w.line = appendSpan(w.line, s.text, s.look)
	}
	w.used += w.openWidth
	w.gap, w.gapWidth, w.open, w.openWidth = nil, 0, nil, 0
}

func (w *wrapper) flush() {
	w.lines = append(w.lines, w.line)
	w.line, w.used, w.gap, w.gapWidth = nil, 0, nil, 0
}

// chop breaks a line wherever the width ends: for code, where spaces count.
func chop(spans []span, width int) [][]span {
	width = max(width, 2)
	var lines [][]span
	var line []span
	used := 0
	for _, s := range spans {
		for rest := s.text; rest != ""; {
			cluster, n := next(rest)
			rest = rest[len(cluster):]
			if n > width {
				cluster, n = "…", 1
			}
			if used+n > width {
				lines, line, used = append(lines, line), nil, 0
			}
			line, used = appendSpan(line, cluster, s.look), used+n
		}
	}
	return append(lines, line)
}

func appendSpan(to []span, text string, l look) []span {
	if n := len(to); n > 0 && to[n-1].look == l {
		to[n-1].text += text
		return to
	}
	return append(to, span{text: text, look: l})
}

// paragraph draws spans wrapped behind an indent; the first line begins with
// begin, which is as wide as the indent.
func paragraph(t theme, begin, indent string, width int, spans ...span) []string {
	var out []string
	for i, line := range wrap(spans, width-cells(indent)) {
		lead := indent
		if i == 0 {
			lead = begin
		}
		out = append(out, cutStyled(lead+t.spans(line), width))
	}
	return out
}

// cutStyled keeps a drawn line inside the width, whatever stands in it.
func cutStyled(s string, width int) string {
	if len(s) <= width || cells(s) <= width {
		return s
	}
	// Truncate counts some marks apart from the letter that they stand on.
	for n := max(width, 0); ; n-- {
		if out := ansi.Truncate(s, n, "…"); n == 0 || cells(out) <= width {
			return out
		}
	}
}
