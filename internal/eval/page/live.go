package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/gate"
	"github.com/forge-agent/forge/internal/eval/live"
	"github.com/forge-agent/forge/internal/eval/plot"
	"github.com/forge-agent/forge/internal/seeded"
)

// A ModeSummary is what the trials in a mode come to.
type ModeSummary struct {
	Mode   contextwindow.Mode `json:"mode"`
	Trials int                `json:"trials"`
	Passed int                `json:"passed"`
	// Rate is the share passed, Low and High its 95 % interval by Wilson.
	Rate float64 `json:"rate"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// The means are by trial. CostUSD is the sum of what is known.
	MeanInputTokens  int     `json:"meanInputTokens"`
	MeanCachedTokens int     `json:"meanCachedTokens"`
	MeanOutputTokens int     `json:"meanOutputTokens"`
	MeanRequests     float64 `json:"meanRequests"`
	CostUSD          float64 `json:"costUSD"`
	CostUnknown      int     `json:"costUnknown"`
	MedianSeconds    float64 `json:"medianSeconds"`
	LongestSeconds   float64 `json:"longestSeconds"`
	Compactions      int     `json:"compactions"`
	Projections      int     `json:"projections"`
}

// Summarize sums the trials of each mode up.
func Summarize(r *live.Result) []ModeSummary {
	var out []ModeSummary
	for _, m := range gate.Modes() {
		s := ModeSummary{Mode: m}
		var seconds []float64
		in, cached, answer, requests := 0, 0, 0, 0
		for _, o := range r.Outcomes {
			if o.Mode != m {
				continue
			}
			s.Trials++
			if o.Passed {
				s.Passed++
			}
			if o.CostUSD != nil {
				s.CostUSD += *o.CostUSD
			} else {
				s.CostUnknown++
			}
			in, cached, answer, requests = in+o.InputTokens, cached+o.CachedInputTokens, answer+o.OutputTokens, requests+o.Requests
			s.Compactions += o.Compactions
			s.Projections += o.Projections
			seconds = append(seconds, o.Seconds)
		}
		if s.Trials > 0 {
			s.Rate = float64(s.Passed) / float64(s.Trials)
			low, high := seeded.Wilson(s.Passed, s.Trials)
			s.Low, s.High = max(0, low), min(1, high)
			s.MeanInputTokens, s.MeanCachedTokens, s.MeanOutputTokens = in/s.Trials, cached/s.Trials, answer/s.Trials
			s.MeanRequests = float64(requests) / float64(s.Trials)
			slices.Sort(seconds)
			s.MedianSeconds, s.LongestSeconds = (seconds[(len(seconds)-1)/2]+seconds[len(seconds)/2])/2, seconds[len(seconds)-1]
		}
		out = append(out, s)
	}
	return out
}

// Live makes the report of live trials.
func Live(h Header, r *live.Result) (*Bundle, error) {
	b := &Bundle{}
	modes := Summarize(r)
	if err := b.addJSON("live.json", h, nil, struct {
		*live.Result
		Modes []ModeSummary `json:"modes"`
		Gate  *gate.Live    `json:"gate"`
	}{r, modes, r.Gate()}); err != nil {
		return nil, err
	}
	t := &text{}
	t.head("Tasks with a real model", h, fmt.Sprintf("The model %s of %s was told a window of %d tokens. Whether a task is done is what hidden checks say, in a fresh copy, after the program has ended.",
		r.Setting.Model, cmp.Or(r.Setting.Endpoint, r.Setting.Provider), r.Setting.WindowTokens))
	if len(r.Open) > 0 {
		t.line("**Not complete**: %d trials were not made. %s\n", len(r.Open), cellText(r.Why))
	}
	t.line("Spent, lost trials with all that they may have cost: $%.4f; lost: %d.\n", r.SpentUSD, r.Lost)
	t.line("| mode | trials | passed | rate %% | 95 %% | mean input | cached | output | requests | cost $ | median s | longest s | compactions | clearings |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, m := range modes {
		t.line("| %s | %d | %d | %s | %s to %s | %d | %d | %d | %.1f | %.4f | %.1f | %.1f | %d | %d |", m.Mode, m.Trials, m.Passed, percent(m.Rate), percent(m.Low), percent(m.High),
			m.MeanInputTokens, m.MeanCachedTokens, m.MeanOutputTokens, m.MeanRequests, m.CostUSD, m.MedianSeconds, m.LongestSeconds, m.Compactions, m.Projections)
	}
	t.line("\n| task | mode | trial | passed | ended | input | output | cost $ | seconds |\n|---|---|---|---|---|---|---|---|---|")
	for _, o := range r.Outcomes {
		usd := "unknown"
		if o.CostUSD != nil {
			usd = fmt.Sprintf("%.4f", *o.CostUSD)
		}
		t.line("| %s | %s | %d | %v | %s | %d | %d | %s | %.1f |", o.Task, o.Mode, o.Number, o.Passed, cellText(o.Status), o.InputTokens, o.OutputTokens, usd, o.Seconds)
	}
	t.line("")
	b.add("live-rate.svg", rates(modes).SVG())
	t.line("![share passed, by mode](live-rate.svg)\n")
	b.add("live.md", []byte(t.String()))
	return b, nil
}

func rates(modes []ModeSummary) plot.Chart {
	c := plot.Chart{Title: "Tasks passed", XTitle: "mode", YTitle: "share", Top: 1, Percent: true}
	l := plot.Line{Name: "passed, 95 % by Wilson"}
	for _, m := range modes {
		c.Places = append(c.Places, string(m.Mode))
		l.Values, l.Low, l.High = append(l.Values, m.Rate), append(l.Low, m.Low), append(l.High, m.High)
	}
	c.Lines = []plot.Line{l}
	return c
}
