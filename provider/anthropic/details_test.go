package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/anthropic"
)

func serve(t *testing.T, o anthropic.Options, answers ...modeltest.Answer) (*anthropic.Model, *modeltest.Server) {
	server := modeltest.NewServer(t, answers...)
	return newModel(t, server.Setup(), o), server
}

func encode(t *testing.T, o anthropic.Options, r model.Request) string {
	t.Helper()
	m, _ := serve(t, o)
	body, err := m.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Cache points: system, checkpoint end, current request, tail; never more than
// four, never two at one place (weak spot 7; ECONOMICS: four breakpoints).
func TestCachePoints(t *testing.T) {
	const mark = `,"cache_control":{"type":"ephemeral"}`
	memory := adaptertest.Text(message.RoleUser, "Memory.")
	memory.Origin = message.OriginSummary
	call := message.Message{Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: "c1", Name: "f", Arguments: "{}"}}}
	result := message.Message{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: "c1", Content: []message.Block{message.Text{Text: "ok"}}}}}
	system := []message.Message{adaptertest.Text(message.RoleSystem, "One."), adaptertest.Text(message.RoleSystem, "Two.")}
	tools := []message.ToolDefinition{{Name: "f"}, {Name: "g"}}
	tests := []struct {
		name string
		r    model.Request
		want []string // what stands in front of each mark
	}{
		{"all four", model.Request{Instructions: system, Tools: tools, Messages: []message.Message{memory, adaptertest.Text(message.RoleUser, "Old."), adaptertest.Text(message.RoleAssistant, "Yes."), adaptertest.Text(message.RoleUser, "Now."), call, result}},
			[]string{`"Two."`, `"Memory."`, `"Now."`, `"content":[{"type":"text","text":"ok"}]`}},
		{"reminder stays behind the mark", model.Request{Instructions: system, Reminder: "Hurry.", Messages: []message.Message{adaptertest.Text(message.RoleUser, "Now.")}}, []string{`"Two."`, `"Now."`}},
		{"no system text: the tools", model.Request{Tools: tools, Messages: []message.Message{adaptertest.Text(message.RoleUser, "Now.")}}, []string{`{"type":"object"}`, `"Now."`}},
		{"thinking takes no mark", model.Request{Messages: []message.Message{adaptertest.Text(message.RoleUser, "Now."), {Role: message.RoleAssistant, Blocks: []message.Block{
			message.Text{Text: "Hm."}, message.Reasoning{Text: "t", Provider: anthropic.Provider, Opaque: json.RawMessage(`"s"`)}}}}}, []string{`"Now."`, `"Hm."`}},
		{"nothing", model.Request{}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			body := encode(t, anthropic.Options{}, test.r)
			parts := strings.Split(body, mark)
			if len(parts)-1 != len(test.want) || len(parts) > 5 {
				t.Fatalf("%d marks, want %d: %s", len(parts)-1, len(test.want), body)
			}
			for i, want := range test.want {
				if !strings.HasSuffix(parts[i], want) {
					t.Errorf("mark %d stands behind …%s, want %s", i, parts[i][max(0, len(parts[i])-40):], want)
				}
			}
		})
	}
	if body := encode(t, anthropic.Options{NoCache: true}, tests[0].r); strings.Contains(body, "cache_control") {
		t.Errorf("marks although there are to be none: %s", body)
	}
	if body := encode(t, anthropic.Options{LongCache: true}, tests[0].r); strings.Count(body, `{"type":"ephemeral","ttl":"1h"}`) != 4 {
		t.Errorf("no long marks: %s", body)
	}
}

