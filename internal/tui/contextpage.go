package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/inspect"
)

// A contextPage shows what is in the window (F-MAN-01).
type contextPage struct {
	fit *contextwindow.Fit
	// window has the ledger; nil while a run goes on.
	window  *agent.Window
	running bool
}

func (p contextPage) group() string { return "" }

func (p contextPage) draw(t theme, width int) []string {
	f := p.fit
	d := &drawing{theme: t, width: width}
	mode := f.Mode
	if p.window != nil {
		mode = p.window.Mode
	}
	d.text(fmt.Sprintf("%s, window of %s tokens (%s), mode %s", cmp.Or(cleanLine(f.Model), "no model"), inspect.Tokens(f.Budget.WindowTokens),
		cmp.Or(cleanLine(string(f.Capabilities.WindowSource)), "source unknown"), mode))
	d.text(fmt.Sprintf("%s tokens%s: %s of the %s available", inspect.Tokens(f.Estimate.Tokens), band(f.Estimate.BandTokens),
		inspect.Share(f.Estimate.Tokens, f.Budget.AvailableTokens), inspect.Tokens(f.Budget.AvailableTokens)))
	if p.running {
		d.faint(fmt.Sprintf("As request %d was weighed. The items are listed when the run has ended.", f.Step))
	}
	d.gap()
	d.picture(f)
	d.gap()
	d.provenance(f)
	if p.window != nil {
		d.gap()
		d.bold("Next")
		d.indented(cmp.Or(p.window.Next, "nothing would be done about the next request"))
		d.indented(diagnosis(p.window.Diagnosis))
		d.items(p.window.Lines, f.Estimate.Tokens)
	}
	return d.lines
}

// A drawing collects lines of a page.
type drawing struct {
	theme theme
	width int
	lines []string
}

func (d *drawing) add(lines ...string) {
	for _, l := range lines {
		d.lines = append(d.lines, cutStyled(l, d.width))
	}
}

func (d *drawing) gap() { d.lines = append(d.lines, "") }

func (d *drawing) spans(indent string, s ...span) {
	d.add(paragraph(d.theme, indent, indent, d.width, s...)...)
}

func (d *drawing) text(s string)     { d.spans("", plain(cleanLine(s))) }
func (d *drawing) indented(s string) { d.spans("  ", plain(cleanLine(s))) }
func (d *drawing) faint(s string)    { d.spans("", span{text: cleanLine(s), look: lookFaint}) }
func (d *drawing) bold(s string)     { d.spans("", span{text: cleanLine(s), look: lookBold}) }

// pictureRows is the height of the picture.
const pictureRows = 6

// picture draws the window as cells of equal size, the legend beside it or
// below.
func (d *drawing) picture(f *contextwindow.Fit) {
	legend := d.legend(f)
	columns := d.width - 2
	beside := d.width >= 72
	if beside {
		columns = d.width - 44
	}
	columns = max(1, min(columns, 72))
	rows := d.cells(f, columns)
	if !beside {
		d.add(rows...)
		for _, l := range legend {
			d.add("  " + l)
		}
		return
	}
	for i := range max(len(rows), len(legend)) {
		line := strings.Repeat(" ", columns+2)
		if i < len(rows) {
			line = rows[i]
		}
		if i < len(legend) {
			line += "  " + legend[i]
		}
		d.add(line)
	}
}

// cells draws the parts of the window row by row.
func (d *drawing) cells(f *contextwindow.Fit, columns int) []string {
	parts := windowCells(f, columns*pictureRows)
	var rows []string
	for range pictureRows {
		var b strings.Builder
		for left := columns; left > 0 && len(parts) > 0; {
			n := min(left, parts[0].cells)
			p := parts[0]
			p.cells = n
			b.WriteString(d.theme.part(p))
			left -= n
			if parts[0].cells -= n; parts[0].cells == 0 {
				parts = parts[1:]
			}
		}
		rows = append(rows, "  "+b.String())
	}
	return rows
}

func (d *drawing) legend(f *contextwindow.Fit) []string {
	whole := max(f.Budget.WindowTokens, f.Estimate.Tokens)
	line := func(sign, name string, n int) string {
		return fmt.Sprintf("%s %s %9s %7s", sign, pad(name, 17), inspect.Tokens(n), inspect.Share(n, whole))
	}
	var out []string
	for _, c := range inspect.Order() {
		if n := f.Breakdown[c]; n != 0 {
			out = append(out, line(d.theme.swatch(c), inspect.CategoryTitle(c), n))
		}
	}
	if free := f.Budget.AvailableTokens - f.Estimate.Tokens; free >= 0 {
		out = append(out, line(freeGlyph, "free", free))
	} else {
		out = append(out, d.theme.paint(line(overGlyph, "over the budget", -free), lookBad))
	}
	return append(out, line(reserveGlyph, "reserve", f.Budget.ReserveTokens))
}

