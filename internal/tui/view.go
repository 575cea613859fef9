package tui

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// A screen is a drawn state: one line for each row of the terminal, and where
// the cursor stands.
type screen struct {
	lines []string
	// cursor is false when it is hidden.
	cursor      bool
	column, row int
}

// view draws a state. It depends on nothing else.
func (s state) view() screen {
	var out screen
	meter := s.meter(s.width, s.meterHeight())
	switch {
	case len(s.asks) > 0:
		out.lines = s.askView()
	case s.overlay.shown():
		out.lines = s.overlayView()
	default:
		out = s.chatView()
	}
	out.lines = fill(out.lines, s.height-len(meter))
	out.lines = append(out.lines, meter...)
	for i, l := range out.lines {
		out.lines[i] = cutStyled(l, s.width)
	}
	return out
}

// teaView is the form in which the terminal gets it.
func (s state) teaView() tea.View {
	drawn := s.view()
	v := tea.NewView(strings.Join(drawn.lines, "\n"))
	v.AltScreen = true
	v.WindowTitle = "forge"
	if s.info.Title != "" {
		v.WindowTitle = cut("forge: "+cleanLine(s.info.Title), 80)
	}
	if drawn.cursor {
		v.Cursor = tea.NewCursor(drawn.column, drawn.row)
	}
	return v
}

// fill brings lines to a height: what is too much goes at the end.
func fill(lines []string, height int) []string {
	lines = slices.Clip(lines[:max(0, min(len(lines), height))])
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines
}

// The heights of the parts depend on the screen alone, but for the editor.

func (s state) meterHeight() int {
	switch {
	case s.height >= 16:
		return 3
	case s.height >= 9:
		return 2
	case s.height >= 4:
		return 1
	}
	return 0
}

func (s state) statusHeight() int {
	if s.height >= 5 {
		return 1
	}
	return 0
}

func (s state) editorWidth() int { return max(2, s.width-3) }

func (s state) editorHeight() int {
	rows, _, _ := s.editor.layout(s.editorWidth())
	return min(len(rows), max(1, min(8, s.height/3)))
}

func (s state) transcriptRoom() int {
	return max(0, s.height-s.meterHeight()-s.statusHeight()-s.editorHeight())
}

// overlayRoom is how many lines of a page are seen at a time.
func (s state) overlayRoom() int { return max(1, s.height-s.meterHeight()-2) }

// askRoom is how many lines of a question are seen at a time.
func (s state) askRoom() int { return max(1, s.height-s.meterHeight()-3) }

func (s state) chatView() screen {
	room := s.transcriptRoom()
	lines := s.transcript(room)
	offered := s.popup.draw(s.theme, s.width, min(8, room-1))
	if len(offered) > 0 {
		lines = append(lines[:max(0, len(lines)-len(offered))], offered...)
	}
	if s.statusHeight() > 0 {
		lines = append(lines, s.status())
	}
	rows, row, column := s.editor.layout(s.editorWidth())
	height := s.editorHeight()
	first := max(0, min(row-height/2, len(rows)-height))
	out := screen{cursor: true, row: len(lines) + row - first, column: min(column+2, s.width-1)}
	for i := first; i < first+height; i++ {
		lead := "  "
		if i == 0 {
			lead = s.theme.paint("❯ ", lookAccent)
		}
		lines = append(lines, lead+rows[i].text)
	}
	out.lines = lines
	if out.row >= s.height {
		out.cursor = false
	}
	return out
}

// status is the line above the editor: what is under way, and hints.
func (s state) status() string {
	var parts []string
	l := lookFaint
	if doing := s.busy(); doing != "" {
		l = lookAccent
		if s.stopping {
			doing = "stopping"
		}
		parts = append(parts, spinner(s.frame)+" "+doing)
		if !s.stopping {
			parts = append(parts, "Esc interrupts")
		}
	}
	if s.hint != "" {
		parts = append(parts, cleanLine(s.hint))
	}
	if s.scroll > 0 {
		parts = append(parts, "scrolled up by "+plural(s.scroll, "line")+", PgDn goes down")
	}
	text := ""
	if len(parts) > 0 {
		text = cut(" "+strings.Join(parts, " · ")+" ", max(s.width-3, 1))
	}
	return s.theme.paint("──"+text+strings.Repeat("─", max(0, s.width-2-cells(text))), l)
}

// transcript draws the part of the rows that is seen, from the end upwards.
func (s state) transcript(height int) []string {
	var blocks [][]string // from the last one up
	need := height + s.scroll
	group := ""
	for i := len(s.rows) + s.liveRows() - 1; i >= 0 && need > 0; i-- {
		r := s.rowAt(i)
		lines := s.rowLines(r)
		if len(blocks) > 0 && (group == "" || r.group() != group) {
			blocks = append(blocks, []string{""})
			need--
		}
		group = r.group()
		blocks = append(blocks, lines)
		need -= len(lines)
	}
	var all []string
	for _, b := range slices.Backward(blocks) {
		all = append(all, b...)
	}
	end := max(0, len(all)-s.scroll)
	all = all[max(0, end-height):end]
	return append(all, fill(nil, height-len(all))...)
}

