package openai_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/openai"
)

func serve(t *testing.T, o openai.Options, answers ...modeltest.Answer) (*openai.Model, *modeltest.Server) {
	server := modeltest.NewServer(t, answers...)
	return newModel(t, server.Setup(), o), server
}

func encode(t *testing.T, o openai.Options, r model.Request) string {
	t.Helper()
	m, _ := serve(t, o)
	body, err := m.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

const completed = `{"type":"response.completed","response":{"id":"r1","output":[],"usage":{"input_tokens":10,"output_tokens":2}}}`

// Items that the adapter does not read, and marks of the model's messages, go
// back as they came (F-TST-10, F-RUN-09).
func TestItemsGoBack(t *testing.T) {
	tests := []struct{ name, item, want string }{
		{"reasoning", `{"type":"reasoning","id":"rs1","summary":[],"encrypted_content":"c2VhbA==","new_member":[1, 2]}`, `{"type":"reasoning","id":"rs1","summary":[],"encrypted_content":"c2VhbA==","new_member":[1, 2]}`},
		{"reasoning that cannot go back", `{"type":"reasoning","id":"rs1","summary":[{"type":"summary_text","text":"Hm"}]}`, ``},
		{"phase", `{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look."}]}`, `{"type":"message","role":"assistant","content":"I look.","phase":"commentary"}`},
		{"compaction of a threshold", `{"type":"compaction","id":"cmp1","encrypted_content":"c2VhbA=="}`, `{"type":"compaction","id":"cmp1","encrypted_content":"c2VhbA=="}`},
		{"server tool", `{"type":"web_search_call","id":"ws1","status":"completed"}`, `{"type":"web_search_call","id":"ws1","status":"completed"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, server := serve(t, openai.Options{}, modeltest.Events(`{"type":"response.output_item.done","output_index":0,"item":`+test.item+`}`, completed))
			r := modeltest.Ask()
			_, c, err := modeltest.Play(m, r)
			if err != nil {
				t.Fatal(err)
			}
			r.Messages = append(r.Messages, c.Messages...)
			if _, _, err := modeltest.Play(m, r); err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(server.Requests()[1].Body), `世界"}]}`)
			want := "]}"
			if test.want != "" {
				want = "," + test.want + "]}"
			}
			if rest != want {
				t.Errorf("got %s, want %s", rest, want)
			}
		})
	}
}

// A server that sends the items only at the end is understood; two items at
// one place are not.
func TestItemsAtTheEnd(t *testing.T) {
	m, _ := serve(t, openai.Options{}, modeltest.Events(
		`{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"Yes."}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}}`))
	_, c, err := modeltest.Play(m, modeltest.Ask())
	if err != nil || c.Stop != model.StopToolCall || len(c.Messages) != 1 || len(c.Messages[0].Blocks) != 2 || c.Usage != nil {
		t.Errorf("got %+v, %v", c, err)
	}
	done := `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[]}}`
	m, _ = serve(t, openai.Options{}, modeltest.Events(done, done, completed))
	if _, _, err := modeltest.Play(m, modeltest.Ask()); err == nil {
		t.Error("an item that is done twice is taken")
	}
	m, _ = serve(t, openai.Options{}, modeltest.Events("[DONE]"))
	if _, _, err := modeltest.Play(m, modeltest.Ask()); !errors.Is(err, model.ErrIncompleteStream) {
		t.Errorf("[DONE] alone: %v", err)
	}
}

