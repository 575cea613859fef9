package baseline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/eval/baseline"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/transcript"
)

// conversation draws a transcript with calls and results.
func conversation(t *rapid.T) *transcript.Transcript {
	words := rapid.SampledFrom([]string{"use port 8080", "never touch gen/api.go", "thanks", "look at store.Put", "日本語で書いて", "and then", "pkg/a/b_c.go"})
	text := func(name string, most int) string {
		var b strings.Builder
		for range rapid.IntRange(1, most).Draw(t, name) {
			b.WriteString(words.Draw(t, "words") + ". ")
		}
		return b.String()
	}
	tr := &transcript.Transcript{}
	put := func(m message.Message) {
		if err := tr.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	for i := range rapid.IntRange(1, 12).Draw(t, "turns") {
		put(message.Message{ID: fmt.Sprint("u", i), Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: text("user", 6)}}})
		for k := range rapid.IntRange(0, 4).Draw(t, "steps") {
			id := fmt.Sprintf("c%d.%d", i, k)
			put(message.Message{ID: id, Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: id, Name: "read", Arguments: `{"path":"pkg/a/b_c.go"}`}}})
			put(message.Message{ID: id + "r", Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: id, Content: []message.Block{message.Text{Text: text("result", 80)}}}}})
		}
		put(message.Message{ID: fmt.Sprint("a", i), Role: message.RoleAssistant, Blocks: []message.Block{message.Text{Text: text("answer", 5)}}})
	}
	return tr
}

// Issue behaviour 4: whatever the conversation and the budget, each policy
// keeps pieces of the messages that it names, within the budget, and the same
// ones each time.
func TestRetainKeepsWithinBudget(t *testing.T) {
	counter := tokencount.New(o200k.New(), tokencount.Profile{})
	rapid.Check(t, func(t *rapid.T) {
		tr := conversation(t)
		reading := baseline.Read(tr, counter)
		budget := rapid.IntRange(1, max(1, reading.Tokens)).Draw(t, "budget")
		for _, p := range baseline.All() {
			if p.Retain == nil {
				continue
			}
			units := p.Retain(reading, budget)
			weight := 0
			for _, u := range units {
				at, ok := tr.Index(u.MessageID)
				if !ok {
					t.Fatalf("%s keeps of a message %q that is not there", p.ID, u.MessageID)
				}
				whole := everything(tr.At(at))
				if p.ID != "name-list" && !strings.Contains(whole, strings.TrimSpace(u.Text)) {
					t.Fatalf("%s keeps %q, which is not in %s: %q", p.ID, u.Text, u.MessageID, whole)
				}
				weight += counter.Text(u.Text)
			}
			if weight > budget+len(units)*4+8 {
				t.Fatalf("%s keeps %d tokens in %d units for a budget of %d", p.ID, weight, len(units), budget)
			}
			if !slices.Equal(units, p.Retain(reading, budget)) {
				t.Fatalf("%s keeps something else the second time", p.ID)
			}
		}
	})
}

// everything is a message as the policies see it.
func everything(m message.Message) string {
	var b strings.Builder
	for _, block := range m.Blocks {
		switch block := block.(type) {
		case message.Text:
			b.WriteString(block.Text)
		case message.ToolCall:
			b.WriteString(block.Name + " " + block.Arguments)
		case message.ToolResult:
			b.WriteString(block.Text())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// What counts as a reference: paths, names of several words, long numbers.
func TestReferences(t *testing.T) {
	for text, want := range map[string]string{
		"see pkg/a/b.go:12 and http://localhost:8080/x": "8080/x pkg/a/b.go",
		"call store.Put or camelCase, not main":         "camelCase store.Put",
		"1234 items, 12 left, 3.5":                      "1234",
		"MAX_TOKENS=4096 and v1.2.3":                    "4096 MAX_TOKENS v1.2.3",
		"nothing here":                                  "",
	} {
		got := map[string]bool{}
		baseline.References(text, got)
		var names []string
		for n := range got {
			names = append(names, n)
		}
		slices.Sort(names)
		if s := strings.Join(names, " "); s != want {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
	}
}