// provenance says what stands for earlier messages, and where it comes from.
func (d *drawing) provenance(f *contextwindow.Fit) {
	c := f.Checkpoint
	if c == nil {
		d.bold("No checkpoint")
		d.indented(fmt.Sprintf("%s of the conversation in the window, as they are.", plural(f.RetainedMessages, "message")))
		return
	}
	d.bold(fmt.Sprintf("Checkpoint, generation %d", c.Generation))
	d.indented(c.ID)
	d.indented(fmt.Sprintf("Stands for messages 1 to %d (%s to %s): %s tokens in the place of %s.", c.SummarizedThroughMessageIndex,
		c.Anchors.First, c.Anchors.Last, inspect.Tokens(c.EstimatedCheckpointTokens), inspect.Tokens(c.TokensBefore)))
	d.indented(fmt.Sprintf("Method %s; %s.", c.Method, readable(c)))
	if text := grounds(c); text != "" {
		d.indented(text)
	}
	d.indented(fmt.Sprintf("%s beside it in the window, as they are.", plural(f.RetainedMessages, "message")))
}

// readable tells a text that can be inspected from an item that cannot
// (F-NAT-05).
func readable(c *checkpoint.Checkpoint) string {
	by := ""
	if c.Provider != "" || c.ModelID != "" {
		by = ", made by " + strings.Trim(c.Provider+"/"+c.ModelID, "/")
	}
	if c.Strategy == checkpoint.ProviderNative {
		return "opaque: nobody but " + cmp.Or(c.Provider, "its provider") + " can read it" + by
	}
	return "inspectable: a text that anybody can read" + by
}

func grounds(c *checkpoint.Checkpoint) string {
	var parts []string
	if n := len(c.Pins); n > 0 {
		parts = append(parts, plural(n, "statement")+" of the user kept word for word")
	}
	if g := c.Grounding; g != nil {
		parts = append(parts, fmt.Sprintf("%d of %s struck because the source does not hold them", g.StruckLines, plural(g.CheckedLines, "line")))
	}
	if c.CarriedFrom != "" {
		parts = append(parts, "its text was carried over from "+c.CarriedFrom)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}

// diagnosis says what fills the window and what helps.
func diagnosis(g contextwindow.Diagnosis) string {
	text := fmt.Sprintf("Heaviest: %s with %s tokens, %d %%", inspect.CategoryTitle(g.Category), inspect.Tokens(g.Tokens), g.Percent)
	if g.Item != "" {
		text += fmt.Sprintf(", %s of them %s", inspect.Tokens(g.ItemTokens), cmp.Or(g.Label, g.Item))
	}
	if g.Remedy != "" {
		text += "; if it has to shrink: " + g.Remedy
	}
	return text + "."
}

// largestItems is how many items are listed.
const largestItems = 10

// items lists the largest items.
func (d *drawing) items(lines []activeview.Line, whole int) {
	weight := func(l activeview.Line) int { return l.Tokens + l.FramingTokens }
	heavy := slices.DeleteFunc(slices.Clone(lines), func(l activeview.Line) bool { return weight(l) <= 0 })
	slices.SortStableFunc(heavy, func(a, b activeview.Line) int { return cmp.Compare(weight(b), weight(a)) })
	if len(heavy) == 0 {
		return
	}
	d.gap()
	d.bold("Largest items")
	for _, l := range heavy[:min(largestItems, len(heavy))] {
		mark := ""
		if l.Decision != activeview.Kept {
			mark = " (" + cleanLine(string(l.Decision)) + ")"
		}
		d.add(fmt.Sprintf("  %9s %7s  %s %s  %s", inspect.Tokens(weight(l)), inspect.Share(weight(l), whole), d.theme.swatch(l.Category),
			pad(itemName(l)+mark, 24), d.theme.paint(cleanLine(l.ID), lookFaint)))
	}
}

// itemName is what an item is called.
func itemName(l activeview.Line) string {
	if name, ok := strings.CutPrefix(l.ID, "tool:"); ok && l.Category == budget.ToolSchemas {
		return cleanLine(strings.TrimSpace(l.Label + " " + name))
	}
	return cleanLine(cmp.Or(l.Label, inspect.CategoryTitle(l.Category)))
}
