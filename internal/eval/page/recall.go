package page

import (
	"fmt"

	"github.com/forge-agent/forge/internal/eval/plot"
	"github.com/forge-agent/forge/internal/eval/recall"
)

// Recall makes the report of what a budget keeps.
func Recall(h Header, r *recall.Report) (*Bundle, error) {
	b := &Bundle{}
	if err := b.addJSON("recall.json", h, r.Verdicts(), r); err != nil {
		return nil, err
	}
	t := &text{}
	t.head("What a budget keeps", h, fmt.Sprintf("Rules were planted in %d recorded sessions; the seed of the first range is %d. No text of a session is here. A blind set is blind until its losses were looked at; docs/measured.md has the first figure of each. Nobody reads those of the set unseen; once the kinds of cue in them were counted, see there.", r.Sessions, r.First))
	t.verdicts(r.Verdicts())
	for _, s := range r.Sets {
		b.set(t, s, "Rules, set "+s.Set)
	}
	for _, s := range r.Data {
		b.set(t, s, "Public set "+s.Set)
	}
	t.survival(r)
	for _, f := range r.Future {
		b.future(t, f)
	}
	t.faith(r)
	var rows [][4]string
	for _, p := range r.Policies {
		rows = append(rows, [4]string{p.ID, p.Title, p.Source, p.StandIn})
	}
	t.described(rows)
	b.add("recall.md", []byte(t.String()))
	return b, nil
}

// set prints the recall of one set with its picture.
func (b *Bundle) set(t *text, s recall.SetReport, title string) {
	t.line("## %s\n", title)
	t.line("%d rules in %d ranges of %d tokens in the mean, of which persons wrote %s %%. The rules of a range weigh %d tokens: a budget below that cannot hold all of them.",
		s.Rules, s.Ranges, s.RangeTokens, percent(s.UserShare), s.RuleTokens)
	if s.LeftOut > 0 {
		t.line("%d more are asked for and stated by no message in so many words.", s.LeftOut)
	}
	name := "recall-" + s.Set + ".svg"
	t.line("\n![recall by budget](%s)\n", name)
	b.add(name, chart(title, "share of the rules that are kept", s.Cells).SVG())
	t.cells(s.Cells, func(policy string) string { return fmt.Sprintf("%.3f", s.Area(policy)) })
	if len(s.Groups) > 0 {
		t.line("Forge at 2 %%, by family and language:\n")
		t.line("| | kept | of | %% | 95 %% interval |\n|---|---|---|---|---|")
		for _, g := range s.Groups {
			t.line("| %s %s | %d | %d | %s | %s to %s |", g.By, g.Name, g.Kept, g.Total, percent(g.Recall), percent(g.Low), percent(g.High))
		}
		t.line("")
	}
}

// cells prints a table of policies by budgets.
func (t *text) cells(cells []recall.Cell, last func(policy string) string) {
	policies, budgets := axes(cells)
	head, rule := "| policy |", "|---|"
	for _, p := range budgets {
		head += fmt.Sprintf(" %g %% |", p)
		rule += "---|"
	}
	if last != nil {
		head += " area |"
		rule += "---|"
	}
	t.line("%s\n%s", head, rule)
	for _, policy := range policies {
		row := "| " + policy + " |"
		for _, c := range cells {
			if c.Policy == policy {
				row += fmt.Sprintf(" %s (%s–%s) |", percent(c.Recall), percent(c.Low), percent(c.High))
			}
		}
		if last != nil {
			row += " " + last(policy) + " |"
		}
		t.line("%s", row)
	}
	t.line("")
}

// axes returns policies and budgets in the order of the cells.
func axes(cells []recall.Cell) (policies []string, budgets []float64) {
	for _, c := range cells {
		if len(policies) == 0 || policies[len(policies)-1] != c.Policy {
			policies = append(policies, c.Policy)
		}
		if len(policies) == 1 {
			budgets = append(budgets, c.BudgetPercent)
		}
	}
	return policies, budgets
}

func chart(title, y string, cells []recall.Cell) plot.Chart {
	policies, budgets := axes(cells)
	c := plot.Chart{Title: title, XTitle: "budget, percent of the conversation", YTitle: y, Top: 1, Percent: true}
	for _, p := range budgets {
		c.Places = append(c.Places, fmt.Sprintf("%g", p))
	}
	for _, policy := range policies {
		l := plot.Line{Name: policy}
		for _, cell := range cells {
			if cell.Policy == policy {
				l.Values, l.Low, l.High = append(l.Values, cell.Recall), append(l.Low, cell.Low), append(l.High, cell.High)
			}
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

func (t *text) survival(r *recall.Report) {
	t.line("## Fifty compactions, and attacks\n")
	t.line("| set | rules stated before the first | kept at 1 | 10 | 25 | 50 | lost from 1 to 50 |\n|---|---|---|---|---|---|---|")
	for _, s := range r.Survival {
		t.line("| %s | %d | %d | %d | %d | %d | %d |", s.Set, s.Rules, s.Kept1, s.Kept10, s.Kept25, s.Kept50, s.Lost)
	}
	t.line("\n%d mutated attacks in tool output, in %d wrappings: %d pins, %d lines shown as the user's.\n", r.Attacks.Attacks, r.Attacks.Kinds, r.Attacks.Pins, r.Attacks.Shown)
}

// future prints what of the later references was kept.
func (b *Bundle) future(t *text, f recall.FutureReport) {
	when, name := "all requests after the cut", "future.svg"
	if f.Horizon > 0 {
		when, name = fmt.Sprintf("the next %d requests", f.Horizon), fmt.Sprintf("future-%d.svg", f.Horizon)
	}
	t.line("## Later references: %s\n", when)
	if f.References == 0 {
		t.line("No session is heavy enough to be cut.\n")
		return
	}
	t.line("%d paths, names and numbers in the arguments of later calls that had occurred before %d cuts. Forge's budget is divided between the newest messages and a checkpoint as by default, 12,000 to 1,200; in the row forge-checkpoint all of it is the checkpoint's, as when rules are measured.\n", f.References, f.Cuts)
	t.line("![later references](%s)\n", name)
	b.add(name, chart("Later references, "+when, "share that is kept", f.Cells).SVG())
	t.cells(f.Cells, nil)
	t.line("The %d of them only that nothing after the cut showed again before they were used:\n", f.UnshownReferences)
	t.cells(f.Unshown, nil)
}

func (t *text) faith(r *recall.Report) {
	f := r.Faith
	t.line("## Truth\n")
	t.line("%d sessions compacted as a whole: %d of %d lines under the user's headings stand in their message word for word (%d lines in all); verification found %d things.",
		f.Sessions, f.TrueLines, f.QuotedLines, f.Lines, f.Findings)
	t.line("Stand-ins can be made for %d tool results of %d bytes; their references give %d bytes back, in one call for each.\n", f.StandIns, f.StandInBytes, f.RestoredBytes)
	t.line("| files that tools changed | changed | listed | both | F1 |\n|---|---|---|---|---|")
	t.line("| checkpoint of the default weight | %d | %d | %d | %.3f |", f.Default.Truth, f.Default.Listed, f.Default.Hit, f.Default.F1)
	t.line("| checkpoint of a tenth of the session | %d | %d | %d | %.3f |\n", f.Tenth.Truth, f.Tenth.Listed, f.Tenth.Hit, f.Tenth.F1)
}
