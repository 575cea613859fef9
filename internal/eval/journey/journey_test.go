package journey

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/gate"
	"github.com/forge-agent/forge/internal/scripted"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/trace"
)

// F-E2E-01 to F-E2E-09, F-EVL-09: there is a story for every fixture.
func TestFixturesAreComplete(t *testing.T) {
	var ids []string
	for _, f := range fixtures() {
		ids = append(ids, f.id)
	}
	if got, want := strings.Join(ids, " "), strings.Join(gate.Fixtures(), " "); got != want {
		t.Errorf("fixtures %s, want %s", got, want)
	}
}

// F-E2E-09: without the Codex program the fixture is missing, with a reason,
// and never passed.
func TestWithoutCodex(t *testing.T) {
	js, missing, err := Play(t.Context(), Options{Program: "/nonexistent", Scratch: t.TempDir(), Fixtures: []string{"F-E2E-09"}})
	if err != nil || len(js) != 0 || missing["F-E2E-09"] != noCodex || len(missing) != 9 {
		t.Errorf("%v %v %v", js, missing, err)
	}
}

// What a fixture brings is the same each time (F-EVL-09).
func TestPlansRepeat(t *testing.T) {
	draw := func() string {
		p, err := newPlan(1)
		if err != nil {
			t.Fatal(err)
		}
		return p.rule().text + p.talk() + p.document("A", 5)
	}
	if a, b := draw(), draw(); a != b {
		t.Errorf("%q and %q", a, b)
	}
}

// F-EVL-05: a session is long when it outgrows its window in the mode off and
// is played to the same end in all modes.
func TestMarkLong(t *testing.T) {
	for name, c := range map[string]struct {
		peak, stops int
		want        bool
	}{"outgrows": {101, 0, true}, "fits": {100, 0, false}, "ends early": {101, 1, false}} {
		js := []gate.Journey{{Fixture: "a", Mode: contextwindow.Off, WindowTokens: 100, PeakInputTokens: c.peak, LimitStops: c.stops}, {Fixture: "a", Mode: contextwindow.Compact, WindowTokens: 100}}
		markLong(js)
		if js[0].Long != c.want || js[1].Long != c.want {
			t.Errorf("%s: %v %v, want %v", name, js[0].Long, js[1].Long, c.want)
		}
	}
}

// Weak spot 18: what the provider counted is set beside the estimate, and is
// never taken from it; a request that weighs more by its count is over budget
// whatever the estimate says.
func TestProvidersCountIsNotTheEstimate(t *testing.T) {
	s := &stage{refused: map[int]bool{3: true}}
	budgeted := func(estimate int) trace.Event {
		return trace.Event{Payload: &trace.ContextBudgeted{AvailableTokens: 1000, Estimate: model.Estimate{Tokens: estimate}}}
	}
	s.compare(&run{requests: []scripted.Request{{N: 1, InputTokens: 1010}, {N: 2, InputTokens: 700}, {N: 3, InputTokens: 900}, {N: 4, InputTokens: 1}},
		events: []trace.Event{budgeted(990), budgeted(750), budgeted(800)}})
	j := s.journey
	if j.OverBudget != 1 || j.OverBudgetTokens != 10 || j.ComparedTokens != 1710 || j.EstimateTokens != 1740 || j.EstimateErrorTokens != 70 {
		t.Errorf("%+v", j)
	}
	if len(j.SafetyFailures) != 1 || !strings.Contains(j.SafetyFailures[0], "request 4") {
		t.Errorf("a request without a budget event: %q", j.SafetyFailures)
	}
}

// F-EVL-07: a rule is kept when one line holds all of its words.
func TestSeedKept(t *testing.T) {
	x := seed{keys: []string{"Gateway", "8147"}}
	for text, want := range map[string]bool{"the gateway listens on 8147": true, "the gateway\nlistens on 8147": false, "": false} {
		if got := x.keptIn(strings.Split(text, "\n")); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// F-E2E-04: the scripted model takes a pass for one only where no change
// follows it.
func TestVerdictWriter(t *testing.T) {
	for text, want := range map[string]string{
		"result: 3 passed":                       "create_file",
		"result: 3 passed\npatch of limits.conf": "run_command",
		"test run `sh run_tests.sh`, ended with exit 0 in that run; files changed since": "run_command",
		"test run `sh run_tests.sh`, ended with exit 0 in that run":                      "create_file",
		"": "run_command",
	} {
		var reran bool
		reply := verdictWriter(&reran)(request(text))
		if reply.Calls[0].Name != want || reran != (want == "run_command") {
			t.Errorf("%q: %v", text, reply.Calls)
		}
	}
}

func request(text string) scripted.Request {
	return scripted.Request{Messages: []message.Message{{Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: text}}}}}
}

// The export's messages without what a turn's end may change (F-E2E-06).
func TestLasting(t *testing.T) {
	lines, err := lasting([]byte(`{"forge":"session","v":1}` + "\n" + `{"type":"message","n":0,"status":"admitted","hash":"h","message":{"a":1}}` + "\n" + `{"type":"end"}`))
	if err != nil || len(lines) != 1 || strings.Contains(lines[0], "admitted") {
		t.Errorf("%q %v", lines, err)
	}
	if _, err := lasting([]byte("{")); err == nil {
		t.Error("a torn export passes")
	}
}

// The folder has the first free short name.
func TestScratch(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []string{"forge-eval-1", "forge-eval-2"} {
		if got, err := Scratch(dir); err != nil || filepath.Base(got) != want {
			t.Errorf("%s %v, want %s", got, err, want)
		}
	}
	if _, err := Scratch(filepath.Join(dir, "missing")); err == nil {
		t.Error("a folder that cannot be made passes")
	}
}

// Checks that do not hold are named.
func TestPassed(t *testing.T) {
	s := &stage{}
	s.passed(map[string]bool{"b": false, "a": true, "c": false})
	if s.journey.Passed || strings.Join(s.journey.Problems, " ") != "b c" {
		t.Errorf("%+v", s.journey)
	}
}
