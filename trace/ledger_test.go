package trace_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/trace"
	"github.com/forge-agent/forge/transcript"
)

// quarter counts a token for four bytes.
type quarter struct{}

func (quarter) Count(text string) int { return (len(text) + 3) / 4 }
func (quarter) Name() string          { return "quarter" }

func newCounter() *tokencount.Counter {
	return tokencount.New(quarter{}, tokencount.Profile{Family: "test", MessageTokens: 4, RequestTokens: 3, ToolTokens: 7, BandTokens: 10})
}

func text(id string, role message.Role, content string) message.Message {
	return message.Message{ID: id, Role: role, Blocks: []message.Block{message.Text{Text: content}}}
}

func sorted(lines []activeview.Line) map[string]activeview.Line {
	out := map[string]activeview.Line{}
	for _, l := range lines {
		out[l.ID] = l
	}
	return out
}

func collect(seq func(func(activeview.Line) bool)) (lines []activeview.Line) {
	for l := range seq {
		lines = append(lines, l)
	}
	return lines
}

// change does something at random to the conversation or to the view.
func change(t *rapid.T, tr *transcript.Transcript, v *activeview.View, step int) {
	id := fmt.Sprintf("m%d", step)
	content := strings.Repeat("x", rapid.IntRange(0, 50).Draw(t, "length"))
	appendAll := func(ms ...message.Message) {
		for _, m := range ms {
			if err := tr.Append(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	switch rapid.IntRange(0, 6).Draw(t, "what") {
	case 0:
		appendAll(text(id, message.RoleUser, content))
	case 1:
		appendAll(text(id, message.RoleAssistant, content))
	case 2:
		appendAll(message.Message{ID: id, Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: id, Name: "shell", Arguments: content}}},
			message.Message{ID: id + "r", Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: id, Content: []message.Block{message.Text{Text: content}}}}})
	case 3:
		var ms []message.Message
		for i := range rapid.IntRange(0, 3).Draw(t, "instructions") {
			ms = append(ms, text("", message.RoleSystem, fmt.Sprint(content, i)))
		}
		v.SetInstructions(ms)
	case 4:
		var ds []message.ToolDefinition
		for i := range rapid.IntRange(0, 4).Draw(t, "tools") {
			ds = append(ds, message.ToolDefinition{Name: fmt.Sprint("tool", i), Description: content})
		}
		v.SetTools(ds)
	case 5:
		c := activeview.Change{At: tr.Len(), Kind: activeview.ChangeCompaction, KeepFrom: rapid.IntRange(0, tr.Len()).Draw(t, "keep"),
			Replacement: []message.Message{{ID: "s", Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{message.Text{Text: content}}}}}
		if err := v.Apply(tr, c); err != nil {
			t.Fatal(err)
		}
	case 6:
		c := activeview.Change{At: tr.Len(), Kind: activeview.ChangeProjection, StandIn: "cleared"}
		for i, m := range tr.All() {
			if m.Role == message.RoleTool && rapid.Bool().Draw(t, "clear") {
				c.Results = append(c.Results, transcript.Ref{Message: i})
			}
		}
		if err := v.Apply(tr, c); err != nil {
			t.Fatal(err)
		}
	}
	v.Extend(tr)
}

