package sdkoracle

import (
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/forge-agent/forge/model"
)

// OpenAI's endpoints for counting and compacting get what the SDK sends them.
func TestResponsesEndpoints(t *testing.T) {
	answer := `{"input_tokens":7,"output":[{"type":"compaction","encrypted_content":"c2VhbA=="}]}`
	sdk, own := &recorder{document: answer}, &recorder{document: answer}
	client, m := openaiClient(sdk), responsesModel(t, own)
	drawn(t, sealedItem, func(t *testing.T, r model.Request) {
		p := responsesParams(t, r)
		if _, err := client.Responses.InputTokens.Count(t.Context(), responses.InputTokenCountParams{
			Model: openai.String("test-model"), Instructions: p.Instructions, Tools: p.Tools, Truncation: responses.InputTokenCountParamsTruncationDisabled,
			Input: responses.InputTokenCountParamsInputUnion{OfResponseInputItemArray: p.Input.OfInputItemList},
		}); err != nil {
			t.Fatal(err)
		}
		if e, err := m.CountRequest(t.Context(), r); err != nil || e.Tokens != 7 {
			t.Fatal(e, err)
		}
		same(t, sdk.body, own.body)

		p = responsesParams(t, model.Request{Messages: r.Messages})
		if _, err := client.Responses.Compact(t.Context(), responses.ResponseCompactParams{
			Model: "test-model", Input: responses.ResponseCompactParamsInputUnion{OfResponseInputItemArray: p.Input.OfInputItemList},
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.CompactNative(t.Context(), r.Messages); err != nil {
			t.Fatal(err)
		}
		same(t, sdk.body, own.body)
	})
}

// Anthropic's endpoint for counting gets what the SDK sends it.
func TestMessagesEndpoints(t *testing.T) {
	answer := `{"input_tokens":7}`
	sdk, own := &recorder{document: answer}, &recorder{document: answer}
	client, m := anthropicClient(sdk), messagesModel(t, own)
	drawn(t, signed, func(t *testing.T, r model.Request) {
		p := messagesParams(t, r)
		count := anthropic.MessageCountTokensParams{Model: "test-model", Messages: p.Messages, System: anthropic.MessageCountTokensParamsSystemUnion{OfTextBlockArray: p.System}}
		for _, tool := range p.Tools {
			count.Tools = append(count.Tools, anthropic.MessageCountTokensToolUnionParam{OfTool: tool.OfTool})
		}
		if _, err := client.Messages.CountTokens(t.Context(), count); err != nil {
			t.Fatal(err)
		}
		if e, err := m.CountRequest(t.Context(), r); err != nil || e.Tokens != 7 {
			t.Fatal(e, err)
		}
		same(t, sdk.body, own.body)
	})
}
