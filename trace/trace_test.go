package trace_test

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/trace"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// oneOfEach holds every event type with every member set.
func oneOfEach() []trace.Payload {
	usd := 0.0125
	usage := &trace.Usage{InputTokens: 5200, CachedInputTokens: 4000, CacheWriteInputTokens: 200, OutputTokens: 310, ReasoningTokens: 90}
	line := activeview.Line{ID: "m1#0", Label: "user", Category: budget.CurrentRequest, Hash: message.Hash{1, 2, 3},
		Tokens: 40, FramingTokens: 4, Decision: activeview.Kept, Reason: activeview.ReasonCurrentRequest}
	changed := line
	changed.ID, changed.Tokens, changed.Decision, changed.Reason = "m0#0", 7, activeview.Projected, activeview.ReasonCleared
	var hash activeview.LedgerHash
	hash.Add(line)
	categories := budget.Breakdown{100, 200, 300, 40, 50, 60, 4000, 400, 10, 40}
	return []trace.Payload{
		&trace.RunStarted{Run: "run-1", Session: "s-1", File: "session.jsonl", Format: "claude-code", FormatVersion: "2.0.1",
			Provider: "anthropic", Model: "example-model", Mode: "warn", WindowTokens: 200000, WindowSource: model.WindowFromCatalog,
			Vocabulary: "o200k_base", Profile: "claude", Forge: "v0.1.0", Complete: true, UsageSynthetic: "scripted server",
			Messages: 12, Turns: 3, Losses: 1},
		&trace.ContextMark{Request: 1, Kind: "compaction", Line: 88, Trigger: "auto", TokensBefore: 160000, TokensAfter: 9000, Opaque: true},
		&trace.CompactionStarted{Compaction: "c1", Request: 1, Trigger: trace.TriggerBudget, Strategy: "forge-summary", Method: "model",
			Model: "small-model", FromMessage: "m1", ThroughMessage: "m40", Messages: 40, SourceHash: message.Hash{4}, TokensBefore: 180000},
		&trace.CompactionFailed{Compaction: "c1", Request: 1, Code: "summary-too-large", Fallback: "extractive", CostUSD: &usd},
		&trace.CompactionCompleted{Compaction: "c1", Request: 1, Strategy: "forge-summary", Method: "extractive",
			Mark:       trace.CompactionMark{ID: "k1", ThroughMessage: "m40", Generation: 2, SummaryTokens: 1100, Summarized: 40},
			SourceHash: message.Hash{4}, OutputHash: message.Hash{5}, Opaque: true, TokensBefore: 180000, TokensAfter: 21000, Usage: usage, CostUSD: &usd},
		&trace.ContextBudgeted{Request: 1, Attempt: 2, RetryReason: "context-overflow", Adapter: "recorded", Model: "example-model", Mode: "warn",
			WindowTokens: 200000, WindowSource: model.WindowFromCatalog, ReserveTokens: 16384, AvailableTokens: 183616, OutputTokens: 4096, BufferTokens: 8192,
			Categories: categories, Estimate: model.Estimate{Tokens: 5200, BandTokens: 120, Method: model.MethodSDK, Confidence: model.ConfidenceEstimated},
			CountedTokens: 5100, MandatoryTokens: 540, Verdict: budget.Fits, Action: "send", RetainedMessages: 9,
			Summarized: &trace.SummarizedRange{FromMessage: "m1", ThroughMessage: "m40", Messages: 40, Checkpoint: "k1"},
			Strategy:   "forge-summary", ReclaimedTokens: 159000, PrefixTokens: 900, FreshTokens: 4300, Restructured: true,
			Instructions: trace.Instructions{Hash: message.Hash{6}, Paths: []string{"AGENTS.md"}},
			Ledger: trace.LedgerChange{Whole: true, Removed: []string{"m2#0"}, Changed: []activeview.Line{changed},
				Added: []activeview.Line{line}, Hash: hash}},
		&trace.EngineTurn{Request: 1, Engine: "codex", Version: "0.171.0", Carry: "thread", Thread: "t-1", Origin: "rebuilt", Reason: "transcript-changed",
			WrapperTokens: 5000, WrapperBytes: 21000, OccupancyTokens: 300},
		&trace.EngineUsage{Request: 1, OccupancyTokens: 5510, Estimated: true, Unknown: true, Usage: usage, WindowTokens: 190000, Compaction: true},
		&trace.ContextWarning{Request: 1, Code: trace.WarningOverBudget, EstimatedTokens: 190000, AvailableTokens: 183616},
		&trace.ContextOverflow{Request: 1, Attempt: 1, Provider: "anthropic", Status: 400, Code: "invalid_request_error",
			EstimatedTokens: 198000, UsedTokens: 201000, LimitTokens: 200000, Evidence: true},
		&trace.LimitReached{Request: 1, Reason: trace.LimitMandatory, WindowTokens: 200000, AvailableTokens: 183616, MandatoryTokens: 190000,
			Categories: categories, Largest: budget.ToolResults, Diagnosis: &contextwindow.Diagnosis{Category: budget.ToolResults, Tokens: 4000, Percent: 80,
				Item: "m12#0", Label: "read_file", ItemTokens: 3800, Remedy: "read this output in parts"}},
		&trace.RequestCompleted{Request: 1, Attempt: 2, Outcome: trace.OutcomeAnswered, Usage: usage,
			Comparison: &trace.Comparison{EstimatedTokens: 5000, BandTokens: 120, ReportedTokens: 5200}, CostUSD: &usd},
		&trace.RequestCompleted{Request: 2, Attempt: 1, Outcome: trace.OutcomeFailed},
		&trace.RunCompleted{Status: trace.StatusCompleted, Requests: 2, OverBudgetRequests: 1, OverBudgetSent: 1, PeakInputTokens: 190000,
			TotalInputTokens: 195200, CachedInputTokens: 4000, OutputTokens: 310, CostUSD: &usd, Compactions: 1},
	}
}

