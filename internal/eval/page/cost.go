package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/forge-agent/forge/internal/eval/cost"
	"github.com/forge-agent/forge/internal/eval/estimate"
	"github.com/forge-agent/forge/internal/eval/gate"
	"github.com/forge-agent/forge/internal/eval/plot"
)

// Cost makes the report of what sessions cost.
func Cost(h Header, r *cost.Report) (*Bundle, error) {
	b := &Bundle{}
	if err := b.addJSON("cost.json", h, r.Verdicts(), r); err != nil {
		return nil, err
	}
	t := &text{}
	what := fmt.Sprintf("%d recorded sessions and %d joined ones (seed of the first: %d).", r.Recorded, r.Long, r.Seed)
	if len(r.LongTokens) > 0 {
		what += fmt.Sprintf(" The joined ones weigh %d to %d tokens.", slices.Min(r.LongTokens), slices.Max(r.LongTokens))
	}
	t.head("What sessions cost", h, what)
	t.line("Sessions stay as they were recorded: nothing is read again because it was left out. Every request finds the cache of the one before. Ratios are of what input and summaries cost, as the answers are the same under all policies; all texts are counted with one vocabulary.\n")
	t.verdicts(r.Verdicts())
	b.ratios(t, r)
	for _, s := range r.Sheets {
		if s.Models == 0 {
			t.sheet(s)
		}
	}
	t.sheets(r)
	var rows [][4]string
	for _, p := range r.Policies {
		rows = append(rows, [4]string{p.ID, p.Title, p.Source, p.StandIn})
	}
	t.described(rows)
	b.add("cost.md", []byte(t.String()))
	return b, nil
}

// ratios draws the cost of long sessions at the round prices.
func (b *Bundle) ratios(t *text, r *cost.Report) {
	c := plot.Chart{Title: "Long sessions: cost of input against append-only", XTitle: "prices of reading and writing the cache, input being 1", YTitle: "times append-only", Top: 2}
	var names []string
	values := map[string][]float64{}
	for _, s := range r.Sheets {
		if s.Models != 0 || s.WindowTokens != 1_000_000 {
			continue
		}
		c.Places = append(c.Places, s.Name[:len("read 0.100")])
		for _, p := range s.Long.Policies {
			if values[p.Policy] == nil {
				names = append(names, p.Policy)
			}
			values[p.Policy] = append(values[p.Policy], p.ToAppendOnly)
		}
	}
	if len(names) == 0 {
		return
	}
	for _, n := range names {
		c.Lines = append(c.Lines, plot.Line{Name: n, Values: values[n]})
	}
	b.add("cost-long.svg", c.SVG())
	t.line("![cost of long sessions](cost-long.svg)\n")
}

// sheet prints the rows of one sheet.
func (t *text) sheet(s cost.SheetReport) {
	t.line("## %s\n", s.Name)
	for _, set := range []struct {
		name string
		r    cost.SetReport
	}{{"recorded sessions", s.Recorded}, {"long sessions", s.Long}} {
		if len(set.r.Policies) == 0 {
			continue
		}
		t.line("| %s | mean $ | × append-only | mean × | worst × | hit rate %% | sessions over the window %% | compactions | regret mean %% | worst %% |\n|---|---|---|---|---|---|---|---|---|---|", set.name)
		for _, p := range set.r.Policies {
			regret, worst := "–", "–"
			if p.RegretSessions > 0 {
				regret, worst = percent(p.MeanRegret), percent(p.WorstRegret)
			}
			t.line("| %s | %.4f | %.3f | %.3f | %.3f | %s | %s | %.2f | %s | %s |", p.Policy, p.MeanUSD, p.ToAppendOnly, p.MeanToAppendOnly, p.WorstToAppendOnly,
				percent(p.HitRate), percent(p.OverflowShare), p.Compactions, regret, worst)
		}
		t.line("")
	}
}

// sheets prints one line for each list of prices.
func (t *text) sheets(r *cost.Report) {
	t.line("## Every price sheet of the catalog\n")
	t.line("One line stands for all models with the same ratios of prices and the same window. The next best is the cheapest of the others that never exceeds the window.\n")
	t.line("| model | models | window | prices, source and date | cheapest | next best | Forge to it | recorded: × append-only, worst | long: × append-only, worst | regret mean, worst %% |\n|---|---|---|---|---|---|---|---|---|---|")
	for _, s := range r.Sheets {
		if s.Models == 0 || len(s.All.Policies) == 0 {
			continue
		}
		all := s.All.Policies[0]
		ratio := func(set cost.SetReport) string {
			if len(set.Policies) == 0 {
				return "–"
			}
			return fmt.Sprintf("%.3f, %.3f", set.Policies[0].ToAppendOnly, set.Policies[0].WorstToAppendOnly)
		}
		t.line("| %s | %d | %d | %s %s | %s | %s | %.3f | %s | %s | %s, %s |", s.Name, s.Models, s.WindowTokens, cellText(s.Source), s.Date, s.All.Cheapest, s.All.NextBest, s.All.ForgeToOther,
			ratio(s.Recorded), ratio(s.Long), percent(all.MeanRegret), percent(all.WorstRegret))
	}
	t.line("")
}

