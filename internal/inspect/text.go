package inspect

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// TextOptions choose what WriteText shows. The zero value is the default.
type TextOptions struct {
	// Rows is how many requests the budget table lists; zero means 30, a
	// negative number all of them.
	Rows int
}

// WriteText writes the overview of a run: its figures, a picture of the
// window over the requests, and the budget table.
func (r *Run) WriteText(w io.Writer, s Style, o TextOptions) error {
	p := newPage(s)
	for _, l := range r.heading(s) {
		p.line(l)
	}
	p.line()
	for _, f := range r.figures() {
		p.wrapped("  "+padRight(f[0], 13), f[1])
	}
	p.line()
	p.line(s.bold("Window before each request"))
	p.line()
	for _, l := range r.timeline(s) {
		p.line(l)
	}
	if legend := r.markLegend(); legend != "" {
		p.line("        ", s.faint(legend))
	}
	p.line()
	p.line(s.bold(fmt.Sprintf("What fills it at the peak, request %d", r.Summary.PeakRequest)))
	p.line()
	for _, l := range categoryLines(&r.Requests[r.Summary.PeakIndex], s) {
		p.line(l)
	}
	p.line()
	p.line(s.bold("Budget before each request"))
	p.line()
	r.budgetTable(p, s, o)
	for _, problem := range r.Problems {
		p.line()
		p.wrapped("note: ", clean(problem))
	}
	return p.writeTo(w)
}

// heading says what the run is.
func (r *Run) heading(s Style) []string {
	title, rest := r.title()
	facts := strings.Split(ansi.Wrap(strings.Join(rest, " · "), s.width(), ""), "\n")
	return append([]string{s.bold(fit(title, s.width()))}, facts...)
}

// title returns the name of the run and what kind of run it is, both cleaned.
func (r *Run) title() (name string, facts []string) {
	st := &r.Start
	name = clean(cmp.Or(st.File, st.Session, st.Run, "run"))
	if st.Format != "" {
		facts = append(facts, clean(st.Format)+" session")
	}
	if m := r.models(); m != "" {
		facts = append(facts, clean(m))
	}
	if e := r.Engine; e != nil {
		facts = append(facts, clean(strings.TrimSpace("run by "+e.Engine+" "+e.Version)+", carried by "+e.Carry))
	}
	facts = append(facts, plural(r.Summary.Requests, "request"))
	if st.Turns > 0 {
		facts = append(facts, plural(st.Turns, "turn"))
	}
	if when := period(r.Summary.Began, r.Summary.Ended); when != "" {
		facts = append(facts, when)
	}
	return name, facts
}

// models names the models that answered.
func (r *Run) models() string {
	var names []string
	for i := range r.Requests {
		if m := r.Requests[i].Budgeted.Model; m != "" && !slices.Contains(names, m) && len(names) < 4 {
			names = append(names, m)
		}
	}
	switch len(names) {
	case 0:
		return r.Start.Model
	case 1, 2:
		return strings.Join(names, " and ")
	}
	return fmt.Sprintf("%s and %d other models", names[0], len(names)-1)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return tokens(n) + " " + noun + "s"
}

func period(began, ended time.Time) string {
	if began.IsZero() {
		return ""
	}
	began, ended = began.UTC(), ended.UTC()
	if began.Format(time.DateOnly) == ended.Format(time.DateOnly) {
		if began.Format("15:04") == ended.Format("15:04") {
			return began.Format("2 January 2006, 15:04 UTC")
		}
		return began.Format("2 January 2006, 15:04 to ") + ended.Format("15:04 UTC")
	}
	return began.Format("2 January 2006 to ") + ended.Format("2 January 2006")
}