func steadyClock() func() time.Time {
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.FixedZone("", 3600))
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}

// F-EVT-01, F-EVT-02: the written form of every event type is fixed, and
// reading it gives the same events back.
func TestEveryEventType(t *testing.T) {
	var out bytes.Buffer
	w := trace.NewWriter(&out, steadyClock())
	for _, p := range oneOfEach() {
		if err := w.Emit(p); err != nil {
			t.Fatal(err)
		}
	}
	golden := filepath.Join("testdata", "events.txtar")
	if *update {
		a := &txtar.Archive{Comment: []byte("F-EVT-01, F-EVT-02: one event of each type with every member set.\n"),
			Files: []txtar.File{{Name: "trace.jsonl", Data: out.Bytes()}}}
		if err := os.WriteFile(golden, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	a, err := txtar.ParseFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(a.Files[0].Data), out.String()); diff != "" {
		t.Errorf("written form (-want +got):\n%s", diff)
	}

	r := trace.NewReader(bytes.NewReader(a.Files[0].Data))
	want := oneOfEach()
	seen := map[trace.Type]bool{}
	n := 0
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq != int64(n+1) || e.Time.IsZero() || e.Time.Location() != time.UTC {
			t.Errorf("event %d has sequence number %d and time %v", n+1, e.Seq, e.Time)
		}
		if diff := cmp.Diff(want[n], e.Payload); diff != "" {
			t.Errorf("event %d read back (-want +got):\n%s", n+1, diff)
		}
		seen[e.Payload.Type()] = true
		n++
	}
	if n != len(want) || len(seen) != 13 {
		t.Errorf("read %d events of %d types, want %d of 13", n, len(seen), len(want))
	}
	if p := r.Problems(); len(p) != 0 {
		t.Errorf("problems in a sound trace: %v", p)
	}
}

