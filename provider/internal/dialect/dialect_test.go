package dialect_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/provider/internal/dialect"
)

func call(id string) message.Message {
	return message.Message{Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: id, Name: "f"}}}
}

func result(id string) message.Message {
	return message.Message{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: id}}}
}

func opaque(provider, kind string) message.Message {
	return message.Message{Role: message.RoleUser, Blocks: []message.Block{message.Opaque{Provider: provider, Type: kind}}}
}

// P-RET-08, B12, F-NAT-02: what does not pair, and another's compaction, is
// refused.
func TestCheck(t *testing.T) {
	tests := []struct {
		name   string
		ms     []message.Message
		native bool
		ok     bool
	}{
		{"nothing", nil, false, true},
		{"a pair", []message.Message{call("a"), result("a")}, false, true},
		{"an id again, after its result", []message.Message{call("a"), result("a"), call("a"), result("a")}, false, true},
		{"an open call", []message.Message{call("a"), result("a"), call("b")}, false, false},
		{"the same id twice", []message.Message{call("a"), call("a"), result("a")}, false, false},
		{"two results", []message.Message{call("a"), result("a"), result("a")}, false, false},
		{"a result first", []message.Message{result("a"), call("a")}, false, false},
		{"own compaction", []message.Message{opaque("me", "compaction")}, true, true},
		{"own compaction on a dialect without", []message.Message{opaque("me", "compaction")}, false, false},
		{"another's compaction", []message.Message{opaque("you", "compaction")}, true, false},
		{"another's compaction in a reply", []message.Message{{Role: message.RoleAssistant, Blocks: opaque("you", "compaction").Blocks}}, true, true},
		{"another's tool", []message.Message{opaque("you", "server_tool_use")}, true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := dialect.Check(test.ms, "me", test.native)
			if (err == nil) != test.ok || err != nil && !errors.Is(err, dialect.ErrRequest) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSafeID(t *testing.T) {
	for id, keep := range map[string]bool{"call_1": true, "toolu-01A": true, "": false, "a.b": false, "a|b": false, "ü": false, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false} {
		got := dialect.SafeID(id)
		if (got == id) != keep || got != dialect.SafeID(id) || len(got) > 64 || len(got) == 0 {
			t.Errorf("SafeID(%q) = %q", id, got)
		}
	}
	if dialect.SafeID("a.b") == dialect.SafeID("a,b") {
		t.Error("two ids become one")
	}
}

// Ids of one answer are never empty and never there twice.
func TestAnswerIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a dialect.Answer
		ids := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "a-2", "a-3", "b", "forge-x", "forge-x-2"}), 1, 12).Draw(t, "ids")
		for _, id := range ids {
			a.Add(message.KindToolCall).ID = id
		}
		seen := map[string]bool{}
		for i, b := range a.Messages("p", "m", "x")[0].Blocks {
			id := b.(message.ToolCall).ID
			if id == "" || seen[id] {
				t.Fatalf("id %q of call %d in %q", id, i, ids)
			}
			seen[id] = true
		}
	})
}
