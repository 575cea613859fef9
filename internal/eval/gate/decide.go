package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/verdict"
)

// The thresholds. They may change only before results are read (F-EVL-08).
const (
	LeastReduction = 0.30 // F-EVL-05
	MostPassLoss   = 0.05 // F-EVL-06, a share: 5 points
	LeastRecall    = 0.95 // F-EVL-07
)

// Decide judges every gate. The mode compact becomes the default only when all
// are passed.
func Decide(e Evidence) Decision {
	gates := []verdict.Verdict{same(e), e.judge(safety), e.judge(whole), e.judge(budget), e.judge(reduction), live(e), e.judge(seeds)}
	d := Decision{Gates: gates, Default: contextwindow.Compact, Why: "every gate is passed"}
	var open, failed []string
	for _, g := range gates {
		switch g.State {
		case verdict.NotMeasured:
			open = append(open, g.ID)
		case verdict.NotReached:
			failed = append(failed, g.ID)
		}
	}
	switch {
	case len(failed) > 0:
		d.Default, d.Why = contextwindow.Warn, "not passed: "+strings.Join(failed, ", ")
	case len(open) > 0:
		d.Default, d.Why = contextwindow.Warn, "not measured: "+strings.Join(open, ", ")
	}
	return d
}

// in returns the journeys in a mode.
func (e Evidence) in(m contextwindow.Mode) []Journey {
	var out []Journey
	for _, j := range e.Journeys {
		if j.Mode == m {
			out = append(out, j)
		}
	}
	return out
}

// of returns a fixture's journey in a mode.
func (e Evidence) of(fixture string, m contextwindow.Mode) (Journey, bool) {
	i := slices.IndexFunc(e.Journeys, func(j Journey) bool { return j.Fixture == fixture && j.Mode == m })
	if i < 0 {
		return Journey{}, false
	}
	return e.Journeys[i], true
}

const noJourneys = "no journey was played"

// missing names the fixtures that were not played in every mode.
func (e Evidence) missing() []string {
	var out []string
	for _, f := range Fixtures() {
		for _, m := range Modes() {
			if _, ok := e.of(f, m); !ok {
				out = append(out, f+" "+string(m))
			}
		}
	}
	return out
}

func same(e Evidence) verdict.Verdict {
	const asked = "off, warn and compact on the same nine fixtures"
	if len(e.Journeys) == 0 {
		return verdict.Open("F-EVL-09", asked, noJourneys)
	}
	if missing := e.missing(); len(missing) > 0 {
		return verdict.Open("F-EVL-09", asked, "missing: "+strings.Join(missing, ", ")+e.reasons())
	}
	var differ []string
	for _, f := range Fixtures() {
		first, _ := e.of(f, contextwindow.Off)
		for _, m := range Modes() {
			if j, _ := e.of(f, m); j.FixtureHash == "" || j.FixtureHash != first.FixtureHash {
				differ = append(differ, f+" "+string(m))
			}
		}
	}
	if len(differ) > 0 {
		return verdict.Of("F-EVL-09", asked, "other fixtures: "+strings.Join(differ, ", "), false)
	}
	return verdict.Of("F-EVL-09", asked, "27 journeys", true)
}

func safety(e Evidence) verdict.Verdict {
	const asked = "no safety invariant gets worse"
	js := e.in(contextwindow.Compact)
	var worse []string
	for _, j := range js {
		for _, broken := range j.SafetyFailures {
			worse = append(worse, j.Fixture+": "+broken)
		}
		if warn, ok := e.of(j.Fixture, contextwindow.Warn); ok && warn.Passed && !j.Passed {
			worse = append(worse, j.Fixture+": passes in warn only")
		}
		if j.Duplicates > 0 {
			worse = append(worse, fmt.Sprintf("%s: %d effects twice", j.Fixture, j.Duplicates))
		}
	}
	return verdict.Of("F-EVL-02", asked, listOr(worse, fmt.Sprintf("none in %d journeys", len(js))), len(worse) == 0)
}

func whole(e Evidence) verdict.Verdict {
	const asked = "nothing is corrupted by failure, cancellation or resume"
	var bad []string
	for _, j := range e.Journeys {
		for _, c := range j.Corruptions {
			bad = append(bad, fmt.Sprintf("%s %s: %s", j.Fixture, j.Mode, c))
		}
	}
	return verdict.Of("F-EVL-03", asked, listOr(bad, fmt.Sprintf("nothing in %d journeys", len(e.Journeys))), len(bad) == 0)
}

