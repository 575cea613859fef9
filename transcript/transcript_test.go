package transcript_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

func user(id, text string) message.Message {
	return message.Message{ID: id, Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: text}}}
}

func assistant(id string, bs ...message.Block) message.Message {
	return message.Message{ID: id, Role: message.RoleAssistant, Blocks: bs}
}

func call(id string) message.Block {
	return message.ToolCall{ID: id, Name: "read_file", Arguments: "{}"}
}

func results(id string, calls ...string) message.Message {
	m := message.Message{ID: id, Role: message.RoleTool}
	for _, c := range calls {
		m.Blocks = append(m.Blocks, message.ToolResult{CallID: c, Content: []message.Block{message.Text{Text: "out " + c}}})
	}
	return m
}

func build(t *testing.T, ms ...message.Message) *transcript.Transcript {
	t.Helper()
	var out transcript.Transcript
	for _, m := range ms {
		if err := out.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	return &out
}

// F-SEC-05: a result without its call, a second result, and a second open
// call under one id are refused, and a refused message leaves no trace.
func TestAppendRefuses(t *testing.T) {
	text := message.Text{Text: "x"}
	for name, c := range map[string]struct {
		m    message.Message
		want error
	}{
		"no id":                   {user("", "x"), transcript.ErrInvalidMessage},
		"id is no UTF-8":          {user("\xff", "x"), transcript.ErrInvalidMessage},
		"no blocks":               {message.Message{ID: "n", Role: message.RoleUser}, transcript.ErrInvalidMessage},
		"nil block":               {assistant("n", nil), transcript.ErrInvalidMessage},
		"unknown role":            {message.Message{ID: "n", Role: "robot", Blocks: []message.Block{text}}, transcript.ErrInvalidMessage},
		"call by a user":          {message.Message{ID: "n", Role: message.RoleUser, Blocks: []message.Block{call("z")}}, transcript.ErrInvalidMessage},
		"text by a tool":          {message.Message{ID: "n", Role: message.RoleTool, Blocks: []message.Block{text}}, transcript.ErrInvalidMessage},
		"result by an assistant":  {assistant("n", message.ToolResult{CallID: "open"}), transcript.ErrInvalidMessage},
		"call without id":         {assistant("n", call("")), transcript.ErrInvalidMessage},
		"taken id":                {user("u", "again"), transcript.ErrDuplicateID},
		"open call again":         {assistant("n", call("open")), transcript.ErrDuplicateCall},
		"same call twice in one":  {assistant("n", call("z"), call("z")), transcript.ErrDuplicateCall},
		"unknown call":            {results("n", "nobody"), transcript.ErrOrphanResult},
		"answered call":           {results("n", "done"), transcript.ErrOrphanResult},
		"two answers in one":      {results("n", "open", "open"), transcript.ErrOrphanResult},
		"second answer is orphan": {results("n", "open", "nobody"), transcript.ErrOrphanResult},
	} {
		t.Run(name, func(t *testing.T) {
			tr := build(t, user("u", "hi"), assistant("a", call("done"), call("open")), results("r", "done"))
			before := tr.RangeHash(0, tr.Len())
			if err := tr.Append(c.m); !errors.Is(err, c.want) {
				t.Fatalf("Append = %v, want %v", err, c.want)
			}
			if tr.Len() != 3 || tr.RangeHash(0, 3) != before || len(tr.Pending()) != 1 {
				t.Error("a refused message changed the transcript")
			}
			if err := tr.Append(results("later", "open")); err != nil {
				t.Errorf("the open call cannot be answered any more: %v", err)
			}
		})
	}
}

func TestPairing(t *testing.T) {
	tr := build(t, user("u", "go"), assistant("a", message.Text{Text: "I look"}, call("1"), call("2")),
		results("r1", "2"), results("r2", "1"), assistant("b", call("1")))
	if got := tr.Pending(); len(got) != 1 || got[0].ID != "1" {
		t.Errorf("Pending = %v, want the reused id 1 only", got)
	}
	first := transcript.Ref{Message: 1, Block: 1}
	if got, ok := tr.Result(first); !ok || got != (transcript.Ref{Message: 3, Block: 0}) {
		t.Errorf("Result(first call) = %v, %t", got, ok)
	}
	if got, ok := tr.Call(transcript.Ref{Message: 3, Block: 0}); !ok || got != first {
		t.Errorf("Call(second result) = %v, %t", got, ok)
	}
	if _, ok := tr.Result(transcript.Ref{Message: 4, Block: 0}); ok {
		t.Error("the open call has a result")
	}
}

func TestPendingKeepsCallOrder(t *testing.T) {
	tr := build(t, user("u", "go"), assistant("a", call("c"), call("b"), call("a")), results("r", "b"), user("u2", "stop"))
	var got []string
	for _, c := range tr.Pending() {
		got = append(got, c.ID)
	}
	if diff := cmp.Diff([]string{"c", "a"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTurns(t *testing.T) {
	injected := message.Message{ID: "i", Role: message.RoleUser, Origin: message.OriginInjected, Blocks: []message.Block{message.Text{Text: "env"}}}
	tr := build(t, injected, user("u1", "a"), user("u1b", "and b"), assistant("a1", message.Text{Text: "ok"}),
		user("u2", "c"), assistant("a2", call("1")), results("r", "1"), assistant("a3", message.Text{Text: "done"}))
	if diff := cmp.Diff([]transcript.Turn{{1, 4}, {4, 8}}, slices.Collect(tr.Turns())); diff != "" {
		t.Error(diff)
	}
	if tr.TurnCount() != 2 {
		t.Errorf("TurnCount = %d", tr.TurnCount())
	}
}

// The chain is documented; this test follows the documentation, not the code.
func TestRangeHashFollowsItsDocumentation(t *testing.T) {
	tr := build(t, user("a", "1"), user("b", "2"), user("c", "3"))
	want := sha256.Sum256([]byte("forge.range/1"))
	for _, id := range []string{"b", "c"} {
		i, _ := tr.Index(id)
		h := tr.At(i).Hash()
		want = sha256.Sum256(append(want[:], h[:]...))
	}
	if got := tr.RangeHash(1, 3); got != message.Hash(want) {
		t.Errorf("RangeHash(1,3) = %s, want %x", got, want)
	}
}

func TestRangeHashProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringN(1, 8, -1), 1, 12).Draw(t, "texts")
		var a, b transcript.Transcript
		for i, text := range texts {
			if a.Append(user(fmt.Sprint("a", i), text)) != nil || b.Append(user(fmt.Sprint("b", i), text)) != nil {
				t.Fatal("append refused a good message")
			}
		}
		from := rapid.IntRange(0, len(texts)).Draw(t, "from")
		to := rapid.IntRange(from, len(texts)).Draw(t, "to")
		if a.RangeHash(from, to) != b.RangeHash(from, to) {
			t.Fatal("ids changed a range hash")
		}
		before := a.RangeHash(0, to)
		if err := a.Append(user("later", "x")); err != nil {
			t.Fatal(err)
		}
		if a.RangeHash(0, to) != before {
			t.Fatal("appending changed the hash of an earlier range")
		}
		if from < to && a.RangeHash(from, to) == a.RangeHash(from, to-1) {
			t.Fatal("a shorter range has the same hash")
		}
	})
}

func TestZeroTranscript(t *testing.T) {
	var tr transcript.Transcript
	if tr.Len() != 0 || tr.TurnCount() != 0 || len(tr.Pending()) != 0 {
		t.Error("the zero transcript is not empty")
	}
	var other transcript.Transcript
	if err := other.Append(user("u", "x")); err != nil {
		t.Fatal(err)
	}
	if tr.RangeHash(0, 0) != other.RangeHash(0, 0) || tr.RangeHash(0, 0) != other.RangeHash(1, 1) {
		t.Error("empty ranges differ")
	}
}

func BenchmarkAppend(b *testing.B) {
	m := user("", "a line of ordinary length, as people write them\n")
	var tr transcript.Transcript
	for i := range b.N {
		m.ID = fmt.Sprint(i)
		if err := tr.Append(m); err != nil {
			b.Fatal(err)
		}
	}
}
