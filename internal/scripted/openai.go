package scripted

// responses writes an answer in the Responses dialect.
func (a *answer) responses() []event {
	id := a.id("resp")
	status, final := "completed", "response.completed"
	if a.reply.Truncated {
		status, final = "incomplete", "response.incomplete"
	}
	response := func(status string, output []any) map[string]any {
		return map[string]any{"id": id, "object": "response", "created_at": 1, "status": status, "model": a.asked.Model, "output": output}
	}
	out := []event{named("response.created", map[string]any{"type": "response.created", "response": response("in_progress", []any{})})}
	output := []any{}
	item := func(begun, done map[string]any, deltas ...map[string]any) {
		index := len(output)
		out = append(out, named("response.output_item.added", map[string]any{"type": "response.output_item.added", "output_index": index, "item": begun}))
		for _, d := range deltas {
			d["output_index"] = index
			out = append(out, named(d["type"].(string), d))
		}
		out = append(out, named("response.output_item.done", map[string]any{"type": "response.output_item.done", "output_index": index, "item": done}))
		output = append(output, done)
	}
	if text := a.reply.Reasoning; text != "" {
		whole := map[string]any{"type": "reasoning", "id": a.id("rs"), "summary": []any{map[string]any{"type": "summary_text", "text": text}}}
		item(map[string]any{"type": "reasoning", "id": a.id("rs"), "summary": []any{}}, whole,
			map[string]any{"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": text})
	}
	if text := a.reply.Text; text != "" {
		var deltas []map[string]any
		for _, piece := range halves(text) {
			deltas = append(deltas, map[string]any{"type": "response.output_text.delta", "content_index": 0, "delta": piece})
		}
		item(map[string]any{"type": "message", "id": a.id("msg"), "role": "assistant", "status": "in_progress", "content": []any{}},
			map[string]any{"type": "message", "id": a.id("msg"), "role": "assistant", "status": "completed", "content": []any{map[string]any{"type": "output_text", "text": text}}}, deltas...)
	}
	for _, c := range a.reply.Calls {
		call := func(arguments, status string) map[string]any {
			return map[string]any{"type": "function_call", "id": "fc_" + c.ID, "call_id": c.ID, "name": c.Name, "arguments": arguments, "status": status}
		}
		var deltas []map[string]any
		for _, piece := range halves(c.Arguments) {
			deltas = append(deltas, map[string]any{"type": "response.function_call_arguments.delta", "delta": piece})
		}
		item(call("", "in_progress"), call(c.Arguments, "completed"), deltas...)
	}
	end := response(status, output)
	if a.reply.Truncated {
		end["incomplete_details"] = map[string]any{"reason": "max_output_tokens"}
	}
	if a.reports() {
		u := a.usage
		end["usage"] = map[string]any{"input_tokens": u.InputTokens, "input_tokens_details": map[string]any{"cached_tokens": u.CachedInputTokens},
			"output_tokens": u.OutputTokens, "output_tokens_details": map[string]any{"reasoning_tokens": u.ReasoningTokens}, "total_tokens": u.InputTokens + u.OutputTokens}
	}
	return append(out, named(final, map[string]any{"type": final, "response": end}))
}

// chat writes an answer in the chat-completions dialect.
func (a *answer) chat() []event {
	chunk := func(choices []any) map[string]any {
		return map[string]any{"id": a.id("chatcmpl"), "object": "chat.completion.chunk", "created": 1, "model": a.asked.Model, "choices": choices}
	}
	var out []event
	delta := func(d map[string]any, finish any) {
		out = append(out, unnamed(chunk([]any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}})))
	}
	delta(map[string]any{"role": "assistant", "content": ""}, nil)
	if a.reply.Reasoning != "" {
		delta(map[string]any{"reasoning_content": a.reply.Reasoning}, nil)
	}
	if a.reply.Text != "" {
		for _, piece := range halves(a.reply.Text) {
			delta(map[string]any{"content": piece}, nil)
		}
	}
	for i, c := range a.reply.Calls {
		delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""}}}}, nil)
		for _, piece := range halves(c.Arguments) {
			delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": piece}}}}, nil)
		}
	}
	finish := "stop"
	switch {
	case a.reply.Truncated:
		finish = "length"
	case len(a.reply.Calls) > 0:
		finish = "tool_calls"
	}
	delta(map[string]any{}, finish)
	if a.reports() {
		u := a.usage
		last := chunk([]any{})
		last["usage"] = map[string]any{"prompt_tokens": u.InputTokens, "completion_tokens": u.OutputTokens, "total_tokens": u.InputTokens + u.OutputTokens,
			"prompt_tokens_details": map[string]any{"cached_tokens": u.CachedInputTokens}}
		out = append(out, unnamed(last))
	}
	return append(out, event{data: "[DONE]"})
}