// F-EVT-02: whatever happens to a view, its ledger can be rebuilt from the
// changes that the events carry, through the written form and back.
func TestLedgerIsRebuilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr, v := &transcript.Transcript{}, activeview.New(newCounter())
		var rebuilt trace.Ledger
		var file bytes.Buffer
		w := trace.NewWriter(&file, nil)
		var want []map[string]activeview.Line
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			for i := range rapid.IntRange(1, 4).Draw(t, "changes") {
				change(t, tr, v, step*10+i)
			}
			d := v.TakeDelta()
			e := &trace.ContextBudgeted{Request: step + 1, Attempt: 1, Ledger: trace.LedgerChange{
				Whole: step == 0, Removed: d.Removed, Changed: d.Changed, Added: d.Added, Hash: v.LedgerHash()}}
			if err := w.Emit(e); err != nil {
				t.Fatal(err)
			}
			if err := rebuilt.Apply(e); err != nil {
				t.Fatal(err)
			}
			want = append(want, sorted(collect(v.Lines())))
			if got := sorted(collect(rebuilt.Lines())); !maps.Equal(want[step], got) {
				t.Fatalf("request %d (-view +rebuilt):\n%s", step+1, cmp.Diff(want[step], got))
			}
			if rebuilt.Hash() != v.LedgerHash() || rebuilt.Len() != len(want[step]) || rebuilt.Request() != step+1 {
				t.Fatalf("request %d: hash %v, %d lines", rebuilt.Request(), rebuilt.Hash(), rebuilt.Len())
			}
			var totals budget.Breakdown
			for _, l := range want[step] {
				totals[l.Category] += l.Tokens
				totals[budget.Framing] += l.FramingTokens
			}
			if rebuilt.Totals() != totals {
				t.Fatalf("request %d: totals %v, want %v", step+1, rebuilt.Totals(), totals)
			}
		}
		at := rapid.IntRange(1, len(want)).Draw(t, "at")
		l, err := trace.LedgerAt(trace.NewReader(bytes.NewReader(file.Bytes())).Events(), at)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[at-1], sorted(collect(l.Lines()))); diff != "" {
			t.Fatalf("ledger of request %d from the file (-view +rebuilt):\n%s", at, diff)
		}
	})
}

// run plays a small conversation through a Manager and returns its trace.
func run(t *testing.T, steps int, content func(i int) string) (list trace.List, fits []*contextwindow.Fit) {
	t.Helper()
	m, err := contextwindow.New(model.Capabilities{Provider: "test", Model: "test-1", WindowTokens: 4096, WindowSource: model.WindowFromUser}, newCounter(), nil)
	if err != nil {
		t.Fatal(err)
	}
	emit := func(p trace.Payload) {
		t.Helper()
		if err := list.Emit(p); err != nil {
			t.Fatal(err)
		}
	}
	in := contextwindow.Input{
		Instructions: []message.Message{text("", message.RoleSystem, content(-1))},
		Tools:        []message.ToolDefinition{{Name: "shell", Description: content(-2), Parameters: []byte(`{"x":"` + content(-3) + `"}`)}},
		Transcript:   &transcript.Transcript{},
	}
	add := func(m message.Message) {
		t.Helper()
		if err := in.Transcript.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	add(text("u", message.RoleUser, content(0)))
	for i := range steps {
		f, err := m.Fit(t.Context(), in)
		var limit *contextwindow.LimitError
		if err != nil && !errors.As(err, &limit) {
			t.Fatal(err)
		}
		fits = append(fits, f)
		emit(trace.Budgeted(f, trace.Details{Adapter: "test", BufferTokens: 8192, InstructionPaths: []string{"AGENTS.md"}}))
		if w := trace.Warning(f); w != nil {
			emit(w)
		}
		if limit != nil {
			emit(trace.Limit(f))
		}
		u := message.Usage{InputTokens: f.CountedTokens + 50, CachedInputTokens: f.CountedTokens / 2, OutputTokens: 20}
		rec, err := m.Reconcile(u)
		if err != nil {
			t.Fatal(err)
		}
		emit(trace.Completed(f.Step, &rec, &u, nil))
		id := fmt.Sprintf("a%d", i)
		add(message.Message{ID: id, Role: message.RoleAssistant, Blocks: []message.Block{
			message.Reasoning{Text: content(i), Opaque: []byte(`"` + content(i) + `"`)},
			message.ToolCall{ID: id, Name: "shell", Arguments: content(i)}}})
		add(message.Message{ID: id + "r", Role: message.RoleTool, Blocks: []message.Block{
			message.ToolResult{CallID: id, Content: []message.Block{message.Text{Text: content(i)}}}}})
	}
	return list, fits
}

// F-EVT-02, F-EVT-04: the events of a Fit say what the Fit says.
func TestEventsOfAFit(t *testing.T) {
	list, fits := run(t, 12, func(i int) string { return strings.Repeat("word ", 60) })
	var budgeted []*trace.ContextBudgeted
	kinds := map[trace.Type]int{}
	for i, e := range list.Events {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d has sequence number %d", i+1, e.Seq)
		}
		kinds[e.Payload.Type()]++
		switch p := e.Payload.(type) {
		case *trace.ContextBudgeted:
			budgeted = append(budgeted, p)
		case *trace.ContextWarning:
			if p.EstimatedTokens <= p.AvailableTokens || p.Code != trace.WarningOverBudget {
				t.Errorf("warning %+v", p)
			}
		case *trace.RequestCompleted:
			f := fits[p.Request-1]
			want := trace.Comparison{EstimatedTokens: f.Estimate.Tokens, BandTokens: f.Estimate.BandTokens, ReportedTokens: f.CountedTokens + 50}
			if *p.Comparison != want || p.Usage.InputTokens != want.ReportedTokens || p.CostUSD != nil {
				t.Errorf("completed %+v, want comparison %+v", p, want)
			}
		}
	}
	if len(budgeted) != 12 || kinds[trace.TypeRequestCompleted] != 12 || kinds[trace.TypeContextWarning] == 0 {
		t.Fatalf("events %v", kinds)
	}
	for i, p := range budgeted {
		f := fits[i]
		if p.Request != i+1 || p.Attempt != 1 || p.Categories != f.Breakdown || p.Estimate != f.Estimate || p.Verdict != f.Verdict ||
			p.Action != f.Action || p.AvailableTokens != f.Budget.AvailableTokens || p.ReserveTokens != f.Budget.ReserveTokens ||
			p.OutputTokens != f.Budget.OutputTokens || p.BufferTokens != 8192 || p.Instructions.Hash != f.InstructionsHash ||
			p.WindowSource != model.WindowFromUser || p.RetainedMessages != f.RetainedMessages || p.Ledger.Whole != (i == 0) {
			t.Errorf("request %d: %+v\ndoes not say what the fit says: %+v", i+1, p, f)
		}
		if i > 0 && (len(p.Ledger.Added) != 3 || len(p.Ledger.Removed) != 0) {
			t.Errorf("request %d: the change has %d new lines, want the 3 new blocks only", i+1, len(p.Ledger.Added))
		}
	}
}

