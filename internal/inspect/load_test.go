package inspect_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/inspect"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/trace"
)

func eventsOf(ps ...trace.Payload) iter.Seq2[trace.Event, error] {
	return func(yield func(trace.Event, error) bool) {
		for i, p := range ps {
			if !yield(trace.Event{Seq: int64(i + 1), Payload: p}, nil) {
				return
			}
		}
	}
}

// budgeted makes an event of a request that weighs so much.
func budgeted(request, tokens int, lines ...activeview.Line) *trace.ContextBudgeted {
	p := &trace.ContextBudgeted{Request: request, Attempt: 1, WindowTokens: 1000, ReserveTokens: 200, AvailableTokens: 800,
		Categories: budget.Breakdown{budget.Conversation: tokens}, Estimate: model.Estimate{Tokens: tokens, BandTokens: 10}, Verdict: budget.Fits}
	if tokens > 800 {
		p.Verdict = budget.Overflow
	}
	p.Ledger = trace.LedgerChange{Whole: request == 1, Added: lines}
	for _, l := range lines {
		p.Ledger.Hash.Add(l)
	}
	return p
}

func completed(request, reported int, usd *float64) *trace.RequestCompleted {
	return &trace.RequestCompleted{Request: request, Attempt: 1, Outcome: trace.OutcomeAnswered, CostUSD: usd,
		Usage:      &trace.Usage{InputTokens: reported, CachedInputTokens: reported / 2, OutputTokens: 7},
		Comparison: &trace.Comparison{EstimatedTokens: 100, BandTokens: 10, ReportedTokens: reported}}
}

// F-EVT-04: every figure of the summary, computed by hand.
func TestSummary(t *testing.T) {
	usd := 0.25
	r, err := inspect.Load(eventsOf(&trace.RunStarted{},
		budgeted(1, 100), completed(1, 80, &usd), // +25 %
		budgeted(2, 900), completed(2, 125, &usd), // −20 %, sent over budget
		&trace.ContextMark{Request: 3, Kind: "compaction"}, &trace.ContextMark{Request: 3, Kind: "projection"},
		budgeted(3, 850), &trace.ContextOverflow{Request: 3, Attempt: 1}, &trace.RequestCompleted{Request: 3, Attempt: 1, Outcome: trace.OutcomeFailed},
		budgeted(4, 950), &trace.LimitReached{Request: 4},
		budgeted(5, 200), completed(5, 105, &usd), // −4.76 %, inside the band
	))
	if err != nil {
		t.Fatal(err)
	}
	s := r.Summary
	want := inspect.Summary{Requests: 5, Attempts: 5, PeakRequest: 4, PeakIndex: 3, PeakInputTokens: 950,
		PeakCategories: budget.Breakdown{budget.Conversation: 950}, OverBudgetRequests: 3, OverBudgetSent: 2,
		Compactions: 1, Projections: 1, Overflows: 1, WithUsage: 3, InputTokens: 310, CachedInputTokens: 154, OutputTokens: 21,
		Estimate:       inspect.EstimateSummary{ComparedRequests: 3, WithinBand: 1, MaxUndercountTokens: 25},
		LedgerVerified: true}
	total := 0.75
	median, p95 := 20.0, 24.5
	want.CostUSD, want.Estimate.MedianAbsErrorPercent, want.Estimate.P95AbsErrorPercent = &total, &median, &p95
	round := gocmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if diff := gocmp.Diff(want, s, round); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if share := s.CachedShare(); math.Abs(share-154.0/310) > 1e-9 {
		t.Errorf("cached share %v", share)
	}
}

// A price that is unknown for one request makes the total unknown, never too
// low.
// F-PKG-07: a run of another engine says so, and how the conversation got there.
func TestEngineIsNamed(t *testing.T) {
	r, err := inspect.Load(eventsOf(&trace.RunStarted{}, budgeted(1, 100),
		&trace.EngineTurn{Request: 1, Engine: "codex", Version: "0.171.0", Carry: "thread", Thread: "t", Origin: "kept"},
		&trace.EngineUsage{Request: 1, OccupancyTokens: 90, WindowTokens: 1000}))
	if err != nil {
		t.Fatal(err)
	}
	text := string(written(t, func(w io.Writer) error { return r.WriteText(w, inspect.Style{}, inspect.TextOptions{}) }))
	if !strings.Contains(text, "run by codex 0.171.0, carried by thread") {
		t.Errorf("%s", text)
	}
}

