package sdkoracle

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	sut "github.com/forge-agent/forge/provider/openai"
)

func dataURL(b message.Image) string {
	return "data:" + b.MediaType + ";base64," + base64.StdEncoding.EncodeToString(b.Data)
}

func responsesModel(t *testing.T, r *recorder) *sut.Model {
	t.Helper()
	m, err := sut.New(sut.Options{Connection: r.connection(), Model: "test-model"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func sealedItem(string) message.Reasoning {
	return message.Reasoning{Provider: sut.Provider, Opaque: json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2VhbGVk"}`)}
}

// The adapter sends what openai-go sends for the same values.
func TestResponsesRequests(t *testing.T) {
	var sdk recorder
	client := openaiClient(&sdk)
	drawn(t, sealedItem, func(t *testing.T, r model.Request) {
		sdk.stream = "data: {\"type\":\"response.completed\",\"response\":{}}\n\n"
		stream := client.Responses.NewStreaming(t.Context(), responsesParams(t, r))
		for stream.Next() {
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		body, err := responsesModel(t, &recorder{}).Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		same(t, sdk.body, body)
	})
}

func responsesParams(t *testing.T, r model.Request) responses.ResponseNewParams {
	p := responses.ResponseNewParams{
		Model: "test-model", Store: openai.Bool(false), Truncation: responses.ResponseNewParamsTruncationDisabled,
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
	}
	if r.OutputTokens > 0 {
		p.MaxOutputTokens = openai.Int(int64(r.OutputTokens))
	}
	var system []string
	for _, m := range r.Instructions {
		system = append(system, textOf(m))
	}
	p.Instructions = openai.String(strings.Join(system, "\n\n"))
	for _, d := range r.Tools {
		tool := responses.ToolParamOfFunction(d.Name, schemaOf(t, d), false)
		tool.OfFunction.Description = openai.String(d.Description)
		p.Tools = append(p.Tools, tool)
	}
	var items responses.ResponseInputParam
	for _, m := range r.Messages {
		switch m.Role {
		case message.RoleSystem:
			items = append(items, inputMessage(responses.EasyInputMessageRoleDeveloper, m.Blocks))
		case message.RoleUser:
			items = append(items, inputMessage(responses.EasyInputMessageRoleUser, m.Blocks))
		default:
			for _, b := range m.Blocks {
				items = append(items, inputItems(b)...)
			}
		}
	}
	if r.Reminder != "" {
		items = append(items, inputMessage(responses.EasyInputMessageRoleDeveloper, []message.Block{message.Text{Text: r.Reminder}}))
	}
	p.Input.OfInputItemList = items
	return p
}

func inputMessage(role responses.EasyInputMessageRole, blocks []message.Block) responses.ResponseInputItemUnionParam {
	var list responses.ResponseInputMessageContentListParam
	for _, b := range blocks {
		switch b := b.(type) {
		case message.Text:
			list = append(list, responses.ResponseInputContentParamOfInputText(b.Text))
		case message.Image:
			list = append(list, responses.ResponseInputContentUnionParam{OfInputImage: &responses.ResponseInputImageParam{Detail: responses.ResponseInputImageDetailAuto, ImageURL: openai.String(dataURL(b))}})
		}
	}
	item := responses.ResponseInputItemParamOfMessage(list, role)
	item.OfMessage.Type = responses.EasyInputMessageTypeMessage
	return item
}

func inputItems(b message.Block) []responses.ResponseInputItemUnionParam {
	switch b := b.(type) {
	case message.Text:
		item := responses.ResponseInputItemParamOfMessage(b.Text, responses.EasyInputMessageRoleAssistant)
		item.OfMessage.Type = responses.EasyInputMessageTypeMessage
		return []responses.ResponseInputItemUnionParam{item}
	case message.Reasoning:
		if b.Provider == sut.Provider {
			item := responses.ResponseInputItemParamOfReasoning("rs_1", []responses.ResponseReasoningItemSummaryParam{})
			item.OfReasoning.EncryptedContent = openai.String("c2VhbGVk")
			return []responses.ResponseInputItemUnionParam{item}
		}
	case message.ToolCall:
		return []responses.ResponseInputItemUnionParam{responses.ResponseInputItemParamOfFunctionCall(b.Arguments, b.ID, b.Name)}
	case message.ToolResult:
		out := responses.ResponseInputItemFunctionCallOutputParam{CallID: openai.String(b.CallID)}
		if len(b.Content) == 1 {
			out.Output.OfString = openai.String(b.Text())
			return []responses.ResponseInputItemUnionParam{{OfFunctionCallOutput: &out}}
		}
		for _, inner := range b.Content {
			switch inner := inner.(type) {
			case message.Text:
				out.Output.OfResponseFunctionCallOutputItemArray = append(out.Output.OfResponseFunctionCallOutputItemArray,
					responses.ResponseFunctionCallOutputItemUnionParam{OfInputText: &responses.ResponseInputTextContentParam{Text: inner.Text}})
			case message.Image:
				out.Output.OfResponseFunctionCallOutputItemArray = append(out.Output.OfResponseFunctionCallOutputItemArray,
					responses.ResponseFunctionCallOutputItemUnionParam{OfInputImage: &responses.ResponseInputImageContentParam{
						ImageURL: openai.String(dataURL(inner)), Detail: responses.ResponseInputImageContentDetailAuto}})
			}
		}
		return []responses.ResponseInputItemUnionParam{{OfFunctionCallOutput: &out}}
	}
	return nil
}

// Both read the same streams alike.
func TestResponsesStreams(t *testing.T) {
	scripts(t, func(t *testing.T, s script) {
		text := responsesStream(s)
		sdk := recorder{stream: text}
		client := openaiClient(&sdk)
		stream := client.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{Model: "test-model"})
		var got reading
		var status responses.ResponseStatus
		for stream.Next() {
			var final responses.Response
			switch ev := stream.Current().AsAny().(type) {
			case responses.ResponseCompletedEvent:
				final = ev.Response
			case responses.ResponseIncompleteEvent:
				final = ev.Response
			case responses.ResponseReasoningSummaryTextDeltaEvent:
				got.Reasoning += ev.Delta
				continue
			default:
				continue
			}
			status, got.Text = final.Status, final.OutputText()
			got.Input, got.Output = int(final.Usage.InputTokens), int(final.Usage.OutputTokens)
			for _, item := range final.Output {
				if call, ok := item.AsAny().(responses.ResponseFunctionToolCall); ok {
					got.Calls = append(got.Calls, message.ToolCall{ID: call.CallID, Name: call.Name, Arguments: call.Arguments})
				}
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		own, stop := ours(t, responsesModel(t, &recorder{stream: text}))
		agree(t, s.expected(), got, own)
		want := model.StopEnd
		switch {
		case status == responses.ResponseStatusIncomplete:
			want = model.StopOutput
		case s.calls():
			want = model.StopToolCall
		}
		if stop != want {
			t.Errorf("stop is %q, the SDK says %q", stop, status)
		}
	})
}

func responsesStream(s script) string {
	response := func(status string, more object) object {
		out := object{"id": "r1", "object": "response", "created_at": 1, "model": "test-model", "status": status, "output": []any{}}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	out := []object{{"type": "response.created", "sequence_number": 0, "response": response("in_progress", nil)}}
	var items []any
	for i, p := range s.Parts {
		var begun, done object
		kind, more := "", object{}
		switch p.Kind {
		case "text":
			begun = object{"type": "message", "id": "m", "role": "assistant", "status": "in_progress", "content": []any{}}
			done = object{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": p.whole(), "annotations": []any{}}}}
			kind, more = "response.output_text.delta", object{"content_index": 0, "item_id": "m", "logprobs": []any{}}
		case "thought":
			begun = object{"type": "reasoning", "id": "rs", "summary": []any{}}
			done = object{"type": "reasoning", "id": "rs", "summary": []any{object{"type": "summary_text", "text": p.whole()}}, "encrypted_content": "c2VhbGVk"}
			kind, more = "response.reasoning_summary_text.delta", object{"summary_index": 0, "item_id": "rs"}
		default:
			begun = object{"type": "function_call", "id": "fc", "call_id": p.ID, "name": "read_file", "arguments": "", "status": "in_progress"}
			done = object{"type": "function_call", "id": "fc", "call_id": p.ID, "name": "read_file", "arguments": p.whole(), "status": "completed"}
			kind, more = "response.function_call_arguments.delta", object{"item_id": "fc"}
		}
		out = append(out, object{"type": "response.output_item.added", "output_index": i, "item": begun})
		for _, bit := range p.Bits {
			delta := object{"type": kind, "output_index": i, "delta": bit}
			for k, v := range more {
				delta[k] = v
			}
			out = append(out, delta)
		}
		out = append(out, object{"type": "response.output_item.done", "output_index": i, "item": done})
		items = append(items, done)
	}
	more := object{"output": items, "usage": object{"input_tokens": s.Input, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": s.Output,
		"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": s.Input + s.Output}}
	if items == nil {
		more["output"] = []any{}
	}
	if s.Stop == 1 {
		more["incomplete_details"] = object{"reason": "max_output_tokens"}
		return events(append(out, object{"type": "response.incomplete", "response": response("incomplete", more)})...)
	}
	return events(append(out, object{"type": "response.completed", "response": response("completed", more)})...)
}
