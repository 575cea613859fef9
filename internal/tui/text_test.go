package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/contextwindow"
)

const sampleMarkdown = "# Title\n\nA paragraph with **bold**, *italic*, `code`, [a link](https://example.org) and\nsoft ends.  \nA hard end.\n\n" +
	"1. first\n2. second with 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字\n   - nested\n   - again\n\n> a quote\n> goes on\n\n```go\nfunc main() {\n\tprintln(\"a line of code that is far too long for the screen\")\n}\n```\n\n" +
	"| name | tokens |\n|---|---|\n| a | 1 |\n| 漢字 | 22 |\n\n---\n\n<b>html</b> &amp; \\*escaped\\* &#27;[31m\n\n- loose\n\n- list\n"

func TestMarkdown(t *testing.T) {
	for _, width := range []int{30, 60} {
		golden(t, "markdown.txtar", fmt.Sprint("width-", width), strings.Join(markdown(theme{}, sampleMarkdown, width), "\n"))
	}
}

// Whatever is in it, markdown keeps to its width and commands no terminal.
func FuzzMarkdown(f *testing.F) {
	f.Add(sampleMarkdown, 30)
	f.Add("- - - - a\n> > > b\n\x1b]0;x\x07[x](\x1b[2J)", 8)
	f.Fuzz(func(t *testing.T, source string, width int) {
		if len(source) > 1<<16 {
			return
		}
		width = 8 + int(uint(width)%120)
		for _, l := range markdown(theme{}, source, width) {
			if n := ansi.StringWidth(l); n > width || strings.ContainsAny(l, "\x1b\x07\n\r\u202e") {
				t.Fatalf("%d columns of %d: %q", n, width, l)
			}
		}
	})
}

// Foreign text cannot command the terminal (F-SEC).
func TestSafeText(t *testing.T) {
	for in, want := range map[string]string{
		"plain 漢字 👩‍👩‍👧":     "plain 漢字 👩‍👩‍👧",
		"\x1b[31mred\x1b[0m": "�[31mred�[0m",
		"a\u202eb\u2066c":    "a�b�c",
		"a\tb\nc\r\nd\re":    "a b c d�e",
		"\u0301x":            "�x",
		"\xff\x00":           "��",
		"a\u009b1Ab":         "a�1Ab",
	} {
		if got := cleanLine(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := cleanLines("a\tb\r\nc\n\n"); len(got) != 2 || got[0] != "a    b" || got[1] != "c" {
		t.Errorf("%q", got)
	}
}

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two three", 7, "one two|three"},
		{"one  two", 20, "one  two"},
		{"abcdefghij", 4, "abcd|efgh|ij"},
		{"漢字漢字", 5, "漢字|漢字"},
		{"ab漢字", 4, "ab漢|字"},
		{"    indented", 20, "    indented"},
		{"a 👩‍👩‍👧‍👦 b", 3, "a|👩‍👩‍👧‍👦|b"},
		{"", 5, ""},
		{"x", 0, "x"},
	} {
		var got []string
		for _, line := range wrap([]span{plain(test.text)}, test.width) {
			got = append(got, theme{}.spans(line))
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%q in %d: %q, want %q", test.text, test.width, strings.Join(got, "|"), test.want)
		}
	}
}

// The meter gives every category a cell, and the cells sum to the bar.
func TestDivide(t *testing.T) {
	for _, test := range []struct {
		weights []int
		n       int
		want    string
	}{
		{[]int{50, 50}, 10, "[5 5]"}, {[]int{1, 999}, 10, "[1 9]"}, {[]int{0, 5}, 3, "[0 3]"}, {[]int{0, 0}, 3, "[0 0]"}, {[]int{1, 1, 1}, 2, "[1 0 1]"},
		{[]int{1, 1, 1, 997}, 8, "[1 1 1 5]"}, {[]int{3}, 0, "[0]"},
	} {
		if got := fmt.Sprint(divide(test.weights, test.n)); got != test.want {
			t.Errorf("%v in %d: %s, want %s", test.weights, test.n, got, test.want)
		}
	}
}