// F-EVT-05, F-CLS-12: a request that cannot be sent leaves a typed reason and
// the whole arithmetic.
func TestLimitEvent(t *testing.T) {
	list, _ := run(t, 1, func(int) string { return strings.Repeat("word ", 4000) })
	for _, e := range list.Events {
		if p, ok := e.Payload.(*trace.LimitReached); ok {
			if p.Reason != trace.LimitMandatory || p.MandatoryTokens <= p.AvailableTokens || p.Categories[p.Largest] == 0 || p.Categories.Total() == 0 {
				t.Errorf("limit %+v", p)
			}
			return
		}
	}
	t.Fatal("no limit event")
}

// F-EVT-05: a request that does not fit although its mandatory part would is
// stopped for another reason.
func TestLimitWithoutProgress(t *testing.T) {
	f := &contextwindow.Fit{Step: 3, Verdict: budget.Overflow, Budget: budget.Budget{WindowTokens: 1000, AvailableTokens: 500}, MandatoryTokens: 400,
		Breakdown: budget.Breakdown{budget.ToolResults: 700, budget.Memory: 10}}
	if p := trace.Limit(f); p.Reason != trace.LimitNoProgress || p.Largest != budget.ToolResults {
		t.Errorf("limit %+v", p)
	}
}

// F-EVT-03, F-NAT-03, F-SEC-12: nothing that anybody said, called or was
// answered gets into a trace, encrypted or not.
func TestTraceHoldsNoContent(t *testing.T) {
	list, _ := run(t, 5, func(i int) string { return fmt.Sprintf("marker%dmarker", i) })
	err := list.Emit(trace.Overflow(6, 1, 100, &model.Error{Kind: model.ErrContextOverflow, Provider: "test", Status: 400, Code: "too_long",
		Message: "your text markermarker is too long", Body: []byte("markermarker")}))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	for _, e := range list.Events {
		line, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		file.Write(append(line, '\n'))
	}
	if strings.Contains(file.String(), "marker") {
		t.Errorf("content in the trace:\n%s", file.String())
	}
	if !strings.Contains(file.String(), `"code":"too_long"`) {
		t.Error("the overflow's code is missing")
	}
}

