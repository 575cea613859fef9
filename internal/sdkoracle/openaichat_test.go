package sdkoracle

import (
	"encoding/json"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider/openaichat"
)

const chatDone = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"

func chatModel(t *testing.T, r *recorder) *openaichat.Model {
	t.Helper()
	m, err := openaichat.New(openaichat.Options{Connection: r.connection(), Model: "test-model"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func openaiClient(r *recorder) openai.Client {
	return openai.NewClient(option.WithAPIKey("not-a-real-key"), option.WithBaseURL("https://api.example.com/"), option.WithHTTPClient(r.client()), option.WithMaxRetries(0))
}

// The adapter sends what openai-go sends for the same values.
func TestChatRequests(t *testing.T) {
	var sdk recorder
	client := openaiClient(&sdk)
	reasoning := func(text string) message.Reasoning {
		return message.Reasoning{Text: text, Provider: "openai-compatible", Opaque: json.RawMessage(`"reasoning_content"`)}
	}
	drawn(t, reasoning, func(t *testing.T, r model.Request) {
		sdk.stream = chatDone
		stream := client.Chat.Completions.NewStreaming(t.Context(), chatParams(t, r))
		for stream.Next() {
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		body, err := chatModel(t, &recorder{}).Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		same(t, sdk.body, body)
	})
}

func chatParams(t *testing.T, r model.Request) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: "test-model", StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}}
	if r.OutputTokens > 0 {
		p.MaxTokens = openai.Int(int64(r.OutputTokens))
	}
	for _, d := range r.Tools {
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: d.Name, Description: openai.String(d.Description), Parameters: schemaOf(t, d)}))
	}
	for _, m := range r.Instructions {
		p.Messages = append(p.Messages, openai.SystemMessage(textOf(m)))
	}
	var images []openai.ChatCompletionContentPartUnionParam
	flush := func() {
		if len(images) > 0 {
			p.Messages = append(p.Messages, openai.UserMessage(images))
		}
		images = nil
	}
	for _, m := range r.Messages {
		if m.Role != message.RoleTool {
			flush()
		}
		switch m.Role {
		case message.RoleSystem:
			p.Messages = append(p.Messages, openai.SystemMessage(textOf(m)))
		case message.RoleUser:
			p.Messages = append(p.Messages, chatUser(m))
		case message.RoleAssistant:
			p.Messages = append(p.Messages, chatAssistant(m))
		case message.RoleTool:
			for _, b := range m.Blocks {
				result := b.(message.ToolResult)
				text := result.Text()
				for _, inner := range result.Content {
					if img, ok := inner.(message.Image); ok {
						text += "\n[image follows]"
						images = append(images, chatImage(img))
					}
				}
				p.Messages = append(p.Messages, openai.ToolMessage(text, result.CallID))
			}
		}
	}
	flush()
	if r.Reminder != "" {
		p.Messages = append(p.Messages, openai.UserMessage(r.Reminder))
	}
	return p
}

func chatImage(b message.Image) openai.ChatCompletionContentPartUnionParam {
	return openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: dataURL(b)})
}

func chatUser(m message.Message) openai.ChatCompletionMessageParamUnion {
	var parts []openai.ChatCompletionContentPartUnionParam
	plain := true
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case message.Text:
			parts = append(parts, openai.TextContentPart(b.Text))
		case message.Image:
			parts, plain = append(parts, chatImage(b)), false
		}
	}
	if plain {
		return openai.UserMessage(textOf(m))
	}
	return openai.UserMessage(parts)
}

func chatAssistant(m message.Message) openai.ChatCompletionMessageParamUnion {
	out := openai.ChatCompletionAssistantMessageParam{}
	out.Content.OfString = openai.String(textOf(m))
	thought := ""
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case message.Reasoning:
			if b.Provider == "openai-compatible" {
				thought += b.Text
			}
		case message.ToolCall:
			out.ToolCalls = append(out.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: b.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: b.Name, Arguments: b.Arguments}}})
		}
	}
	if thought != "" {
		out.SetExtraFields(map[string]any{"reasoning_content": thought})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &out}
}

// Both read the same streams alike.
func TestChatStreams(t *testing.T) {
	scripts(t, func(t *testing.T, s script) {
		text := chatStream(s)
		sdk := recorder{stream: text}
		client := openaiClient(&sdk)
		stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{Model: "test-model"})
		acc := openai.ChatCompletionAccumulator{}
		var got reading
		for stream.Next() {
			chunk := stream.Current()
			if !acc.AddChunk(chunk) {
				t.Fatal("the SDK does not take a chunk")
			}
			for _, c := range chunk.Choices {
				var thought string
				if json.Unmarshal([]byte(c.Delta.JSON.ExtraFields["reasoning_content"].Raw()), &thought) == nil {
					got.Reasoning += thought
				}
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		choice := acc.Choices[0]
		got.Text, got.Input, got.Output = choice.Message.Content, int(acc.Usage.PromptTokens), int(acc.Usage.CompletionTokens)
		for _, c := range choice.Message.ToolCalls {
			got.Calls = append(got.Calls, message.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		own, stop := ours(t, chatModel(t, &recorder{stream: text}))
		agree(t, s.expected(), got, own)
		want := map[string]model.StopReason{"stop": model.StopEnd, "length": model.StopOutput, "tool_calls": model.StopToolCall}[choice.FinishReason]
		if stop != want {
			t.Errorf("stop is %q, the SDK says %q", stop, choice.FinishReason)
		}
	})
}

func chatStream(s script) string {
	chunk := func(delta object) object {
		return object{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "test-model",
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": nil}}}
	}
	out := []object{chunk(object{"role": "assistant", "content": ""})}
	calls := 0
	for _, p := range s.Parts {
		for i, bit := range p.Bits {
			switch p.Kind {
			case "text":
				out = append(out, chunk(object{"content": bit}))
			case "thought":
				out = append(out, chunk(object{"reasoning_content": bit}))
			default:
				call := object{"index": calls, "function": object{"arguments": bit}}
				if i == 0 {
					call["id"], call["type"] = p.ID, "function"
					call["function"].(object)["name"] = "read_file"
				}
				out = append(out, chunk(object{"tool_calls": []any{call}}))
			}
		}
		if p.Kind == "call" {
			calls++
		}
	}
	finish := []string{"stop", "length"}[s.Stop]
	if s.calls() && s.Stop == 0 {
		finish = "tool_calls"
	}
	last := chunk(object{})
	last["choices"].([]any)[0].(object)["finish_reason"] = finish
	out = append(out, last, object{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "test-model", "choices": []any{},
		"usage": object{"prompt_tokens": s.Input, "completion_tokens": s.Output, "total_tokens": s.Input + s.Output}})
	return events(out...) + "data: [DONE]\n\n"
}
