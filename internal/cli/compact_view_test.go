package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type chatCall struct {
	ID       string
	Function struct{ Name, Arguments string }
}

type chatMessage struct {
	Role, Content string
	ToolCalls     []chatCall `json:"tool_calls"`
	ToolCallID    string     `json:"tool_call_id"`
}

// Issue, command line: what --out writes is chat that another agent can be
// started with, also where the session has half a call, free text as
// arguments or a message between a call and its result. Instructions come
// first (resolution C13).
func TestViewOfABrokenSessionIsValidChat(t *testing.T) {
	long := strings.Repeat("I looked at the file and left it alone. ", 80)
	call := func(id, arguments string) map[string]any {
		return map[string]any{"role": "assistant", "content": "", "tool_calls": []any{
			map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "run", "arguments": arguments}}}}
	}
	say := func(role, text string) map[string]any { return map[string]any{"role": role, "content": text} }
	ms := []any{say("system", "You are careful.")}
	for range 6 {
		ms = append(ms, say("user", "Look at it."), say("assistant", long))
	}
	ms = append(ms, say("user", "Now run it."),
		map[string]any{"role": "tool", "tool_call_id": "gone", "content": "a result alone"},
		call("free", "make all"), say("system", "A note in between."),
		map[string]any{"role": "tool", "tool_call_id": "free", "content": "made"},
		call("empty", ""), map[string]any{"role": "tool", "tool_call_id": "empty", "content": "ok"},
		call("open", `{"a":1}`))
	data, err := json.Marshal(ms)
	if err != nil {
		t.Fatal(err)
	}
	path, out := filepath.Join(t.TempDir(), "session.json"), filepath.Join(t.TempDir(), "view.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := forge(t, "compact", path, "--tail-tokens", "300", "--out", out); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	written, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var view []chatMessage
	if err := json.Unmarshal(written, &view); err != nil {
		t.Fatal(err)
	}
	if view[0].Role != "system" || view[0].Content != "You are careful." {
		t.Errorf("the view begins with %+v", view[0])
	}
	answers := checkChat(t, view)
	for id, want := range map[string]string{"free": "made", "empty": "ok", "open": "[The session holds no result of this call.]"} {
		if answers[id] != want {
			t.Errorf("call %s is answered %q, want %q", id, answers[id], want)
		}
	}
	for _, want := range []string{"a result alone", `{\"input\":\"make all\"}`, "A note in between."} {
		if !strings.Contains(string(written), want) {
			t.Errorf("%s is missing in\n%s", want, written)
		}
	}
	if code, _, errs := forge(t, "replay", out); code != 0 {
		t.Errorf("replay of the view: exit code %d: %s", code, errs)
	}
}

// checkChat checks that every call is answered right behind it, and returns
// the answers.
func checkChat(t *testing.T, view []chatMessage) map[string]string {
	t.Helper()
	answers := map[string]string{}
	waiting := map[string]bool{}
	for i, m := range view {
		if m.Role == "tool" {
			if !waiting[m.ToolCallID] {
				t.Errorf("message %d answers %q, which does not wait", i, m.ToolCallID)
			}
			delete(waiting, m.ToolCallID)
			answers[m.ToolCallID] = m.Content
			continue
		}
		if len(waiting) > 0 {
			t.Errorf("message %d comes before the results of %v", i, waiting)
		}
		if m.Content == "" && len(m.ToolCalls) == 0 {
			t.Errorf("message %d is empty", i)
		}
		for _, c := range m.ToolCalls {
			var object map[string]any
			if err := json.Unmarshal([]byte(c.Function.Arguments), &object); err != nil {
				t.Errorf("message %d: arguments %q: %v", i, c.Function.Arguments, err)
			}
			waiting[c.ID] = true
		}
	}
	if len(waiting) > 0 {
		t.Errorf("%v wait at the end", waiting)
	}
	return answers
}
