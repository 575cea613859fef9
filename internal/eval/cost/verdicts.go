package cost

import (
	"fmt"
	"strings"

	"github.com/forge-agent/forge/internal/eval/verdict"
)

// What was asked for, fixed before any result was read (F-EVL-08).
const (
	mostMeanRegret  = 0.08
	mostWorstRegret = 0.20
	mostToAppend    = 1.02
	mostLong        = 0.60
	leastLong       = 24
	longSheet       = "read 0.050 write 1.25, window 1000000"
)

// Verdicts compares the report with what was asked for.
func (r *Report) Verdicts() []verdict.Verdict {
	return []verdict.Verdict{r.cheapest(), r.regret(), r.worst(), r.long()}
}

func (r *Report) cheapest() verdict.Verdict {
	const asked = "cheapest in the mean on every price sheet, among the policies that never exceed the window"
	first, sheets := 0, 0
	var others []string
	for _, s := range r.Sheets {
		if s.Models == 0 {
			continue // round prices, no list
		}
		sheets++
		if s.All.Cheapest == Forge {
			first++
			continue
		}
		others = append(others, fmt.Sprintf("%s (window %d): %s, Forge %.2f times its cost", s.Name, s.WindowTokens, s.All.Cheapest, s.All.ForgeToOther))
	}
	if sheets == 0 {
		return verdict.Open("3", asked, "no price sheet of the catalog was played")
	}
	measured := fmt.Sprintf("cheapest on %d of %d sheets", first, sheets)
	if len(others) > 0 {
		measured += "; else " + strings.Join(others, "; ")
	}
	return verdict.Of("3", asked, measured, first == sheets)
}

func (r *Report) regret() verdict.Verdict {
	asked := fmt.Sprintf("regret against the offline optimum at most %s in the mean and %s for any session", verdict.Percent(mostMeanRegret), verdict.Percent(mostWorstRegret))
	reached := true
	var parts []string
	mean, worst, at := 0.0, 0.0, ""
	for _, s := range r.Sheets {
		for _, set := range []struct {
			name string
			SetReport
		}{{"recorded", s.Recorded}, {"long", s.Long}} {
			f, ok := set.forge()
			if !ok || f.RegretSessions == 0 {
				continue
			}
			reached = reached && f.MeanRegret <= mostMeanRegret && f.WorstRegret <= mostWorstRegret
			if s.Models == 0 && strings.HasSuffix(s.Name, "1000000") {
				parts = append(parts, fmt.Sprintf("%s, %s: %s, worst %s", strings.TrimSuffix(s.Name, ", window 1000000"), set.name, verdict.Percent(f.MeanRegret), verdict.Percent(f.WorstRegret)))
			}
			mean = max(mean, f.MeanRegret)
			if f.WorstRegret > worst {
				worst, at = f.WorstRegret, s.Name+", "+set.name
			}
		}
	}
	if at == "" {
		return verdict.Open("3", asked, "no session was played without a compaction")
	}
	parts = append(parts, fmt.Sprintf("all sheets: largest mean %s, worst %s (%s)", verdict.Percent(mean), verdict.Percent(worst), at))
	return verdict.Of("3", asked, strings.Join(parts, "; "), reached)
}

func (r *Report) worst() verdict.Verdict {
	asked := fmt.Sprintf("at most %.2f times append-only for any session that fits its window", mostToAppend)
	worst, at := 0.0, ""
	for _, s := range r.Sheets {
		if f, ok := s.All.forge(); ok && f.WorstToAppendOnly > worst {
			worst, at = f.WorstToAppendOnly, f.WorstSession+" at "+s.Name
		}
	}
	if at == "" {
		return verdict.Open("3", asked, "no session was played")
	}
	return verdict.Of("3", asked, fmt.Sprintf("%.4f (%s)", worst, at), worst <= mostToAppend)
}

func (r *Report) long() verdict.Verdict {
	asked := fmt.Sprintf("at least %d long sessions: at most %.2f times cached append-only at a cached-read price of 0.05", leastLong, mostLong)
	for _, s := range r.Sheets {
		if f, ok := s.Long.forge(); ok && s.Name == longSheet {
			return verdict.Of("3", asked, fmt.Sprintf("%.3f over all of %d sessions together, %.3f in the mean of their ratios", f.ToAppendOnly, r.Long, f.MeanToAppendOnly), f.ToAppendOnly <= mostLong && r.Long >= leastLong)
		}
	}
	return verdict.Open("3", asked, "no long session was played at that price")
}

// forge returns Forge's row.
func (r SetReport) forge() (Row, bool) {
	if len(r.Policies) == 0 {
		return Row{}, false
	}
	return r.Policies[0], true
}
