package openaichat_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/openaichat"
)

func serve(t *testing.T, o openaichat.Options, answers ...modeltest.Answer) (*openaichat.Model, *modeltest.Server) {
	server := modeltest.NewServer(t, answers...)
	return newModel(t, server.Setup(), o), server
}

func chunk(delta string) string { return `{"id":"c","choices":[{"index":0,"delta":` + delta + `}]}` }

const (
	stop  = `{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	done  = "[DONE]"
	usage = `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}`
)

// Reasoning comes under one of two names and goes back under the same one
// (F-TST-10; vLLM renamed the member and took the old one away).
func TestReasoningGoesBackAsTheServerNamesIt(t *testing.T) {
	tests := []struct {
		name   string
		rule   openaichat.Reasoning
		deltas []string
		want   string // members of the assistant's message that come back
	}{
		{"reasoning_content", "", []string{chunk(`{"reasoning_content":"a"}`), chunk(`{"reasoning_content":"b"}`)}, `"reasoning_content":"ab"`},
		{"reasoning", "", []string{chunk(`{"reasoning":"a"}`), chunk(`{"reasoning":"b"}`)}, `"reasoning":"ab"`},
		{"both at once", "", []string{chunk(`{"reasoning":"a","reasoning_content":"a"}`), chunk(`{"reasoning":"b","reasoning_content":"b"}`)}, `"reasoning_content":"ab"`},
		{"sealed details", "", []string{chunk(`{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a"}]}`),
			chunk(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"c2VhbA=="}]}`)},
			`"reasoning_details":[{"type":"reasoning.text","text":"a"},{"type":"reasoning.encrypted","data":"c2VhbA=="}]`},
		{"parts of Mistral", "", []string{chunk(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`)}, `"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]},{"type":"text","text":"Yes."}]}`},
		{"never", openaichat.ReasoningNever, []string{chunk(`{"reasoning_content":"a"}`)}, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			events := append(append([]string{}, test.deltas...), chunk(`{"content":"Yes."}`), stop, done)
			m, server := serve(t, openaichat.Options{Provider: "deepseek", Reasoning: test.rule}, modeltest.Events(events...))
			r := modeltest.Ask()
			_, completed, err := modeltest.Play(m, r)
			if err != nil {
				t.Fatal(err)
			}
			r.Messages = append(r.Messages, completed.Messages...)
			if _, _, err := modeltest.Play(m, r); err != nil {
				t.Fatal(err)
			}
			body := string(server.Requests()[1].Body)
			want := `{"role":"assistant",` + test.want + `,"content":"Yes."}`
			if strings.HasPrefix(test.want, `"content"`) {
				want = `{"role":"assistant",` + test.want
			}
			if test.want == "" {
				want = `{"role":"assistant","content":"Yes."}`
			}
			if !strings.Contains(body, want) {
				t.Errorf("body lacks %s: %s", want, body)
			}
		})
	}
}

// Reasoning of another provider stays here; that of an imported session goes
// back where the settings say so.
func TestReasoningOfOthers(t *testing.T) {
	r := modeltest.Ask()
	r.Messages = append(r.Messages, message.Message{Role: message.RoleAssistant, Blocks: []message.Block{
		message.Reasoning{Text: "imported"}, message.Reasoning{Text: "foreign", Provider: "anthropic", Opaque: json.RawMessage(`"s"`)}, message.Text{Text: "Yes."}}})
	for rule, want := range map[openaichat.Reasoning]bool{openaichat.ReasoningSameProvider: false, openaichat.ReasoningNever: false, openaichat.ReasoningContent: true} {
		m, _ := serve(t, openaichat.Options{Provider: "deepseek", Reasoning: rule})
		body, err := m.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), "foreign") || strings.Contains(string(body), `"reasoning_content":"imported"`) != want {
			t.Errorf("%q: %s", rule, body)
		}
	}
}

