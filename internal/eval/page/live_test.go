package page_test

import (
	"strings"
	"testing"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/live"
	"github.com/forge-agent/forge/internal/eval/page"
)

// F-EVL-06, F-EVL-09: the report of live trials has the share passed by mode
// with its interval, tokens, money and time, and says what is missing.
func TestLive(t *testing.T) {
	usd := 0.02
	one := func(m contextwindow.Mode, n int, passed bool, seconds float64) live.Outcome {
		return live.Outcome{Trial: live.Trial{Task: "go-lru", Mode: m, Number: n}, Passed: passed, Status: "completed", InputTokens: 100, OutputTokens: 10, CostUSD: &usd, Seconds: seconds}
	}
	unknown := one(contextwindow.Compact, 3, true, 9)
	unknown.CostUSD = nil
	r := &live.Result{Setting: live.Setting{Commit: "abc", Provider: "p", Model: "m"}, SpentUSD: 0.5, Lost: 1, Why: "no | money",
		Open:     []live.Trial{{Task: "go-lru", Mode: contextwindow.Off, Number: 1}},
		Outcomes: []live.Outcome{one(contextwindow.Warn, 1, false, 1), one(contextwindow.Compact, 1, true, 1), one(contextwindow.Compact, 2, true, 5), unknown}}
	s := page.Summarize(r)
	warn, compact := s[1], s[2]
	if s[0].Trials != 0 || warn.Low != 0 || warn.High < 0.7 || warn.High > 0.9 || compact.Rate != 1 || compact.High != 1 || compact.Low < 0.4 || compact.Low > 0.5 {
		t.Errorf("%+v", s)
	}
	if compact.MedianSeconds != 5 || compact.LongestSeconds != 9 || compact.CostUSD != 0.04 || compact.CostUnknown != 1 || compact.MeanInputTokens != 100 {
		t.Errorf("%+v", compact)
	}
	b, err := page.Live(page.Header{Commit: "abc", Command: "forge eval live"}, r)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b.File("live.md"))
	for _, want := range []string{"at commit abc", "1 trials were not made", `no \| money`, "| compact | 3 | 3 | 100.0 |", "| go-lru | compact | 3 | true | completed | 100 | 10 | unknown | 9.0 |", "lost: 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if !strings.Contains(string(b.File("live.json")), `"gate"`) || len(b.File("live-rate.svg")) == 0 {
		t.Error("the JSON or the picture is not whole")
	}
}
