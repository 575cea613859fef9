package tokencount_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
)

func blockTokens(p tokencount.Profile, b message.Block) int {
	return tokencount.New(words{}, p).Message(message.Message{Role: message.RoleAssistant, Blocks: []message.Block{b}}).BlockTokens[0]
}

// Arguments that a model reads as values are counted without quotes and
// escapes, each with its own framing; what is no JSON object is plain text.
func TestArgumentsAsValues(t *testing.T) {
	p := tokencount.Profile{Arguments: tokencount.ArgumentsValues, ArgumentTokens: 10}
	for _, test := range []struct {
		arguments string
		want      int
	}{
		{`{"path": "a b", "n": 3}`, 1 + (1 + 2 + 10) + (1 + 1 + 10)},
		{`{"text": "one\ntwo\tthree"}`, 1 + (1 + 3 + 10)},
		{`{"list": [1, 2, "x y"]}`, 1 + (1 + 4 + 10)},
		{`{}`, 1},
		{`just four plain words`, 1 + 4},
		{`{"cut": "of`, 1 + 2},
		{`{"a": 1} and more`, 1 + 4},
		{`[1, 2]`, 1 + 2},
		{``, 1},
	} {
		if got := blockTokens(p, message.ToolCall{Name: "run", Arguments: test.arguments}); got != test.want {
			t.Errorf("%s: %d tokens, want %d", test.arguments, got, test.want)
		}
	}
}

// The same arguments weigh the same however their JSON is written.
func TestArgumentsAsValuesIgnoreTheWriting(t *testing.T) {
	p := tokencount.Profile{Arguments: tokencount.ArgumentsValues, ArgumentTokens: 1}
	rapid.Check(t, func(t *rapid.T) {
		value := strings.ToValidUTF8(genText(t), "?")
		b, err := json.Marshal(map[string]string{"k": value})
		if err != nil {
			t.Fatal(err)
		}
		spaced := strings.Replace(string(b), ":", " : ", 1)
		if a, b := blockTokens(p, message.ToolCall{Arguments: string(b)}), blockTokens(p, message.ToolCall{Arguments: spaced}); a != b {
			t.Fatalf("%q weighs %d and %d", value, a, b)
		}
	})
}

func FuzzArguments(f *testing.F) {
	f.Add(`{"a": "b"}`)
	f.Add(`{"a": {"b": [1, {"c": "\u00e9"}]}}`)
	f.Add(strings.Repeat(`{"a":`, 50))
	f.Fuzz(func(t *testing.T, arguments string) {
		p := tokencount.Profile{Arguments: tokencount.ArgumentsValues, ArgumentTokens: 3}
		if a, b := blockTokens(p, message.ToolCall{Arguments: arguments}), blockTokens(p, message.ToolCall{Arguments: arguments}); a != b || a < 0 {
			t.Fatalf("%q counted %d and %d", arguments, a, b)
		}
	})
}

// Sealed reasoning is estimated from the size of its payload, whatever the
// field is called; a visible text counts unless it is only a summary of it.
func TestSealedReasoning(t *testing.T) {
	payload := strings.Repeat("A", 4000) // 3000 bytes
	sealed := func(format string) json.RawMessage { return json.RawMessage(fmt.Sprintf(format, payload)) }
	own := tokencount.SealedRule{HeaderBytes: 600, BytesPerToken: 4}
	summary := own
	summary.Replaces = true
	for _, test := range []struct {
		name  string
		rule  tokencount.SealedRule
		block message.Reasoning
		want  int
	}{
		{"Responses item", own, message.Reasoning{Opaque: sealed(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"%s"}`)}, 605},
		{"reseller's details", own, message.Reasoning{Opaque: sealed(`[{"format":"x","data":"%s","id":"a"}]`)}, 605},
		{"bare signature", own, message.Reasoning{Opaque: sealed(`"%s"`)}, 605},
		{"text with signature", own, message.Reasoning{Text: "I think so", Opaque: sealed(`"%s"`)}, 3 + 5},
		{"summary with payload", summary, message.Reasoning{Text: "I think so", Opaque: sealed(`"%s"`)}, 605},
		{"summary alone", summary, message.Reasoning{Text: "I think so"}, 3 + 5},
		{"smaller than the header", own, message.Reasoning{Opaque: json.RawMessage(`"AAAA"`)}, 5},
		{"no rule", tokencount.SealedRule{}, message.Reasoning{Opaque: sealed(`"%s"`)}, 0},
		{"nothing", own, message.Reasoning{}, 0},
		{"cut JSON", own, message.Reasoning{Opaque: json.RawMessage(`"` + payload)}, 605},
	} {
		p := tokencount.Profile{Sealed: test.rule, ReasoningTokens: 5}
		if got := blockTokens(p, test.block); got != test.want {
			t.Errorf("%s: %d tokens, want %d", test.name, got, test.want)
		}
	}
}

// Visible reasoning that the provider leaves out of the next request weighs
// nothing.
func TestDroppedReasoning(t *testing.T) {
	p := tokencount.Profile{DropsReasoning: true, ReasoningTokens: 5, Sealed: tokencount.SealedRule{BytesPerToken: 3}}
	if got := blockTokens(p, message.Reasoning{Text: "long thoughts"}); got != 0 {
		t.Errorf("dropped reasoning weighs %d tokens", got)
	}
	if got := blockTokens(p, message.Reasoning{Opaque: json.RawMessage(`"AAAABBBBCCCC"`)}); got != 3+5 {
		t.Errorf("sealed reasoning weighs %d tokens, want 8", got)
	}
}

// Framing: a message counts when it says something, each call and result by
// itself, so that it does not matter how a source groups them.
func TestFramingDoesNotDependOnGrouping(t *testing.T) {
	c := tokencount.New(words{}, tokencount.Profile{MessageTokens: 4, ToolCallTokens: 10, ToolResultTokens: 20})
	call, result := message.ToolCall{Name: "run"}, message.ToolResult{CallID: "x"}
	total := func(ms ...[]message.Block) int {
		n := 0
		for _, blocks := range ms {
			n += c.Message(message.Message{Role: message.RoleAssistant, Blocks: blocks}).FramingTokens
		}
		return n
	}
	together := total([]message.Block{text("a"), call, call}, []message.Block{result, result})
	apart := total([]message.Block{text("a")}, []message.Block{call}, []message.Block{call}, []message.Block{result}, []message.Block{result})
	if together != apart || together != 4+2*10+2*20 {
		t.Errorf("together %d, apart %d, want 64", together, apart)
	}
}
