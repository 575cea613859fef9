package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/inspect"
)

// meter is what is always visible: the window as a bar, its parts, and what
// answers. It has three lines, fewer where height is less.
func (s state) meter(width, height int) []string {
	lines := []string{s.meterBar(width), s.meterParts(width), s.meterFacts(width)}
	switch {
	case height <= 0:
		return nil
	case height == 1:
		return lines[:1]
	case height == 2:
		return []string{lines[0], lines[2]}
	}
	return lines
}

// meterBar draws the window of the newest Fit, and no other (fault B16).
func (s state) meterBar(width int) string {
	if s.fit == nil {
		return s.theme.paint(cut("window: not measured yet", width), lookFaint)
	}
	f := s.fit
	used := f.Estimate.Tokens
	text := fmt.Sprintf("%s ±%s of %s, %s", inspect.ShortTokens(used), inspect.ShortTokens(f.Estimate.BandTokens),
		inspect.ShortTokens(f.Budget.AvailableTokens), inspect.Share(used, f.Budget.AvailableTokens))
	l := lookPlain
	if used > f.Budget.AvailableTokens {
		text, l = text+" OVER", lookBad
	}
	if room := width - cells(text) - 1; room >= 8 {
		return cutStyled(s.theme.windowBar(f, room)+" "+s.theme.paint(text, l), width)
	}
	return s.theme.paint(cut(text, width), l)
}

// windowBar draws the whole window in n cells: what is used by category, what
// is free, what is reserved.
func (t theme) windowBar(f *contextwindow.Fit, n int) string {
	var b strings.Builder
	for _, p := range windowCells(f, n) {
		b.WriteString(t.part(p))
	}
	return b.String()
}

// A windowPart is a number of cells of a category, or of what is no category.
type windowPart struct {
	category budget.Category
	glyph    string // for what is no category
	cells    int
}

func (t theme) part(p windowPart) string {
	if p.glyph == "" {
		return t.block(p.category, p.cells)
	}
	return t.paint(strings.Repeat(p.glyph, p.cells), lookFaint)
}

// windowCells divides n cells among the parts of a window. Every category that
// weighs anything has at least one, as long as there are enough.
func windowCells(f *contextwindow.Fit, n int) []windowPart {
	var parts []windowPart
	var weights []int
	for _, c := range inspect.Order() {
		parts, weights = append(parts, windowPart{category: c}), append(weights, max(0, f.Breakdown[c]))
	}
	used := 0
	for _, w := range weights {
		used += w
	}
	available, window := max(f.Budget.AvailableTokens, 0), max(f.Budget.WindowTokens, 0)
	parts = append(parts, windowPart{glyph: freeGlyph}, windowPart{glyph: reserveGlyph})
	weights = append(weights, max(0, available-used), max(0, window-max(available, used)))
	for i, c := range divide(weights, n) {
		parts[i].cells = c
	}
	return slices.DeleteFunc(parts, func(p windowPart) bool { return p.cells == 0 })
}

// divide shares n out by weight. The shares sum to n, and nothing that weighs
// goes without one while another has two.
func divide(weights []int, n int) []int {
	shares := make([]int, len(weights))
	whole := 0
	for _, w := range weights {
		whole += w
	}
	if whole == 0 || n <= 0 {
		return shares
	}
	sum, given := 0, 0
	for i, w := range weights {
		sum += w
		upTo := int(float64(sum)/float64(whole)*float64(n) + 0.5)
		shares[i], given = upTo-given, upTo
	}
	for i, w := range weights {
		if w == 0 || shares[i] > 0 {
			continue
		}
		most := 0
		for j := range shares {
			if shares[j] > shares[most] {
				most = j
			}
		}
		if shares[most] > 1 {
			shares[most]--
			shares[i]++
		}
	}
	return shares
}

// meterParts names the parts of the bar, the heaviest first.
func (s state) meterParts(width int) string {
	if s.fit == nil {
		return ""
	}
	b := s.fit.Breakdown
	order := slices.DeleteFunc(budget.Categories(), func(c budget.Category) bool { return b[c] <= 0 })
	slices.SortStableFunc(order, func(x, y budget.Category) int { return cmp.Compare(b[y], b[x]) })
	line, used := "", 0
	for i, c := range order {
		text := fmt.Sprintf(" %s %s", shortTitle(c), wholePercent(b[c], b.Total()))
		lead := ""
		if i > 0 {
			lead = "  "
		}
		if used+len(lead)+1+cells(text) > width {
			if used+2 <= width {
				line += s.theme.paint(" …", lookFaint)
			}
			break
		}
		line += lead + s.theme.swatch(c) + s.theme.paint(text, lookFaint)
		used += len(lead) + 1 + cells(text)
	}
	return line
}

// shortTitle is a category's name where there is little room.
func shortTitle(c budget.Category) string {
	title := inspect.CategoryTitle(c)
	return title[strings.LastIndexByte(title, ' ')+1:]
}

func wholePercent(part, whole int) string {
	if n := (part*100 + whole/2) / max(whole, 1); n > 0 {
		return fmt.Sprintf("%d%%", n)
	}
	return "<1%"
}

// meterFacts says what answers and what it has cost.
func (s state) meterFacts(width int) string {
	parts := []string{s.spent.String(), string(s.info.Mode), cmp.Or(cleanLine(s.info.Model), "no model")}
	if s.info.Effort != "" {
		parts = append(parts, "effort "+cleanLine(s.info.Effort))
	}
	parts = append(parts, cleanLine(string(s.info.Profile)))
	if s.info.Title != "" {
		parts = append(parts, cleanLine(s.info.Title))
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return s.theme.paint(cut(strings.Join(parts, " · "), width), lookFaint)
}

// String is the money so far. What is not known is not left out.
func (s spending) String() string {
	switch {
	case s.unknown && s.usd == 0:
		return "cost unknown"
	case s.unknown:
		return inspect.Money(&s.usd) + " and more, not priced"
	}
	return inspect.Money(&s.usd)
}
