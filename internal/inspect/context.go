package inspect

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/model"
)

// WriteContext writes what is in the window of the request at this index:
// a picture, the categories, the biggest items.
func (r *Run) WriteContext(w io.Writer, index int, s Style) error {
	q := &r.Requests[index]
	b := q.Budgeted
	p := newPage(s)
	name, facts := r.title()
	p.line(s.bold(fit(name, s.width())))
	p.wrapped("", strings.Join(append([]string{fmt.Sprintf("request %d", q.Number())}, facts...), " · "))
	p.line()
	p.line("  ", windowBar(q, min(s.width()-4, 96), s))
	p.line()
	p.wrapped("  ", fmt.Sprintf("%s of %s tokens, %s of the window%s", tokens(q.InputTokens()), tokens(b.WindowTokens), share(q.InputTokens(), b.WindowTokens),
		bandText(b.Estimate.BandTokens)))
	if free := b.AvailableTokens - q.InputTokens(); free >= 0 {
		p.wrapped("  ", fmt.Sprintf("%s free; %s kept free for the answer and for error", tokens(free), tokens(b.ReserveTokens)))
	} else {
		p.line("  ", s.alarm(fmt.Sprintf("%s over the budget of %s", tokens(-free), tokens(b.AvailableTokens))))
	}
	p.wrapped("  ", fmt.Sprintf("window %s; counted with %s%s", windowSource(string(b.WindowSource)), method(b.Estimate.Method), vocabulary(r.Start.Vocabulary)))
	p.line()
	for _, l := range categoryLines(q, s) {
		p.line(l)
	}
	heavy := r.Heaviest(index, 10)
	if len(heavy) > 0 {
		p.line()
		p.line(s.bold("Biggest items"))
		p.line()
		writeLines(p, heavy, q.InputTokens(), s, false)
	}
	if text := besides(q); text != "" {
		p.line()
		p.wrapped("  ", text)
	}
	return p.writeTo(w)
}

func bandText(band int) string {
	if band == 0 {
		return ""
	}
	return ", give or take " + tokens(band)
}

// method says in words how tokens were counted.
func method(m model.Method) string {
	switch m {
	case model.MethodProviderTokenizer:
		return "the model's own tokenizer"
	case model.MethodSDK:
		return "a ratio fitted for the model's family"
	case model.MethodConservativeFallback:
		return "a cautious guess from the size"
	case "":
		return "a method that the trace does not name"
	}
	return clean(string(m))
}

func vocabulary(name string) string {
	if name == "" {
		return ""
	}
	return " (" + clean(name) + ")"
}

// besides says what the ledger does not account for, empty when it accounts for
// everything.
func besides(q *Request) string {
	n := q.BesidesTokens()
	switch {
	case n == 0:
		return ""
	case n < 0:
		return fmt.Sprintf("the items alone were counted as %s more: the estimate follows what the provider reported", tokens(-n))
	}
	return fmt.Sprintf("%s tokens stand in no item: framing, and what the provider counted that the file does not hold", tokens(n))
}

// LedgerFilter chooses lines of a ledger. The zero value takes all.
type LedgerFilter struct {
	// Categories are the categories to show, nil for all.
	Categories []budget.Category
	// Decision is the decision to show, empty for all.
	Decision activeview.Decision
	// Text must occur in id, label or reason, whatever the case; empty for
	// all.
	Text string
	// HeaviestFirst sorts by weight; otherwise lines stand in the order in
	// which they came.
	HeaviestFirst bool
}

// Apply returns the lines that the filter takes.
func (f LedgerFilter) Apply(lines []activeview.Line) []activeview.Line {
	var out []activeview.Line
	text := strings.ToLower(f.Text)
	for _, l := range lines {
		switch {
		case f.Categories != nil && !slices.Contains(f.Categories, l.Category):
		case f.Decision != "" && l.Decision != f.Decision:
		case text != "" && !strings.Contains(strings.ToLower(l.ID+"\n"+l.Label+"\n"+l.Reason), text):
		default:
			out = append(out, l)
		}
	}
	if f.HeaviestFirst {
		slices.SortStableFunc(out, heavier)
	}
	return out
}

// WriteLedger writes the ledger of the request at this index.
func (r *Run) WriteLedger(w io.Writer, index int, f LedgerFilter, s Style) error {
	q := &r.Requests[index]
	all := r.Ledger(index)
	lines := f.Apply(all)
	p := newPage(s)
	p.line(s.bold(fmt.Sprintf("Ledger of request %d", q.Number())))
	if q.LedgerFault != "" {
		p.wrapped("note: ", clean(q.LedgerFault))
	}
	sum := 0
	for _, l := range lines {
		sum += weight(l)
	}
	p.line(fmt.Sprintf("%s of %s, %s of %s tokens", tokens(len(lines)), plural(len(all), "line"), tokens(sum), tokens(q.InputTokens())))
	p.line()
	if len(lines) > 0 {
		writeLines(p, lines, q.InputTokens(), s, true)
		p.line()
	}
	if text := besides(q); text != "" {
		p.wrapped("", text)
	}
	return p.writeTo(w)
}

// writeLines writes ledger lines as a table.
func writeLines(p *page, lines []activeview.Line, whole int, s Style, decisions bool) {
	columns := []column{
		{head: "tokens", right: true, keep: 9}, {head: "share", right: true, keep: 8}, {head: "category", keep: 7, paint: func(row int, cell string) string {
			return s.paint("■", lines[row].Category) + cell[1:]
		}},
		{head: "label", keep: 9}, {head: "id", keep: 5},
	}
	if decisions {
		columns = append(columns, column{head: "decision", keep: 6}, column{head: "reason", keep: 4})
	}
	idWidth := max(12, s.width()-62)
	if decisions {
		idWidth = max(12, s.width()-84)
	}
	for _, l := range lines {
		cells := []string{tokens(weight(l)), share(weight(l), whole), "# " + categoryTitle(l.Category),
			fit(name(l), 24), fitMiddle(clean(l.ID), idWidth)}
		if decisions {
			cells = append(cells, clean(string(l.Decision)), fit(clean(l.Reason), 28))
		}
		for k, c := range cells {
			columns[k].cells = append(columns[k].cells, c)
		}
	}
	head, rows := table(columns, s.width()-2)
	p.line("  ", s.faint(head))
	for _, row := range rows {
		p.line("  ", row)
	}
}

// name is what a line is called: its label, or the tool that it defines.
func name(l activeview.Line) string {
	if tool, ok := strings.CutPrefix(l.ID, "tool:"); ok && l.Category == budget.ToolSchemas {
		if l.Label != "" {
			return clean(l.Label + " " + tool)
		}
		return clean(tool)
	}
	return clean(cmp.Or(l.Label, categoryTitle(l.Category)))
}
