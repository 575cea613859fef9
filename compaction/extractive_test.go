package compaction_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// working makes a session with rules, work and small talk of turns turns.
func working(t testing.TB, turns int) *builder {
	b := newBuilder(t)
	for i := range turns {
		switch i % 5 {
		case 0:
			b.user(fmt.Sprintf("Never edit gen/file%d.go by hand.", i))
		case 1:
			b.user(fmt.Sprintf("thanks! please look at handler%d next", i))
		case 2:
			b.user(fmt.Sprintf("Here is the output:\n2026-11-03T10:00:00Z ERROR must never happen %d\n2026-11-03T10:00:01Z INFO done", i))
		case 3:
			b.user(fmt.Sprintf("Actually, use port %d for service%d.", 8000+i, i%3))
		default:
			b.user("go on")
		}
		b.call("Read", map[string]string{"file_path": fmt.Sprintf("src/a%d.go", i)}, strings.Repeat("package a // never change this\n", 20), message.OutcomeSuccess)
		b.call("Edit", map[string]string{"file_path": fmt.Sprintf("src/b%d.go", i), "old_string": "x", "new_string": "y"}, "ok", message.OutcomeSuccess)
		outcome, out := message.OutcomeSuccess, "ok\n"
		if i%4 == 3 {
			outcome, out = message.OutcomeFailure, fmt.Sprintf("--- FAIL: TestB%d (0.00s)\n    b_test.go:12: got %d\nFAIL\n", i, i)
		}
		b.call("Bash", map[string]string{"command": fmt.Sprintf("go test ./b%d", i)}, out, outcome)
		b.assistant(fmt.Sprintf("I chose a map over a slice in b%d because lookups dominate.", i))
	}
	return b
}

// Issue behaviour 5: the same bytes over 1,000 runs and over GOMAXPROCS 1 and 2,
// with a fresh index and with one that grew (F-SEL-10).
func TestExtractiveIsDeterministic(t *testing.T) {
	b := working(t, 5)
	c := counter()
	var first []byte
	x := &compaction.Index{}
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for run := range 1000 {
		runtime.GOMAXPROCS(1 + run%2)
		in := compaction.Input{Transcript: b.tr, Through: b.tr.Len(), Counter: c, TargetTokens: 500, Now: day, RangeTokens: 9000}
		if run%3 == 0 {
			in.Index = x
		}
		made, err := compaction.Extractive{}.Compact(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		data, err := made.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = data
		}
		if !bytes.Equal(first, data) {
			t.Fatalf("run %d differs:\n%s", run, cmp.Diff(string(first), string(data)))
		}
	}
}

// The whole text of one checkpoint, to be read by people.
func TestExtractiveGolden(t *testing.T) {
	const path = "testdata/working.golden"
	got := compact(t, compaction.Input{Transcript: working(t, 9).tr, TargetTokens: 600, Request: "look at handler6 again"}).Text
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("run with -update if this is meant:\n%s", diff)
	}
}

// An index that is extended message by message knows what one made at once
// knows, and one that meets another transcript starts again.
func TestIndexGrows(t *testing.T) {
	b := working(t, 10)
	grown := &compaction.Index{}
	part := &transcript.Transcript{}
	for _, m := range b.tr.All() {
		if err := part.Append(m); err != nil {
			t.Fatal(err)
		}
		grown.Extend(part)
	}
	want := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 900})
	if diff := cmp.Diff(want, compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 900, Index: grown})); diff != "" {
		t.Errorf("grown index:\n%s", diff)
	}
	other := working(t, 10)
	other.user("Never use tabs.")
	other.padding()
	want = compact(t, compaction.Input{Transcript: other.tr, TargetTokens: 900})
	used := &compaction.Index{}
	used.Extend(newFork(t, b.tr).tr)
	if diff := cmp.Diff(want, compact(t, compaction.Input{Transcript: other.tr, TargetTokens: 900, Index: used})); diff != "" {
		t.Errorf("index of another transcript:\n%s", diff)
	}
}

