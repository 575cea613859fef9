package compaction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forge-agent/forge/compaction"
)

// "Must reach" 2, resolution C20: what the user says again and again with other
// names goes before what was said once, whichever kind of name changes.
func TestRoutineGoesFirst(t *testing.T) {
	for name, request := range map[string]func(i int) string{
		"paths":       func(i int) string { return fmt.Sprintf("give src/part%d/main.go at most forty lines", i) },
		"identifiers": func(i int) string { return fmt.Sprintf("give Part%cHandler at most forty lines", 'A'+i) },
		"plain words": func(i int) string {
			return "give " + []string{"amber", "birch", "cedar", "delta"}[i%4] + strings.Repeat("er", i/4) + " at most forty lines"
		},
		"Chinese": func(i int) string { return fmt.Sprintf("给 part%d 最多四十行", i) },
	} {
		b := newBuilder(t)
		for i := range 20 {
			b.user(request(i))
			if i == 7 {
				b.user("The ledger_total column belongs to the auditors of the bank.")
			}
			b.padding()
		}
		p := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 200})
		if !strings.Contains(p.Text, "ledger_total") {
			t.Errorf("%s: what was said once is left out:\n%s", name, p.Text)
		}
	}
}

// One message with many statements leaves room for the others.
func TestOneMessageDoesNotFillTheCheckpoint(t *testing.T) {
	b := newBuilder(t)
	var long strings.Builder
	words := strings.Fields("order parcel refund voucher stamp invoice receipt ticket coupon")
	for i := range 60 {
		fmt.Fprintf(&long, "- The %s page of form%d must show the %s.\n", words[i%7], i, words[i/7])
	}
	b.user(long.String())
	for i := range 6 {
		b.user(fmt.Sprintf("service_%d talks to the bank over the old line.", i))
		b.padding()
	}
	p := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 320})
	for i := range 6 {
		if want := fmt.Sprintf("service_%d", i); !strings.Contains(p.Text, want) {
			t.Errorf("%s is left out:\n%s", want, p.Text)
		}
	}
}

// A polite question that asks for no piece of work is taken for a request that
// lasts, and goes before what is said about things.
func TestPoliteRequestsGoBeforeTalk(t *testing.T) {
	b := newBuilder(t)
	for i := range 30 {
		b.user(fmt.Sprintf("the %s_%d page weighs a lot and comes from the old line", strings.Repeat("x", 1+i%5), i))
		b.padding()
	}
	b.user("could you swear off ledger_total in the reports?")
	b.padding()
	b.padding()
	b.user("ok")
	b.user("go on")
	p := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 200})
	if !strings.Contains(p.Text, "ledger_total") {
		t.Errorf("the request is left out:\n%s", p.Text)
	}
}

// Texts of earlier versions, with a bullet before each line, are still read.
func TestBulletedTextsAreRead(t *testing.T) {
	text := "Memory of messages #0 to #9 of this session.\nWhat the user stated:\n- (replaced by #4) Use port 8080. #0\nFiles, by tool calls:\n- read a.go #3\n"
	want := []compaction.Line{{Heading: "What the user stated", Text: "Use port 8080.", Message: 0, ReplacedBy: 4},
		{Heading: "Files, by tool calls", Text: "read a.go", Message: 3, ReplacedBy: -1}}
	for name, text := range map[string]string{"bulleted": text, "bare": strings.ReplaceAll(text, "\n- ", "\n")} {
		lines, err := compaction.Lines(text)
		if err != nil || len(lines) != 2 || lines[0] != want[0] || lines[1] != want[1] {
			t.Errorf("%s: %+v, %v", name, lines, err)
		}
	}
	if _, err := compaction.Lines("frame\nApprovals:\nall of them\n"); err == nil {
		t.Error("a line without a reference was read")
	}
}
