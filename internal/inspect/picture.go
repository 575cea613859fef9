package inspect

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/forge-agent/forge/budget"
)

// pictureRows is the height of the timeline.
const pictureRows = 12

// slot is what one bar of the timeline stands for: requests [from, to), of
// which the heaviest is drawn.
type slot struct {
	from, to, peak int
}

// timeline draws the window before every request: one bar for each, or for a
// stretch of requests where there is not enough room.
func (r *Run) timeline(s Style) []string {
	const axis = 8
	room := s.width() - axis
	slots, barWidth, gap := r.slots(room)
	available, window := r.Requests[r.Last()].Budgeted.AvailableTokens, r.Requests[r.Last()].Budgeted.WindowTokens
	top := r.Summary.PeakInputTokens
	if top*5 >= available*2 {
		top = max(top, window)
	}
	top = max(top, 1)
	budgetRow := -1
	if available <= top {
		budgetRow = min(pictureRows-1, available*pictureRows/top)
	}
	var out []string
	for row := pictureRows - 1; row >= 0; row-- {
		var b strings.Builder
		b.WriteString(s.faint(axisLabel(row, budgetRow, top, available)))
		for i, sl := range slots {
			if i > 0 {
				b.WriteString(strings.Repeat(background(row == budgetRow, s), gap))
			}
			b.WriteString(r.cell(sl.peak, row, barWidth, top, row == budgetRow, s))
		}
		out = append(out, b.String())
	}
	out = append(out, s.faint(strings.Repeat(" ", axis-1)+"└"+strings.Repeat("─", len(slots)*(barWidth+gap)-gap)))
	if marks := r.markRow(slots, barWidth, gap); marks != "" {
		out = append(out, strings.Repeat(" ", axis)+marks)
	}
	return append(out, s.faint(strings.Repeat(" ", axis)+numberRow(r, slots, barWidth, gap)))
}

// slots divides the requests among the columns.
func (r *Run) slots(room int) (slots []slot, barWidth, gap int) {
	n := len(r.Requests)
	each := room / n
	if each >= 3 {
		gap = 1
	}
	barWidth = min(6, max(1, each-gap))
	count := min(n, room)
	for i := range count {
		sl := slot{from: i * n / count, to: (i + 1) * n / count}
		sl.peak = sl.from
		for j := sl.from; j < sl.to; j++ {
			if r.Requests[j].InputTokens() > r.Requests[sl.peak].InputTokens() {
				sl.peak = j
			}
		}
		slots = append(slots, sl)
	}
	return slots, barWidth, gap
}

func axisLabel(row, budgetRow, top, available int) string {
	label := ""
	switch {
	case row == budgetRow:
		return padLeft("budget", 6) + " ┤"
	case row == pictureRows-1:
		label = shortTokens(top)
	case row == 0:
		label = "0"
	}
	if label == "" {
		return "       │"
	}
	return padLeft(label, 6) + " ┤"
}

func background(budgetLine bool, s Style) string {
	if budgetLine {
		return s.faint("┄")
	}
	return " "
}

// cell draws one bar in one row.
func (r *Run) cell(index, row, width, top int, budgetLine bool, s Style) string {
	q := &r.Requests[index]
	low := func(half int) int { return top * (2*row + half) / (2 * pictureRows) }
	total := q.InputTokens()
	if total <= low(0) {
		return strings.Repeat(background(budgetLine, s), width)
	}
	if !s.Colour {
		eighths := (total - low(0)) * pictureRows * 8 / top
		if eighths >= 8 {
			return strings.Repeat("█", width)
		}
		return strings.Repeat(string([]rune("▁▂▃▄▅▆▇█")[max(eighths-1, 0)]), width)
	}
	middle := func(half int) int { return (low(half) + low(half+1)) / 2 }
	lower, upper := colourAt(q.Budgeted.Categories, middle(0), s), colourAt(q.Budgeted.Categories, middle(1), s)
	style := lipgloss.NewStyle().Foreground(lipgloss.Color(lower))
	switch {
	case lower == "":
		return style.UnsetForeground().Foreground(lipgloss.Color(colourAt(q.Budgeted.Categories, low(0), s))).Render(strings.Repeat("▂", width))
	case upper == "":
		return style.Render(strings.Repeat("▄", width))
	}
	return style.Background(lipgloss.Color(upper)).Render(strings.Repeat("▄", width))
}

