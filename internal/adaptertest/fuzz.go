package adaptertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
)

// A player answers every request with the same bytes, without a network.
type player struct{ body []byte }

func (p player) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(p.body)), Request: r}, nil
}

// FuzzStream feeds an adapter with streams. Whatever they are, a stream ends
// once, an error is typed, ids are unique, and an answer can be sent back.
func FuzzStream(f *testing.F, subject modeltest.Subject) {
	seeds, err := modeltest.ParseAnswers(subject.Answers)
	if err != nil {
		f.Fatal(err)
	}
	for _, a := range seeds {
		f.Add(a.Body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		setup := Nowhere()
		setup.Client = &http.Client{Transport: player{body}}
		m := subject.New(t, setup)
		var completed *model.Completed
		var failed error
		for e, err := range m.Stream(t.Context(), modeltest.Ask()) {
			if completed != nil || failed != nil {
				t.Fatal("the stream goes on after its end")
			}
			failed = err
			if c, ok := e.(model.Completed); ok {
				completed = &c
			}
		}
		var typed *model.Error
		if (completed == nil) == (failed == nil) || failed != nil && !errors.As(failed, &typed) {
			t.Fatalf("completed %v, error %v", completed, failed)
		}
		if completed != nil {
			sendBack(t, m, completed, subject.Body)
		}
	})
}

func sendBack(t *testing.T, m model.Model, completed *model.Completed, encode func(model.Model, model.Request) ([]byte, error)) {
	t.Helper()
	if u := completed.Usage; u != nil && (u.InputTokens < u.CachedInputTokens+u.CacheWriteInputTokens || u.OutputTokens < u.ReasoningTokens || u.CachedInputTokens < 0 || u.ReasoningTokens < 0) {
		t.Fatalf("parts exceed the whole: %+v", u)
	}
	r := modeltest.Ask()
	r.Messages = append(r.Messages, completed.Messages...)
	ids := map[string]bool{}
	for _, msg := range completed.Messages {
		for _, b := range msg.Blocks {
			if call, ok := b.(message.ToolCall); ok {
				if call.ID == "" || ids[call.ID] {
					t.Fatalf("call id %q is empty or there twice", call.ID)
				}
				ids[call.ID] = true
				r.Messages = append(r.Messages, message.Message{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: call.ID, Name: call.Name}}})
			}
			if o, ok := b.(message.Opaque); ok && o.Type == "compaction" && m.Capabilities().NativeCompaction == model.NativeCompactionUnsupported {
				return // refused, as it must be
			}
		}
	}
	out, err := encode(m, r)
	if err != nil || !json.Valid(out) {
		t.Fatalf("the answer cannot be sent back: %v: %s", err, out)
	}
}
