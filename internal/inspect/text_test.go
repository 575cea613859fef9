package inspect_test

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/internal/inspect"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/trace"
)

const textComment = `F-EVT-04: the budget table and the error of the estimate, as text; P-ROW-05: marks stand where they happened.`

func written(t testing.TB, write func(io.Writer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// F-EVT-04, P-ROW-05
func TestText(t *testing.T) {
	r := fixture(t)
	for _, width := range []int{60, 100} {
		s := inspect.Style{Width: width}
		parts := map[string]func(io.Writer) error{
			"overview": func(w io.Writer) error { return r.WriteText(w, s, inspect.TextOptions{}) },
			"short":    func(w io.Writer) error { return r.WriteText(w, s, inspect.TextOptions{Rows: 6}) },
			"context":  func(w io.Writer) error { return r.WriteContext(w, r.Last(), s) },
			"peak":     func(w io.Writer) error { return r.WriteContext(w, r.Summary.PeakIndex, s) },
			"ledger": func(w io.Writer) error {
				return r.WriteLedger(w, r.Last(), inspect.LedgerFilter{HeaviestFirst: true, Decision: activeview.Kept}, s)
			},
			"compaction": func(w io.Writer) error { return r.WriteDiff(w, 10, 11, s) },
		}
		for _, name := range []string{"overview", "short", "context", "peak", "ledger", "compaction"} {
			t.Run(fmt.Sprintf("%s %d", name, width), func(t *testing.T) {
				golden(t, "text.txtar", fmt.Sprintf("%s-%d", name, width), textComment, written(t, parts[name]))
			})
		}
	}
}

// The same words stand in colour: colour adds nothing that is not said.
func TestColourOnlyPaints(t *testing.T) {
	r := fixture(t)
	for name, write := range map[string]func(io.Writer, inspect.Style) error{
		"context": func(w io.Writer, s inspect.Style) error { return r.WriteContext(w, 5, s) },
		"ledger":  func(w io.Writer, s inspect.Style) error { return r.WriteLedger(w, 5, inspect.LedgerFilter{}, s) },
		"diff":    func(w io.Writer, s inspect.Style) error { return r.WriteDiff(w, 5, 6, s) },
	} {
		plain := written(t, func(w io.Writer) error { return write(w, inspect.Style{}) })
		coloured := written(t, func(w io.Writer) error { return write(w, inspect.Style{Colour: true, Dark: true}) })
		if bytes.ContainsRune(plain, '\x1b') || !bytes.ContainsRune(coloured, '\x1b') {
			t.Errorf("%s: escape sequences in plain text or none in colour", name)
		}
		if got := ansi.Strip(string(coloured)); got != string(plain) {
			t.Errorf("%s in colour says\n%s\nplain:\n%s", name, got, plain)
		}
	}
	if a, b := written(t, func(w io.Writer) error { return r.WriteContext(w, 5, inspect.Style{Colour: true}) }),
		written(t, func(w io.Writer) error { return r.WriteContext(w, 5, inspect.Style{Colour: true, Dark: true}) }); bytes.Equal(a, b) {
		t.Error("the same colours on dark and light backgrounds")
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// checkText says what is wrong with written text: a line too wide, or a
// control character that a trace smuggled in.
func checkText(text string, width int) error {
	for _, line := range strings.Split(text, "\n") {
		if w := ansi.StringWidth(line); w > width {
			return fmt.Errorf("a line has %d columns of %d: %q", w, width, line)
		}
		for _, c := range sgr.ReplaceAllString(line, "") {
			if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 || c == '\u202e' || c == '\u2028' {
				return fmt.Errorf("control character %U in %q", c, line)
			}
		}
	}
	return nil
}

func hostile() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"", "検索ツール検索ツール検索ツール検索ツール", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\nb\r\n\tc", "\u202eevil\u2028",
		"</script><script>alert(1)</script>", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦 family", strings.Repeat("long", 100), "\xff\xfe", "e\u0301\u0301", "\u009b31m"}), rapid.String())
}

// arbitrary makes a run that an own trace would never hold.
func arbitrary(t *rapid.T) *inspect.Run {
	var list trace.List
	emit := func(p trace.Payload) {
		if err := list.Emit(p); err != nil {
			t.Fatal(err)
		}
	}
	some := rapid.OneOf(rapid.IntRange(0, 50), rapid.IntRange(0, 1<<20), rapid.Just(1<<40))
	text := hostile()
	emit(&trace.RunStarted{File: text.Draw(t, "file"), Format: text.Draw(t, "format"), Vocabulary: text.Draw(t, "vocabulary")})
	for i := range rapid.IntRange(1, 12).Draw(t, "requests") {
		var b budget.Breakdown
		for c := range b {
			if rapid.Bool().Draw(t, "present") {
				b[c] = rapid.IntRange(0, 1<<30).Draw(t, "tokens")
			}
		}
		p := &trace.ContextBudgeted{Request: i + 1, Attempt: 1, Model: text.Draw(t, "model"), WindowTokens: some.Draw(t, "window"), ReserveTokens: some.Draw(t, "reserve"),
			AvailableTokens: some.Draw(t, "available"), Categories: b, Estimate: model.Estimate{Tokens: b.Total(), BandTokens: some.Draw(t, "band"), Method: model.Method(text.Draw(t, "method"))},
			WindowSource: model.WindowSource(text.Draw(t, "source")), Verdict: rapid.SampledFrom([]budget.Verdict{budget.Fits, budget.Overflow, "?"}).Draw(t, "verdict")}
		for range rapid.IntRange(0, 4).Draw(t, "lines") {
			p.Ledger.Added = append(p.Ledger.Added, activeview.Line{ID: text.Draw(t, "id"), Label: text.Draw(t, "label"), Category: budget.Category(rapid.IntRange(0, 9).Draw(t, "category")),
				Tokens: some.Draw(t, "tokens"), Decision: activeview.Decision(text.Draw(t, "decision")), Reason: text.Draw(t, "reason")})
		}
		if rapid.Bool().Draw(t, "mark") {
			emit(&trace.ContextMark{Request: i + 1, Kind: text.Draw(t, "kind"), Trigger: text.Draw(t, "trigger"), TokensBefore: some.Draw(t, "before")})
		}
		emit(p)
		usd := rapid.Float64Range(0, 1e9).Draw(t, "usd")
		emit(&trace.RequestCompleted{Request: i + 1, Attempt: 1, Usage: &trace.Usage{InputTokens: some.Draw(t, "input"), CachedInputTokens: some.Draw(t, "cached")},
			Comparison: &trace.Comparison{EstimatedTokens: some.Draw(t, "estimated"), ReportedTokens: some.Draw(t, "reported")}, CostUSD: &usd})
	}
	r, err := inspect.Load(func(yield func(trace.Event, error) bool) {
		for _, e := range list.Events {
			if !yield(e, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// F-SEC-12: whatever a trace holds, text stays inside the terminal's width and
// carries no control sequence of its own. Wide characters count two.
func TestTextIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := arbitrary(t)
		s := inspect.Style{Width: rapid.IntRange(40, 200).Draw(t, "columns"), Colour: rapid.Bool().Draw(t, "colour")}
		last := r.Last()
		for name, write := range map[string]func(io.Writer) error{
			"overview": func(w io.Writer) error { return r.WriteText(w, s, inspect.TextOptions{}) },
			"context":  func(w io.Writer) error { return r.WriteContext(w, last, s) },
			"ledger":   func(w io.Writer) error { return r.WriteLedger(w, last, inspect.LedgerFilter{}, s) },
			"diff":     func(w io.Writer) error { return r.WriteDiff(w, 0, last, s) },
		} {
			var out bytes.Buffer
			if err := write(&out); err != nil {
				t.Fatal(err)
			}
			if err := checkText(out.String(), s.Width); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	})
}

// The picture keeps its shape with one request and with thousands: never
// wider than the terminal, the peak visible, marks on it.
func TestTimelineSizes(t *testing.T) {
	for _, n := range []int{1, 2, 3, 60, 700} {
		r := session(t, n).load()
		for _, width := range []int{40, 80, 200} {
			out := string(written(t, func(w io.Writer) error { return r.WriteText(w, inspect.Style{Width: width}, inspect.TextOptions{}) }))
			_, picture, _ := strings.Cut(out, "Window before each request\n\n")
			picture, _, _ = strings.Cut(picture, "\n\n")
			rows := strings.Split(picture, "\n")
			if len(rows) < 14 || !strings.ContainsAny(picture, "▁▂▃▄▅▆▇█") {
				t.Fatalf("%d requests, %d columns:\n%s", n, width, picture)
			}
			for _, row := range rows {
				if ansi.StringWidth(row) > width {
					t.Errorf("%d requests, %d columns: %q is too wide", n, width, row)
				}
			}
			if (r.Summary.Compactions > 0) != strings.Contains(picture, "▼") {
				t.Errorf("%d requests: %d compactions, and the picture:\n%s", n, r.Summary.Compactions, picture)
			}
		}
	}
}
