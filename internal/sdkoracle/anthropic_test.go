package sdkoracle

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	sut "github.com/forge-agent/forge/provider/anthropic"
)

// messagesModel sets no cache points: where they stand is ours to choose and
// is tested beside the adapter.
func messagesModel(t *testing.T, r *recorder) *sut.Model {
	t.Helper()
	m, err := sut.New(sut.Options{Connection: r.connection(), Model: "test-model", NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func anthropicClient(r *recorder) anthropic.Client {
	return anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithoutOpenTelemetry(), option.WithAPIKey("not-a-real-key"),
		option.WithBaseURL("https://api.example.com/"), option.WithHTTPClient(r.client()), option.WithMaxRetries(0))
}

func signed(text string) message.Reasoning {
	return message.Reasoning{Text: text, Provider: sut.Provider, Opaque: json.RawMessage(`"c2lnbmF0dXJl"`)}
}

// The adapter sends what anthropic-sdk-go sends for the same values.
func TestMessagesRequests(t *testing.T) {
	var sdk recorder
	client := anthropicClient(&sdk)
	drawn(t, signed, func(t *testing.T, r model.Request) {
		sdk.stream = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
		stream := client.Messages.NewStreaming(t.Context(), messagesParams(t, r))
		for stream.Next() {
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		body, err := messagesModel(t, &recorder{}).Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		same(t, sdk.body, body)
	})
}

func messagesParams(t *testing.T, r model.Request) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: "test-model", MaxTokens: int64(r.OutputTokens)}
	if r.OutputTokens == 0 {
		p.MaxTokens = 4096
	}
	for _, m := range r.Instructions {
		p.System = append(p.System, anthropic.TextBlockParam{Text: textOf(m)})
	}
	for _, d := range r.Tools {
		schema := schemaOf(t, d)
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{Name: d.Name, Description: anthropic.String(d.Description),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: schema["properties"]}}})
	}
	var blocks []anthropic.ContentBlockParamUnion
	role := message.RoleUser
	flush := func(next message.Role) {
		if next != message.RoleAssistant {
			next = message.RoleUser
		}
		if next == role {
			return
		}
		if len(blocks) > 0 {
			p.Messages = append(p.Messages, anthropicMessage(role, blocks))
		}
		blocks, role = nil, next
	}
	for _, m := range r.Messages {
		flush(m.Role)
		for _, b := range m.Blocks {
			blocks = append(blocks, anthropicBlock(t, b)...)
		}
	}
	if r.Reminder != "" {
		flush(message.RoleUser)
		blocks = append(blocks, anthropic.NewTextBlock(r.Reminder))
	}
	if len(blocks) > 0 {
		p.Messages = append(p.Messages, anthropicMessage(role, blocks))
	}
	return p
}

func anthropicMessage(role message.Role, blocks []anthropic.ContentBlockParamUnion) anthropic.MessageParam {
	if role == message.RoleAssistant {
		return anthropic.NewAssistantMessage(blocks...)
	}
	return anthropic.NewUserMessage(blocks...)
}

func anthropicBlock(t *testing.T, b message.Block) []anthropic.ContentBlockParamUnion {
	switch b := b.(type) {
	case message.Text:
		return []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(b.Text)}
	case message.Image:
		return []anthropic.ContentBlockParamUnion{anthropic.NewImageBlockBase64(b.MediaType, base64.StdEncoding.EncodeToString(b.Data))}
	case message.Reasoning:
		if b.Provider == sut.Provider {
			return []anthropic.ContentBlockParamUnion{anthropic.NewThinkingBlock("c2lnbmF0dXJl", b.Text)}
		}
	case message.ToolCall:
		return []anthropic.ContentBlockParamUnion{anthropic.NewToolUseBlock(b.ID, json.RawMessage(b.Arguments), b.Name)}
	case message.ToolResult:
		out := anthropic.ToolResultBlockParam{ToolUseID: b.CallID}
		if b.Outcome == message.OutcomeFailure {
			out.IsError = anthropic.Bool(true)
		}
		for _, inner := range b.Content {
			block := anthropicBlock(t, inner)[0]
			out.Content = append(out.Content, anthropic.ToolResultBlockParamContentUnion{OfText: block.OfText, OfImage: block.OfImage})
		}
		return []anthropic.ContentBlockParamUnion{{OfToolResult: &out}}
	}
	return nil
}

// Both read the same streams alike.
func TestMessagesStreams(t *testing.T) {
	scripts(t, func(t *testing.T, s script) {
		text := messagesStream(s)
		sdk := recorder{stream: text}
		client := anthropicClient(&sdk)
		stream := client.Messages.NewStreaming(t.Context(), anthropic.MessageNewParams{Model: "test-model", MaxTokens: 1})
		m := anthropic.Message{}
		for stream.Next() {
			if err := m.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		got := reading{Input: int(m.Usage.InputTokens), Output: int(m.Usage.OutputTokens)}
		for _, b := range m.Content {
			switch b := b.AsAny().(type) {
			case anthropic.TextBlock:
				got.Text += b.Text
			case anthropic.ThinkingBlock:
				got.Reasoning += b.Thinking
			case anthropic.ToolUseBlock:
				got.Calls = append(got.Calls, message.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
			}
		}
		own, stop := ours(t, messagesModel(t, &recorder{stream: text}))
		agree(t, s.expected(), got, own)
		want := map[anthropic.StopReason]model.StopReason{"end_turn": model.StopEnd, "max_tokens": model.StopOutput, "tool_use": model.StopToolCall}[m.StopReason]
		if stop != want {
			t.Errorf("stop is %q, the SDK says %q", stop, m.StopReason)
		}
	})
}

func messagesStream(s script) string {
	out := []object{{"type": "message_start", "message": object{"id": "m1", "type": "message", "role": "assistant", "model": "test-model", "content": []any{},
		"stop_reason": nil, "usage": object{"input_tokens": s.Input, "output_tokens": 1}}}, {"type": "ping"}}
	for i, p := range s.Parts {
		var begun object
		member, kind := "", ""
		switch p.Kind {
		case "text":
			begun, member, kind = object{"type": "text", "text": ""}, "text", "text_delta"
		case "thought":
			begun, member, kind = object{"type": "thinking", "thinking": "", "signature": ""}, "thinking", "thinking_delta"
		default:
			begun, member, kind = object{"type": "tool_use", "id": p.ID, "name": "read_file", "input": object{}}, "partial_json", "input_json_delta"
		}
		out = append(out, object{"type": "content_block_start", "index": i, "content_block": begun})
		for _, bit := range p.Bits {
			out = append(out, object{"type": "content_block_delta", "index": i, "delta": object{"type": kind, member: bit}})
		}
		if p.Kind == "thought" {
			out = append(out, object{"type": "content_block_delta", "index": i, "delta": object{"type": "signature_delta", "signature": "c2lnbmF0dXJl"}})
		}
		out = append(out, object{"type": "content_block_stop", "index": i})
	}
	reason := []string{"end_turn", "max_tokens"}[s.Stop]
	if s.calls() && s.Stop == 0 {
		reason = "tool_use"
	}
	return events(append(out, object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": s.Output}},
		object{"type": "message_stop"})...)
}
