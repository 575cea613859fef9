package gate_test

import (
	"strings"
	"testing"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/gate"
	"github.com/forge-agent/forge/internal/eval/verdict"
)

// all is evidence with which every gate is passed.
func all() gate.Evidence {
	e := gate.Evidence{Commit: "c1", Live: &gate.Live{Commit: "c1",
		Trials: map[contextwindow.Mode]int{contextwindow.Warn: 18, contextwindow.Compact: 18},
		Passed: map[contextwindow.Mode]int{contextwindow.Warn: 15, contextwindow.Compact: 15}}}
	for _, f := range gate.Fixtures() {
		for _, m := range gate.Modes() {
			j := gate.Journey{Fixture: f, FixtureHash: "h-" + f, Mode: m, Passed: true, Long: true, ProviderInputTokens: 1000, Seeds: 10, SeedsKept: 10}
			if m == contextwindow.Compact {
				j.ProviderInputTokens = 600
			}
			e.Journeys = append(e.Journeys, j)
		}
	}
	return e
}

func state(d gate.Decision, id string) verdict.State {
	for _, g := range d.Gates {
		if g.ID == id {
			return g.State
		}
	}
	return ""
}

// F-PHA-E, F-EVL-02 to F-EVL-07, F-EVL-09: compact is the default only when
// every gate is passed; each gate alone, failed or not measured, keeps warn.
func TestDecide(t *testing.T) {
	compact := func(e *gate.Evidence, change func(*gate.Journey)) {
		for i := range e.Journeys {
			if e.Journeys[i].Mode == contextwindow.Compact {
				change(&e.Journeys[i])
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*gate.Evidence)
		id     string
		state  verdict.State
	}{
		"all passed":        {func(*gate.Evidence) {}, "F-EVL-06", verdict.Reached},
		"safety":            {func(e *gate.Evidence) { e.Journeys[2].SafetyFailures = []string{"a pin from a tool"} }, "F-EVL-02", verdict.NotReached},
		"passes in warn":    {func(e *gate.Evidence) { e.Journeys[2].Passed = false }, "F-EVL-02", verdict.NotReached},
		"twice":             {func(e *gate.Evidence) { e.Journeys[2].Duplicates = 1 }, "F-EVL-02", verdict.NotReached},
		"corruption":        {func(e *gate.Evidence) { e.Journeys[0].Corruptions = []string{"a lost message"} }, "F-EVL-03", verdict.NotReached},
		"over budget":       {func(e *gate.Evidence) { e.Journeys[2].OverBudget = 1 }, "F-EVL-04", verdict.NotReached},
		"little reduction":  {func(e *gate.Evidence) { compact(e, func(j *gate.Journey) { j.ProviderInputTokens = 701 }) }, "F-EVL-05", verdict.NotReached},
		"just enough":       {func(e *gate.Evidence) { compact(e, func(j *gate.Journey) { j.ProviderInputTokens = 700 }) }, "F-EVL-05", verdict.Reached},
		"nothing long":      {func(e *gate.Evidence) { compact(e, func(j *gate.Journey) { j.Long = false }) }, "F-EVL-05", verdict.NotMeasured},
		"no live report":    {func(e *gate.Evidence) { e.Live = nil }, "F-EVL-06", verdict.NotMeasured},
		"other commit":      {func(e *gate.Evidence) { e.Live.Commit = "c0" }, "F-EVL-06", verdict.NotMeasured},
		"a point too many":  {func(e *gate.Evidence) { e.Live.Passed[contextwindow.Compact] = 14 }, "F-EVL-06", verdict.NotReached},
		"recall":            {func(e *gate.Evidence) { compact(e, func(j *gate.Journey) { j.SeedsKept = 9 }) }, "F-EVL-07", verdict.NotReached},
		"nothing planted":   {func(e *gate.Evidence) { compact(e, func(j *gate.Journey) { j.Seeds = 0 }) }, "F-EVL-07", verdict.NotMeasured},
		"other fixture":     {func(e *gate.Evidence) { e.Journeys[2].FixtureHash = "x" }, "F-EVL-09", verdict.NotReached},
		"a journey missing": {func(e *gate.Evidence) { e.Journeys = e.Journeys[1:] }, "F-EVL-09", verdict.NotMeasured},
		"fails all the same": {func(e *gate.Evidence) {
			e.Journeys = e.Journeys[3:]
			e.Journeys[2].OverBudget = 1
		}, "F-EVL-04", verdict.NotReached},
		"not all played": {func(e *gate.Evidence) { e.Journeys = e.Journeys[3:] }, "F-EVL-04", verdict.NotMeasured},
		"no journeys":    {func(e *gate.Evidence) { e.Journeys = nil }, "F-EVL-02", verdict.NotMeasured},
	} {
		t.Run(name, func(t *testing.T) {
			e := all()
			c.change(&e)
			d := gate.Decide(e)
			if got := state(d, c.id); got != c.state {
				t.Errorf("%s is %s, want %s", c.id, got, c.state)
			}
			want := contextwindow.Compact
			for _, g := range d.Gates {
				if g.State != verdict.Reached {
					want = contextwindow.Warn
				}
			}
			if d.Default != want || d.Default == contextwindow.Compact && c.state != verdict.Reached {
				t.Errorf("default %s (%s)", d.Default, d.Why)
			}
		})
	}
}

// Evidence that names no fixture or no mode, or has fields nobody knows, is
// refused.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"commit":"c","journeys":[{"fixture":"F-E2E-01","mode":"warn"}]}`: "",
		`{"journeys":[{"fixture":"another","mode":"warn"}]}`:               "another",
		`{"journeys":[{"fixture":"F-E2E-01","mode":"fast"}]}`:              "fast",
		`{"journey":[]}`: "journey",
		`{`:              "EOF",
	} {
		_, err := gate.Read(strings.NewReader(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
