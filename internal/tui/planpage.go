package tui

import (
	"fmt"
	"math"
	"strings"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/inspect"
)

// A planPage shows a compaction that was worked out and not made (F-MAN-02).
type planPage struct{ proposal Proposal }

func (p planPage) group() string { return "" }

func (p planPage) draw(t theme, width int) []string {
	d := &drawing{theme: t, width: width}
	plan := p.proposal.Plan
	d.text(fmt.Sprintf("The window holds %s tokens and would hold %s: %s less.", inspect.Tokens(plan.TokensBefore),
		inspect.Tokens(plan.TokensAfter), inspect.Share(plan.TokensBefore-plan.TokensAfter, plan.TokensBefore)))
	d.bars(plan.TokensBefore, plan.TokensAfter)
	d.gap()
	d.bold("What happens to the messages")
	for _, item := range plan.Items {
		d.add(planItem(t, item))
	}
	d.gap()
	d.checkpoint(plan)
	d.money(p.proposal)
	d.gap()
	d.faint("Nothing was changed, and no model was asked. /compact does it; the transcript is kept in any case.")
	return d.lines
}

// bars draws the weights before and after on one scale.
func (d *drawing) bars(before, after int) {
	room := min(d.width-20, 60)
	if room < 4 || before <= 0 {
		return
	}
	for _, b := range []struct {
		name   string
		tokens int
	}{{"before", before}, {"after", after}} {
		n := min(room, max(0, int(math.Round(float64(b.tokens)/float64(before)*float64(room)))))
		glyph := "█"
		if !d.theme.colour {
			glyph = "#"
		}
		d.add(fmt.Sprintf("  %-6s %s %s", b.name, d.theme.paint(strings.Repeat(glyph, n), lookAccent), inspect.ShortTokens(b.tokens)))
	}
}

// planItem is one stretch of messages that share a fate.
func planItem(t theme, item contextwindow.PlanItem) string {
	sign, l := "=", lookPlain
	switch item.Decision {
	case activeview.Kept:
	case activeview.Projected:
		sign, l = "~", lookHunk
	case activeview.Summarized, activeview.Dropped:
		sign, l = "-", lookRemoved
	}
	span := fmt.Sprint(item.From + 1)
	if item.Through != item.From {
		span += "–" + fmt.Sprint(item.Through+1)
	}
	tokens := inspect.Tokens(item.TokensBefore)
	if item.TokensAfter != item.TokensBefore {
		tokens += " → " + inspect.Tokens(item.TokensAfter)
	}
	return t.paint(fmt.Sprintf("  %s %-11s %s %s", sign, cleanLine(string(item.Decision)), pad(span, 9), pad(tokens, 17)), l) +
		" " + t.paint(cleanLine(item.Reason), lookFaint)
}

func (d *drawing) checkpoint(plan *contextwindow.Plan) {
	c := plan.Checkpoint
	if c == nil {
		return
	}
	d.bold("The checkpoint")
	d.indented(fmt.Sprintf("%s tokens in the place of %s; method %s, %s.", inspect.Tokens(c.EstimatedCheckpointTokens),
		inspect.Tokens(c.TokensBefore), c.Method, readable(c)))
	if len(c.Pins) == 0 {
		d.indented("It quotes no statement of yours. What /pin holds is in every request besides it.")
		return
	}
	d.indented("Pinned, word for word:")
	for _, p := range c.Pins {
		text := p.Text
		if p.SupersededBy != "" {
			text += " (replaced by a later statement)"
		}
		d.add(paragraph(d.theme, "    • ", "      ", d.width, plain(cleanLine(text)))...)
	}
}

// money says what the change costs and when it has paid for itself.
func (d *drawing) money(p Proposal) {
	d.gap()
	d.bold("Money, at list prices")
	if p.BeforeUSD == nil || p.AfterUSD == nil {
		d.indented("The prices of this model are not known.")
		return
	}
	d.indented(fmt.Sprintf("Each further request reads the conversation from the cache for %s now, and for %s after.",
		inspect.Money(p.BeforeUSD), inspect.Money(p.AfterUSD)))
	if p.RewriteUSD == nil {
		return
	}
	text := fmt.Sprintf("The change itself costs %s once", inspect.Money(p.RewriteUSD))
	if saved := *p.BeforeUSD - *p.AfterUSD; saved > 0 {
		text += fmt.Sprintf(" and has paid for itself after %s", plural(int(math.Ceil(*p.RewriteUSD/saved)), "request"))
	}
	d.indented(text + ".")
}
