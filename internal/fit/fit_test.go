package main

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/eval/estimate"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

func corpus(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FORGE_CORPUS")
	if dir == "" {
		t.Skip("FORGE_CORPUS is unset: needs the shared session files")
	}
	return dir
}

// The fit recovers parameters that made the data, whatever a few requests with
// unseen content say.
func TestSolveIsRobust(t *testing.T) {
	want := []float64{12, 30, 1.2}
	var eqs []equation
	for i := range 60 {
		w := []float64{1, float64(i % 4), float64(100 + 37*i%900)}
		e := equation{weights: w, reported: dot(w, want)}
		if i%10 == 0 {
			e.reported += 5000
		}
		eqs = append(eqs, e)
	}
	got := solve(eqs, []belief{{0, 100}, {0, 100}, {1, 1}})
	for i := range want {
		if math.Abs(got[i]-want[i]) > 0.03*want[i]+0.5 {
			t.Errorf("parameter %d: %.2f, want %.2f", i, got[i], want[i])
		}
	}
	if fixed := solve(eqs, []belief{{7, 0}, {0, 100}, {1, 1}}); math.Abs(fixed[0]-7) > 1e-3 {
		t.Errorf("a parameter that is not to move is %.4f, want 7", fixed[0])
	}
}

// What the probes measure of a request is what the counter makes of a profile:
// the estimate is the weighted sum of its parameters.
func TestProbesAgreeWithTheCounter(t *testing.T) {
	text := o200k.New()
	r := model.Request{
		Instructions: []message.Message{{Role: message.RoleSystem, Blocks: []message.Block{message.Text{Text: strings.Repeat("Follow the rules of the project. ", 30)}}}},
		Messages: []message.Message{
			{Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: "Do it now."}, message.Image{WidthPixels: 900, HeightPixels: 700}}},
			{Role: message.RoleAssistant, Blocks: []message.Block{
				message.Reasoning{Text: "I should look first.", Opaque: []byte(`"` + strings.Repeat("A", 4000) + `"`)},
				message.ToolCall{Name: "read", Arguments: `{"path": "a.go", "lines": 20}`}, message.ToolCall{Name: "read", Arguments: `{"path": "b.go"}`}}},
			{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{Content: []message.Block{message.Text{Text: strings.Repeat("package a // 1234\n", 50)}}}}},
		},
		Tools: []message.ToolDefinition{{Name: "read", Description: "Reads a file.", Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)}, {Name: "computer"}},
	}
	for _, g := range groups() {
		for i := range g.variants {
			skeleton := g.skeletonOf(i)
			l := layOut(g)
			v, fixed := newProbes(text, skeleton).measure(r)
			x := make([]float64, len(l.beliefs))
			for j, b := range l.beliefs {
				x[j] = b.mean
			}
			want := dot(l.equation(i, v, 0).weights, x) + fixed
			got := tokencount.New(text, g.profile(i, l, x)).Request(r).Estimate.Tokens
			if math.Abs(float64(got)-want) > 12 { // each of a dozen items is rounded
				t.Errorf("%s, %s: the counter says %d, the parameters %.1f", g.skeleton.Family, g.variants[i].name, got, want)
			}
		}
	}
}

// The split goes by test case, so that no case is on both sides, whatever the
// model and the way of delivery.
func TestSplitGoesByCase(t *testing.T) {
	for source, want := range map[string]string{
		"owner/repo@1:x/testdata/TestA/model/multi_tool.yaml#0":                 "multi_tool#0",
		"owner/repo@1:x/testdata/TestB/other/multi_tool_streaming.yaml#0":       "multi_tool#0",
		"owner/repo@1:x/testdata/TestC/model/thinking-streaming.yaml#1":         "thinking#1",
		"owner/repo@1:x/testdata/TestImageUploadAgentStreaming/m-stream.yaml#0": "image#0",
		"owner/repo@1:x/testdata/TestOpenAIWebSearch/generate.yaml#0":           "web_search#0",
	} {
		if got := estimate.CaseName(source); got != want {
			t.Errorf("%s is case %q, want %q", source, got, want)
		}
	}
}

// What a vocabulary teaches predicts its counts of texts that were left out.
func TestTeachPredicts(t *testing.T) {
	weights := tokencount.TextWeights{0.7, 0.3, 0.6, 0.5, 0.05, 0.4, 0.3, 0.02, 0.4, 1.1}
	counter := tokencount.New(o200k.New(), tokencount.Profile{Base: base, TextWeights: weights})
	var lessons []lesson
	for i, s := range []string{"some words in a row ", "func camelCase(a int) { return 12345 }\n", "你好世界 ", "    indented\n\n", "été à l'œuvre ", "x+=1;;;--- ", "0123456789 42 "} {
		for j := range 12 {
			text := strings.Repeat(s, 20+3*j) + strings.Repeat("plain text ", 5*i+7*j)
			lessons = append(lessons, lesson{Text: text, Counts: map[string]int{"v": counter.Text(text)}})
		}
	}
	got := teach(lessons)[0]
	if got.median > 0.01 || got.p90 > 0.03 || got.texts != len(lessons) {
		t.Errorf("errors of %.1f %% and %.1f %% on %d texts", 100*got.median, 100*got.p90, got.texts)
	}
	if got.weights == (tokencount.TextWeights{1}) {
		t.Error("nothing was learned")
	}
}

// The checked-in table is what the program makes of the corpus.
func TestTableIsCurrent(t *testing.T) {
	entries, _, _, summary := fitAll(t)
	want, err := writeTable(entries, summary)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", "tokencount", "fitted.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("tokencount/fitted.go is not what the fit makes; run FORGE_CORPUS=… go run ./internal/fit")
	}
}

