package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/forge-agent/forge/internal/eval/estimate"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer"
)

// freeTokens is the difference that is not held against an estimate.
const freeTokens = estimate.FreeTokens

// A judged is the estimate of a recorded request beside its report.
type judged struct {
	estimate.Recorded
	estimate, band int
}

// err is the part of the difference beyond freeTokens, as a share of the
// report.
func (j judged) err() float64 {
	return max(0, math.Abs(float64(j.estimate-j.Reported))-freeTokens) / float64(j.Reported)
}

func (j judged) short() bool { return j.Reported > j.estimate+j.band }

func judgeRequests(text tokenizer.Counter, rows []estimate.Recorded, profile func(tokencount.Route) tokencount.Profile) []judged {
	var out []judged
	for _, r := range rows {
		e := tokencount.New(text, profile(r.Route)).Request(r.Request).Estimate
		out = append(out, judged{r, e.Tokens, e.BandTokens})
	}
	return out
}

// A line of the report pools the requests that pick accepts.
type reportLine struct {
	name string
	pick func(judged) bool
}

func reportLines() []reportLine {
	family := func(name string) func(judged) bool {
		return func(j judged) bool { return j.Route.Family == name && j.Kind != estimate.KindServerContent }
	}
	plainOpenAI := func(j judged) bool {
		return family("openai")(j) && j.Kind != estimate.KindSealed && j.Kind != estimate.KindImage
	}
	return []reportLine{
		{"OpenAI without hidden reasoning or images", plainOpenAI},
		{"of these, with an answer schema", func(j judged) bool { return family("openai")(j) && j.Kind == estimate.KindAnswerSchema }},
		{"OpenAI with hidden reasoning or images", func(j judged) bool {
			return family("openai")(j) && (j.Kind == estimate.KindSealed || j.Kind == estimate.KindImage)
		}},
		{"Claude", family("claude")},
		{"Gemini", family("gemini")},
		{"GLM", family("glm")},
		{"Kimi", family("kimi")},
		{"Grok", family("grok")},
		{"all but the first line", func(j judged) bool { return !plainOpenAI(j) && j.Kind != estimate.KindServerContent }},
		{"all", func(j judged) bool { return j.Kind != estimate.KindServerContent }},
		{"content that the provider added on its side", func(j judged) bool { return j.Kind == estimate.KindServerContent }},
	}
}

// reportRequests prints the errors on the part that the fit did not see, and
// beside them those of the other part.
func reportRequests(w io.Writer, judgedRows, crossed []judged) {
	fmt.Fprintln(w, "| recorded requests | unseen by the fit | error, median | p90 | short beyond the band | band, median | seen | error, median | other cases left out: median | p90 |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for _, l := range reportLines() {
		test := pool(judgedRows, func(j judged) bool { return l.pick(j) && estimate.InTest(j.TestCase) })
		train := pool(judgedRows, func(j judged) bool { return l.pick(j) && !estimate.InTest(j.TestCase) })
		cross := pool(crossed, l.pick)
		fmt.Fprintf(w, "| %s | %d | %s | %s | %d | %s | %d | %s | %s | %s |\n", l.name, len(test.errors), percent(test.errors, .5), percent(test.errors, .9),
			test.short, percent(test.bands, .5), len(train.errors), percent(train.errors, .5), percent(cross.errors, .5), percent(cross.errors, .9))
	}
}

type pooled struct {
	errors, bands []float64
	short         int
}

func pool(rows []judged, pick func(judged) bool) pooled {
	var p pooled
	for _, j := range rows {
		if !pick(j) {
			continue
		}
		p.errors = append(p.errors, j.err())
		p.bands = append(p.bands, float64(j.band)/float64(j.estimate))
		if j.short() {
			p.short++
		}
	}
	return p
}

func percent(xs []float64, q float64) string {
	if len(xs) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*quantile(xs, q))
}

// scenario is a case without its turn: "tool" for "tool#1".
func scenario(testCase string) string {
	name, _, _ := strings.Cut(testCase, "#")
	return name
}

// cross judges each request with profiles that were fitted without any request
// of its scenario. It shows how far the fit carries to requests of another
// kind, at the price of a fit that saw less than the table's.
func cross(fitters []*fitter) []judged {
	var out []judged
	for _, f := range fitters {
		fitted := map[string][]tokencount.Profile{}
		for _, s := range f.requests {
			name := scenario(s.request.TestCase)
			if fitted[name] == nil {
				fitted[name], _, _ = f.fit(func(r estimate.Recorded) bool { return scenario(r.TestCase) != name })
			}
			out = append(out, judgeRequests(f.text, []estimate.Recorded{s.request}, func(tokencount.Route) tokencount.Profile {
				return fitted[name][s.variant]
			})...)
		}
	}
	return out
}
