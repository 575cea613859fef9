package activeview_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// F-SEL-10, F-TST-17: over a transcript that holds only what follows a
// checkpoint, the view with that checkpoint is the same as over the whole one:
// messages, totals, mandatory part; later changes do the same to both.
func TestResumedTranscriptGivesTheSameView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole transcript.Transcript
		for n := range rapid.IntRange(2, 14).Draw(t, "steps") {
			for _, m := range genStep(t, n) {
				if m.Role != message.RoleSystem { // those stay in the window, wherever they stand
					appendOne(t, &whole, m)
				}
			}
		}
		appendOne(t, &whole, text("answer", message.RoleAssistant, "done"))
		base := rapid.IntRange(1, whole.Len()).Draw(t, "base")
		if base < whole.Len() && whole.At(base).Role == message.RoleTool {
			base++ // never between a call and its result
		}
		for base < whole.Len() && whole.At(base).Authored() && whole.At(base-1).Authored() {
			base++ // nor inside a request
		}
		part, err := transcript.Resume(whole.PrefixAt(base))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range whole.From(base) {
			appendOne(t, part, m)
		}
		appendOne(t, &whole, text("next", message.RoleUser, "the next request"))
		appendOne(t, part, text("next", message.RoleUser, "the next request"))
		memory := []message.Message{{ID: "memory", Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{message.Text{Text: "before"}}}}
		var views []*activeview.View
		for _, tr := range []*transcript.Transcript{&whole, part} {
			v := activeview.New(counter())
			v.Extend(tr)
			if err := v.Install(tr, activeview.Retention{Through: base, Memory: memory}); err != nil {
				t.Fatal(err)
			}
			for i := base; i < tr.Len(); i++ {
				for b, block := range tr.At(i).Blocks {
					if block.Kind() == message.KindToolResult {
						if err := v.Project(transcript.Ref{Message: i, Block: b}, "gone", "test"); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			views = append(views, v)
		}
		a, b := views[0], views[1]
		if a.Breakdown() != b.Breakdown() || a.MandatoryTokens() != b.MandatoryTokens() || a.RetainedMessages() != b.RetainedMessages() {
			t.Fatalf("the whole weighs %v (%d mandatory, %d messages), the part %v (%d, %d)", a.Breakdown(), a.MandatoryTokens(), a.RetainedMessages(),
				b.Breakdown(), b.MandatoryTokens(), b.RetainedMessages())
		}
		if x, y := hashes(a.Messages()), hashes(b.Messages()); x != y {
			t.Fatalf("messages differ:\n%s\n%s", x, y)
		}
	})
}

func appendOne(t *rapid.T, tr *transcript.Transcript, m message.Message) {
	if err := tr.Append(m); err != nil {
		t.Fatal(err)
	}
}

func hashes(ms []message.Message) string {
	out := ""
	for _, m := range ms {
		out += fmt.Sprintf("%s %.8s\n", m.ID, m.Hash())
	}
	return out
}

// Before the base nothing can be retained, kept or cleared.
func TestResumedTranscriptRefusesWhatItDoesNotHold(t *testing.T) {
	var whole transcript.Transcript
	appendAll(t, &whole, text("u", message.RoleUser, "x"), text("a", message.RoleAssistant, "y"), text("u2", message.RoleUser, "z"))
	part, err := transcript.Resume(whole.PrefixAt(2))
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, part, whole.At(2))
	v := activeview.New(counter())
	v.Extend(part)
	if !v.Hidden(0) || v.EntryTokens(1) != 0 || v.Hidden(2) {
		t.Error("what is not held is in the window")
	}
	if err := v.Install(part, activeview.Retention{Through: 2, Users: []activeview.RetainedUser{{Index: 0}}}); err == nil {
		t.Error("a message that is not held was retained")
	}
	if err := v.Project(transcript.Ref{Message: 1}, "x", "y"); err == nil {
		t.Error("a result that is not held was cleared")
	}
}