// Errors come in three shapes.
func TestErrorEvents(t *testing.T) {
	for name, event := range map[string]string{
		"nested": `{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long"}}`,
		"flat":   `{"type":"error","code":"context_length_exceeded","message":"too long"}`,
		"failed": `{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"too long"}}}`,
		"bare":   `{"error":{"code":"context_length_exceeded","message":"too long"}}`,
	} {
		m, _ := serve(t, openai.Options{}, modeltest.Events(event))
		_, _, err := modeltest.Play(m, modeltest.Ask())
		var e *model.Error
		if !errors.As(err, &e) || !errors.Is(err, model.ErrContextOverflow) || e.Message != "too long" || e.Code != "context_length_exceeded" || string(e.Body) != event {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestInput(t *testing.T) {
	r := model.Request{Reminder: "Hurry.", Messages: []message.Message{
		adaptertest.Text(message.RoleSystem, "Note."),
		{Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: "See"}, message.Image{MediaType: "image/png", Data: []byte{1}, Detail: "low"}, message.Image{URL: "file:f1"}, message.Image{URL: "https://example.com/a.png"}, message.Image{}}},
		{Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: "c", Name: "f"}, message.Reasoning{Text: "foreign", Provider: "gemini", Opaque: json.RawMessage(`"x"`)}}},
		{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: "c", Content: []message.Block{message.Text{Text: "x"}, message.Image{Data: []byte{1}}}}}},
		{Role: message.RoleAssistant, Blocks: []message.Block{message.Opaque{Provider: "anthropic", Type: "server_tool_use", Data: json.RawMessage(`{}`)}}},
	}}
	_, got, _ := strings.Cut(encode(t, openai.Options{}, r), `"input":`)
	want := `[{"type":"message","role":"developer","content":[{"type":"input_text","text":"Note."}]},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"See"},{"type":"input_image","image_url":"data:image/png;base64,AQ==","detail":"low"},` +
		`{"type":"input_image","file_id":"f1","detail":"auto"},{"type":"input_image","image_url":"https://example.com/a.png","detail":"auto"},{"type":"input_text","text":"[image not available]"}]},` +
		`{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"data:image/png;base64,AQ==","detail":"auto"}]},{"type":"message","role":"developer","content":[{"type":"input_text","text":"Hurry."}]}]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// No state at the provider, no silent truncation, and the settings where they
// belong.
func TestSettings(t *testing.T) {
	tests := []struct {
		o    openai.Options
		want string
	}{
		{openai.Options{}, `{"model":"test-model","store":false,"stream":true,"include":["reasoning.encrypted_content"],"max_output_tokens":1234,"truncation":"disabled","tools":`},
		{openai.Options{NoReasoning: true, CacheKey: "k"}, `"stream":true,"max_output_tokens":1234,"prompt_cache_key":"k","truncation":"disabled","tools":`},
		{openai.Options{Effort: "high", Summary: "auto"}, `"truncation":"disabled","reasoning":{"effort":"high","summary":"auto"},"tools":`},
		{openai.Options{CompactAtTokens: 1000}, `"context_management":[{"type":"compaction","compact_threshold":1000}],`},
		{openai.Options{Extra: json.RawMessage(`{"service_tier":"flex"}`)}, `"service_tier":"flex","tools":`},
	}
	for _, test := range tests {
		if body := encode(t, test.o, modeltest.Ask()); !strings.Contains(body, test.want) {
			t.Errorf("body lacks %s: %s", test.want, body)
		}
	}
	m, _ := serve(t, openai.Options{Extra: json.RawMessage(`{"previous_response_id":"r"}`)})
	if _, err := m.Encode(modeltest.Ask()); err == nil {
		t.Error("state at the provider is taken")
	}
	for _, o := range []openai.Options{{Model: "m", CompactAtTokens: -1}, {}} {
		if _, err := openai.New(o); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// The count endpoint gets the whole request (F-CAP-02, F-EST-01).
func TestCountRequest(t *testing.T) {
	m, server := serve(t, openai.Options{Effort: "low"}, modeltest.Document(200, `{"object":"response.input_tokens","input_tokens":4321}`))
	got, err := model.CountRequest(t.Context(), m, modeltest.Ask(), time.Minute, model.Estimate{})
	if err != nil || got.Tokens != 4321 || got.Confidence != model.ConfidenceExact || got.BandTokens != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	r := server.Requests()[0]
	want := `{"model":"test-model","truncation":"disabled","reasoning":{"effort":"low"},"tools":`
	if r.Path != "/responses/input_tokens" || !strings.HasPrefix(string(r.Body), want) || !strings.Contains(string(r.Body), "Be brief.") {
		t.Errorf("%s: %s", r.Path, r.Body)
	}
	fallback := model.Estimate{Tokens: 7, BandTokens: 3}
	for _, bad := range []modeltest.Answer{modeltest.Document(200, `{}`), modeltest.Document(200, `nope`), modeltest.Document(404, ``)} {
		m, _ := serve(t, openai.Options{}, bad)
		if got, err := model.CountRequest(t.Context(), m, modeltest.Ask(), time.Minute, fallback); err == nil || got != fallback {
			t.Errorf("%s: got %+v, %v", bad.Body, got, err)
		}
	}
}

// A native compaction is opaque, its cost is counted, and it goes back
// unchanged, to its maker only (F-NAT-01, F-NAT-02, F-NAT-04, F-TST-11,
// F-TST-19).
func TestNativeCompaction(t *testing.T) {
	const user = `{"type":"message","role":"user","content":[{"type":"input_text","text":"Old <&>."}]}`
	const sealed = `{"type":"compaction","id":"cmp1","encrypted_content":"c2VhbA=="}`
	m, server := serve(t, openai.Options{}, modeltest.Document(200, `{"object":"response.compaction","output":[`+user+`,`+sealed+`],"usage":{"input_tokens":9000,"input_tokens_details":{"cached_tokens":100},"output_tokens":200,"output_tokens_details":{"reasoning_tokens":0}}}`))
	item, err := m.CompactNative(t.Context(), []message.Message{adaptertest.Text(message.RoleUser, "Old <&>."), adaptertest.Text(message.RoleAssistant, "Yes.")})
	if err != nil {
		t.Fatal(err)
	}
	if item.Provider != openai.Provider || item.Model != "test-model" || item.Usage == nil || item.Usage.InputTokens != 9000 || item.Usage.CachedInputTokens != 100 {
		t.Errorf("got %+v", item)
	}
	if r := server.Requests()[0]; r.Path != "/responses/compact" || !strings.HasPrefix(string(r.Body), `{"model":"test-model","input":[`) {
		t.Errorf("%s: %s", r.Path, r.Body)
	}
	stands := message.Message{Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{message.Opaque{Provider: item.Provider, Type: "compaction", Data: item.Data}}}
	r := model.Request{Messages: []message.Message{stands, adaptertest.Text(message.RoleUser, "Go on.")}}
	var body struct {
		Input []json.RawMessage
	}
	if err := json.Unmarshal([]byte(encode(t, openai.Options{}, r)), &body); err != nil {
		t.Fatal(err)
	}
	if len(body.Input) != 3 || string(body.Input[1]) != sealed {
		t.Errorf("the item is not in place: %s", body.Input)
	}
	for _, o := range []openai.Options{{Provider: "azure"}, {NoCompaction: true}} {
		m, _ := serve(t, o)
		if _, err := m.Encode(r); err == nil {
			t.Errorf("the item is sent by %+v", o)
		}
	}
	// Inside a reply it stands beside what it summarizes: another endpoint does
	// without it.
	beside := model.Request{Messages: []message.Message{adaptertest.Text(message.RoleUser, "Old."), {Role: message.RoleAssistant, Blocks: append(stands.Blocks, message.Text{Text: "Yes."})}}}
	for _, o := range []openai.Options{{Provider: "azure"}, {NoCompaction: true}} {
		if body := encode(t, o, beside); strings.Contains(body, "cmp1") || !strings.Contains(body, `"Yes."`) {
			t.Errorf("with %+v: %s", o, body)
		}
	}
	for _, answer := range []string{`{"output":[` + user + `]}`, `{"output":[{"type":"compaction"}]}`, `nope`} {
		m, _ := serve(t, openai.Options{}, modeltest.Document(200, answer))
		if item, err := m.CompactNative(t.Context(), r.Messages[1:]); err == nil || item.Data != nil {
			t.Errorf("%s: %+v, %v", answer, item, err)
		}
	}
	m, _ = serve(t, openai.Options{}, modeltest.Document(200, `{"output":[`+sealed+`],"usage":{"input_tokens":-1}}`))
	if item, err := m.CompactNative(t.Context(), r.Messages[1:]); err != nil || item.Data == nil || item.Usage != nil {
		t.Errorf("with a usage that cannot be read: %+v, %v", item, err)
	}
	m, _ = serve(t, openai.Options{NoCompaction: true})
	if _, err := m.CompactNative(t.Context(), nil); err == nil || m.Capabilities().NativeCompaction != model.NativeCompactionUnsupported {
		t.Errorf("a compaction although it is switched off: %v", err)
	}
}