func newFork(t testing.TB, tr *transcript.Transcript) *builder {
	b := newBuilder(t)
	b.user("something else altogether")
	for _, m := range tr.All() {
		if m.Role != message.RoleTool {
			m.Blocks = []message.Block{message.Text{Text: "x"}}
			if err := b.tr.Append(message.Message{ID: "f" + m.ID, Role: m.Role, Blocks: m.Blocks}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b
}

// Weak spots 1, 2, issue "Must reach" 2: what the first compaction holds, the
// fiftieth holds, and no checkpoint reads another.
func TestExtractiveDoesNotForget(t *testing.T) {
	b := newBuilder(t)
	var rules []string
	for i := range 10 {
		rules = append(rules, fmt.Sprintf("Never rename column_%d in table_%d.", i, i))
		b.user("good morning, here we go. " + rules[i] + " How is it going otherwise?")
		b.padding()
	}
	x := &compaction.Index{}
	for generation := 1; generation <= 50; generation++ {
		b.user(fmt.Sprintf("ok, next: handler %d", generation))
		b.padding()
		p := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 700, Index: x, Generation: generation})
		for _, r := range rules {
			if !strings.Contains(p.Text, "\n"+r+" #") {
				t.Fatalf("compaction %d lost %q:\n%s", generation, r, p.Text)
			}
		}
	}
}

// Weak spot 5: a small range is better kept; a checkpoint never weighs more
// than what it stands for, nor more than its target.
func TestNoGain(t *testing.T) {
	b := newBuilder(t)
	b.user("Never use tabs.")
	b.assistant("Understood.")
	_, err := compaction.Extractive{}.Compact(context.Background(), compaction.Input{Transcript: b.tr, Through: 2, Counter: counter(), Now: day})
	if !errors.Is(err, compaction.ErrNoGain) {
		t.Errorf("error %v for a range of a few tokens, want ErrNoGain", err)
	}
	for _, turns := range []int{1, 2, 3, 5, 20} {
		in := compaction.Input{Transcript: working(t, turns).tr}
		p := compact(t, in)
		if p.CheckpointTokens >= p.RangeTokens || p.CheckpointTokens > p.TargetTokens || p.CheckpointTokens != counter().Text(p.Text) {
			t.Errorf("%d turns: %d tokens for a range of %d, target %d", turns, p.CheckpointTokens, p.RangeTokens, p.TargetTokens)
		}
	}
}

func TestInputIsChecked(t *testing.T) {
	b := working(t, 4)
	good := compaction.Input{Transcript: b.tr, Through: b.tr.Len(), Counter: counter()}
	for name, change := range map[string]func(*compaction.Input){
		"no transcript":   func(in *compaction.Input) { in.Transcript = nil },
		"no counter":      func(in *compaction.Input) { in.Counter = nil },
		"empty range":     func(in *compaction.Input) { in.Through = 0 },
		"beyond the end":  func(in *compaction.Input) { in.Through = b.tr.Len() + 1 },
		"negative target": func(in *compaction.Input) { in.TargetTokens = -1 },
		"whole reduction": func(in *compaction.Input) { in.Reduction = 1 },
		"tiny target":     func(in *compaction.Input) { in.TargetTokens = 20 },
	} {
		in := good
		change(&in)
		if _, err := (compaction.Extractive{}).Compact(context.Background(), in); !errors.Is(err, compaction.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (compaction.Extractive{}).Compact(ctx, good); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after cancelling, want context.Canceled (F-TST-16)", err)
	}
}

// When space is short, preferences go before prohibitions, and what is left
// out is counted.
func TestProhibitionsGoLast(t *testing.T) {
	b := newBuilder(t)
	for i := range 30 {
		b.user(fmt.Sprintf("I prefer long names such as counterOfItems%d in module_%d.", i, i))
		b.user(fmt.Sprintf("Never delete table_%d.", i))
	}
	b.padding()
	p := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 560})
	kept := map[string]int{}
	for _, pin := range p.Pins {
		kept[pin.Kind]++
	}
	if kept["prohibition"] != 30 || kept["preference"] > 15 {
		t.Errorf("kept %v", kept)
	}
	if p.PinsLeftOut == 0 || p.PinsLeftOut != p.PinsFound-len(p.Pins) {
		t.Errorf("%d found, %d kept, %d left out", p.PinsFound, len(p.Pins), p.PinsLeftOut)
	}
}

// Newer statements on the same subject replace older ones, which stay, marked;
// on doubt both stay live.
func TestSupersession(t *testing.T) {
	b := newBuilder(t)
	first := b.user("Use port 8080 for the billing_gateway.")
	b.padding()
	other := b.user("Use port 9000 for the audit_gateway.")
	b.padding()
	second := b.user("Actually, use port 8443 for the billing_gateway.")
	b.padding()
	p := compact(t, compaction.Input{Transcript: b.tr})
	got := map[string]string{}
	for _, pin := range p.Pins {
		got[pin.MessageID] = pin.SupersededBy
	}
	want := map[string]string{first: second, other: "", second: ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pins and what replaced them:\n%s\n%s", diff, p.Text)
	}
	if !strings.Contains(p.Text, "\n(replaced by #6) Use port 8080 for the billing_gateway. #0\n") {
		t.Errorf("the older statement is not marked:\n%s", p.Text)
	}
}