func TestUnknownPriceIsNull(t *testing.T) {
	line, err := trace.Event{Seq: 1, Payload: trace.Completed(3, nil, nil, nil)}.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"v":1,"seq":1,"type":"request.completed","request":3,"attempt":1,"outcome":"answered","usage":null,"comparison":null,"costUSD":null}`
	if string(line) != want {
		t.Errorf("got  %s\nwant %s", line, want)
	}
}

// readAll reads a trace and returns the events, what was reported, and the
// error that ended it.
func readAll(text string) (events []trace.Event, problems []string, err error) {
	r := trace.NewReader(strings.NewReader(text))
	for e, fault := range r.Events() {
		if fault != nil {
			err = fault
			break
		}
		events = append(events, e)
	}
	for _, p := range r.Problems() {
		problems = append(problems, p.What)
	}
	return events, problems, err
}

const (
	first  = `{"v":1,"seq":1,"type":"context.mark","request":1,"kind":"compaction"}` + "\n"
	second = `{"v":1,"seq":2,"type":"context.mark","request":2,"kind":"overflow"}` + "\n"
	third  = `{"v":1,"seq":3,"type":"context.mark","request":3,"kind":"overflow"}` + "\n"
)

func TestReaderGoesOn(t *testing.T) {
	future := `{"v":1,"seq":2,"type":"context.rotated","angle":90}` + "\n"
	for name, c := range map[string]struct {
		text     string
		events   int
		problems []string
	}{
		"sound":                   {first + second, 2, nil},
		"no newline at the end":   {first + strings.TrimSpace(second), 2, nil},
		"windows line ends":       {strings.ReplaceAll(first+second, "\n", "\r\n"), 2, nil},
		"empty lines":             {"\n" + first + "\n\n" + second, 2, nil},
		"empty":                   {"", 0, nil},
		"torn last line":          {first + second[:20], 1, []string{"the last line is torn: its 20 bytes are left out"}},
		"torn only line":          {first[:15], 0, []string{"the last line is torn: its 15 bytes are left out"}},
		"broken line in between":  {first + second[:20] + "\n" + second, 2, []string{"left out: not a trace event: invalid JSON at byte 20"}},
		"gap":                     {first + third, 2, []string{"events are missing: number 3 follows 1"}},
		"begins late":             {second, 1, []string{"events are missing: number 2 follows 0"}},
		"repeat":                  {first + second + second + third, 4, []string{"event number 2 comes after 2"}},
		"unknown type, once":      {first + future + strings.Replace(future, `"seq":2`, `"seq":3`, 1), 3, []string{`event type "context.rotated" is unknown to this Forge: kept, not shown`}},
		"unknown member":          {strings.Replace(first, `"kind"`, `"colour":"red","kind"`, 1), 1, nil},
		"impossible number":       {first + strings.Replace(second, `"request":2`, `"request":0`, 1), 1, []string{"left out: not a trace event: context.mark: request is 0, out of range"}},
		"wrong type of member":    {first + strings.Replace(second, `"request":2`, `"request":"two"`, 1), 1, []string{"left out: not a trace event: context.mark: wrong JSON type at byte 52"}},
		"no sequence number":      {first + `{"v":1,"type":"context.mark"}` + "\n", 1, []string{"left out: not a trace event: its sequence number is 0"}},
		"no type":                 {first + `{"v":1,"seq":2}` + "\n", 1, []string{"left out: not a trace event: it states no type"}},
		"no version, not first":   {first + `{"seq":2,"type":"context.mark"}` + "\n", 1, []string{"left out: not a trace event: it states no version"}},
		"an array":                {first + "[1,2]\n", 1, []string{"left out: not a trace event: wrong JSON type at byte 1"}},
		"deeper than any decoder": {first + strings.Repeat("[", 100_000) + "\n", 1, []string{"left out: not a trace event: invalid JSON at byte 10001"}},
	} {
		t.Run(name, func(t *testing.T) {
			events, problems, err := readAll(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if len(events) != c.events {
				t.Errorf("%d events, want %d", len(events), c.events)
			}
			if diff := cmp.Diff(c.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReaderKeepsUnknownEventsAsTheyAre(t *testing.T) {
	const line = `{"v":1,"seq":1,"type":"context.rotated", "angle": 90}`
	events, _, err := readAll(line + "\n")
	if err != nil || len(events) != 1 {
		t.Fatalf("%d events, error %v", len(events), err)
	}
	if u, ok := events[0].Payload.(*trace.Unknown); !ok || string(u.Raw) != line || u.Type() != "context.rotated" {
		t.Errorf("payload %#v", events[0].Payload)
	}
	again, err := events[0].AppendJSON(nil)
	if err != nil || string(again) != line {
		t.Errorf("written again as %s, error %v", again, err)
	}
}

func TestReaderStops(t *testing.T) {
	newer := strings.Replace(second, `"v":1`, `"v":2`, 1)
	for name, c := range map[string]struct {
		text   string
		want   error
		events int
		says   string
	}{
		"newer version":           {first + newer, trace.ErrNewerVersion, 1, "read trace line 2: trace has a newer format: it has version 2, this Forge reads up to 1: update Forge to read it"},
		"newer from the start":    {newer, trace.ErrNewerVersion, 0, "read trace line 1"},
		"not a trace":             {"# Notes\n\nHello.\n", trace.ErrMalformed, 0, "read trace line 1: not a trace event: invalid JSON at byte 1"},
		"another JSON lines file": {`{"type":"user","message":{"role":"user"}}` + "\n" + first, trace.ErrMalformed, 0, "it states no version"},
	} {
		t.Run(name, func(t *testing.T) {
			events, _, err := readAll(c.text)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %v that says %q", err, c.want, c.says)
			}
			if len(events) != c.events {
				t.Errorf("%d events before it, want %d", len(events), c.events)
			}
		})
	}
}

// endless is a line without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, strings.Repeat("x", 64<<10))
	e.read += n
	return n, nil
}

func TestReaderBoundsALine(t *testing.T) {
	source := &endless{}
	for _, err := range trace.NewReader(source).Events() {
		if !errors.Is(err, trace.ErrLineTooLong) {
			t.Fatalf("error %v, want %v", err, trace.ErrLineTooLong)
		}
	}
	if source.read > trace.MaxLineBytes+1<<20 {
		t.Errorf("read %d bytes for a line of at most %d", source.read, trace.MaxLineBytes)
	}
}

func TestReaderBoundsProblems(t *testing.T) {
	_, problems, err := readAll(first + strings.Repeat("?\n", 5000))
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) != 101 || problems[100] != "4900 more problems" {
		t.Errorf("%d problems, the last is %q", len(problems), problems[len(problems)-1])
	}
}

// A line that is not an event may hold anything: nothing of it may reach a
// terminal.
func TestReaderQuotesNoForeignContent(t *testing.T) {
	const secret = "hunter2"
	for _, line := range []string{
		`{"v":1,"seq":2,"type":"context.mark","request":"` + secret + `"}`,
		`{"v":1,"seq":2,"` + secret, secret,
		`{"v":1,"seq":2,"type":"context.budgeted","categories":{"` + secret + `":1}}`,
		`{"v":1,"seq":2,"type":"context.budgeted","ledger":{"hash":"` + secret + `"}}`,
	} {
		_, problems, err := readAll(first + line + "\n")
		if err != nil || len(problems) != 1 || strings.Contains(problems[0], secret) {
			t.Errorf("%s: problems %q, error %v", line, problems, err)
		}
	}
}

