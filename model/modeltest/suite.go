// Package modeltest tests adapters. Run is the suite that each of them passes
// against a server that plays the provider's own wire format; Scripted is a
// model for testing what stands above the adapters.
//
// It is for tests only and talks to this machine only.
package modeltest

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// A Setup is what a model under test is made with.
type Setup struct {
	// URL is the endpoint's root.
	URL string
	// Secret is the key for it.
	Secret string
	// Attempts is how many requests may be made, Sleep how to wait between
	// them.
	Attempts int
	Sleep    func(ctx context.Context, d time.Duration) error
	// Client makes the requests; nil is the adapter's own.
	Client *http.Client
}

// A Subject is an adapter under test.
type Subject struct {
	// New makes the model.
	New func(t *testing.T, s Setup) model.Model
	// Answers is a txtar archive (see ParseAnswers) with a file for each
	// scenario, in the dialect's own wire format. "$KEY" in it is the key.
	Answers []byte
	// Absent are the scenarios that the dialect cannot express.
	Absent []string
	// Body returns the bytes that a request is sent as.
	Body func(m model.Model, r model.Request) ([]byte, error)
}

// suite is one run.
type suite struct {
	Subject
	answers map[string]Answer
	secret  string
}

// Run runs every case.
func Run(t *testing.T, subject Subject) {
	answers, err := ParseAnswers(subject.Answers)
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{Subject: subject, answers: answers, secret: strings.Join([]string{"not", "a", "real", "key"}, "-") + "-" + strings.Repeat("0", 20)}
	for name, a := range s.answers {
		a.Body = bytes.ReplaceAll(a.Body, []byte("$KEY"), []byte(s.secret))
		s.answers[name] = a
	}
	t.Run("succeeds", s.succeeds)
	t.Run("fails", s.fails)
	t.Run("body", s.bodies)
	t.Run("cut", s.cut)
	t.Run("malformed", s.malformed)
	t.Run("cancel", s.cancel)
	t.Run("transport", s.transport)
	t.Run("retry", s.retry)
	t.Run("request", s.request)
}

func (s *suite) answer(t *testing.T, name string) Answer {
	t.Helper()
	a, ok := s.answers[name]
	if slices.Contains(s.Absent, name) {
		if ok {
			t.Fatalf("%s is said to be absent and is in the archive", name)
		}
		return Answer{}
	}
	if !ok {
		t.Fatalf("the archive has no answer %q", name)
	}
	return a
}

func (s *suite) model(t *testing.T, server *Server) model.Model {
	t.Helper()
	return s.New(t, Setup{URL: server.URL, Secret: s.secret, Attempts: attempts, Sleep: server.Sleep})
}

// Ask is a small request with everything in it.
func Ask() model.Request {
	return model.Request{
		Instructions: []message.Message{{ID: "i", Role: message.RoleSystem, Blocks: []message.Block{message.Text{Text: "Be brief."}}}},
		Messages:     []message.Message{{ID: "u", Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: "Hello \"you\" <&> 世界"}}}},
		Tools:        []message.ToolDefinition{{Name: "read_file", Description: "Reads a file.", Parameters: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)}},
		OutputTokens: 1234,
	}
}

// outcome is everything that a stream gave.
type outcome struct {
	events    []model.Event
	completed *model.Completed
	err       error
}

// play reads a stream to its end and checks what holds for every stream.
func (s *suite) play(t *testing.T, answers ...Answer) (outcome, *Server) {
	t.Helper()
	server := NewServer(t, answers...)
	return s.read(t, context.Background(), s.model(t, server)), server
}

func (s *suite) read(t *testing.T, ctx context.Context, m model.Model) outcome {
	t.Helper()
	var out outcome
	for e, err := range m.Stream(ctx, Ask()) {
		if out.err != nil || out.completed != nil {
			t.Fatalf("the stream goes on after its end: %v, %v", e, err)
		}
		if err != nil {
			if e != nil {
				t.Errorf("an event and an error at once: %v, %v", e, err)
			}
			out.err = err
			continue
		}
		switch e := e.(type) {
		case model.Completed:
			out.completed = &e
		case model.TextDelta, model.ReasoningDelta:
			out.events = append(out.events, e)
		default:
			t.Errorf("unknown event %T", e)
		}
	}
	if out.err == nil && out.completed == nil {
		t.Fatal("the stream ends without a Completed and without an error")
	}
	if out.err != nil {
		s.checkError(t, m, out)
	}
	return out
}

// checkError checks what holds for every error: it is typed, says who, never
// holds the key, and says whether there was evidence.
func (s *suite) checkError(t *testing.T, m model.Model, out outcome) {
	t.Helper()
	e := modelError(t, out.err)
	c := m.Capabilities()
	if e.Provider != c.Provider || e.Model != c.Model {
		t.Errorf("the error is of %s/%s, want %s/%s", e.Provider, e.Model, c.Provider, c.Model)
	}
	if strings.Contains(e.Error(), s.secret) || bytes.Contains(e.Body, []byte(s.secret)) || strings.Contains(e.Message+e.Code+e.Type, s.secret) {
		t.Errorf("the error holds the key: %v", e)
	}
	if len(out.events) > 0 && !e.Evidence {
		t.Errorf("text was seen and the error has no evidence: %v", e)
	}
}