func fitAll(t *testing.T) ([]entry, []estimate.Recorded, []loaded, string) {
	t.Helper()
	dir, models := corpus(t), catalog.Default()
	sessions, err := readSessions(dir)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := estimate.ReadRequests(dir, models)
	if err != nil {
		t.Fatal(err)
	}
	var steps []growth
	for _, l := range sessions {
		steps = append(steps, growths(l, models)...)
	}
	text := newMemo(o200k.New())
	var entries []entry
	for _, g := range groups() {
		entries = append(entries, newFitter(text, g, rows, steps).entries()...)
	}
	return entries, rows, sessions, summary(rows, steps)
}

// F-EST-01, F-TST-09: the errors of the estimate on recorded requests that the
// fit did not see stay below what was asked for: 1 % for OpenAI without hidden
// reasoning or images, 5 % for the rest, 10 % for each family; at most 2 % of
// the requests are short beyond a band of at most 15 %.
func TestErrorsOfUnseenRequests(t *testing.T) {
	rows, err := estimate.ReadRequests(corpus(t), catalog.Default())
	if err != nil {
		t.Fatal(err)
	}
	all := judgeRequests(o200k.New(), rows, tokencount.ProfileOf)
	unseen := func(pick func(judged) bool) pooled {
		return pool(all, func(j judged) bool {
			return estimate.InTest(j.TestCase) && j.Kind != estimate.KindServerContent && pick(j)
		})
	}
	plain := func(j judged) bool {
		return j.Route.Family == "openai" && j.Kind != estimate.KindSealed && j.Kind != estimate.KindImage
	}
	limits := map[string]struct {
		pick func(judged) bool
		most float64
	}{
		"OpenAI":   {plain, 0.01},
		"the rest": {func(j judged) bool { return !plain(j) }, 0.05},
	}
	for _, f := range []string{"openai", "claude", "gemini", "glm", "kimi", "grok"} {
		limits[f] = struct {
			pick func(judged) bool
			most float64
		}{func(j judged) bool { return j.Route.Family == f }, 0.10}
	}
	for name, l := range limits {
		p := unseen(l.pick)
		if len(p.errors) < 10 || quantile(p.errors, .5) > l.most {
			t.Errorf("%s: median error %.2f %% of %d requests, want at most %.0f %% of at least 10", name, 100*quantile(p.errors, .5), len(p.errors), 100*l.most)
		}
	}
	p := unseen(func(judged) bool { return true })
	if float64(p.short) > 0.02*float64(len(p.errors)) || quantile(p.bands, .5) > 0.15 {
		t.Errorf("%d of %d requests are short beyond the band, whose median is %.1f %%", p.short, len(p.errors), 100*quantile(p.bands, .5))
	}
	for _, r := range rows {
		if r.Route.Family == "" {
			t.Errorf("%s: the catalog does not know %s", r.Source, r.Route.Model)
		}
	}
}

// F-EST-01: growth between requests is estimated better than by bytes/4, in
// each format and on each file with at least 30 comparable requests; DeepSeek
// within 3 %; at most 2 % of the requests are short beyond the band.
func TestGrowthOfSessions(t *testing.T) {
	sessions, err := readSessions(corpus(t))
	if err != nil {
		t.Fatal(err)
	}
	byFormat := map[string][]estimate.Compared{}
	var all []estimate.Compared
	for _, l := range sessions {
		cs, err := estimate.Judge(l.session, catalog.Default())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, cs...)
		byFormat[l.session.Format] = append(byFormat[l.session.Format], cs...)
		if own, peer := medians(cs); len(cs) >= 30 && own >= peer {
			t.Errorf("%s: %.1f %%, bytes/4 %.1f %%", l.file, 100*own, 100*peer)
		}
		if free := medianBeyondFree(cs); strings.Contains(l.file, "deepseek") && free > 0.03 {
			t.Errorf("%s: %.1f %%, want at most 3 %%", l.file, 100*free)
		}
	}
	for f, cs := range byFormat {
		if own, peer := medians(cs); len(cs) > 0 && own >= peer {
			t.Errorf("%s: %.1f %%, bytes/4 %.1f %%", f, 100*own, 100*peer)
		}
	}
	if len(all) < 1000 || len(byFormat) < 5 {
		t.Errorf("only %d requests of %d formats were compared", len(all), len(byFormat))
	}
	short := 0
	for _, c := range all {
		if c.Reported > c.Estimate+c.Band {
			short++
		}
	}
	if float64(short) > 0.02*float64(len(all)) {
		t.Errorf("%d of %d requests are short beyond the band", short, len(all))
	}
	if err := reportSessions(io.Discard, sessions, catalog.Default()); err != nil {
		t.Error(err)
	}
}

// medians returns the median errors of growth, ours and that of bytes/4.
func medians(cs []estimate.Compared) (own, peer float64) {
	var a, b []float64
	for _, c := range cs {
		if c.Growth > 0 {
			a = append(a, math.Abs(float64(c.OwnStep-c.Growth))/float64(c.Growth))
			b = append(b, math.Abs(float64(c.BytesGrowth-c.Growth))/float64(c.Growth))
		}
	}
	return quantile(a, .5), quantile(b, .5)
}

// medianBeyondFree is the median error of growth beyond freeTokens.
func medianBeyondFree(cs []estimate.Compared) float64 {
	var out []float64
	for _, c := range cs {
		if c.Growth > 0 {
			out = append(out, max(0, math.Abs(float64(c.OwnStep-c.Growth))-freeTokens)/float64(c.Growth))
		}
	}
	return quantile(out, .5)
}