// colourAt returns the colour of the category that a stack has at a height,
// empty above its top.
func colourAt(b budget.Breakdown, height int, s Style) string {
	sum := 0
	for _, c := range order() {
		if sum += b[c]; height < sum {
			return colourOf(c, s.Dark)
		}
	}
	return ""
}

// glyph is how a mark is drawn in the row of marks.
func glyph(k MarkKind) string {
	switch k {
	case MarkCompaction:
		return "▼"
	case MarkProjection:
		return "◆"
	case MarkOverflow:
		return "✕"
	case MarkInterrupted, MarkCompactionFailed, MarkOther:
		return "!"
	}
	return "!"
}

// worst picks the mark that is shown where several fall together.
func worst(marks []Mark) string {
	best := ""
	for _, g := range []string{"✕", "▼", "◆", "!"} {
		for _, m := range marks {
			if best == "" && glyph(m.Kind) == g {
				best = g
			}
		}
	}
	return best
}

func (r *Run) markRow(slots []slot, barWidth, gap int) string {
	var b strings.Builder
	any := false
	for i, sl := range slots {
		var marks []Mark
		for j := sl.from; j < sl.to; j++ {
			marks = append(marks, r.Requests[j].marks()...)
		}
		g := worst(marks)
		any = any || g != ""
		width := barWidth
		if i < len(slots)-1 {
			width += gap
		}
		b.WriteString(padRight(g, width))
	}
	if !any {
		return ""
	}
	return b.String()
}

// marks returns what happened before and at the request.
func (q *Request) marks() []Mark {
	if q.Overflow == nil {
		return q.MarksBefore
	}
	return append(q.MarksBefore[:len(q.MarksBefore):len(q.MarksBefore)], Mark{Kind: MarkOverflow, Cause: q.Overflow.Code, TokensBefore: q.Overflow.UsedTokens})
}

// numberRow labels the first, some middle and the last bar.
func numberRow(r *Run, slots []slot, barWidth, gap int) string {
	step := barWidth + gap
	row := []rune(strings.Repeat(" ", len(slots)*step+8))
	free := 0
	put := func(i int) {
		label := []rune(fmt.Sprint(r.Requests[slots[i].peak].Number()))
		switch {
		case i == 0:
			label = []rune(fmt.Sprint(r.Requests[0].Number()))
		case i == len(slots)-1:
			label = []rune(fmt.Sprint(r.Requests[r.Last()].Number()))
		}
		at := i * step
		if i == len(slots)-1 && i > 0 {
			at = max(0, i*step+barWidth-len(label))
		}
		if at < free {
			return
		}
		copy(row[at:], label)
		free = at + len(label) + 2
	}
	put(0)
	for k := 1; k < 4; k++ {
		if i := len(slots) * k / 4; i > 0 && (len(slots)-1-i)*step > 10 {
			put(i)
		}
	}
	if len(slots) > 1 {
		put(len(slots) - 1)
	}
	return strings.TrimRight(string(row), " ")
}

// windowBar draws the whole window as one line: what is used, free, reserved.
func windowBar(q *Request, width int, s Style) string {
	b := q.Budgeted
	whole := max(b.WindowTokens, q.InputTokens(), 1)
	var out strings.Builder
	column := func(tokens int) int { return min(width, (tokens*width*2/whole+1)/2) }
	sum, drawn := 0, 0
	for _, c := range order() {
		sum += b.Categories[c]
		n := column(sum) - drawn
		out.WriteString(s.paint(strings.Repeat("█", n), c))
		drawn += n
	}
	if q.InputTokens() > 0 && drawn == 0 {
		out.WriteString(s.paint("▏", heaviest(b.Categories)))
		drawn = 1
	}
	if n := max(column(b.AvailableTokens), drawn) - drawn; n > 0 {
		out.WriteString(s.faint(strings.Repeat("░", n)))
		drawn += n
	}
	out.WriteString(s.faint(strings.Repeat("▒", max(0, width-drawn))))
	return out.String()
}