// A request that was not sent says what fills it and what helps; an older trace
// only says what is heaviest.
func TestWhyARequestWasNotSent(t *testing.T) {
	limit := &trace.LimitReached{Request: 1, Reason: trace.LimitMandatory, AvailableTokens: 100, MandatoryTokens: 950, Largest: budget.ToolResults}
	for want, d := range map[string]*contextwindow.Diagnosis{
		"950 tokens cannot be left out, 100 are available; mostly tool results": nil,
		"100 are available. toolResults weigh 80 %; the heaviest is read_file with 700 tokens: read this output in parts": {
			Category: budget.ToolResults, Tokens: 760, Percent: 80, Item: "m1#0", Label: "read_file", ItemTokens: 700, Remedy: "read this output in parts"},
	} {
		limit.Diagnosis = d
		r, err := inspect.Load(eventsOf(&trace.RunStarted{}, budgeted(1, 950), limit))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(string(written(t, func(w io.Writer) error { return r.WriteText(w, inspect.Style{}, inspect.TextOptions{}) }))), " ")
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestUnknownPriceMakesTheTotalUnknown(t *testing.T) {
	usd := 0.25
	r, err := inspect.Load(eventsOf(&trace.RunStarted{}, budgeted(1, 100), completed(1, 80, &usd), budgeted(2, 100), completed(2, 80, nil), budgeted(3, 100), completed(3, 80, &usd)))
	if err != nil {
		t.Fatal(err)
	}
	if r.Summary.CostUSD != nil {
		t.Errorf("total %v", *r.Summary.CostUSD)
	}
	if first := r.Requests[0].CumulativeUSD; first == nil || *first != 0.25 || r.Requests[1].CumulativeUSD != nil || r.Requests[2].CumulativeUSD != nil {
		t.Errorf("running totals %v %v %v", first, r.Requests[1].CumulativeUSD, r.Requests[2].CumulativeUSD)
	}
}

func TestLoadNamesWhatIsWrong(t *testing.T) {
	line := activeview.Line{ID: "m#0", Category: budget.Conversation, Tokens: 5, Decision: activeview.Kept}
	damaged := budgeted(2, 100, line)
	damaged.Ledger.Added[0].Tokens = 6
	for name, c := range map[string]struct {
		events []trace.Payload
		want   []string
	}{
		"sound":         {[]trace.Payload{&trace.RunStarted{}, budgeted(1, 100)}, nil},
		"no beginning":  {[]trace.Payload{budgeted(1, 100)}, []string{"the trace does not say how the run began"}},
		"ledger":        {[]trace.Payload{&trace.RunStarted{}, budgeted(1, 100), damaged}, []string{"ledger does not match its hash at request 2; 1 of 2 requests affected"}},
		"orphan events": {[]trace.Payload{&trace.RunStarted{}, budgeted(1, 100), completed(4, 5, nil)}, []string{"1 event of requests that the trace does not hold"}},
		"two runs": {[]trace.Payload{&trace.RunStarted{Run: "a"}, budgeted(1, 100), &trace.RunStarted{Run: "b"}, budgeted(1, 100)},
			[]string{"the trace holds 2 runs: this is the last"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := inspect.Load(eventsOf(c.events...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(c.want, r.Problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := inspect.Load(eventsOf(&trace.RunStarted{})); !errors.Is(err, inspect.ErrEmpty) {
		t.Errorf("a trace without requests: %v", err)
	}
	broken := errors.New("broken")
	if _, err := inspect.Load(func(yield func(trace.Event, error) bool) { yield(trace.Event{}, broken) }); !errors.Is(err, broken) {
		t.Errorf("a trace that cannot be read: %v", err)
	}
}

func TestLoadAllKeepsRunsApart(t *testing.T) {
	one, two := session(t, 4), session(t, 7)
	runs, err := inspect.LoadAll(func(yield func(trace.Event, error) bool) {
		for _, e := range append(one.list.Events, two.list.Events...) {
			if !yield(e, nil) {
				return
			}
		}
	})
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, error %v", len(runs), err)
	}
	for i, alone := range []*inspect.Run{one.load(), two.load()} {
		if diff := gocmp.Diff(alone.Document(), runs[i].Document()); diff != "" {
			t.Errorf("run %d differs from the run alone:\n%s", i+1, diff)
		}
	}
}

// P-ROW-05, F-MAN-01: what Forge itself did stands before the request that it
// was done for, told apart from what the agent of a session file did.
func TestOwnMarks(t *testing.T) {
	usd := 0.02
	compacted, cleared, plain := budgeted(1, 300), budgeted(2, 400), budgeted(3, 500)
	compacted.ReclaimedTokens, compacted.Strategy, cleared.ReclaimedTokens = 600, "forge-summary", 90
	r, err := inspect.Load(eventsOf(&trace.RunStarted{},
		&trace.CompactionStarted{Compaction: "c", Request: 1, Trigger: trace.TriggerBudget},
		&trace.CompactionCompleted{Compaction: "c", Request: 1, Method: "model", TokensBefore: 900, TokensAfter: 300, Usage: &trace.Usage{InputTokens: 600}, CostUSD: &usd},
		compacted, completed(1, 310, &usd), cleared,
		&trace.ContextMark{Request: 3, Kind: "compaction", Trigger: "auto"}, &trace.ContextMark{Request: 3, Kind: "something new"}, plain))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]inspect.Mark{
		{{Kind: inspect.MarkCompaction, Cause: "model", TokensBefore: 900, TokensAfter: 300}},
		{{Kind: inspect.MarkProjection, TokensBefore: 490, TokensAfter: 400}},
		{{Kind: inspect.MarkCompaction, Source: true, Cause: "auto"}, {Kind: inspect.MarkOther, Source: true}},
	}
	for i, w := range want {
		if diff := gocmp.Diff(w, r.Requests[i].MarksBefore); diff != "" {
			t.Errorf("marks before request %d (-want +got):\n%s", i+1, diff)
		}
	}
	if r.Summary.CostUSD == nil || math.Abs(*r.Summary.CostUSD-0.04) > 1e-12 {
		t.Errorf("cost %v, want that of the compaction and of the request", r.Summary.CostUSD)
	}
}

func TestFind(t *testing.T) {
	retry := budgeted(2, 100)
	retry.Attempt = 2
	r, err := inspect.Load(eventsOf(&trace.RunStarted{}, budgeted(1, 100), budgeted(2, 900), &trace.ContextOverflow{Request: 2, Attempt: 1}, retry, completed(2, 90, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if i, err := r.Find(2); err != nil || i != 2 {
		t.Errorf("request 2 is at %d, error %v: want its last attempt", i, err)
	}
	if r.Requests[1].Overflow == nil || r.Requests[1].Completed == nil || r.Requests[2].Overflow != nil {
		t.Error("overflow and answer are not with the attempt that they name")
	}
	if _, err := r.Find(9); err == nil || err.Error() != "find request 9: there are the requests 1 to 2" {
		t.Errorf("error %v", err)
	}
}

// F-EVT-02: the ledger of any request, as the events lead to it.
func TestLedgerOnDemand(t *testing.T) {
	c := session(t, 120)
	r := c.load()
	if !r.Summary.LedgerVerified || r.Summary.Compactions == 0 {
		t.Fatalf("the session has no compaction or an unsound ledger: %+v", r.Problems)
	}
	for i := range r.Requests {
		if i%13 != 0 && i != r.Last() {
			continue
		}
		l, err := trace.LedgerAt(c.events(), i+1)
		if err != nil {
			t.Fatal(err)
		}
		var want []activeview.Line
		for line := range l.Lines() {
			want = append(want, line)
		}
		got := r.Ledger(i)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("ledger of request %d (-events +run):\n%s", i+1, diff)
		}
		if len(got) != r.Requests[i].LedgerLines || l.Totals() != r.Requests[i].LedgerTotals {
			t.Errorf("request %d: %d lines, totals %v", i+1, r.Requests[i].LedgerLines, r.Requests[i].LedgerTotals)
		}
		slices.SortStableFunc(got, func(a, b activeview.Line) int { return cmp.Compare(b.Tokens+b.FramingTokens, a.Tokens+a.FramingTokens) })
		if diff := gocmp.Diff(got[:5], r.Heaviest(i, 5)); diff != "" {
			t.Errorf("heaviest of request %d:\n%s", i+1, diff)
		}
		if diff := gocmp.Diff(got[:3], r.Document().Requests[i].Heaviest); diff != "" {
			t.Errorf("heaviest of request %d in the document:\n%s", i+1, diff)
		}
	}
}

func TestLedgerFilter(t *testing.T) {
	lines := []activeview.Line{
		{ID: "m1#0", Label: "Read", Category: budget.ToolResults, Tokens: 5, Decision: activeview.Kept, Reason: "conversation"},
		{ID: "m2#0", Label: "user", Category: budget.Conversation, Tokens: 9, Decision: activeview.Summarized, Reason: "inside the range of a summary"},
		{ID: "tool:Read", Label: "", Category: budget.ToolSchemas, Tokens: 7, Decision: activeview.Kept, Reason: "advertised tool"},
	}
	for name, c := range map[string]struct {
		filter inspect.LedgerFilter
		want   string
	}{
		"all":            {inspect.LedgerFilter{}, "m1#0 m2#0 tool:Read"},
		"heaviest first": {inspect.LedgerFilter{HeaviestFirst: true}, "m2#0 tool:Read m1#0"},
		"category":       {inspect.LedgerFilter{Categories: []budget.Category{budget.ToolResults, budget.ToolSchemas}}, "m1#0 tool:Read"},
		"decision":       {inspect.LedgerFilter{Decision: activeview.Summarized}, "m2#0"},
		"text, any case": {inspect.LedgerFilter{Text: "rEaD"}, "m1#0 tool:Read"},
		"text in reason": {inspect.LedgerFilter{Text: "range"}, "m2#0"},
		"nothing":        {inspect.LedgerFilter{Text: "x", Decision: "y"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var ids []string
			for _, l := range c.filter.Apply(lines) {
				ids = append(ids, l.ID)
			}
			if got := strings.Join(ids, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

const documentComment = "F-EVT-04: the JSON forms that `forge inspect --json` writes."

func TestDocuments(t *testing.T) {
	r := fixture(t)
	for name, document := range map[string]any{
		"run": r.Document(), "request": r.LedgerDocument(2), "diff": r.DiffDocument(10, 11),
	} {
		var out bytes.Buffer
		if err := inspect.WriteJSON(&out, document); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txtar", "document.json", documentComment, out.Bytes())
		if bytes.Contains(out.Bytes(), []byte(": null,\n  ]")) || bytes.Contains(out.Bytes(), []byte(`"marks": null`)) || bytes.Contains(out.Bytes(), []byte(`"added": null`)) {
			t.Errorf("%s: a list is null", name)
		}
	}
}

// Bytes of any origin are read and shown, or refused with an error.
func FuzzRun(f *testing.F) {
	var all bytes.Buffer
	w := trace.NewWriter(&all, nil)
	for _, e := range eventful(f).list.Events {
		if err := w.Emit(e.Payload); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(all.Bytes(), 80)
	f.Add([]byte(`{"v":1,"seq":1,"type":"context.budgeted","request":1,"attempt":1}`), 40)
	f.Fuzz(func(t *testing.T, data []byte, width int) {
		runs, err := inspect.LoadAll(trace.NewReader(bytes.NewReader(data)).Events())
		if err != nil {
			return
		}
		for _, r := range runs {
			s := inspect.Style{Width: min(max(width, 40), 240), Colour: width%2 == 0}
			var out bytes.Buffer
			for _, err := range []error{r.WriteText(&out, s, inspect.TextOptions{}), r.WriteContext(&out, 0, s), r.WriteDiff(&out, 0, r.Last(), s),
				r.WriteLedger(&out, r.Last(), inspect.LedgerFilter{}, s)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := checkText(out.String(), s.Width); err != nil {
				t.Fatal(err)
			}
			if err := inspect.WriteJSON(&out, r.Document()); err != nil {
				t.Fatal(err)
			}
			if err := r.WriteHTML(&out); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Two requests and what lies between them add up.
func TestDiffAddsUp(t *testing.T) {
	r := session(t, 90).load()
	weight := func(lines []activeview.Line) (sum int) {
		for _, l := range lines {
			sum += l.Tokens + l.FramingTokens
		}
		return sum
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.IntRange(0, r.Last()).Draw(t, "a"), rapid.IntRange(0, r.Last()).Draw(t, "b")
		d := r.Diff(a, b)
		sum := r.Requests[a].LedgerTotals.Total() + weight(d.Added) - weight(d.Removed)
		for _, c := range d.Changed {
			sum += c.ChangeTokens()
		}
		if want := r.Requests[b].LedgerTotals.Total(); sum != want {
			t.Fatalf("%d tokens are explained, the ledger of request %d weighs %d", sum, b+1, want)
		}
		if n := d.Same + len(d.Changed) + len(d.Removed); n != r.Requests[a].LedgerLines {
			t.Fatalf("%d lines, request %d has %d", n, a+1, r.Requests[a].LedgerLines)
		}
		if d.Prefix.SharedTokens < 0 || d.Prefix.LostTokens < 0 || d.Prefix.SharedTokens+d.Prefix.LostTokens != r.Requests[a].InputTokens() {
			t.Fatalf("prefix %+v of %d tokens", d.Prefix, r.Requests[a].InputTokens())
		}
		if a == b && (d.Prefix.Cause != inspect.PrefixIntact || len(d.Added)+len(d.Removed)+len(d.Changed) > 0) {
			t.Fatalf("a request differs from itself: %+v", d)
		}
	})
}

// What broke the provider's cache between two requests, by its cause.
func TestDiffNamesTheCause(t *testing.T) {
	l := func(id string, c budget.Category, content byte, d activeview.Decision, reason string) activeview.Line {
		line := activeview.Line{ID: id, Category: c, Tokens: 10, Decision: d, Reason: reason}
		line.Hash[0] = content
		return line
	}
	tool := l("tool:Read", budget.ToolSchemas, 1, activeview.Kept, activeview.ReasonTool)
	system := l("i#0", budget.Instructions, 2, activeview.Kept, activeview.ReasonInstructions)
	user := l("m1#0", budget.CurrentRequest, 3, activeview.Kept, activeview.ReasonCurrentRequest)
	result := l("m2#0", budget.ToolResults, 4, activeview.Kept, activeview.ReasonConversation)
	summary := l("compaction-1-1#0", budget.Memory, 5, activeview.Kept, activeview.ReasonSummary)
	next := l("m3#0", budget.Conversation, 6, activeview.Kept, activeview.ReasonConversation)
	with := func(line activeview.Line, change func(*activeview.Line)) activeview.Line {
		change(&line)
		return line
	}
	gone := func(line activeview.Line) activeview.Line {
		return with(line, func(l *activeview.Line) {
			l.Tokens, l.Decision, l.Reason = 0, activeview.Summarized, activeview.ReasonSummarized
		})
	}
	base := []activeview.Line{tool, system, user, result}
	for name, c := range map[string]struct {
		after  []activeview.Line
		model  string
		want   inspect.PrefixCause
		shared int
		line   string
	}{
		"grown":                 {append(slices.Clone(base), next), "", inspect.PrefixIntact, 40, ""},
		"only category changed": {[]activeview.Line{tool, system, with(user, func(l *activeview.Line) { l.Category = budget.Conversation }), result}, "", inspect.PrefixIntact, 40, ""},
		"model":                 {base, "other", inspect.PrefixModel, 0, "tool:Read"},
		"tools":                 {[]activeview.Line{with(tool, func(l *activeview.Line) { l.Hash[0] = 9 }), system, user, result}, "", inspect.PrefixTools, 0, "tool:Read"},
		"tool added":            {append(slices.Clone(base), with(tool, func(l *activeview.Line) { l.ID, l.Hash[0] = "tool:New", 9 })), "", inspect.PrefixTools, 10, "i#0"},
		"instructions":          {[]activeview.Line{tool, with(system, func(l *activeview.Line) { l.Hash[0] = 9 }), user, result}, "", inspect.PrefixInstructions, 10, "i#0"},
		"summary":               {[]activeview.Line{tool, system, gone(user), result, summary}, "", inspect.PrefixSummary, 20, "m1#0"},
		"cleared": {[]activeview.Line{tool, system, user, with(result, func(l *activeview.Line) {
			l.Tokens, l.Decision, l.Reason = 2, activeview.Projected, activeview.ReasonCleared
		})}, "", inspect.PrefixCleared, 30, "m2#0"},
		"messages": {[]activeview.Line{tool, system, user}, "", inspect.PrefixMessages, 30, "m2#0"},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := budgeted(1, 40, base...), budgeted(2, 40, c.after...)
			second.Ledger.Whole, second.Model = true, c.model
			r, err := inspect.Load(eventsOf(&trace.RunStarted{}, first, second))
			if err != nil {
				t.Fatal(err)
			}
			p := r.Diff(0, 1).Prefix
			if p.Cause != c.want || p.SharedTokens != c.shared || p.Line != c.line || p.SharedTokens+p.LostTokens != 40 {
				t.Errorf("prefix %+v, want %s with %d shared at %q", p, c.want, c.shared, c.line)
			}
		})
	}
}