// A ledger that does not add up is named with its request.
func TestLedgerNamesTheFault(t *testing.T) {
	content := func(i int) string { return strings.Repeat("word ", 40+i) }
	for name, c := range map[string]struct {
		damage func([]*trace.ContextBudgeted) []*trace.ContextBudgeted
		says   string
	}{
		"sound": {func(all []*trace.ContextBudgeted) []*trace.ContextBudgeted { return all }, ""},
		"tokens altered": {func(all []*trace.ContextBudgeted) []*trace.ContextBudgeted {
			all[3].Ledger.Added[0].Tokens++
			return all
		}, "ledger does not match its hash at request 4"},
		"decision altered": {func(all []*trace.ContextBudgeted) []*trace.ContextBudgeted {
			all[2].Ledger.Added[0].Decision = activeview.Dropped
			return all
		}, "ledger does not match its hash at request 3"},
		"event missing": {func(all []*trace.ContextBudgeted) []*trace.ContextBudgeted {
			return append(all[:4:4], all[5:]...)
		}, "ledger does not match its hash at request 6"},
		"beginning missing": {func(all []*trace.ContextBudgeted) []*trace.ContextBudgeted {
			return all[2:]
		}, "ledger does not match its hash at request 3: the trace does not begin with a whole ledger"},
		"removed twice": {func(all []*trace.ContextBudgeted) []*trace.ContextBudgeted {
			all[1].Ledger.Removed = []string{"a9#0"}
			return all
		}, `ledger does not match its hash at request 2: line "a9#0" is removed and was never added`},
		"changed out of nothing": {func(all []*trace.ContextBudgeted) []*trace.ContextBudgeted {
			all[1].Ledger.Changed = []activeview.Line{{ID: "a9#0"}}
			return all
		}, `ledger does not match its hash at request 2: line "a9#0" is changed and was never added`},
	} {
		t.Run(name, func(t *testing.T) {
			list, _ := run(t, 8, content)
			var all []*trace.ContextBudgeted
			for _, e := range list.Events {
				if p, ok := e.Payload.(*trace.ContextBudgeted); ok {
					p.Ledger.Added = append([]activeview.Line(nil), p.Ledger.Added...)
					all = append(all, p)
				}
			}
			var l trace.Ledger
			var err error
			for _, p := range c.damage(all) {
				if err = l.Apply(p); err != nil {
					break
				}
			}
			switch {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (!errors.Is(err, trace.ErrLedger) || err.Error() != c.says):
				t.Errorf("error %v\nwant  %s", err, c.says)
			}
		})
	}
}

func TestLedgerStartsAnewWithEachRun(t *testing.T) {
	one, _ := run(t, 3, func(i int) string { return fmt.Sprint("one ", i) })
	two, _ := run(t, 3, func(i int) string { return fmt.Sprint("two ", i) })
	var l trace.Ledger
	for _, e := range append(one.Events, two.Events...) {
		if p, ok := e.Payload.(*trace.ContextBudgeted); ok {
			if err := l.Apply(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	if line, ok := l.Line("u#0"); !ok || line.Tokens != (quarter{}).Count("two 0") {
		t.Errorf("line of the second run: %+v, %v", line, ok)
	}
	if _, ok := l.Line("nobody"); ok {
		t.Error("a line that nobody added")
	}
}

func TestLedgerAtBeyondTheEnd(t *testing.T) {
	list, _ := run(t, 2, func(int) string { return "x" })
	events := func(yield func(trace.Event, error) bool) {
		for _, e := range list.Events {
			if !yield(e, nil) {
				return
			}
		}
	}
	if _, err := trace.LedgerAt(events, 5); err == nil || err.Error() != "find request 5: the trace ends at request 2" {
		t.Errorf("error %v", err)
	}
}
