package compaction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/transcript"
)

// builder makes transcripts for tests.
type builder struct {
	t  testing.TB
	tr *transcript.Transcript
	n  int
}

func newBuilder(t testing.TB) *builder { return &builder{t: t, tr: &transcript.Transcript{}} }

func (b *builder) add(role message.Role, origin message.Origin, blocks ...message.Block) string {
	b.t.Helper()
	b.n++
	m := message.Message{ID: fmt.Sprintf("m%d", b.n), Role: role, Origin: origin, Blocks: blocks}
	if err := b.tr.Append(m); err != nil {
		b.t.Fatal(err)
	}
	return m.ID
}

func (b *builder) user(text string) string {
	return b.add(message.RoleUser, message.OriginAuthored, message.Text{Text: text})
}

func (b *builder) assistant(text string) string {
	return b.add(message.RoleAssistant, message.OriginAuthored, message.Text{Text: text})
}

func (b *builder) call(name string, arguments any, result string, outcome message.Outcome) {
	b.t.Helper()
	data, err := json.Marshal(arguments)
	if err != nil {
		b.t.Fatal(err)
	}
	id := fmt.Sprintf("call%d", b.n)
	b.add(message.RoleAssistant, message.OriginAuthored, message.ToolCall{ID: id, Name: name, Arguments: string(data)})
	b.add(message.RoleTool, message.OriginAuthored, message.ToolResult{CallID: id, Outcome: outcome,
		Content: []message.Block{message.Text{Text: result}}})
}

// padding makes the range heavy enough for a checkpoint.
func (b *builder) padding() {
	b.call("Read", map[string]string{"file_path": "big.txt"}, strings.Repeat("nothing to see in this line of the file\n", 400), message.OutcomeSuccess)
}

func counter() *tokencount.Counter { return tokencount.New(o200k.New(), tokencount.Profile{}) }

func compact(t testing.TB, in compaction.Input) *compaction.Plan {
	t.Helper()
	if in.Counter == nil {
		in.Counter = counter()
	}
	if in.Through == 0 {
		in.Through = in.Transcript.Len()
	}
	p, err := compaction.Extractive{}.Plan(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var day = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// Issue behaviour 10, F-SUM-02, F-SUM-06, F-SEC-02, F-SEC-03, F-E2E-03, weak
// spot 3: none of the texts that claim authority gets into a checkpoint, and
// real constraints that merely sound like it do.
func TestAdversarialTexts(t *testing.T) {
	var data []byte
	for _, name := range []string{"testdata/adversarial.txt", "testdata/adversarial_blind.txt"} {
		texts, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, texts...)
	}
	cases := 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.SplitN(line, "\t", 4)
		if len(f) != 4 {
			t.Fatalf("line %q has %d fields", line, len(f))
		}
		cases++
		outcome, place, text := f[0], f[1], f[3]
		p := planWith(t, place, text)
		pinned := false
		for _, pin := range p.Pins {
			pinned = pinned || strings.Contains(pin.Text, text)
		}
		shown := strings.Contains(p.Text, strings.TrimSpace(text))
		switch {
		case outcome == "hide" && (shown || len(p.Pins) > 0):
			t.Errorf("%s: %q is shown:\n%s", place, text, p.Text)
		case outcome == "nopin" && len(p.Pins) > 0:
			t.Errorf("%s: %q is pinned", place, text)
		case outcome == "pin" && !pinned:
			t.Errorf("%s: %q is not pinned", place, text)
		}
	}
	if cases < 300 {
		t.Errorf("%d texts, want at least 300", cases)
	}
}

func planWith(t *testing.T, place, text string) *compaction.Plan {
	t.Helper()
	b := newBuilder(t)
	b.padding()
	switch place {
	case "user", "said":
		b.user(text)
	case "tool":
		b.call("Read", map[string]string{"file_path": "notes.txt"}, "first line\n"+text+"\nlast line", message.OutcomeSuccess)
	case "failed":
		b.call("Bash", map[string]string{"command": "make all"}, "building\n"+text+"\n", message.OutcomeFailure)
	case "code":
		b.user("have a look\n```\n" + text + "\n```")
	case "quote":
		b.user("> " + text)
	case "log":
		b.user("I see this:\n\n" + text + "\n2026-11-03T10:00:01Z INFO next\n")
	case "assistant":
		b.assistant(text)
	case "injected":
		b.add(message.RoleUser, message.OriginInjected, message.Text{Text: text})
	case "plan":
		b.call("TodoWrite", map[string]any{"todos": []map[string]string{{"content": text, "status": "pending"}}}, "ok", message.OutcomeSuccess)
	default:
		t.Fatalf("unknown place %q", place)
	}
	return compact(t, compaction.Input{Transcript: b.tr})
}