// Thinking of every kind goes back as it came (F-TST-10, F-RUN-09).
func TestThinkingGoesBack(t *testing.T) {
	start := func(block string) string {
		return `{"type":"content_block_start","index":0,"content_block":` + block + `}`
	}
	delta := func(d string) string { return `{"type":"content_block_delta","index":0,"delta":` + d + `}` }
	const stop, end, done = `{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`
	tests := []struct {
		name   string
		events []string
		want   string
	}{
		{"signed", []string{start(`{"type":"thinking","thinking":"","signature":""}`), delta(`{"type":"thinking_delta","thinking":"Hm"}`), delta(`{"type":"signature_delta","signature":"c2ln"}`), stop},
			`{"type":"thinking","thinking":"Hm","signature":"c2ln"}`},
		{"not shown", []string{start(`{"type":"thinking","thinking":"","signature":""}`), delta(`{"type":"signature_delta","signature":"c2ln"}`), stop},
			`{"signature":"c2ln","thinking":"","type":"thinking"}`},
		{"redacted", []string{start(`{"type":"redacted_thinking","data":"c2VhbGVk"}`), stop}, `{"type":"redacted_thinking","data":"c2VhbGVk"}`},
		{"server tool", []string{start(`{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}`), delta(`{"type":"input_json_delta","partial_json":"{\"q\":"}`), delta(`{"type":"input_json_delta","partial_json":"1}"}`), stop},
			`{"id":"s1","input":{"q":1},"name":"web_search","type":"server_tool_use"}`},
		{"compaction", []string{start(`{"type":"compaction","content":null}`), delta(`{"type":"compaction_delta","content":"Summary.","encrypted_content":"c2VhbA=="}`), stop},
			`{"content":"Summary.","encrypted_content":"c2VhbA==","type":"compaction"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, server := serve(t, anthropic.Options{}, modeltest.Events(append(append([]string{`{"type":"message_start","message":{"id":"m1","usage":{"input_tokens":9,"output_tokens":1}}}`}, test.events...), end, done)...))
			r := modeltest.Ask()
			_, completed, err := modeltest.Play(m, r)
			if err != nil {
				t.Fatal(err)
			}
			r.Messages = append(r.Messages, completed.Messages...)
			r.Messages = append(r.Messages, adaptertest.Text(message.RoleUser, "Go on."))
			if _, _, err := modeltest.Play(m, r); err != nil {
				t.Fatal(err)
			}
			if body := string(server.Requests()[1].Body); !strings.Contains(body, `{"role":"assistant","content":[`+test.want+`]}`) {
				t.Errorf("body lacks %s: %s", test.want, body)
			}
		})
	}
}

// What the provider would refuse is not sent: empty text, arguments that are
// no object, ids with other characters, thinking of others.
func TestWhatTheProviderWouldRefuse(t *testing.T) {
	r := model.Request{OutputTokens: 100, Messages: []message.Message{
		adaptertest.Text(message.RoleUser, "Go."), adaptertest.Text(message.RoleUser, " \n"),
		{Role: message.RoleAssistant, Blocks: []message.Block{
			message.Reasoning{Text: "foreign", Provider: "openai", Opaque: json.RawMessage(`{}`)}, message.Reasoning{Text: "imported"},
			message.Text{}, message.ToolCall{ID: "a.b|c", Name: "f", Arguments: "free text"}, message.ToolCall{ID: "d", Name: "f"}, message.ToolCall{ID: "e", Name: "f", Arguments: `{"a": 1}`}}},
		{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: "a.b|c", Outcome: message.OutcomeFailure}, message.ToolResult{CallID: "d", Content: []message.Block{
			message.Text{Text: "x"}, message.Image{MediaType: "image/png", Data: []byte{1}}, message.Image{URL: "https://example.com/a.png"}, message.Image{}}}}},
		{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: "e", Content: []message.Block{message.Text{Text: "y"}}}}},
	}}
	body := encode(t, anthropic.Options{NoCache: true}, r)
	_, got, _ := strings.Cut(body, `"messages":`)
	want := `[{"role":"user","content":[{"type":"text","text":"Go."}]},{"role":"assistant","content":[` +
		`{"type":"tool_use","id":"ID","name":"f","input":{"arguments":"free text"}},{"type":"tool_use","id":"d","name":"f","input":{}},{"type":"tool_use","id":"e","name":"f","input":{"a": 1}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"ID","is_error":true},{"type":"tool_result","tool_use_id":"d","content":[{"type":"text","text":"x"},` +
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQ=="}},{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}},{"type":"text","text":"[image not available]"}]},` +
		`{"type":"tool_result","tool_use_id":"e","content":[{"type":"text","text":"y"}]}]}]}`
	made := regexp.MustCompile(`call_[0-9a-f]{24}`).FindString(got) // stands for an id that is not taken
	want = strings.ReplaceAll(want, "ID", made)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Usage: both cache figures are beside the input, and zeros of a last event do
// not overrule the first (B4).
func TestUsage(t *testing.T) {
	tests := []struct {
		name, start, end string
		want             *message.Usage
		problem          string
	}{
		{"cache", `{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":1}`, `{"output_tokens":7}`,
			&message.Usage{InputTokens: 330, CachedInputTokens: 300, CacheWriteInputTokens: 20, OutputTokens: 7}, ""},
		{"zeros at the end", `{"input_tokens":10,"output_tokens":1}`, `{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":7}`, &message.Usage{InputTokens: 10, OutputTokens: 7}, ""},
		{"figures at the end", `{"input_tokens":0,"output_tokens":0}`, `{"input_tokens":40,"cache_read_input_tokens":5,"output_tokens":7,"output_tokens_details":{"thinking_tokens":4}}`,
			&message.Usage{InputTokens: 45, CachedInputTokens: 5, OutputTokens: 7, ReasoningTokens: 4}, ""},
		{"none", `{}`, `{}`, nil, ""},
		{"unreadable at the start", `{"input_tokens":-1}`, `{"output_tokens":7}`, nil, "-1"},
		{"unreadable at the end", `{"input_tokens":10,"output_tokens":1}`, `{"output_tokens":7.5}`, nil, "output_tokens"},
		{"unreadable, then zeros", `{"input_tokens":1.5}`, `{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":7}`, nil, "input_tokens"},
		{"no object", `"many"`, `{"output_tokens":7}`, nil, "no object"},
		{"unreadable, then whole", `{"input_tokens":-1}`, `{"input_tokens":10.0,"output_tokens":"7"}`, &message.Usage{InputTokens: 10, OutputTokens: 7}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, _ := serve(t, anthropic.Options{}, modeltest.Events(`{"type":"message_start","message":{"usage":`+test.start+`}}`,
				`{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"},"usage":`+test.end+`}`, `{"type":"message_stop"}`))
			_, completed, err := modeltest.Play(m, modeltest.Ask())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, completed.Usage); diff != "" || completed.Stop != model.StopWindow {
				t.Errorf("stop %q: %s", completed.Stop, diff)
			}
			if p := completed.UsageProblem; (p == "") != (test.problem == "") || !strings.Contains(p, test.problem) {
				t.Errorf("problem %q", p)
			}
		})
	}
}

// Events that contradict each other are errors, not guesses.
func TestContradictions(t *testing.T) {
	const begin = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	for name, events := range map[string][]string{
		"begins twice":        {begin, begin},
		"grows unbegun":       {`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"a"}}`},
		"ends unbegun":        {`{"type":"content_block_stop","index":3}`},
		"stops inside":        {begin, `{"type":"message_stop"}`},
		"block is no object":  {`{"type":"content_block_start","index":0,"content_block":3}`},
		"delta is no object":  {begin, `{"type":"content_block_delta","index":0,"delta":3}`},
		"no type":             {`{}`},
		"server tool is torn": {`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`, `{"type":"content_block_stop","index":0}`},
	} {
		m, _ := serve(t, anthropic.Options{}, modeltest.Events(events...))
		var e *model.Error
		if _, _, err := modeltest.Play(m, modeltest.Ask()); !errors.As(err, &e) || len(e.Body) == 0 || e.Kind != model.ErrUnreadable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The count endpoint gets the request without what only an answer needs, is
// exact, and has a fallback (F-CAP-02, F-EST-01).
func TestCountRequest(t *testing.T) {
	m, server := serve(t, anthropic.Options{}, modeltest.Document(200, `{"input_tokens":4321}`))
	fallback := model.Estimate{Tokens: 4000, BandTokens: 400}
	got, err := model.CountRequest(t.Context(), m, modeltest.Ask(), time.Minute, fallback)
	if err != nil || got != (model.Estimate{Tokens: 4321, Method: model.MethodProviderTokenizer, Confidence: model.ConfidenceExact}) {
		t.Errorf("got %+v, %v", got, err)
	}
	r := server.Requests()[0]
	if r.Path != "/v1/messages/count_tokens" || strings.Contains(string(r.Body), "max_tokens") || strings.Contains(string(r.Body), "stream") || !strings.Contains(string(r.Body), "Be brief.") {
		t.Errorf("%s: %s", r.Path, r.Body)
	}
	for _, bad := range []modeltest.Answer{modeltest.Document(200, `{}`), modeltest.Document(200, `nope`), modeltest.Document(200, `{"input_tokens":-1}`), modeltest.Document(500, `x`)} {
		m, server := serve(t, anthropic.Options{}, bad)
		if got, err := model.CountRequest(t.Context(), m, modeltest.Ask(), time.Minute, fallback); err == nil || got != fallback || len(server.Requests()) != 1 {
			t.Errorf("%s: got %+v, %v", bad.Body, got, err)
		}
	}
	m, _ = serve(t, anthropic.Options{}, modeltest.Answer{Status: 200, Stall: true})
	if got, err := model.CountRequest(t.Context(), m, modeltest.Ask(), time.Millisecond, fallback); !errors.Is(err, context.DeadlineExceeded) || got != fallback {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A native compaction is opaque, bound to its maker, and goes back unchanged
// in the assistant's place (F-NAT-01, F-NAT-02, F-TST-11).
func TestNativeCompaction(t *testing.T) {
	const block = `{"type":"compaction","content":"Summary <&>.","signature":"c2ln","encrypted_content":null}`
	m, server := serve(t, anthropic.Options{}, modeltest.Document(200, `{"content":[`+block+`],"stop_reason":"compaction","usage":{"input_tokens":9000,"output_tokens":200}}`))
	item, err := m.CompactNative(t.Context(), []message.Message{adaptertest.Text(message.RoleUser, "Old."), adaptertest.Text(message.RoleAssistant, "Yes.")})
	if err != nil {
		t.Fatal(err)
	}
	if string(item.Data) == "" || !json.Valid(item.Data) || item.Provider != anthropic.Provider || item.Model != "test-model" ||
		item.Usage == nil || item.Usage.InputTokens != 9000 || item.Usage.OutputTokens != 200 {
		t.Errorf("got %+v", item)
	}
	asked := server.Requests()[0]
	if !strings.Contains(string(asked.Body), `"compaction":{"type":"summarize"}`) || !strings.Contains(asked.Header.Get("Anthropic-Beta"), "compact-") || strings.Contains(string(asked.Body), "stream") {
		t.Errorf("asked with %q: %s", asked.Header.Get("Anthropic-Beta"), asked.Body)
	}
	r := model.Request{Messages: []message.Message{
		{Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{message.Opaque{Provider: item.Provider, Type: "compaction", Data: item.Data}}}, adaptertest.Text(message.RoleUser, "Go on.")}}
	if body := encode(t, anthropic.Options{NoCache: true}, r); !strings.Contains(body, `"messages":[{"role":"assistant","content":[`) || !strings.Contains(body, `"signature":"c2ln"`) {
		t.Errorf("the item is not in place: %s", body)
	}
	for _, answer := range []string{`{"content":[{"type":"compaction","content":null}]}`, `{"content":[]}`, `{"content":[{"type":"text","text":"no"}]}`, `nope`} {
		m, _ := serve(t, anthropic.Options{}, modeltest.Document(200, answer))
		if item, err := m.CompactNative(t.Context(), r.Messages[1:]); err == nil || item.Data != nil {
			t.Errorf("%s: %+v, %v", answer, item, err)
		}
	}
	m, _ = serve(t, anthropic.Options{NoCompaction: true})
	if c := m.Capabilities(); c.NativeCompaction != model.NativeCompactionUnsupported {
		t.Errorf("got %+v", c)
	}
	if _, err := m.CompactNative(t.Context(), nil); err == nil {
		t.Error("a compaction although it is switched off")
	}
	if _, err := m.Encode(r); err == nil {
		t.Error("the item is sent although the endpoint does not have it")
	}
}

func TestSettings(t *testing.T) {
	tests := []struct {
		o      anthropic.Options
		output int
		want   string
	}{
		{anthropic.Options{ThinkingTokens: 4000}, 8000, `"max_tokens":8000,"stream":true,"thinking":{"type":"enabled","budget_tokens":4000},"messages"`},
		{anthropic.Options{ThinkingTokens: 9000}, 8000, `"thinking":{"type":"enabled","budget_tokens":7999},`},
		{anthropic.Options{ThinkingTokens: 9000}, 800, `"max_tokens":800,"stream":true,"messages"`},
		{anthropic.Options{Effort: "high"}, 800, `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},`},
		{anthropic.Options{CompactAtTokens: 60000}, 800, `"context_management":{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":60000}}]},`},
		{anthropic.Options{Extra: json.RawMessage(`{"top_k":3}`)}, 800, `"top_k":3,`},
		{anthropic.Options{}, 0, `"max_tokens":4096,`},
		{anthropic.Options{Capabilities: model.Capabilities{WindowTokens: 200000, MaxOutputTokens: 64000}}, 0, `"max_tokens":64000,`},
	}
	for i, test := range tests {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if body := encode(t, test.o, model.Request{OutputTokens: test.output}); !strings.Contains(body, test.want) {
				t.Errorf("body lacks %s: %s", test.want, body)
			}
		})
	}
	for _, o := range []anthropic.Options{{Model: "m", ThinkingTokens: -1}, {Model: "m", CompactAtTokens: -1}, {}} {
		if _, err := anthropic.New(o); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if m, err := anthropic.New(anthropic.Options{Model: "m"}); err != nil || m.Capabilities().PromptCache.Breakpoints != 4 {
		t.Errorf("the defaults do not work: %v", err)
	}
}