// Estimate makes the report of how far estimates are off.
func Estimate(h Header, r *estimate.Report) (*Bundle, error) {
	b := &Bundle{}
	if err := b.addJSON("estimate.json", h, nil, r); err != nil {
		return nil, err
	}
	t := &text{}
	t.head("How far estimates are off", h, "Median of the difference over what the provider reported, beside what other agents count: a fourth and a third of the bytes.")
	for _, part := range []struct {
		title, what string
		rows        []estimate.Row
	}{
		{"Recorded requests, by family", "The whole request; a difference of 4 tokens counts as none, because many of these requests are tiny. Where some were not shown to the fit, the errors are of those.", r.Requests},
		{"Growth in sessions, by kind of file", "What came in since the request before.", r.Growth},
	} {
		t.line("## %s\n\n%s\n", part.title, part.what)
		if len(part.rows) == 0 {
			t.line("Nothing to compare with.\n")
			continue
		}
		t.line("| | compared | unseen by the fit | Forge %% | p95 %% | bytes/4 %% | bytes/3 %% | short beyond the band |\n|---|---|---|---|---|---|---|---|")
		for _, x := range part.rows {
			t.line("| %s | %d | %d | %s | %s | %s | %s | %d |", x.Group, x.Compared, x.Unseen, percent(x.Forge), percent(x.P95), percent(x.Bytes4), percent(x.Bytes3), x.Short)
		}
		t.line("")
	}
	b.add("estimate.md", []byte(t.String()))
	return b, nil
}

// Context makes the report of the gates.
func Context(h Header, e gate.Evidence, d gate.Decision) (*Bundle, error) {
	b := &Bundle{}
	if err := b.addJSON("context.json", h, d.Gates, struct {
		gate.Evidence
		gate.Decision
	}{e, d}); err != nil {
		return nil, err
	}
	t := &text{}
	t.head("The gates of the mode compact", h, fmt.Sprintf("The evidence allows the default mode **%s**: %s.", d.Default, d.Why))
	t.verdicts(d.Gates)
	if len(e.Journeys) > 0 {
		t.journeys(e)
		b.inputs(t, e)
	}
	b.add("context.md", []byte(t.String()))
	return b, nil
}

func (t *text) journeys(e gate.Evidence) {
	t.line("## Journeys\n")
	t.line("Each is played through the program, a process for each task. Provider tokens are the scripted server's own count of what it received, by its own tokenizer. " +
		"A session is long when it outgrows its window in the mode off. The duration of summaries is the only figure that differs from run to run.\n")
	t.line("| fixture | mode | passed | long | window | runs | requests | provider input | cached | output | peak | over budget | by at most | stops | no progress | refusals | recoveries | done twice |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, j := range e.Journeys {
		t.line("| %s | %s | %v | %v | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |", j.Fixture, j.Mode, j.Passed, j.Long, j.WindowTokens, j.Runs, j.Requests,
			j.ProviderInputTokens, j.ProviderCachedTokens, j.ProviderOutputTokens, j.PeakInputTokens, j.OverBudget, j.OverBudgetTokens, j.LimitStops, j.NoProgressStops, j.ContextErrors, j.Recoveries, j.Duplicates)
	}
	t.line("\n| fixture | mode | estimate | off by %% | mean error %% | schemas | compactions | summarized messages | summary tokens | summary ms | failed | reclaimed | verbatim turns | seeds kept | of |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, j := range e.Journeys {
		off, mean := 0.0, 0.0
		if j.ComparedTokens > 0 {
			off = float64(j.EstimateTokens-j.ComparedTokens) / float64(j.ComparedTokens)
			mean = float64(j.EstimateErrorTokens) / float64(j.ComparedTokens)
		}
		t.line("| %s | %s | %d | %s | %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |", j.Fixture, j.Mode, j.EstimateTokens, percent(off), percent(mean), j.SchemaTokens,
			j.Compactions, j.SummarizedMessages, j.SummaryTokens, j.SummaryMillis, j.SummaryFailures, j.ReclaimedTokens, j.VerbatimTurns, j.SeedsKept, j.Seeds)
	}
	t.line("")
	for _, j := range e.Journeys {
		for _, what := range slices.Concat(j.Problems, j.SafetyFailures, j.Corruptions) {
			t.line("- %s, %s: %s", j.Fixture, j.Mode, cellText(what))
		}
	}
	for _, f := range slices.Sorted(maps.Keys(e.Missing)) {
		t.line("- %s was not played: %s", f, e.Missing[f])
	}
	t.line("")
}

// inputs draws what the provider read by fixture and mode, and its heaviest
// request.
func (b *Bundle) inputs(t *text, e gate.Evidence) {
	for _, p := range []struct {
		name, title string
		of          func(gate.Journey) int
	}{
		{"context-input.svg", "What the provider read", func(j gate.Journey) int { return j.ProviderInputTokens }},
		{"context-peak.svg", "The heaviest request", func(j gate.Journey) int { return j.PeakInputTokens }},
	} {
		c := plot.Chart{Title: p.title, XTitle: "fixture", YTitle: "input tokens", Places: gate.Fixtures()}
		for _, m := range gate.Modes() {
			l := plot.Line{Name: string(m), Values: make([]float64, len(c.Places))}
			for _, j := range e.Journeys {
				if j.Mode == m {
					l.Values[slices.Index(c.Places, j.Fixture)] = float64(p.of(j))
				}
			}
			c.Lines = append(c.Lines, l)
		}
		b.add(p.name, c.SVG())
		t.line("![%s, by fixture and mode](%s)\n", strings.ToLower(p.title), p.name)
	}
}
