package scripted

import "encoding/json"

// messages writes an answer in the dialect of Anthropic's Messages.
func (a *answer) messages() []event {
	u := a.usage
	begin := map[string]any{"id": a.id("msg"), "type": "message", "role": "assistant", "model": a.asked.Model, "content": []any{}, "stop_reason": nil}
	if a.reports() {
		begin["usage"] = map[string]any{"input_tokens": u.InputTokens - u.CachedInputTokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": u.CachedInputTokens, "output_tokens": 0}
	}
	out := []event{named("message_start", map[string]any{"type": "message_start", "message": begin}), named("ping", map[string]any{"type": "ping"})}
	index := 0
	block := func(start map[string]any, deltas ...map[string]any) {
		out = append(out, named("content_block_start", map[string]any{"type": "content_block_start", "index": index, "content_block": start}))
		for _, d := range deltas {
			out = append(out, named("content_block_delta", map[string]any{"type": "content_block_delta", "index": index, "delta": d}))
		}
		out = append(out, named("content_block_stop", map[string]any{"type": "content_block_stop", "index": index}))
		index++
	}
	if text := a.reply.Reasoning; text != "" {
		block(map[string]any{"type": "thinking", "thinking": "", "signature": ""},
			map[string]any{"type": "thinking_delta", "thinking": text}, map[string]any{"type": "signature_delta", "signature": "c2lnbmF0dXJl"})
	}
	if text := a.reply.Text; text != "" {
		var deltas []map[string]any
		for _, piece := range halves(text) {
			deltas = append(deltas, map[string]any{"type": "text_delta", "text": piece})
		}
		block(map[string]any{"type": "text", "text": ""}, deltas...)
	}
	for _, c := range a.reply.Calls {
		var deltas []map[string]any
		for _, piece := range halves(c.Arguments) {
			deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": piece})
		}
		block(map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}}, deltas...)
	}
	stop := "end_turn"
	switch {
	case a.reply.Truncated:
		stop = "max_tokens"
	case len(a.reply.Calls) > 0:
		stop = "tool_use"
	}
	end := map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}}
	if a.reports() {
		end["usage"] = map[string]any{"output_tokens": u.OutputTokens}
	}
	return append(out, named("message_delta", end), named("message_stop", map[string]any{"type": "message_stop"}))
}

// gemini writes an answer in the generateContent dialect.
func (a *answer) gemini() []event {
	var out []event
	chunk := func(finish string, parts ...any) map[string]any {
		candidate := map[string]any{"content": map[string]any{"role": "model", "parts": parts}, "index": 0}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		return map[string]any{"candidates": []any{candidate}, "modelVersion": a.asked.Model, "responseId": a.id("r")}
	}
	if text := a.reply.Reasoning; text != "" {
		out = append(out, unnamed(chunk("", map[string]any{"text": text, "thought": true})))
	}
	if text := a.reply.Text; text != "" {
		for _, piece := range halves(text) {
			out = append(out, unnamed(chunk("", map[string]any{"text": piece})))
		}
	}
	finish := "STOP"
	for _, c := range a.reply.Calls {
		if a.reply.Fault == BrokenArguments || !json.Valid([]byte(c.Arguments)) {
			finish = "MALFORMED_FUNCTION_CALL"
			continue
		}
		out = append(out, unnamed(chunk("", map[string]any{"functionCall": map[string]any{"name": c.Name, "id": c.ID, "args": json.RawMessage(c.Arguments)}})))
	}
	if a.reply.Truncated {
		finish = "MAX_TOKENS"
	}
	end := chunk(finish, map[string]any{"text": ""})
	if a.reports() {
		u := a.usage
		end["usageMetadata"] = map[string]any{"promptTokenCount": u.InputTokens, "cachedContentTokenCount": u.CachedInputTokens,
			"candidatesTokenCount": u.OutputTokens, "totalTokenCount": u.InputTokens + u.OutputTokens}
	}
	return append(out, unnamed(end))
}