// transcriptHeight is how many lines all rows have.
func (s state) transcriptHeight() int {
	n, group := 0, ""
	for i := range len(s.rows) + s.liveRows() {
		r := s.rowAt(i)
		if i > 0 && (group == "" || r.group() != group) {
			n++
		}
		group = r.group()
		n += len(s.rowLines(r))
	}
	return n
}

// rowLines draws a row; a call that runs turns its spinner.
func (s state) rowLines(r *row) []string {
	if c, ok := r.content.(callRow); ok && c.state == callRunning {
		c.frame = s.frame
		return c.draw(s.theme, s.width)
	}
	return r.lines(s.theme, s.width)
}

// liveRows is how many rows the stream has: its finished blocks, and one for
// what is being written.
func (s state) liveRows() int {
	n := len(s.stream.done)
	if s.stream.splitter.open != "" || s.stream.thought != "" && n == 0 {
		n++
	}
	return n
}

func (s state) rowAt(i int) *row {
	if i < len(s.rows) {
		return s.rows[i]
	}
	if i -= len(s.rows); i < len(s.stream.done) {
		return s.stream.done[i]
	}
	return newRow(liveRow{text: s.stream.splitter.open, thought: s.stream.thought})
}

// A liveRow is the block that is being written, as plain text; before the
// first text the end of the reasoning.
type liveRow struct{ text, thought string }

func (r liveRow) group() string { return "" }

// liveBytes bounds what is drawn anew with every piece of text.
const liveBytes = 8 << 10

func (r liveRow) draw(t theme, width int) []string {
	text := strings.TrimRight(r.text, "\n")
	if strings.TrimSpace(text) == "" {
		lines := quiet(t, "∴ ", tail(r.thought), width)
		return lines[max(0, len(lines)-thoughtLines):]
	}
	var out []string
	for _, line := range cleanLines(tail(text)) {
		out = append(out, paragraph(t, "", "", width, plain(line))...)
	}
	return out
}

// tail is the end of a long text, from a line's beginning where it can be.
func tail(text string) string {
	if len(text) <= liveBytes {
		return text
	}
	text = strings.ToValidUTF8(text[len(text)-liveBytes:], "")
	if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
		text = rest
	}
	return "…\n" + text
}

// overlayLines is a page as drawn.
func (s state) overlayLines() []string {
	if s.overlay.page == nil {
		return nil
	}
	return s.overlay.page.draw(s.theme, s.width)
}

func (s state) overlayView() []string {
	room := s.height - s.meterHeight()
	if s.overlay.picker != nil {
		lines := fill(s.overlay.picker.draw(s.theme, s.width, room-1), room-1)
		return append(lines, s.theme.paint(cut("Enter chooses · typing narrows · Esc closes", s.width), lookFaint))
	}
	page := s.overlayLines()
	first := max(0, min(s.overlay.scroll, len(page)-s.overlayRoom()))
	seen := page[first:min(len(page), first+s.overlayRoom())]
	lines := append([]string{s.theme.paint(cut(s.overlay.title, s.width), lookBold)}, seen...)
	return append(fill(lines, room-1), s.theme.paint(cut(scrollHint(first, len(seen), len(page))+"Esc closes", s.width), lookFaint))
}

// scrollHint says where in a page the reader is; empty when all of it is seen.
func scrollHint(first, seen, all int) string {
	if seen >= all {
		return ""
	}
	return "lines " + strconv.Itoa(first+1) + " to " + strconv.Itoa(first+seen) + " of " + strconv.Itoa(all) + " · Up and Down scroll · "
}

func (s state) askView() []string {
	a := s.asks[0]
	title := "Allow " + cleanLine(a.request.Tool) + "? (" + cleanLine(string(a.request.Risk)) + ")"
	if n := len(s.asks) - 1; n > 0 {
		title += ", " + strconv.Itoa(n) + " more to come"
	}
	body := a.body(s.theme, s.width)
	first := max(0, min(a.scroll, len(body)-s.askRoom()))
	seen := body[first:min(len(body), first+s.askRoom())]
	lines := append([]string{s.theme.paint(cut(title, s.width), lookBold)}, seen...)
	lines = fill(lines, s.height-s.meterHeight()-2)
	keys := "y once · n no"
	if a.request.Scope != "" {
		keys += " · a for this run: " + cleanLine(a.request.Covers())
	}
	if !a.armed {
		keys = "one moment: keys that were pressed before this do not answer it"
	}
	where := scrollHint(first, len(seen), len(body))
	if s.hint != "" {
		where = s.hint
	}
	return append(lines, s.theme.paint(cut(where, s.width), lookFaint), s.theme.paint(cut(keys, s.width), lookAccent))
}