// figures are the numbers of the run, each with a name.
func (r *Run) figures() [][2]string {
	sum := &r.Summary
	peak := &r.Requests[sum.PeakIndex]
	out := [][2]string{
		{"peak", fmt.Sprintf("%s tokens at request %d, %s of the window", tokens(sum.PeakInputTokens), sum.PeakRequest, share(sum.PeakInputTokens, peak.Budgeted.WindowTokens))},
		{"budget", budgetLine(&r.Requests[r.Last()])},
		{"over budget", overBudgetLine(sum)},
	}
	if sum.WithUsage > 0 {
		text := fmt.Sprintf("%s input tokens, %s from the cache; %s output", tokens(sum.InputTokens), share(sum.CachedInputTokens, sum.InputTokens), tokens(sum.OutputTokens))
		if why := r.Start.UsageSynthetic; why != "" {
			text += "; not believed, and compared with nothing: " + clean(why)
		}
		out = append(out, [2]string{"usage", text})
	}
	if sum.CostUSD != nil {
		out = append(out, [2]string{"cost", money(sum.CostUSD)})
	}
	if text := sum.Estimate.line(); text != "" {
		out = append(out, [2]string{"estimate", text})
	}
	ledger := "every request's ledger matches its hash"
	if !sum.LedgerVerified {
		ledger = "does not match its hash everywhere, see the note below"
	}
	return append(out, [2]string{"ledger", ledger})
}

func budgetLine(q *Request) string {
	b := q.Budgeted
	return fmt.Sprintf("%s tokens: window %s (%s) less reserve %s", tokens(b.AvailableTokens), tokens(b.WindowTokens), windowSource(string(b.WindowSource)), tokens(b.ReserveTokens))
}

// windowSource says in words where a window comes from.
func windowSource(source string) string {
	switch source {
	case "user":
		return "given by you"
	case "file":
		return "stated in the file"
	case "catalog":
		return "from the catalog"
	case "provider":
		return "asked from the provider"
	case "learned":
		return "learned from a refusal"
	case "fallback":
		return "a guess: the model is unknown"
	case "":
		return "source unknown"
	}
	return clean(source)
}

func overBudgetLine(s *Summary) string {
	switch {
	case s.OverBudgetRequests == 0:
		return "no request"
	case s.OverBudgetSent == s.OverBudgetRequests:
		return plural(s.OverBudgetRequests, "request") + ", sent all the same"
	case s.OverBudgetSent == 0:
		return plural(s.OverBudgetRequests, "request") + ", none of them sent"
	}
	return fmt.Sprintf("%s, %s of them sent", plural(s.OverBudgetRequests, "request"), tokens(s.OverBudgetSent))
}

func (e *EstimateSummary) line() string {
	if e.ComparedRequests == 0 {
		return ""
	}
	text := fmt.Sprintf("median error %s, 95th percentile %s over %s; %s within the stated band",
		percent(*e.MedianAbsErrorPercent), percent(*e.P95AbsErrorPercent), plural(e.ComparedRequests, "request"), share(e.WithinBand, e.ComparedRequests))
	if e.MaxUndercountTokens > 0 {
		text += "; the worst was " + tokens(e.MaxUndercountTokens) + " too low"
	}
	return text
}

func (r *Run) markLegend() string {
	s := &r.Summary
	var parts []string
	if s.Compactions > 0 {
		parts = append(parts, "▼ "+plural(s.Compactions, "compaction"))
	}
	if s.Projections > 0 {
		parts = append(parts, "◆ tool output cleared")
	}
	if s.Overflows > 0 {
		parts = append(parts, "✕ "+plural(s.Overflows, "refusal")+" by the provider")
	}
	if s.OtherMarks > 0 {
		parts = append(parts, "! "+plural(s.OtherMarks, "other event"))
	}
	return strings.Join(parts, "   ")
}

// categoryLines lists the categories of a request with their share of the
// window, and what is free and reserved.
func categoryLines(q *Request, s Style) []string {
	b := q.Budgeted
	whole := max(b.WindowTokens, q.InputTokens(), 1)
	longest := max(1, slices.Max(b.Categories[:]), b.ReserveTokens)
	room := max(0, min(40, s.width()-45))
	var out []string
	row := func(swatch, name string, n int, drawn string) {
		line := fmt.Sprintf("  %s %s %s %s", swatch, padRight(name, 16), padLeft(tokens(n), 11), padLeft(share(n, whole), 7))
		if drawn != "" {
			line += "  " + drawn
		}
		out = append(out, line)
	}
	for _, c := range order() {
		n := b.Categories[c]
		if n == 0 {
			continue
		}
		row(s.paint("■", c), categoryTitle(c), n, s.paint(bar(float64(n)/float64(longest), room), c))
	}
	if free := b.AvailableTokens - q.InputTokens(); free >= 0 {
		row("░", "free", free, "")
	} else {
		row(s.alarm("!"), "over budget", -free, "")
	}
	row("▒", "reserve", b.ReserveTokens, "")
	return out
}
