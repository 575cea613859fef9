package scripted_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/internal/scripted"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// ask is a request with something of everything.
func ask(texts ...string) model.Request {
	r := model.Request{
		Instructions: []message.Message{{ID: "i", Role: message.RoleSystem, Blocks: []message.Block{message.Text{Text: "Be brief."}}}},
		Tools:        []message.ToolDefinition{{Name: "read", Description: "Reads.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}},
		OutputTokens: 1000,
	}
	for i, text := range texts {
		role := message.RoleUser
		if i%2 == 1 {
			role = message.RoleAssistant
		}
		r.Messages = append(r.Messages, message.Message{ID: "m" + text, Role: role, Blocks: []message.Block{message.Text{Text: text}}})
	}
	return r
}

func start(t *testing.T, o scripted.Options) *scripted.Server {
	t.Helper()
	s, err := scripted.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// connect gives up an answer that says nothing for idle: short for a server
// that hangs, and ample for one that only has to wait for a processor.
func connect(t *testing.T, s *scripted.Server, d wirebody.Dialect, idle time.Duration) model.Model {
	t.Helper()
	m, err := s.Connect(d, model.Capabilities{}, idle)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func eachDialect(t *testing.T, f func(t *testing.T, d wirebody.Dialect)) {
	for _, d := range scripted.Dialects() {
		t.Run(string(d), func(t *testing.T) { t.Parallel(); f(t, d) })
	}
}

// The adapters read what the server writes, and the server what they write.
func TestAnswerIsUnderstood(t *testing.T) {
	eachDialect(t, func(t *testing.T, d wirebody.Dialect) {
		s := start(t, scripted.Options{Keep: true, Script: func(r scripted.Request) scripted.Reply {
			return scripted.Reply{Reasoning: "hm", Text: "Grüße 🦊", Calls: []scripted.Call{{Name: "read", Arguments: `{"path":"ä.go"}`}, {ID: "own", Name: "read", Arguments: `{"path":"b.go"}`}}}
		}})
		m := connect(t, s, d, time.Minute)
		text, done, err := modeltest.Play(m, ask("first"))
		if err != nil || text != "Grüße 🦊" {
			t.Fatalf("%q, %v", text, err)
		}
		var calls []message.ToolCall
		for _, b := range done.Messages[0].Blocks {
			if c, ok := b.(message.ToolCall); ok {
				calls = append(calls, c)
			}
		}
		if len(calls) != 2 || calls[0].Arguments != `{"path":"ä.go"}` || calls[1].ID != "own" || done.Stop != model.StopToolCall {
			t.Errorf("calls %+v, stop %s", calls, done.Stop)
		}
		if done.Usage == nil || done.Usage.InputTokens == 0 || done.Usage.OutputTokens == 0 || done.Usage.CachedInputTokens != 0 {
			t.Errorf("usage %+v", done.Usage)
		}
		first := *done.Usage
		if _, done, err = modeltest.Play(m, ask("first", "said", "second")); err != nil || done.Usage.CachedInputTokens != first.InputTokens {
			t.Errorf("the cache holds %+v of a beginning of %+v: %v", done.Usage, first, err)
		}
		got := s.Requests()
		if len(got) != 2 || got[1].Last() != "second" || got[1].OutputCapTokens != 1000 || len(got[1].Tools) != 1 || !strings.Contains(got[1].Text(), "Be brief.") {
			t.Errorf("read %+v", got)
		}
		if total := s.Totals(); total.Requests != 2 || total.Uncapped != 0 || total.UncachedTokens() != total.InputTokens-first.InputTokens {
			t.Errorf("totals %+v", total)
		}
	})
}

// Each fault looks to the adapter like the one it stands for.
func TestFaultsAreUnderstood(t *testing.T) {
	want := map[scripted.Fault]error{
		scripted.RateLimited: model.ErrRateLimited, scripted.ServerError: model.ErrTransient, scripted.Overloaded: model.ErrTransient,
		scripted.Overflow: model.ErrContextOverflow, scripted.OverflowInStream: model.ErrContextOverflow, scripted.OverflowAfterText: model.ErrContextOverflow,
		scripted.ErrorInStream: model.ErrTransient, scripted.Hang: model.ErrIncompleteStream, scripted.HangInStream: model.ErrIncompleteStream,
		scripted.Garbage: model.ErrUnreadable, scripted.CutAtStart: model.ErrIncompleteStream, scripted.CutInStream: model.ErrIncompleteStream,
	}
	harmless := map[scripted.Fault]bool{scripted.NoUsage: true, scripted.BadUsage: true, scripted.Drip: true, scripted.Empty: true, scripted.BrokenArguments: true, scripted.DuplicateIDs: true}
	eachDialect(t, func(t *testing.T, d wirebody.Dialect) {
		for _, f := range scripted.Faults() {
			t.Run(string(f), func(t *testing.T) {
				t.Parallel()
				s := start(t, scripted.Options{Script: func(scripted.Request) scripted.Reply {
					return scripted.Reply{Text: "one two three", Calls: []scripted.Call{{Name: "read", Arguments: `{"path":"a"}`}}, Fault: f}
				}})
				idle := time.Minute
				if f == scripted.Hang || f == scripted.HangInStream {
					idle = 200 * time.Millisecond
				}
				_, done, err := modeltest.Play(connect(t, s, d, idle), ask("x"))
				switch {
				case d == wirebody.Gemini && f == scripted.BrokenArguments: // says so instead
					if done != nil || !errors.Is(err, model.ErrUnreadable) {
						t.Errorf("got %v", err)
					}
				case harmless[f]:
					if err != nil || done == nil {
						t.Fatalf("%v", err)
					}
					if none := f == scripted.NoUsage || f == scripted.BadUsage; (done.Usage == nil) != none || (done.UsageProblem != "") != (f == scripted.BadUsage) {
						t.Errorf("usage %+v, %q", done.Usage, done.UsageProblem)
					}
				case err == nil || done != nil:
					t.Error("no error")
				case want[f] != nil && !errors.Is(err, want[f]):
					t.Errorf("got %v, want %v", err, want[f])
				}
			})
		}
	})
}

// A window is enforced in each provider's own words.
func TestWindowIsEnforced(t *testing.T) {
	eachDialect(t, func(t *testing.T, d wirebody.Dialect) {
		s := start(t, scripted.Options{WindowTokens: 100, Refuse: true, Script: func(scripted.Request) scripted.Reply { return scripted.Reply{Text: "ok"} }})
		m := connect(t, s, d, time.Minute)
		if _, _, err := modeltest.Play(m, ask("short")); err != nil {
			t.Error(err)
		}
		_, _, err := modeltest.Play(m, ask(strings.Repeat("many words ", 100)))
		if !errors.Is(err, model.ErrContextOverflow) {
			t.Error(err)
		}
		if total := s.Totals(); total.OverWindow != 1 || total.Refused != 1 {
			t.Errorf("totals %+v", total)
		}
	})
}

// The steps of a script are taken in order, each as often as it says.
func TestScript(t *testing.T) {
	text := `{"when": "begin", "times": 2, "calls": [{"name": "read", "arguments": {"path": "{n}.go"}}]}
{"holds": "never", "text": "it holds"}
{"lacks": "never", "fault": "429"}`
	script, unused, err := scripted.ParseScript(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request := func(texts ...string) scripted.Request { return scripted.Request{Messages: ask(texts...).Messages} }
	if r := script(request("begin")); r.Calls[0].Arguments != `{"path": "1.go"}` {
		t.Errorf("%+v", r)
	}
	if r := script(request("begin")); r.Calls[0].Arguments != `{"path": "2.go"}` {
		t.Errorf("%+v", r)
	}
	if r := script(request("say never", "yes", "begin")); r.Text != "it holds" {
		t.Errorf("%+v", r)
	}
	if got := unused(); len(got) != 1 {
		t.Errorf("unused %v", got)
	}
	if r := script(request("begin")); r.Fault != scripted.RateLimited {
		t.Errorf("%+v", r)
	}
	if r := script(request("begin")); r.Fault != scripted.Unscripted {
		t.Errorf("%+v", r)
	}
	if _, _, err := scripted.ParseScript(strings.NewReader(`{"unknown": 1}`)); err == nil {
		t.Error("an unknown member is taken")
	}
}
