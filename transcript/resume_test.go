package transcript_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// grow draws a conversation with calls that wait, are answered late, and are
// used again.
func grow(t *rapid.T) []message.Message {
	var tr transcript.Transcript
	var out []message.Message
	for i := range rapid.IntRange(1, 24).Draw(t, "messages") {
		id := fmt.Sprint("m", i)
		m := user(id, fmt.Sprint("text ", i))
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			m = assistant(id, message.Text{Text: "ok"}, call(fmt.Sprint("c", rapid.IntRange(0, 3).Draw(t, "call"))))
		case 1:
			if p := tr.Pending(); len(p) > 0 {
				m = results(id, p[rapid.IntRange(0, len(p)-1).Draw(t, "answer")].ID)
			}
		case 2:
			m.Origin = message.OriginInjected
		}
		if tr.Append(m) == nil {
			out = append(out, m)
		}
	}
	return out
}

// A transcript that goes on behind a prefix says the same as the whole one
// about everything that it holds, and takes and refuses the same messages. Its
// prefixes are those of the whole.
func TestResumeEqualsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := grow(t)
		if len(ms) == 0 {
			return
		}
		var whole transcript.Transcript
		for _, m := range ms {
			if err := whole.Append(m); err != nil {
				t.Fatal(err)
			}
		}
		base := rapid.IntRange(0, len(ms)).Draw(t, "base")
		part, err := transcript.Resume(whole.PrefixAt(base))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ms[base:] {
			if err := part.Append(m); err != nil {
				t.Fatalf("the whole took %s, the part does not: %v", m.ID, err)
			}
		}
		if part.Len() != whole.Len() || part.Base() != base {
			t.Fatalf("%d messages from %d on, want %d from %d", part.Len(), part.Base(), whole.Len(), base)
		}
		for from := base; from <= whole.Len(); from++ {
			if part.RangeHash(0, from) != whole.RangeHash(0, from) || part.RangeHash(from, whole.Len()) != whole.RangeHash(from, whole.Len()) {
				t.Fatalf("hashes differ at %d", from)
			}
		}
		if diff := cmp.Diff(whole.Pending(), part.Pending()); diff != "" {
			t.Fatal(diff)
		}
		turns := slices.DeleteFunc(slices.Collect(whole.Turns()), func(x transcript.Turn) bool { return x.Start < base })
		if diff := cmp.Diff(turns, slices.Collect(part.Turns()), cmp.Transformer("empty", func(x []transcript.Turn) []transcript.Turn { return append([]transcript.Turn{}, x...) })); diff != "" && len(turns)+part.TurnCount() > 0 {
			t.Fatal(diff)
		}
		cut := rapid.IntRange(base, whole.Len()).Draw(t, "cut")
		if diff := cmp.Diff(whole.PrefixAt(cut), part.PrefixAt(cut)); diff != "" {
			t.Fatalf("prefix at %d (-whole +part):\n%s", cut, diff)
		}
		next := []message.Message{user("new", "x"), assistant("new", call("c0")), assistant("new", call("c1")), results("new", "c0"), results("new", "c2"), results("new", "nobody")}
		m := next[rapid.IntRange(0, len(next)-1).Draw(t, "next")]
		a, b := whole.Append(m), part.Append(m)
		if (a == nil) != (b == nil) {
			t.Fatalf("the whole says %v, the part %v", a, b)
		}
	})
}

// F-CKP-04: what is not held is not guessed.
func TestResumeKnowsNothingBeforeItsBase(t *testing.T) {
	whole := build(t, user("a", "1"), user("b", "2"), user("c", "3"), assistant("d", call("x")))
	part, err := transcript.Resume(whole.PrefixAt(4))
	if err != nil {
		t.Fatal(err)
	}
	if part.RangeHash(0, 2) != (message.Hash{}) || part.RangeHash(1, 4) != (message.Hash{}) || part.RangeHash(0, 4) != whole.RangeHash(0, 4) {
		t.Error("the hash of a range that is not held is not the zero hash")
	}
	if part.ID(0) != "a" || part.ID(1) != "" || part.ID(3) != "d" {
		t.Errorf("ids %q %q %q", part.ID(0), part.ID(1), part.ID(3))
	}
	if err := part.Append(results("r", "x")); err != nil {
		t.Fatal(err)
	}
	if ref, ok := part.Call(transcript.Ref{Message: 4}); ok {
		t.Errorf("Call names %v, which is not held", ref)
	}
	for range part.From(0) {
		break
	}
	for i := range part.All() {
		if i < 4 {
			t.Errorf("All yields message %d", i)
		}
	}
}

func TestResumeRefuses(t *testing.T) {
	h := build(t, user("a", "1")).RangeHash(0, 1)
	for name, p := range map[string]transcript.Prefix{
		"negative":      {Messages: -1},
		"no hash":       {Messages: 1, FirstID: "a", LastID: "a"},
		"no ids":        {Messages: 1, Hash: h},
		"hash of none":  {Hash: h},
		"call beyond":   {Messages: 1, Hash: h, FirstID: "a", LastID: "a", Pending: []transcript.PendingCall{{Ref: transcript.Ref{Message: 1}, Call: message.ToolCall{ID: "c"}}}},
		"nameless call": {Messages: 1, Hash: h, FirstID: "a", LastID: "a", Pending: []transcript.PendingCall{{}}},
	} {
		if _, err := transcript.Resume(p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	twice := transcript.Prefix{Messages: 1, Hash: h, FirstID: "a", LastID: "a", Pending: []transcript.PendingCall{
		{Call: message.ToolCall{ID: "c"}}, {Ref: transcript.Ref{Block: 1}, Call: message.ToolCall{ID: "c"}}}}
	if _, err := transcript.Resume(twice); !errors.Is(err, transcript.ErrDuplicateCall) {
		t.Errorf("two pending calls with one id: %v", err)
	}
	if tr, err := transcript.Resume(transcript.Prefix{}); err != nil || tr.Append(user("a", "1")) != nil || tr.RangeHash(0, 1) != h {
		t.Errorf("the zero prefix is not an empty transcript: %v", err)
	}
}
