package adaptertest

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/provider"
)

// LiveConnection is the connection for a test against a real provider. It
// fails the test unless FORGE_LIVE=1 and the key are set: such tests cost money
// and are built only with the tag "live".
func LiveConnection(t *testing.T, endpoint, variable string) provider.Connection {
	t.Helper()
	if os.Getenv("FORGE_LIVE") != "1" || os.Getenv(variable) == "" {
		t.Fatalf("a live test needs FORGE_LIVE=1 and a key in %s", variable)
	}
	key, err := provider.NewKey(os.Getenv(variable), endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return provider.Connection{Endpoint: endpoint, Key: key}
}

// LiveModel is the model to test with.
func LiveModel(variable, usual string) string {
	if name := os.Getenv(variable); name != "" {
		return name
	}
	return usual
}

// Live makes one tool turn, one overflow and, where the model has it, one
// native compaction with a real provider.
func Live(t *testing.T, m model.Model) {
	r := modeltest.Ask()
	r.Messages = []message.Message{user("Call read_file with the path a.go, then tell me in one word what language it is.")}
	t.Run("tool turn", func(t *testing.T) {
		_, first, err := modeltest.Play(m, r)
		if err != nil {
			t.Fatal(err)
		}
		if first.Stop != model.StopToolCall || first.Usage == nil || first.Usage.InputTokens == 0 {
			t.Fatalf("got %+v", first)
		}
		r.Messages = append(r.Messages, first.Messages...)
		for _, b := range first.Messages[0].Blocks {
			if call, ok := b.(message.ToolCall); ok {
				r.Messages = append(r.Messages, message.Message{Role: message.RoleTool, Blocks: []message.Block{
					message.ToolResult{CallID: call.ID, Name: call.Name, Content: []message.Block{message.Text{Text: "package a\n"}}}}})
			}
		}
		text, second, err := modeltest.Play(m, r)
		if err != nil || second.Stop != model.StopEnd || !strings.Contains(text, "Go") {
			t.Errorf("%q, %+v, %v", text, second, err)
		}
	})
	t.Run("overflow", func(t *testing.T) {
		big := modeltest.Ask()
		big.Messages = []message.Message{user(strings.Repeat("one two three four five six seven eight ", m.Capabilities().WindowTokens/6))}
		_, _, err := modeltest.Play(m, big)
		if !errors.Is(err, model.ErrContextOverflow) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("native compaction", func(t *testing.T) {
		native, ok := m.(model.NativeCompactor)
		if !ok {
			return
		}
		item, err := native.CompactNative(t.Context(), []message.Message{user("My name is Ada. Remember it."), {Role: message.RoleAssistant, Blocks: []message.Block{message.Text{Text: "I will."}}}})
		if err != nil {
			t.Fatal(err)
		}
		after := modeltest.Ask()
		after.Messages = []message.Message{
			{Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{message.Opaque{Provider: item.Provider, Type: "compaction", Data: item.Data}}},
			user("What is my name?")}
		if text, _, err := modeltest.Play(m, after); err != nil || !strings.Contains(text, "Ada") {
			t.Errorf("%q, %v", text, err)
		}
	})
}

func user(text string) message.Message {
	return message.Message{Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: text}}}
}