func modelError(t *testing.T, err error) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T, want a *model.Error: %v", err, err)
	}
	return e
}

func (o outcome) texts() (text, reasoning string) {
	for _, e := range o.events {
		switch e := e.(type) {
		case model.TextDelta:
			text += e.Text
		case model.ReasoningDelta:
			reasoning += e.Text
		}
	}
	return text, reasoning
}

func (s *suite) succeeds(t *testing.T) {
	for _, want := range succeeds() {
		a := s.answer(t, want.name)
		if a.Status == 0 {
			continue
		}
		t.Run(want.name, func(t *testing.T) {
			out, server := s.play(t, a)
			if out.err != nil {
				t.Fatal(out.err)
			}
			s.checkCompleted(t, want, out)
			if n := len(server.Requests()); n != 1 {
				t.Errorf("%d requests, want exactly one provider turn", n)
			}
		})
	}
}

func (s *suite) checkCompleted(t *testing.T, want scenario, out outcome) {
	t.Helper()
	text, reasoning := out.texts()
	if text != want.text || reasoning != want.reasoning {
		t.Errorf("deltas are %q and %q, want %q and %q", text, reasoning, want.text, want.reasoning)
	}
	if !reflect.DeepEqual(out.completed.Usage, want.usage) {
		t.Errorf("usage is %+v, want %+v", out.completed.Usage, want.usage)
	}
	if out.completed.Stop != want.stop {
		t.Errorf("stop is %q, want %q", out.completed.Stop, want.stop)
	}
	empty := want.text == "" && want.reasoning == "" && want.calls == nil
	if empty != (len(out.completed.Messages) == 0) {
		t.Fatalf("messages are %+v", out.completed.Messages)
	}
	if empty {
		return
	}
	if len(out.completed.Messages) != 1 {
		t.Fatalf("%d messages, want one", len(out.completed.Messages))
	}
	s.checkMessage(t, want, out.completed.Messages[0])
}

func (s *suite) checkMessage(t *testing.T, want scenario, m message.Message) {
	t.Helper()
	if m.Role != message.RoleAssistant || m.Model == "" {
		t.Errorf("role is %q, model %q", m.Role, m.Model)
	}
	var text, reasoning string
	var calls []message.ToolCall
	ids := map[string]bool{}
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case message.Text:
			text += b.Text
		case message.Reasoning:
			reasoning += b.Text
			if b.Provider == "" {
				t.Error("reasoning is bound to no provider")
			}
		case message.ToolCall:
			if b.ID == "" || ids[b.ID] {
				t.Errorf("the call id %q is empty or there twice", b.ID)
			}
			ids[b.ID] = true
			if want.anyIDs && len(calls) < len(want.calls) {
				b.ID = want.calls[len(calls)].ID
			}
			if b.Arguments == "{}" {
				b.Arguments = "" // some dialects cannot say nothing
			}
			calls = append(calls, b)
		}
	}
	if text != want.text || reasoning != want.reasoning || !reflect.DeepEqual(calls, want.calls) {
		t.Errorf("message holds %q, %q, %+v", text, reasoning, calls)
	}
}

func (s *suite) fails(t *testing.T) {
	for _, want := range fails() {
		a := s.answer(t, want.name)
		if a.Status == 0 {
			continue
		}
		t.Run(want.name, func(t *testing.T) {
			out, server := s.play(t, a)
			if out.err == nil {
				t.Fatal("no error")
			}
			e := modelError(t, out.err)
			if e.Kind != want.kind || e.Evidence != want.evidence || e.UsedTokens != want.used || e.LimitTokens != want.limit || e.Status != want.status {
				t.Errorf("got kind %v, evidence %t, %d of %d tokens, status %d; want %+v", e.Kind, e.Evidence, e.UsedTokens, e.LimitTokens, e.Status, want)
			}
			if want.status != 0 && !bytes.Equal(e.Body, bytes.ReplaceAll(a.Body, []byte(s.secret), []byte("[key]"))) || len(e.Body) == 0 {
				t.Errorf("body is %q", e.Body)
			}
			if n := len(server.Requests()); n != want.requests {
				t.Errorf("%d requests, want %d", n, want.requests)
			}
		})
	}
}

// bodies: an error body of any shape is kept as it came (B26, weak spot 6).
func (s *suite) bodies(t *testing.T) {
	list := bodies()
	for _, name := range slices.Sorted(maps.Keys(list)) {
		t.Run(name, func(t *testing.T) {
			out, _ := s.play(t, Answer{Status: 422, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(list[name])})
			e := modelError(t, out.err)
			if string(e.Body) != list[name] || e.Status != 422 || e.Kind != nil || !strings.Contains(e.Message, "bad thing") {
				t.Errorf("got %+v", e)
			}
		})
	}
	t.Run("empty", func(t *testing.T) {
		out, _ := s.play(t, Answer{Status: 401})
		if e := modelError(t, out.err); len(e.Body) != 0 || e.Message == "" || e.Kind != nil {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("error under a status of success", func(t *testing.T) {
		out, _ := s.play(t, Answer{Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(list["nested"])})
		if e := modelError(t, out.err); e.Message != "bad thing" || string(e.Body) != list["nested"] {
			t.Errorf("got %+v", e)
		}
	})
}