func budget(e Evidence) verdict.Verdict {
	const asked = "no request weighs more than the budget declared for it"
	over, worst, all := 0, 0, 0
	for _, j := range e.in(contextwindow.Compact) {
		over, worst, all = over+j.OverBudget, max(worst, j.OverBudgetTokens), all+j.Requests
	}
	measured := fmt.Sprintf("%d of %d requests above it in the mode compact", over, all)
	if over > 0 {
		measured += fmt.Sprintf(", by at most %d tokens", worst)
	}
	return verdict.Of("F-EVL-04", asked, measured, over == 0)
}

func reduction(e Evidence) verdict.Verdict {
	asked := fmt.Sprintf("median input on long sessions falls by at least %s", verdict.Percent(LeastReduction))
	var shares []float64
	for _, f := range Fixtures() {
		off, _ := e.of(f, contextwindow.Off)
		compact, _ := e.of(f, contextwindow.Compact)
		if compact.Long && off.ProviderInputTokens > 0 {
			shares = append(shares, 1-float64(compact.ProviderInputTokens)/float64(off.ProviderInputTokens))
		}
	}
	if len(shares) == 0 {
		return verdict.Open("F-EVL-05", asked, "no long session among the fixtures")
	}
	m := median(shares)
	return verdict.Of("F-EVL-05", asked, fmt.Sprintf("%s over %d fixtures", verdict.Percent(m), len(shares)), m >= LeastReduction)
}

func median(xs []float64) float64 {
	slices.Sort(xs)
	if n := len(xs); n%2 == 0 {
		return (xs[n/2-1] + xs[n/2]) / 2
	}
	return xs[len(xs)/2]
}

func live(e Evidence) verdict.Verdict {
	asked := fmt.Sprintf("pass rate at most %.0f points below warn", 100*MostPassLoss)
	switch l := e.Live; {
	case l == nil:
		return verdict.Open("F-EVL-06", asked, "no live report")
	case l.Commit == "" || l.Commit != e.Commit:
		return verdict.Open("F-EVL-06", asked, fmt.Sprintf("the live report is of commit %q, this is %q", l.Commit, e.Commit))
	case l.Trials[contextwindow.Compact] == 0 || l.Trials[contextwindow.Warn] == 0:
		return verdict.Open("F-EVL-06", asked, "the live report lacks trials in warn or compact")
	default:
		rate := func(m contextwindow.Mode) float64 { return float64(l.Passed[m]) / float64(l.Trials[m]) }
		loss := rate(contextwindow.Warn) - rate(contextwindow.Compact)
		return verdict.Of("F-EVL-06", asked, fmt.Sprintf("compact %s, warn %s", verdict.Percent(rate(contextwindow.Compact)), verdict.Percent(rate(contextwindow.Warn))), loss <= MostPassLoss+1e-9)
	}
}

func seeds(e Evidence) verdict.Verdict {
	asked := fmt.Sprintf("at least %s of planted constraints recalled", verdict.Percent(LeastRecall))
	kept, total := 0, 0
	for _, j := range e.in(contextwindow.Compact) {
		kept += j.SeedsKept
		total += j.Seeds
	}
	if total == 0 {
		return verdict.Open("F-EVL-07", asked, "no fixture planted a constraint")
	}
	share := float64(kept) / float64(total)
	return verdict.Of("F-EVL-07", asked, fmt.Sprintf("%s of %d", verdict.Percent(share), total), share >= LeastRecall)
}

// judge lets a gate look at the journeys. What is missing keeps it from being
// passed, not from failing.
func (e Evidence) judge(gate func(Evidence) verdict.Verdict) verdict.Verdict {
	v := gate(e)
	if len(e.Journeys) == 0 {
		return verdict.Open(v.ID, v.Asked, noJourneys)
	}
	if missing := e.missing(); len(missing) > 0 && v.State == verdict.Reached {
		return verdict.Open(v.ID, v.Asked, fmt.Sprintf("so far: %s; %d of 27 journeys are missing", v.Measured, len(missing)))
	}
	return v
}

// reasons says why fixtures are missing.
func (e Evidence) reasons() string {
	var out strings.Builder
	for _, f := range slices.Sorted(maps.Keys(e.Missing)) {
		fmt.Fprintf(&out, "; %s: %s", f, e.Missing[f])
	}
	return out.String()
}

func listOr(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, "; ")
}
