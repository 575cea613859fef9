package gemini_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/provider/gemini"
)

func serve(t *testing.T, o gemini.Options, answers ...modeltest.Answer) (*gemini.Model, *modeltest.Server) {
	server := modeltest.NewServer(t, answers...)
	return newModel(t, server.Setup(), o), server
}

func parts(list string) string {
	return `{"candidates":[{"index":0,"content":{"role":"model","parts":` + list + `}}],"responseId":"r1"}`
}

const end = `{"candidates":[{"index":0,"content":{},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":2}}`

// Signatures go back with the parts that they came with (F-TST-10, F-RUN-09).
func TestSignaturesGoBack(t *testing.T) {
	tests := []struct {
		name   string
		events []string
		want   string
	}{
		{"on a call", []string{parts(`[{"functionCall":{"id":"c","name":"f","args":{"a":1}},"thoughtSignature":"c2ln"}]`)}, `[{"functionCall":{"id":"c","name":"f","args":{"a":1}},"thoughtSignature":"c2ln"}]`},
		{"on the first of two calls", []string{parts(`[{"functionCall":{"id":"c","name":"f","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"d","name":"f","args":{}}}]`)},
			`[{"functionCall":{"id":"c","name":"f","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"d","name":"f","args":{}}}]`},
		{"on a text", []string{parts(`[{"text":"Yes","thoughtSignature":"c2ln"}]`), parts(`[{"text":"."}]`)}, `[{"text":"Yes.","thoughtSignature":"c2ln"}]`},
		{"on an empty text at the end", []string{parts(`[{"text":"Yes."}]`), parts(`[{"text":"","thoughtSignature":"c2ln"}]`)}, `[{"text":"Yes."},{"text":"","thoughtSignature":"c2ln"}]`},
		{"two in a row", []string{parts(`[{"text":"","thoughtSignature":"YQ=="},{"text":"","thoughtSignature":"Yg=="}]`)}, `[{"text":"","thoughtSignature":"YQ=="},{"text":"","thoughtSignature":"Yg=="}]`},
		{"visible thought", []string{parts(`[{"text":"Hm","thought":true}]`), parts(`[{"text":".","thought":true}]`), parts(`[{"text":"Yes."}]`)}, `[{"text":"Hm.","thought":true},{"text":"Yes."}]`},
		{"call without an id", []string{parts(`[{"functionCall":{"name":"f","args":{}}}]`)}, `[{"functionCall":{"name":"f","args":{}}}]`},
		{"unread part", []string{parts(`[{"executableCode":{"code":"1"}}]`)}, `[{"executableCode":{"code":"1"}}]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, server := serve(t, gemini.Options{}, modeltest.Events(append(test.events, end)...))
			r := modeltest.Ask()
			_, completed, err := modeltest.Play(m, r)
			if err != nil {
				t.Fatal(err)
			}
			r.Messages = append(r.Messages, completed.Messages...)
			for _, b := range completed.Messages[0].Blocks {
				if call, ok := b.(message.ToolCall); ok {
					r.Messages = append(r.Messages, message.Message{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: call.ID}}})
				}
			}
			if _, _, err := modeltest.Play(m, r); err != nil {
				t.Fatal(err)
			}
			if body := string(server.Requests()[1].Body); !strings.Contains(body, `{"role":"model","parts":`+test.want+`}`) {
				t.Errorf("body lacks %s: %s", test.want, body)
			}
		})
	}
}

// Gemini 3 refuses a call of another model without a signature; Google names a
// stand-in for it. Older models get none.
func TestCallsOfOtherModels(t *testing.T) {
	r := modeltest.Ask()
	r.Messages = append(r.Messages,
		message.Message{Role: message.RoleAssistant, Blocks: []message.Block{message.Reasoning{Text: "foreign", Provider: "openai", Opaque: json.RawMessage(`{}`)},
			message.ToolCall{ID: "c", Name: "f", Arguments: "free text"}, message.ToolCall{ID: "d", Name: "g"}}},
		message.Message{Role: message.RoleTool, Blocks: []message.Block{
			message.ToolResult{CallID: "c", Content: []message.Block{message.Text{Text: "x"}, message.Image{MediaType: "image/png", Data: []byte{1}}, message.Image{URL: "https://example.com/a.png"}}},
			message.ToolResult{CallID: "d", Outcome: message.OutcomeFailure, Content: []message.Block{message.Text{Text: "no"}}}}})
	for name, signature := range map[string]string{"gemini-3-pro": `,"thoughtSignature":"skip_thought_signature_validator"`, "gemini-2.5-pro": ""} {
		m, _ := serve(t, gemini.Options{Model: name})
		body, err := m.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(body), `世界"}]},`)
		want := `{"role":"model","parts":[{"functionCall":{"id":"c","name":"f","args":{"arguments":"free text"}}` + signature + `},{"functionCall":{"id":"d","name":"g","args":{}}}]},` +
			`{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"output":"x"}}},{"functionResponse":{"id":"d","name":"g","response":{"error":"no"}}},` +
			`{"inlineData":{"mimeType":"image/png","data":"AQ=="}},{"fileData":{"mimeType":"image/png","fileUri":"https://example.com/a.png"}}]}]}`
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEnds(t *testing.T) {
	finish := func(reason string) string {
		return `{"candidates":[{"index":0,"content":{"parts":[{"text":"a"}]},"finishReason":"` + reason + `"}],"usageMetadata":{"promptTokenCount":5}}`
	}
	for event, want := range map[string]model.StopReason{
		finish("STOP"): model.StopEnd, finish("MAX_TOKENS"): model.StopOutput, finish("SAFETY"): model.StopRefusal, finish("OTHER"): model.StopUnknown,
		`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":5}}`: model.StopRefusal,
	} {
		m, _ := serve(t, gemini.Options{}, modeltest.Events(event))
		if _, completed, err := modeltest.Play(m, modeltest.Ask()); err != nil || completed.Stop != want || completed.Usage == nil || completed.Usage.InputTokens != 5 {
			t.Errorf("%s: %+v, %v", event, completed, err)
		}
	}
}

func TestSettings(t *testing.T) {
	m, _ := serve(t, gemini.Options{Model: "models/gemini-x", Thoughts: true, ThinkingTokens: 500, ThinkingLevel: "low", Extra: json.RawMessage(`{"safetySettings":[]}`)}, modeltest.Events(end))
	r := modeltest.Ask()
	r.Reminder = "Hurry."
	body, err := m.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"generationConfig":{"maxOutputTokens":1234,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":500,"thinkingLevel":"low"}},"safetySettings":[],"tools":`,
		`"systemInstruction":{"role":"user","parts":[{"text":"Be brief."}]}`, `,{"role":"user","parts":[{"text":"Hurry."}]}]`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("body lacks %s: %s", want, body)
		}
	}
	m, server := serve(t, gemini.Options{Model: "models/gemini-x"}, modeltest.Events(end))
	if _, _, err := modeltest.Play(m, r); err != nil {
		t.Fatal(err)
	}
	if got := server.Requests()[0]; got.Path != "/models/gemini-x:streamGenerateContent" || got.Query != "alt=sse" {
		t.Errorf("%s?%s", got.Path, got.Query)
	}
	for _, o := range []gemini.Options{{Model: "m", ThinkingTokens: -1}, {}} {
		if _, err := gemini.New(o); !errors.Is(err, provider.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if c := m.Capabilities(); c.NativeCompaction != model.NativeCompactionUnsupported || !c.CountsRequests {
		t.Errorf("got %+v", c)
	}
}

// The count covers system text and tools, which the SDK's own call cannot
// (F-CAP-02, F-EST-01).
func TestCountRequest(t *testing.T) {
	m, server := serve(t, gemini.Options{}, modeltest.Document(200, `{"totalTokens":4321}`))
	got, err := model.CountRequest(t.Context(), m, modeltest.Ask(), time.Minute, model.Estimate{})
	if err != nil || got.Tokens != 4321 || got.Confidence != model.ConfidenceExact {
		t.Errorf("got %+v, %v", got, err)
	}
	r := server.Requests()[0]
	if r.Path != "/models/test-model:countTokens" || !strings.HasPrefix(string(r.Body), `{"generateContentRequest":{"model":"models/test-model",`) || !strings.Contains(string(r.Body), "Be brief.") || !json.Valid(r.Body) {
		t.Errorf("%s: %s", r.Path, r.Body)
	}
	for _, bad := range []modeltest.Answer{modeltest.Document(200, `{}`), modeltest.Document(200, `nope`), modeltest.Document(429, ``)} {
		m, _ := serve(t, gemini.Options{}, bad)
		if got, err := model.CountRequest(t.Context(), m, modeltest.Ask(), time.Minute, model.Estimate{Tokens: 7}); err == nil || got.Tokens != 7 {
			t.Errorf("%s: got %+v, %v", bad.Body, got, err)
		}
	}
}

// An answer that lacks the call that the model made is not complete.
func TestCallThatTheProviderCouldNotRead(t *testing.T) {
	m, _ := serve(t, gemini.Options{}, modeltest.Events(`{"candidates":[{"content":{"role":"model","parts":[{"text":"Now."}]},"index":0,"finishReason":"MALFORMED_FUNCTION_CALL"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1,"totalTokenCount":4}}`))
	_, done, err := modeltest.Play(m, modeltest.Ask())
	if done != nil || !errors.Is(err, model.ErrUnreadable) {
		t.Errorf("got %+v, %v", done, err)
	}
}