// Usage is brought into one form, whatever a server leaves out (B4, F-EST-01).
func TestUsage(t *testing.T) {
	tests := []struct {
		name, usage string
		want        message.Usage
	}{
		{"OpenAI", `{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":8}}`, message.Usage{InputTokens: 100, CachedInputTokens: 60, OutputTokens: 20, ReasoningTokens: 8}},
		{"DeepSeek", `{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}`, message.Usage{InputTokens: 100, CachedInputTokens: 64, OutputTokens: 20}},
		{"xAI leaves reasoning out", `{"prompt_tokens":100,"completion_tokens":20,"total_tokens":150,"completion_tokens_details":{"reasoning_tokens":30}}`, message.Usage{InputTokens: 100, OutputTokens: 50, ReasoningTokens: 30}},
		{"a proxy leaves the cached part out", `{"prompt_tokens":40,"completion_tokens":20,"total_tokens":160}`, message.Usage{InputTokens: 140, OutputTokens: 20}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, _ := serve(t, openaichat.Options{}, modeltest.Events(chunk(`{"content":"a"}`), stop, `{"choices":[],"usage":`+test.usage+`}`, done))
			_, completed, err := modeltest.Play(m, modeltest.Ask())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, completed.Usage); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("impossible", func(t *testing.T) {
		for _, last := range []string{``, `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}`} {
			answer := []string{chunk(`{"content":"a"}`), stop, `{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":1}}`}
			if last != "" { // a later report that can be read makes it known
				answer = append(answer, last)
			}
			m, _ := serve(t, openaichat.Options{}, modeltest.Events(append(answer, done)...))
			_, completed, err := modeltest.Play(m, modeltest.Ask())
			if err != nil || (completed.Usage == nil) != (last == "") || (completed.UsageProblem == "") != (last != "") {
				t.Errorf("%+v, %v", completed, err)
			}
		}
	})
}

// Calls as the smaller servers send them.
func TestCallsOfOtherServers(t *testing.T) {
	a := message.ToolCall{ID: "a", Name: "f", Arguments: `{"x":1}`}
	b := message.ToolCall{ID: "b", Name: "g", Arguments: `{"y":2}`}
	tests := []struct {
		name   string
		deltas []string
		want   []message.Block
	}{
		{"whole, without an index", []string{`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}]}`}, []message.Block{a, b}},
		{"every index zero", []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`, `{"tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}]}`}, []message.Block{a, b}},
		{"arguments as an object", []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}`}, []message.Block{a}},
		{"id and name in every piece", []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}`, `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]}`}, []message.Block{a}},
		{"mixed pieces", []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}},{"index":1,"id":"b","function":{"name":"g"}}]}`,
			`{"tool_calls":[{"index":1,"function":{"arguments":"{\"y\""}},{"index":0,"function":{"arguments":"{\"x\""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":1,"function":{"arguments":":2}"}}]}`}, []message.Block{a, b}},
		{"another choice is not read", []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`}, []message.Block{a}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			events := []string{`{"choices":[{"index":1,"delta":{"content":"other"}}]}`}
			for _, d := range test.deltas {
				events = append(events, chunk(d))
			}
			m, _ := serve(t, openaichat.Options{}, modeltest.Events(append(events, stop, done)...))
			_, completed, err := modeltest.Play(m, modeltest.Ask())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, completed.Messages[0].Blocks); diff != "" || completed.Stop != model.StopToolCall {
				t.Errorf("stop %q: %s", completed.Stop, diff)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	end := func(reason string) string {
		return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
	}
	for reason, want := range map[string]model.StopReason{"stop": model.StopEnd, "length": model.StopOutput, "model_length": model.StopWindow,
		"content_filter": model.StopRefusal, "tool_calls": model.StopToolCall, "function_call": model.StopToolCall, "later": model.StopUnknown} {
		m, _ := serve(t, openaichat.Options{}, modeltest.Events(chunk(`{"content":"a"}`), end(reason), usage, done))
		if _, completed, err := modeltest.Play(m, modeltest.Ask()); err != nil || completed.Stop != want {
			t.Errorf("%s: %+v, %v, want %q", reason, completed, err, want)
		}
	}
	m, _ := serve(t, openaichat.Options{}, modeltest.Events(chunk(`{"content":"a"}`), done))
	if _, _, err := modeltest.Play(m, modeltest.Ask()); !errors.Is(err, model.ErrIncompleteStream) {
		t.Errorf("[DONE] without a finish reason: %v", err)
	}
	m, _ = serve(t, openaichat.Options{}, modeltest.Events(chunk(`{"content":"a"}`), end("stop"), usage))
	if _, _, err := modeltest.Play(m, modeltest.Ask()); !errors.Is(err, model.ErrIncompleteStream) {
		t.Errorf("no [DONE]: %v", err)
	}
}

// The settings are in the body, and wrong ones are refused at once.
func TestOptions(t *testing.T) {
	m, _ := serve(t, openaichat.Options{OutputCapField: "max_completion_tokens", Effort: "high", OmitStreamOptions: true, Extra: json.RawMessage(`{"temperature": 0.5}`)})
	body, err := m.Encode(modeltest.Ask())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"test-model","stream":true,"max_completion_tokens":1234,"reasoning_effort":"high","temperature": 0.5,"tools":`
	if !strings.HasPrefix(string(body), want) {
		t.Errorf("got %s", body)
	}
	for name, o := range map[string]openaichat.Options{
		"member for the cap": {OutputCapField: "limit"},
		"rule":               {Reasoning: "sometimes"},
		"no model":           {Model: " "},
	} {
		o.Connection.Endpoint = "https://api.example.com"
		if o.Model == " " {
			o.Model = ""
		} else {
			o.Model = "m"
		}
		if _, err := openaichat.New(o); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, extra := range []string{`[]`, `{"messages":[]}`, `{`} {
		m, _ := serve(t, openaichat.Options{Extra: json.RawMessage(extra)})
		if _, err := m.Encode(modeltest.Ask()); err == nil {
			t.Errorf("Extra %s is taken", extra)
		}
	}
}

// An unknown model gets the small window with its source (F-CAP-04, F-TST-02);
// a known one the catalog's, a stated one the user's (B16).
func TestCapabilities(t *testing.T) {
	tests := []struct {
		o      openaichat.Options
		window int
		source model.WindowSource
	}{
		{openaichat.Options{Model: "nobody-knows-this"}, 32768, model.WindowFallback},
		{openaichat.Options{Model: "x", Capabilities: model.Capabilities{WindowTokens: 9000, WindowSource: model.WindowFromUser}}, 9000, model.WindowFromUser},
	}
	for _, test := range tests {
		m, _ := serve(t, test.o)
		if c := m.Capabilities(); c.WindowTokens != test.window || c.WindowSource != test.source || c.Model != test.o.Model ||
			c.NativeCompaction != model.NativeCompactionUnsupported || c.ContinuationProjection != model.ContinuationProjectionAdapterOwned {
			t.Errorf("got %+v", c)
		}
	}
	m, _ := serve(t, openaichat.Options{Model: "gpt-5"})
	if c := m.Capabilities(); c.WindowTokens != 400000 || c.WindowSource != model.WindowFromCatalog || c.MaxOutputSource != model.WindowFromCatalog {
		t.Errorf("got %+v", c)
	}
	if _, ok := model.Model(m).(model.NativeCompactor); ok {
		t.Error("the dialect has no native compaction (F-NAT-06)")
	}
}
