package compaction_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
)

// anyText draws texts of the shapes that sessions have, and arbitrary ones.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"Never touch vendor/.", "go on", "Tabs, two wide.", "You may push.", "> quoted never", "```\nnever\n", "a\n- b\n- must not c",
			"请不要修改配置。继续。", "2026-11-03 10:00:00 ERROR x", "<issue>\nmust hold\n</issue>", "(replaced by #3) x #4", "- x\n#7", "#", "x #9999999999999999999"}),
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 60), func(b []byte) string { return string(b) }),
	)
}

// anySession draws a session; every call has its result.
func anySession(t *rapid.T, tb testing.TB) *builder {
	b := newBuilder(tb)
	for i := range rapid.IntRange(1, 30).Draw(t, "messages") {
		text := anyText().Draw(t, "text")
		switch rapid.IntRange(0, 4).Draw(t, "role") {
		case 0, 1:
			b.user(text)
		case 2:
			b.assistant(text)
		case 3:
			b.add(message.RoleSystem, rapid.SampledFrom([]message.Origin{message.OriginAuthored, message.OriginInjected}).Draw(t, "origin"), message.Text{Text: text})
		default:
			name := rapid.SampledFrom([]string{"Bash", "Read", "Edit", "apply_patch", "TodoWrite", "x"}).Draw(t, "tool")
			id := fmt.Sprintf("c%d", i)
			b.add(message.RoleAssistant, "", message.ToolCall{ID: id, Name: name, Arguments: rapid.OneOf(anyText(), rapid.Just(`{"command":"go test ./...","file_path":"a.go"}`)).Draw(t, "arguments")})
			b.add(message.RoleTool, "", message.ToolResult{CallID: id, Outcome: rapid.SampledFrom([]message.Outcome{"", "success", "failure"}).Draw(t, "outcome"),
				Content: []message.Block{message.Text{Text: text}}})
		}
	}
	return b
}

// "Must reach" 1, F-SEL-10, F-TST-03: whatever the session, a checkpoint is
// within its target, lighter than its range, verifiable, valid UTF-8, and the
// same when made again; the transcript is untouched.
func TestAnySessionCompacts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := anySession(rt, t)
		in := compaction.Input{Transcript: b.tr, Through: rapid.IntRange(1, b.tr.Len()).Draw(rt, "through"), Counter: counter(), Now: day,
			TargetTokens: rapid.IntRange(1, 900).Draw(rt, "target"), Request: anyText().Draw(rt, "request")}
		if rapid.Bool().Draw(rt, "heavy") {
			in.RangeTokens = 5000
		}
		before := b.tr.RangeHash(0, b.tr.Len())
		made, err := compaction.Extractive{}.Compact(context.Background(), in)
		if b.tr.RangeHash(0, b.tr.Len()) != before {
			rt.Fatal("the transcript changed")
		}
		if errors.Is(err, compaction.ErrNoGain) || errors.Is(err, compaction.ErrInvalid) {
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		if made.TokensAfter > in.TargetTokens || made.TokensAfter >= made.TokensBefore || !utf8.ValidString(made.Summary) {
			rt.Fatalf("%d tokens for %d, target %d", made.TokensAfter, made.TokensBefore, in.TargetTokens)
		}
		if found := compaction.Verify(made, b.tr); len(found) != 0 {
			rt.Fatalf("findings: %v\n%s", found, made.Summary)
		}
		again, err := compaction.Extractive{}.Compact(context.Background(), in)
		if err != nil || again.ID != made.ID {
			rt.Fatalf("made again it is %v, %v", again, err)
		}
		data, err := made.Encode()
		if err != nil {
			rt.Fatal(err)
		}
		if back, err := checkpoint.Decode(data); err != nil || back.ID != made.ID {
			rt.Fatalf("stored and read: %v", err)
		}
	})
}

// The parsers of foreign text neither panic nor lose count on any bytes.
func FuzzUserText(f *testing.F) {
	for _, s := range []string{"Never touch vendor/.", "> q\n```\nx", "<a>\nmust\n</a>", "请不要。", "a: b\n- c\n\t\xff", "“x y”", strings.Repeat("never ", 400)} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, said, answered string) {
		if said == "" || answered == "" {
			return
		}
		b := newBuilder(t)
		b.user(said)
		b.assistant(answered)
		b.call("Bash", map[string]string{"command": said}, answered, message.OutcomeFailure)
		made, err := compaction.Extractive{}.Compact(context.Background(), compaction.Input{Transcript: b.tr, Through: b.tr.Len(), Counter: counter(), Now: day, RangeTokens: 4000})
		if err != nil {
			t.Fatal(err)
		}
		if found := compaction.Verify(made, b.tr); len(found) != 0 {
			t.Fatalf("findings: %v\n%q", found, made.Summary)
		}
	})
}
