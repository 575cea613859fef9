package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/trace"
)

// budgetTable writes one line for each chosen request, and one for each mark.
func (r *Run) budgetTable(p *page, s Style, o TextOptions) {
	rows := r.chosen(o.Rows)
	columns := []column{
		{head: "request", right: true, keep: 9}, {head: "tokens", right: true, keep: 9}, {head: "±", right: true, keep: 4},
		{head: "of budget", right: true, keep: 9}, {head: "mostly", keep: 3}, {head: "reported", right: true, keep: 7},
		{head: "error", right: true, keep: 8}, {head: "cached", right: true, keep: 6}, {head: "cost", right: true, keep: 5},
	}
	for _, i := range rows {
		for k, cell := range r.budgetCells(i) {
			columns[k].cells = append(columns[k].cells, cell)
		}
	}
	columns[3].paint = func(row int, cell string) string {
		if r.Requests[rows[row]].OverBudget() {
			return s.alarm(cell)
		}
		return cell
	}
	columns = slices.DeleteFunc(columns, func(c column) bool { return c.keep < 9 && blank(c.cells) })
	head, lines := table(columns, s.width()-2)
	p.line("  ", s.faint(head))
	for k, line := range lines {
		q := &r.Requests[rows[k]]
		for _, m := range q.MarksBefore {
			p.line("  ", padLeft(glyph(m.Kind), 7), "  ", fit(m.sentence(), s.width()-11))
		}
		p.line("  ", line)
		if note := q.note(); note != "" {
			begin := "  " + padLeft("✕", 7) + "  "
			for _, line := range strings.Split(ansi.Wrap(note, s.width()-11, ""), "\n") { // what helps stands at the end
				p.line(begin, s.alarm(strings.TrimLeft(line, " ")))
				begin = strings.Repeat(" ", 11)
			}
		}
	}
	for _, m := range r.MarksAfter {
		p.line("  ", padLeft(glyph(m.Kind), 7), "  ", fit(m.sentence(), s.width()-11))
	}
	if len(rows) < len(r.Requests) {
		p.line()
		p.wrapped("  ", fmt.Sprintf("%s of %s requests are listed: the ends, the peak, where something happened, and a spread of the others", tokens(len(rows)), tokens(len(r.Requests))))
	}
}

func blank(cells []string) bool {
	return !slices.ContainsFunc(cells, func(c string) bool { return c != "" && c != "–" })
}

func (r *Run) budgetCells(i int) []string {
	q := &r.Requests[i]
	b := q.Budgeted
	number := fmt.Sprint(b.Request)
	if b.Attempt > 1 {
		number += fmt.Sprintf(" (%d)", b.Attempt)
	}
	reported, errorText, cached, cost := "–", "–", "–", "–"
	if n, ok := q.ReportedTokens(); ok {
		reported, cached = tokens(n), share(q.Completed.Usage.CachedInputTokens, n)
		cost = money(q.Completed.CostUSD)
	}
	if c := q.Comparison(); c != nil {
		errorText = signedPercent(c.ErrorPercent())
	}
	top := heaviest(b.Categories)
	return []string{number, tokens(q.InputTokens()), tokens(b.Estimate.BandTokens), share(q.InputTokens(), b.AvailableTokens),
		mostly(b.Categories, top), reported, errorText, cached, cost}
}

func mostly(b budget.Breakdown, top budget.Category) string {
	return fmt.Sprintf("%s %.0f %%", categoryTitle(top), 100*float64(b[top])/float64(max(1, b.Total())))
}

func signedPercent(p float64) string {
	text := fmt.Sprintf("%+.1f %%", p)
	if text == "-0.0 %" {
		text = "+0.0 %"
	}
	return strings.Replace(text, "-", "−", 1)
}

// sentence says what a mark is.
func (m Mark) sentence() string {
	who := "Forge"
	if m.Source {
		who = "the agent"
	}
	var text string
	switch m.Kind {
	case MarkCompaction:
		text = who + " compacted"
	case MarkProjection:
		text = who + " cleared old tool output"
	case MarkOverflow:
		text = "the provider refused a request as too long"
	case MarkInterrupted:
		text = who + " began a compaction and did not end it"
	case MarkCompactionFailed:
		text = "a compaction failed"
	default:
		text = who + " changed its context"
	}
	if m.Cause != "" {
		text += " (" + clean(m.Cause) + ")"
	}
	switch {
	case m.TokensBefore > 0 && m.TokensAfter > 0:
		text += fmt.Sprintf(": %s → %s tokens", tokens(m.TokensBefore), tokens(m.TokensAfter))
	case m.TokensBefore > 0:
		text += fmt.Sprintf(" at %s tokens", tokens(m.TokensBefore))
	}
	if m.Opaque {
		text += ", encrypted by the provider"
	}
	return text
}

// fills says what a request that was not sent consists of, and what helps.
func fills(l *trace.LimitReached) string {
	if l.Diagnosis == nil {
		return "; mostly " + categoryTitle(l.Largest)
	}
	return ". " + clean(l.Diagnosis.String())
}

// note says what went wrong with a request, empty when nothing did.
func (q *Request) note() string {
	switch {
	case q.Limit != nil && q.Limit.Reason == trace.LimitNoProgress:
		return fmt.Sprintf("not sent: nothing more could be left out, and it is %s over budget%s",
			tokens(q.Limit.Categories.Total()-q.Limit.AvailableTokens), fills(q.Limit))
	case q.Limit != nil:
		return fmt.Sprintf("not sent: %s tokens cannot be left out, %s are available%s",
			tokens(q.Limit.MandatoryTokens), tokens(q.Limit.AvailableTokens), fills(q.Limit))
	case q.Overflow != nil && q.Overflow.LimitTokens > 0:
		return fmt.Sprintf("the provider refused it: %s tokens of %s", tokens(q.Overflow.UsedTokens), tokens(q.Overflow.LimitTokens))
	case q.Overflow != nil:
		return "the provider refused it as too long"
	case q.LedgerFault != "":
		return clean(q.LedgerFault)
	}
	return ""
}

// chosen picks the requests that a table of so many rows shows: the ends, the
// peak, those with marks or faults and those where the budget is crossed
// first, then an even spread.
func (r *Run) chosen(rows int) []int {
	n := len(r.Requests)
	if rows == 0 {
		rows = 30
	}
	if rows < 0 || rows >= n {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all
	}
	rows = max(rows, 3)
	picked := map[int]bool{0: true, n - 1: true, r.Summary.PeakIndex: true}
	var special []int
	for i := range r.Requests {
		q := &r.Requests[i]
		crossed := i > 0 && q.OverBudget() != r.Requests[i-1].OverBudget()
		if len(q.marks()) > 0 || crossed || q.note() != "" || q.Budgeted.Attempt > 1 {
			special = append(special, i)
		}
	}
	add := func(from []int, room int) {
		for k := range min(room, len(from)) {
			picked[from[k*len(from)/min(room, len(from))]] = true
		}
	}
	add(special, (rows-len(picked))*2/3)
	var rest []int
	for i := range n {
		if !picked[i] {
			rest = append(rest, i)
		}
	}
	add(rest, rows-len(picked))
	out := make([]int, 0, len(picked))
	for i := range picked {
		out = append(out, i)
	}
	slices.Sort(out)
	return out
}