func TestSniff(t *testing.T) {
	for text, want := range map[string]bool{
		first: true, "\n" + first: true, "": false, `{"version":1}`: false, `{"v":1}`: false,
		`{"v":1,"text":"` + strings.Repeat("x", 100) + `,"seq":"}`: false,
	} {
		if got := trace.Sniff([]byte(text)); got != want {
			t.Errorf("Sniff(%.40q) is %v", text, got)
		}
	}
}

// countingWriter notes each call and fails after a number of them, writing
// half of what it gets then.
type countingWriter struct {
	bytes.Buffer
	calls, good int
}

func (w *countingWriter) Write(p []byte) (int, error) {
	if w.calls++; w.calls > w.good {
		n, _ := w.Buffer.Write(p[:len(p)/2])
		return n, io.ErrShortWrite
	}
	return w.Buffer.Write(p)
}

func TestWriterTearsOnlyTheLastLine(t *testing.T) {
	out := &countingWriter{good: 2}
	w := trace.NewWriter(out, nil)
	mark := &trace.ContextMark{Request: 1, Kind: "compaction"}
	for i := range 5 {
		err := w.Emit(mark)
		if (err != nil) != (i >= 2) || (err != nil && !errors.Is(err, io.ErrShortWrite)) {
			t.Fatalf("event %d: error %v", i+1, err)
		}
	}
	if out.calls != 3 {
		t.Errorf("%d calls of Write for 2 events and a failed one: nothing may follow a torn line", out.calls)
	}
	events, problems, err := readAll(out.String())
	if err != nil || len(events) != 2 || len(problems) != 1 || !strings.Contains(problems[0], "torn") {
		t.Errorf("%d events, problems %q, error %v", len(events), problems, err)
	}
}

