package sdkoracle

import (
	"bytes"
	"encoding/json"
	"testing"

	"google.golang.org/genai"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	sut "github.com/forge-agent/forge/provider/gemini"
)

func geminiModel(t *testing.T, r *recorder) *sut.Model {
	t.Helper()
	m, err := sut.New(sut.Options{Connection: r.connection(), Model: "test-model"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func geminiClient(t *testing.T, r *recorder) *genai.Client {
	t.Helper()
	one := int32(1)
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "not-a-real-key", Backend: genai.BackendGeminiAPI, HTTPClient: r.client(),
		HTTPOptions: genai.HTTPOptions{BaseURL: "https://api.example.com/", RetryOptions: &genai.HTTPRetryOptions{Attempts: &one}}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// signature is bytes to the SDK, base64 on the wire.
var signature = []byte("signature")

func geminiSigned(string) message.Reasoning {
	opaque, _ := json.Marshal(signature)
	return message.Reasoning{Provider: sut.Provider, Opaque: opaque}
}

// The adapter sends what genai sends for the same values.
func TestGeminiRequests(t *testing.T) {
	var sdk recorder
	client := geminiClient(t, &sdk)
	drawn(t, geminiSigned, func(t *testing.T, r model.Request) {
		sdk.stream = "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n"
		contents, config := geminiParams(t, r)
		for _, err := range client.Models.GenerateContentStream(t.Context(), "test-model", contents, config) {
			if err != nil {
				t.Fatal(err)
			}
		}
		body, err := geminiModel(t, &recorder{}).Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		same(t, bytes.Replace(sdk.body, []byte(`,"generationConfig":{}`), nil, 1), body) // an empty object says nothing
	})
}

func geminiParams(t *testing.T, r model.Request) ([]*genai.Content, *genai.GenerateContentConfig) {
	config := &genai.GenerateContentConfig{MaxOutputTokens: int32(r.OutputTokens), SystemInstruction: &genai.Content{}}
	for _, m := range r.Instructions {
		config.SystemInstruction.Parts = append(config.SystemInstruction.Parts, &genai.Part{Text: textOf(m)})
	}
	if len(r.Tools) > 0 {
		tool := &genai.Tool{}
		for _, d := range r.Tools {
			tool.FunctionDeclarations = append(tool.FunctionDeclarations, &genai.FunctionDeclaration{Name: d.Name, Description: d.Description, ParametersJsonSchema: schemaOf(t, d)})
		}
		config.Tools = []*genai.Tool{tool}
	}
	var contents []*genai.Content
	var late []*genai.Part // pictures of results
	content := func(role string) *genai.Content {
		if n := len(contents); n == 0 || contents[n-1].Role != role {
			if n > 0 {
				contents[n-1].Parts = append(contents[n-1].Parts, late...)
				late = nil
			}
			contents = append(contents, &genai.Content{Role: role})
		}
		return contents[len(contents)-1]
	}
	for _, m := range r.Messages {
		role := genai.RoleUser
		if m.Role == message.RoleAssistant {
			role = genai.RoleModel
		}
		var seal []byte
		for _, b := range m.Blocks {
			if thought, ok := b.(message.Reasoning); ok {
				if thought.Provider == sut.Provider {
					seal = signature
				}
				continue
			}
			c := content(role)
			part, more := geminiPart(t, b)
			if b.Kind() != message.KindToolResult {
				c.Parts, late = append(c.Parts, late...), nil
			}
			part.ThoughtSignature, seal = seal, nil
			c.Parts, late = append(c.Parts, part), append(late, more...)
		}
	}
	if n := len(contents); n > 0 {
		contents[n-1].Parts = append(contents[n-1].Parts, late...)
	}
	if r.Reminder != "" {
		contents = append(contents, &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: r.Reminder}}})
	}
	return contents, config
}

func geminiPart(t *testing.T, b message.Block) (part *genai.Part, more []*genai.Part) {
	switch b := b.(type) {
	case message.Text:
		return &genai.Part{Text: b.Text}, nil
	case message.Image:
		return &genai.Part{InlineData: &genai.Blob{MIMEType: b.MediaType, Data: b.Data}}, nil
	case message.ToolCall:
		var args map[string]any
		if err := json.Unmarshal([]byte(b.Arguments), &args); err != nil {
			t.Fatal(err)
		}
		return &genai.Part{FunctionCall: &genai.FunctionCall{ID: b.ID, Name: b.Name, Args: args}}, nil
	case message.ToolResult:
		key := "output"
		if b.Outcome == message.OutcomeFailure {
			key = "error"
		}
		for _, inner := range b.Content {
			if img, ok := inner.(message.Image); ok {
				picture, _ := geminiPart(t, img)
				more = append(more, picture)
			}
		}
		return &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: b.CallID, Name: b.Name, Response: map[string]any{key: b.Text()}}}, more
	}
	t.Fatalf("unexpected block %T", b)
	return nil, nil
}

// Both read the same streams alike.
func TestGeminiStreams(t *testing.T) {
	scripts(t, func(t *testing.T, s script) {
		text := geminiStream(s)
		client := geminiClient(t, &recorder{stream: text})
		var got reading
		var finish genai.FinishReason
		for chunk, err := range client.Models.GenerateContentStream(t.Context(), "test-model", genai.Text("x"), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if u := chunk.UsageMetadata; u != nil {
				got.Input, got.Output = int(u.PromptTokenCount), int(u.CandidatesTokenCount+u.ThoughtsTokenCount)
			}
			for _, c := range chunk.Candidates {
				finish = c.FinishReason
				if c.Content == nil {
					continue
				}
				for _, p := range c.Content.Parts {
					switch {
					case p.FunctionCall != nil:
						arguments, _ := json.Marshal(p.FunctionCall.Args)
						got.Calls = append(got.Calls, message.ToolCall{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Arguments: string(arguments)})
					case p.Thought:
						got.Reasoning += p.Text
					default:
						got.Text += p.Text
					}
				}
			}
		}
		own, stop := ours(t, geminiModel(t, &recorder{stream: text}))
		agree(t, s.expected(), got, own)
		want := model.StopEnd
		switch {
		case finish == genai.FinishReasonMaxTokens:
			want = model.StopOutput
		case s.calls():
			want = model.StopToolCall
		}
		if stop != want {
			t.Errorf("stop is %q, the SDK says %q", stop, finish)
		}
	})
}

func geminiStream(s script) string {
	chunk := func(part object) object {
		return object{"candidates": []any{object{"index": 0, "content": object{"role": "model", "parts": []any{part}}}}, "responseId": "r1"}
	}
	var out []object
	for _, p := range s.Parts {
		if p.Kind == "call" {
			out = append(out, chunk(object{"functionCall": object{"id": p.ID, "name": "read_file", "args": json.RawMessage(p.whole())}, "thoughtSignature": signature}))
			continue
		}
		for _, bit := range p.Bits {
			part := object{"text": bit}
			if p.Kind == "thought" {
				part["thought"] = true
			}
			out = append(out, chunk(part))
		}
	}
	last := chunk(object{"text": ""})
	last["candidates"].([]any)[0].(object)["finishReason"] = []string{"STOP", "MAX_TOKENS"}[s.Stop]
	last["usageMetadata"] = object{"promptTokenCount": s.Input, "candidatesTokenCount": s.Output, "totalTokenCount": s.Input + s.Output}
	return events(append(out, last)...)
}