// Without colour every category has a letter of its own.
func TestLettersDiffer(t *testing.T) {
	seen := map[string]budget.Category{}
	for _, c := range budget.Categories() {
		if other, ok := seen[letter(c)]; ok || letter(c) == "?" {
			t.Errorf("%s and %s share %q", c, other, letter(c))
		}
		seen[letter(c)] = c
	}
}

// F-NAT-05: the page tells an opaque item from a text that can be inspected;
// F-MAN-01: model, window, categories, retained messages, provenance.
func TestContextPage(t *testing.T) {
	w := sampleWindow()
	page := func() string {
		return strings.Join(contextPage{fit: w.Fit, window: w}.draw(theme{}, 100), "\n")
	}
	for _, want := range []string{"sample-1", "200,000 tokens (catalog)", "mode compact", "tool results", "14 messages", w.Fit.Checkpoint.ID, "generation 2",
		"extractive", "inspectable", "messages 1 to 48", "nothing: the request fits", "free", "reserve", "give or take 1,150"} {
		if !strings.Contains(page(), want) {
			t.Errorf("no %q in\n%s", want, page())
		}
	}
	w.Fit.Checkpoint.Strategy, w.Fit.Checkpoint.Method, w.Fit.Checkpoint.Summary = checkpoint.ProviderNative, checkpoint.MethodNative, ""
	w.Fit.Checkpoint.Provider, w.Fit.Checkpoint.ModelID = "sample", "sample-1"
	if got := page(); !strings.Contains(got, "opaque: nobody but sample can read it, made by sample/sample-1") || strings.Contains(got, "inspectable") {
		t.Errorf("an opaque item is shown as\n%s", got)
	}
	w.Fit.Checkpoint = nil
	w.Fit.Breakdown[budget.ToolResults] += 200_000
	w.Fit.Estimate.Tokens = w.Fit.Breakdown.Total()
	if got := page(); !strings.Contains(got, "No checkpoint") || !strings.Contains(got, "! over the budget") {
		t.Errorf("over the budget, without a checkpoint:\n%s", got)
	}
	s := newState(theme{})
	s.fit = w.Fit
	if got := s.meterBar(80); !strings.Contains(got, "OVER") {
		t.Errorf("the meter does not say that it is over: %s", got)
	}
}

// F-MAN-02: the dry run shows what stays, what a stand-in, what is summarized,
// what is pinned, and tokens and money before and after.
func TestPlanPage(t *testing.T) {
	p := sampleProposal()
	page := func() string { return strings.Join(planPage{*p}.draw(theme{}, 100), "\n") }
	for _, want := range []string{"holds 54,460 tokens and would hold 23,570", "= kept", "~ projected", "- summarized", "2–47", "31,900 → 0", "Never touch the folder vendor.",
		"$0.0162 now, and for $0.0071 after", "$0.0412 once and has paid for itself after 5 requests", "no model was asked"} {
		if !strings.Contains(page(), want) {
			t.Errorf("no %q in\n%s", want, page())
		}
	}
	p.BeforeUSD, p.Plan.Checkpoint.Pins = nil, nil
	if got := page(); !strings.Contains(got, "prices of this model are not known") || !strings.Contains(got, "It quotes no statement") {
		t.Errorf("without prices and pins:\n%s", got)
	}
}

// The window that is drawn is never larger or smaller than the bar.
func TestWindowBarFillsItsRoom(t *testing.T) {
	f := &contextwindow.Fit{}
	for _, n := range []int{1, 7, 40} {
		if got := cells(theme{}.windowBar(f, n)); got != 0 {
			t.Errorf("an empty window has %d cells", got)
		}
		if got := cells(theme{}.windowBar(sampleFit(1, 30_000), n)); got != n {
			t.Errorf("%d cells of %d", got, n)
		}
	}
}
