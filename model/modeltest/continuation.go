package modeltest

import (
	"context"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// Continue plays a dialogue with the adapter and returns the bodies that it
// sends after an answer that thought and called a tool: with the result, with
// a stand-in for the result, and with a checkpoint in front. What the provider
// wants back of its reasoning must be in all of them as it came. The caller
// compares them with a golden file.
func Continue(t *testing.T, subject Subject) *txtar.Archive {
	t.Helper()
	answers, err := ParseAnswers(subject.Answers)
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(t, answers["reasoning-and-call"], answers["text"])
	m := subject.New(t, server.Setup())
	r := Ask()
	var reply []message.Message
	for e, err := range m.Stream(context.Background(), r) {
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := e.(model.Completed); ok {
			reply = c.Messages
		}
	}
	result := func(text string) []message.Message {
		return []message.Message{{Role: message.RoleTool, Blocks: []message.Block{
			message.ToolResult{CallID: "call_1", Name: "read_file", Content: []message.Block{message.Text{Text: text}}, Outcome: message.OutcomeSuccess}}}}
	}
	join := func(parts ...[]message.Message) model.Request {
		out := r
		out.Messages = nil
		for _, p := range parts {
			out.Messages = append(out.Messages, p...)
		}
		return out
	}
	memory := []message.Message{{Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{message.Text{Text: "Memory of 12 earlier messages: the tests are in a.go."}}}}
	archive := &txtar.Archive{Comment: []byte("What goes to the provider after an answer that thought and called a tool.\n")}
	for _, step := range []struct {
		name    string
		request model.Request
	}{
		{"result", join(r.Messages, reply, result("package a\n"))},
		{"projected", join(r.Messages, reply, result("[read_file: 10 bytes, succeeded, cleared]"))},
		{"checkpoint", join(memory, r.Messages, reply, result("package a\n"))},
	} {
		for _, err := range m.Stream(context.Background(), step.request) {
			if err != nil {
				t.Fatal(err)
			}
		}
		requests := server.Requests()
		archive.Files = append(archive.Files, txtar.File{Name: step.name, Data: append(requests[len(requests)-1].Body, '\n')})
	}
	return archive
}