func TestWriterRefusesTheImpossible(t *testing.T) {
	var out bytes.Buffer
	w := trace.NewWriter(&out, nil)
	var list trace.List
	nan := 0.0
	nan /= nan
	for _, p := range []trace.Payload{
		nil,
		&trace.ContextMark{Kind: "compaction"},
		&trace.ContextBudgeted{Request: 1, Attempt: 1, Categories: budget.Breakdown{5}, Estimate: model.Estimate{Tokens: 6}},
		&trace.RequestCompleted{Request: 1, Attempt: 1, CostUSD: &nan},
		&trace.RequestCompleted{Request: 1, Attempt: 1, Usage: &trace.Usage{InputTokens: -1}},
		&trace.RunCompleted{Requests: 1 << 50},
	} {
		if err := w.Emit(p); err == nil {
			t.Errorf("%#v was written", p)
		}
		if err := list.Emit(p); err == nil {
			t.Errorf("%#v was kept", p)
		}
	}
	if err := w.Emit(&trace.ContextMark{Request: 1}); err != nil {
		t.Fatal(err)
	}
	if events, _, _ := readAll(out.String()); len(events) != 1 || events[0].Seq != 1 {
		t.Errorf("refused events left a gap: %+v", events)
	}
}

// F-SEC-12: a trace file is its owner's alone, never overwrites, and cannot
// leave its folder.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside.jsonl")
	if err := os.Symlink(outside, filepath.Join(dir, "link.jsonl")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	w, file, err := trace.Create(root, "run.jsonl", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Emit(&trace.ContextMark{Request: 1}); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "run.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
	for _, name := range []string{"run.jsonl", "link.jsonl", "../up.jsonl"} {
		if _, _, err := trace.Create(root, name, nil); err == nil {
			t.Errorf("%s was created", name)
		}
	}
	if _, err := os.Stat(outside); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a link led out of the folder: %v", err)
	}
}

func FuzzReader(f *testing.F) {
	var all bytes.Buffer
	w := trace.NewWriter(&all, steadyClock())
	for _, p := range oneOfEach() {
		if err := w.Emit(p); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(all.Bytes())
	f.Add([]byte(first + second[:20]))
	f.Add([]byte(`{"v":2,"seq":1,"type":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := trace.NewReader(bytes.NewReader(data))
		var ledger trace.Ledger
		for e, err := range r.Events() {
			if err != nil {
				break
			}
			if b, ok := e.Payload.(*trace.ContextBudgeted); ok {
				_ = ledger.Apply(b)
				n := 0
				for range ledger.Lines() {
					n++
				}
				if n != ledger.Len() {
					t.Fatalf("the ledger says %d lines and yields %d", ledger.Len(), n)
				}
			}
			line, err := e.AppendJSON(nil)
			if err != nil {
				t.Fatalf("an event that was read cannot be written: %v", err)
			}
			again, err := trace.ParseEvent(line)
			if err != nil {
				t.Fatalf("an event that was written cannot be read: %v\n%s", err, line)
			}
			if !reflect.DeepEqual(e, again) {
				t.Fatalf("read again (-first +second):\n%s", cmp.Diff(e, again))
			}
		}
		if len(r.Problems()) > 101 {
			t.Fatalf("%d problems", len(r.Problems()))
		}
	})
}