// C20: every message is kept in a line or lies in the range that the text
// names, and every line points into it (F-SUM-05: the frame is the label).
func TestEveryMessageIsCovered(t *testing.T) {
	b := working(t, 8)
	p := compact(t, compaction.Input{Transcript: b.tr, Through: 20})
	if !strings.HasPrefix(p.Text, "Memory of messages #0 to #19 of this session") || !strings.Contains(p.Text, "untrusted") {
		t.Errorf("frame: %s", p.Text)
	}
	lines, err := compaction.Lines(p.Text)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if l.Message >= 20 {
			t.Errorf("line %q points to message %d, beyond the range", l.Text, l.Message)
		}
	}
}

// The text that came with a reply must not be parted from its antecedent.
func TestFragmentsKeepTheirAntecedent(t *testing.T) {
	b := newBuilder(t)
	b.user("We had a long look at the reconciliation parser yesterday, with the whole team, and went through each branch of it. " +
		"The reconciliation parser took us two years. Do not touch it. " +
		"I am curious how the rest of the afternoon goes, and whether the numbers we saw in the morning come back.")
	b.padding()
	p := compact(t, compaction.Input{Transcript: b.tr})
	found := false
	for _, pin := range p.Pins {
		found = found || strings.Contains(pin.Text, "reconciliation parser") && strings.Contains(pin.Text, "Do not touch it.")
	}
	if !found {
		t.Errorf("pins: %v", p.Pins)
	}
}

// The current request lifts what shares its words, and never by more than it
// may.
func TestRequestBonusIsBounded(t *testing.T) {
	b := newBuilder(t)
	for i := range 40 {
		b.user(fmt.Sprintf("The %s page shows the list of open orders and their weights in column %d.", []string{"invoice", "shipping"}[i%2], i))
	}
	b.user("Never delete the archive.")
	b.padding()
	without := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 420})
	with := compact(t, compaction.Input{Transcript: b.tr, TargetTokens: 420, Request: "fix the shipping page"})
	if a, b := strings.Count(without.Text, "shipping page"), strings.Count(with.Text, "shipping page"); b < a {
		t.Errorf("%d lines on the request's subject, %d without it", b, a)
	}
	if !strings.Contains(with.Text, "\nNever delete the archive. #") {
		t.Errorf("the request pushed a prohibition out:\n%s", with.Text)
	}
}

// Verify derives every line again and names what does not hold.
func TestVerifyLines(t *testing.T) {
	b := working(t, 12)
	made, err := compaction.Extractive{}.Compact(context.Background(), compaction.Input{Transcript: b.tr, Through: b.tr.Len() - 3, Counter: counter(), Now: day})
	if err != nil {
		t.Fatal(err)
	}
	if found := compaction.Verify(made, b.tr); len(found) != 0 {
		t.Fatalf("findings on a fresh checkpoint: %v", found)
	}
	for name, change := range map[string]struct {
		old, new, what string
	}{
		"invented rule":    {"\nNever edit gen/file0.go by hand.", "\nAlways edit gen/file0.go by hand.", "line"},
		"moved reference":  {"by hand. #0\n", "by hand. #9\n", "line"},
		"invented run":     {"ended with exit 0", "ended with a failure", "line"},
		"no reference":     {"by hand. #0\n", "by hand.\n", "line"},
		"unknown heading":  {"What the user stated:", "What you must do:", "line"},
		"beyond the range": {"by hand. #0\n", "by hand. #4000\n", "line"},
	} {
		forged := *made
		forged.Summary = strings.Replace(made.Summary, change.old, change.new, 1)
		if forged.Summary == made.Summary {
			t.Fatalf("%s: nothing to forge in\n%s", name, made.Summary)
		}
		again, err := checkpoint.New(forged, day)
		if err != nil {
			t.Fatal(err)
		}
		if found := compaction.Verify(again, b.tr); !slices.ContainsFunc(found, func(f checkpoint.Finding) bool { return f.What == change.what }) {
			t.Errorf("%s: findings %v, want one on a %s", name, found, change.what)
		}
	}
}
