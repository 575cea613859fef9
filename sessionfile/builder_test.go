package sessionfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/transcript"
)

func text(s string) message.Block { return message.Text{Text: s} }

func call(id string) message.Block { return message.ToolCall{ID: id, Name: "tool", Arguments: "{}"} }

func result(id, s string) message.Block {
	return message.ToolResult{CallID: id, Content: []message.Block{text(s)}}
}

func msg(id string, role message.Role, blocks ...message.Block) message.Message {
	return message.Message{ID: id, Role: role, Blocks: blocks}
}

// summary lists the messages of a session in a short form.
func summary(s *sessionfile.Session) []string {
	var out []string
	for _, m := range s.Transcript.All() {
		line := fmt.Sprintf("%s %s", m.ID, m.Role)
		if m.Origin != "" {
			line += " " + string(m.Origin)
		}
		for _, block := range m.Blocks {
			switch b := block.(type) {
			case message.Text:
				line += fmt.Sprintf(" %q", b.Text)
			case message.ToolCall:
				line += " call:" + b.ID
			case message.ToolResult:
				line += " result:" + b.CallID
			default:
				line += " " + string(block.Kind())
			}
		}
		out = append(out, line)
	}
	return out
}

// Everything that a Transcript refuses is repaired, and each repair is named.
func TestBuilderRepairs(t *testing.T) {
	for _, c := range []struct {
		name         string
		in           []message.Message
		want, losses []string
	}{
		{"nothing to repair",
			[]message.Message{msg("a", "user", text("x")), msg("b", "assistant", text("y"), call("c")), msg("r", "tool", result("c", "z"))},
			[]string{`a user "x"`, `b assistant "y" call:c`, `r tool result:c`}, nil},
		{"missing ids",
			[]message.Message{msg("", "user", text("x")), msg("", "assistant", text("y"))},
			[]string{`m1 user "x"`, `m2 assistant "y"`},
			[]string{"1 message without an id, numbered instead (2 times, here first)"}},
		{"duplicate ids",
			[]message.Message{msg("a", "user", text("x")), msg("a", "user", text("y")), msg("a", "user", text("z"))},
			[]string{`a user "x"`, `a#2 user "y"`, `a#3 user "z"`},
			[]string{"2 a message id that is used twice, the later one got a suffix (2 times, here first)"}},
		{"orphan result",
			[]message.Message{msg("r", "tool", result("gone", "x"), result("gone2", "y"))},
			[]string{`r user injected "Result of a tool call that is not in the file (call gone):" "x"` +
				` "Result of a tool call that is not in the file (call gone2):" "y"`},
			[]string{"1 tool result without its call, kept as injected user text (2 times, here first)"}},
		{"orphan beside a result",
			[]message.Message{msg("a", "assistant", call("c")), msg("r", "tool", result("gone", "x"), result("c", "y"), result("c", "again"))},
			[]string{`a assistant call:c`, `r tool result:c`,
				`r/orphan user injected "Result of a tool call that is not in the file (call gone):" "x"` +
					` "Result of a tool call that is not in the file (call c):" "again"`},
			[]string{"2 tool result without its call, kept as injected user text (2 times, here first)"}},
		{"a call id in use",
			[]message.Message{msg("a", "assistant", call("c")), msg("b", "assistant", call("c"), call("c")),
				msg("r", "tool", result("c", "1")), msg("s", "tool", result("c", "2"), result("c", "3")), msg("d", "assistant", call("c"))},
			[]string{`a assistant call:c`, `b assistant call:c#2 call:c#3`, `r tool result:c`, `s tool result:c#2 result:c#3`, `d assistant call:c`},
			[]string{"2 a tool call id that is still in use, the later call and its result got a suffix (2 times, here first)"}},
		{"calls and results without ids",
			[]message.Message{msg("a", "assistant", call("")), msg("r", "tool", result("", "1"))},
			[]string{`a assistant call:a.1`, `r tool result:a.1`},
			[]string{"1 tool call without an id, numbered instead"}},
		{"results inside a user message",
			[]message.Message{msg("a", "assistant", call("c")), msg("u", "user", result("c", "1"), text("x"), text("y"))},
			[]string{`a assistant call:c`, `u tool result:c`, `u/2 user "x" "y"`}, nil},
		{"blocks on the wrong side",
			[]message.Message{msg("u", "user", text("x"), call("c"), text("y")), msg("r", "tool", text("z"), result("c", "1")),
				msg("s", "system", message.Reasoning{Text: "hm"})},
			[]string{`u user "x"`, `u/2 assistant call:c`, `u/3 user "y"`, `r user injected "z"`, `r/2 tool result:c`, `s assistant reasoning`},
			[]string{"1 tool-call in a user message, moved into a message of its own",
				"2 text in a tool message, moved into a message of its own",
				"3 reasoning in a system message, moved into a message of its own"}},
		{"an unknown role",
			[]message.Message{msg("u", "narrator", text("x"))},
			[]string{`u user injected "x"`},
			[]string{`1 message of the unknown role "narrator", kept as injected user text`}},
		{"an id that is no UTF-8",
			[]message.Message{msg("a\xff", "user", text("x"))},
			[]string{`a` + "\uFFFD" + ` user "x"`}, nil},
		{"no content",
			[]message.Message{msg("u", "user"), msg("v", "assistant", text(""), nil, message.Reasoning{Provider: "p"}), msg("w", "user", text(""), text("x"))},
			[]string{`w user "x"`},
			[]string{"1 user message without content", "2 assistant message without content"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := sessionfile.NewBuilder(nil, "test")
			at := 0
			for i, m := range c.in {
				first, end := b.Append(i+1, m)
				if first != at || end != b.Len() {
					t.Errorf("message %d became [%d,%d), want [%d,%d)", i, first, end, at, b.Len())
				}
				at = end
			}
			s := b.Finish()
			if diff := cmp.Diff(c.want, summary(s)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.losses, losses(s)); diff != "" {
				t.Errorf("losses (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever is appended, all its texts are in the transcript, in order, and
// nothing pairs up that was not a pair.
func TestBuilderLosesNoText(t *testing.T) {
	block := rapid.Custom(func(t *rapid.T) message.Block {
		id := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "id")
		s := rapid.SampledFrom([]string{"", "x", "y", "z"}).Draw(t, "text")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return text(s)
		case 1:
			return call(id)
		case 2:
			return result(id, s)
		case 3:
			return message.Reasoning{Text: s}
		}
		return message.Image{URL: "u"}
	})
	rapid.Check(t, func(t *rapid.T) {
		b := sessionfile.NewBuilder(nil, "test")
		texts, calls, results := "", 0, 0
		for range rapid.IntRange(1, 12).Draw(t, "messages") {
			m := message.Message{
				ID:     rapid.SampledFrom([]string{"", "m", "n"}).Draw(t, "message id"),
				Role:   rapid.SampledFrom([]message.Role{"system", "user", "assistant", "tool", "other", ""}).Draw(t, "role"),
				Blocks: rapid.SliceOfN(block, 0, 5).Draw(t, "blocks"),
			}
			// Orphans move behind the message, so only count their texts.
			for _, block := range m.Blocks {
				switch block := block.(type) {
				case message.Text:
					texts += block.Text
				case message.ToolResult:
					texts += block.Text()
					results++
				case message.ToolCall:
					calls++
				}
			}
			b.Append(1, m)
		}
		s := b.Finish()
		got, gotCalls, gotResults, orphans := "", 0, 0, 0
		for i, m := range s.Transcript.All() {
			for k, block := range m.Blocks {
				switch block := block.(type) {
				case message.Text:
					if strings.HasPrefix(block.Text, "Result of a tool call that is not") {
						orphans++
						continue
					}
					got += block.Text
				case message.ToolCall:
					gotCalls++
				case message.ToolResult:
					got += block.Text()
					gotResults++
					if _, paired := s.Transcript.Call(transcript.Ref{Message: i, Block: k}); !paired {
						t.Fatalf("result %s without a call", block.CallID)
					}
				}
			}
		}
		if sorted(got) != sorted(texts) || gotCalls != calls || gotResults+orphans != results {
			t.Fatalf("texts %q of %q, %d of %d calls, %d+%d of %d results", got, texts, gotCalls, calls, gotResults, orphans, results)
		}
	})
}

func sorted(s string) string {
	return strings.Repeat("x", strings.Count(s, "x")) + strings.Repeat("y", strings.Count(s, "y")) + strings.Repeat("z", strings.Count(s, "z"))
}

// Requests and marks come out in range and in order.
func TestBuilderKeepsIndexesInRange(t *testing.T) {
	b := sessionfile.NewBuilder(nil, "test")
	for i := range 4 {
		b.Append(i+1, msg("", "user", text("x")))
	}
	b.Request(sessionfile.Request{At: 3, End: 9})
	b.Request(sessionfile.Request{At: 1, End: 0})
	b.Request(sessionfile.Request{At: -1, End: 2})
	b.Mark(sessionfile.Mark{At: 9, TokensBefore: -5, Change: &activeview.Change{KeepFrom: 7, Replacement: []message.Message{
		msg("", "user", text("s")), msg("x", "user", text(""))}}})
	b.Mark(sessionfile.Mark{At: -2, Change: &activeview.Change{KeepFrom: -1}})
	s := b.Finish()
	var got []string
	for _, r := range s.Requests {
		got = append(got, fmt.Sprintf("request %d %d", r.At, r.End))
	}
	for _, m := range s.Marks {
		got = append(got, fmt.Sprintf("mark %d %d %d %d", m.At, m.Change.At, m.Change.KeepFrom, len(m.Change.Replacement)))
		for _, r := range m.Change.Replacement {
			got = append(got, r.ID)
		}
	}
	want := []string{"request 3 4", "request 3 3", "request 3 3", "mark 0 0 0 0", "mark 4 4 4 1", "replacement-1-1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if s.Marks[1].TokensBefore != 0 {
		t.Errorf("tokens before: %d", s.Marks[1].TokensBefore)
	}
}

// Results are found by the ids of the file, also when the transcript has
// others; of an id that came twice, the newest.
func TestBuilderRefs(t *testing.T) {
	b := sessionfile.NewBuilder(nil, "test")
	b.Append(1, msg("a", "assistant", call("c"), call("c"), call("d")))
	b.Append(2, msg("r", "tool", result("c", "1"), result("d", "2")))
	b.Append(3, msg("s", "tool", result("c", "3")))
	got := b.Refs([]string{"c", "d", "gone", "c"})
	want := []transcript.Ref{{Message: 1, Block: 1}, {Message: 2, Block: 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A text that the screen showed and no message holds is named.
func TestBuilderExpect(t *testing.T) {
	b := sessionfile.NewBuilder(nil, "test")
	b.Append(1, msg("a", "assistant", message.Reasoning{Text: "hm"}, text("said\n"), text("and said")))
	b.Said("a part of something")
	for i, s := range []string{"said", " hm ", "said\n\nand said", "a part of something", "", " \n"} {
		b.Expect(i+1, s, "lost")
	}
	b.Expect(7, "never said", "lost")
	b.Expect(9, "never said either", "lost")
	if diff := cmp.Diff([]string{"7 lost (2 times, here first)"}, losses(b.Finish())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Losses are listed once for each text, in file order, and their number is
// bounded.
func TestBuilderLosses(t *testing.T) {
	b := sessionfile.NewBuilder(nil, "test")
	b.Lose(5, "five")
	b.Lose(2, "two")
	b.Lose(3, "five")
	b.Losef(9, "nine of %d", 9)
	want := []string{"2 two", "5 five (2 times, here first)", "9 nine of 9"}
	if diff := cmp.Diff(want, losses(b.Finish())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	b = sessionfile.NewBuilder(nil, "test")
	for i := range 5000 {
		b.Losef(i+1, "loss %d", i)
	}
	got := b.Finish().Losses
	if len(got) != 1001 || !strings.Contains(got[1000].What, "more kinds of losses, not listed (4000 times") {
		t.Errorf("%d losses, the last %v", len(got), got[len(got)-1])
	}
}
