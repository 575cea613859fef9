package inspect

import (
	"fmt"
	"io"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
)

// diffRows is how many lines of each kind a comparison lists.
const diffRows = 12

// WriteDiff writes how the request at index after differs from the one at
// index before.
func (r *Run) WriteDiff(w io.Writer, before, after int, s Style) error {
	d := r.Diff(before, after)
	p := newPage(s)
	p.line(s.bold(fmt.Sprintf("Request %d compared with request %d", d.After.Number(), d.Before.Number())))
	p.line()
	p.line("  ", fmt.Sprintf("%s → %s tokens (%s)", tokens(d.Before.InputTokens()), tokens(d.After.InputTokens()), change(d.After.InputTokens()-d.Before.InputTokens())))
	p.wrapped("  ", d.prefixSentence())
	if n, ok := d.After.ReportedTokens(); ok {
		p.wrapped("  ", fmt.Sprintf("the provider read %s of %s tokens from its cache", tokens(d.After.Completed.Usage.CachedInputTokens), tokens(n)))
	}
	p.line()
	d.categories(p, s)
	section := func(title string, lines []activeview.Line) {
		if len(lines) == 0 {
			return
		}
		p.line()
		p.line(s.bold(fmt.Sprintf("%s (%s)", title, tokens(len(lines)))))
		p.line()
		writeLines(p, lines[:min(len(lines), diffRows)], d.After.InputTokens(), s, true)
		if more := len(lines) - diffRows; more > 0 {
			p.line("  ", s.faint("… and "+tokens(more)+" more"))
		}
	}
	section("Added", d.Added)
	d.changed(p, s)
	section("Removed", d.Removed)
	p.line()
	p.line(fmt.Sprintf("%s the same in both", plural(d.Same, "line")))
	return p.writeTo(w)
}

// prefixSentence says what a provider's cache can still cover.
func (d *Diff) prefixSentence() string {
	x := &d.Prefix
	if x.Cause == PrefixIntact {
		return fmt.Sprintf("cache: nothing broke it, all of request %d is an unchanged beginning of request %d", d.Before.Number(), d.After.Number())
	}
	return fmt.Sprintf("cache: %s, at %s; %s tokens before it are shared, %s after it are lost", x.Cause, fitMiddle(clean(x.Line), 40), tokens(x.SharedTokens), tokens(x.LostTokens))
}

func (d *Diff) categories(p *page, s Style) {
	columns := []column{{head: "category", keep: 9}, {head: "before", right: true, keep: 5}, {head: "after", right: true, keep: 9}, {head: "change", right: true, keep: 9}}
	var shown []budget.Category
	for _, c := range order() {
		old, present := d.Before.Budgeted.Categories[c], d.After.Budgeted.Categories[c]
		if old == 0 && present == 0 {
			continue
		}
		shown = append(shown, c)
		for k, cell := range []string{"# " + categoryTitle(c), tokens(old), tokens(present), change(present - old)} {
			columns[k].cells = append(columns[k].cells, cell)
		}
	}
	columns[0].paint = func(row int, cell string) string { return s.paint("■", shown[row]) + cell[1:] }
	head, rows := table(columns, s.width()-2)
	p.line("  ", s.faint(head))
	for _, row := range rows {
		p.line("  ", row)
	}
}

func (d *Diff) changed(p *page, s Style) {
	if len(d.Changed) == 0 {
		return
	}
	p.line()
	p.line(s.bold(fmt.Sprintf("Changed (%s)", tokens(len(d.Changed)))))
	p.line()
	columns := []column{{head: "change", right: true, keep: 9}, {head: "before", right: true, keep: 8}, {head: "after", right: true, keep: 8},
		{head: "label", keep: 9}, {head: "id", keep: 5}, {head: "what", keep: 7}}
	for _, c := range d.Changed[:min(len(d.Changed), diffRows)] {
		cells := []string{change(c.ChangeTokens()), tokens(weight(c.Before)), tokens(weight(c.After)),
			fit(name(c.After), 24), fitMiddle(clean(c.After.ID), max(12, s.width()-84)), fit(c.what(), 36)}
		for k, cell := range cells {
			columns[k].cells = append(columns[k].cells, cell)
		}
	}
	head, rows := table(columns, s.width()-2)
	p.line("  ", s.faint(head))
	for _, row := range rows {
		p.line("  ", row)
	}
	if more := len(d.Changed) - diffRows; more > 0 {
		p.line("  ", s.faint("… and "+tokens(more)+" more"))
	}
}

// what says in what a line changed.
func (c ChangedLine) what() string {
	switch {
	case c.Before.Decision != c.After.Decision:
		return clean(string(c.Before.Decision)) + " → " + clean(string(c.After.Decision))
	case c.Before.Hash != c.After.Hash:
		return "other content"
	case c.Before.Category != c.After.Category:
		return "now " + categoryTitle(c.After.Category)
	}
	return clean(c.After.Reason)
}
