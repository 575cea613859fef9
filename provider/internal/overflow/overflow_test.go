package overflow_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/adaptertest"
	"github.com/forge-agent/forge/provider/internal/overflow"
)

// F-OVF-01, weak spot 6: no miss and no false alarm on the shared bodies.
func TestSharedBodies(t *testing.T) {
	for _, r := range adaptertest.Refusals(t) {
		v := overflow.Classify(r.Status, []byte(r.Body))
		if v.Overflow != r.Overflow {
			t.Errorf("%s: overflow = %t, want %t: %s", r.Provider, v.Overflow, r.Overflow, r.Body)
		}
		if v.LimitTokens > 0 && v.UsedTokens > 0 && v.UsedTokens <= v.LimitTokens {
			t.Errorf("%s: used %d does not exceed limit %d: %s", r.Provider, v.UsedTokens, v.LimitTokens, r.Body)
		}
		t.Logf("%s: %+v", r.Provider, v)
	}
}

// F-OVF-01: one wording of every provider, with its numbers.
func TestWordings(t *testing.T) {
	tests := []struct {
		name        string
		status      int
		body        string
		overflow    bool
		used, limit int
	}{
		{"anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210251 tokens > 200000 maximum"}}`, true, 210251, 200000},
		{"anthropic output", 400, "{\"error\":{\"message\":\"input length and `max_tokens` exceed context limit: 180000 + 30000 > 200000, decrease input length\"}}", true, 210000, 200000},
		{"anthropic bytes", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, true, 0, 0},
		{"vertex claude", 413, `{"type":"error","error":{"type":"invalid_request_error","message":"Prompt is too long"}}`, true, 0, 0},
		{"openai", 400, `{"error":{"message":"This model's maximum context length is 8000 tokens. However, your messages resulted in 8111 tokens. Please reduce the length of the messages.","code":"context_length_exceeded"}}`, true, 8111, 8000},
		{"openai completion", 400, `{"error":{"message":"This model's maximum context length is 8000 tokens. However, you requested 8120 tokens (7120 in the messages, 1000 in the completion)."}}`, true, 8120, 8000},
		{"responses", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","code":"context_length_exceeded"}}`, true, 0, 0},
		{"responses event", 0, `{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}}`, true, 0, 0},
		{"gemini array", 400, `[{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, true, 1200293, 1048576},
		{"gemini in a string", 400, `{"error":{"message":"{\n  \"error\": {\n    \"code\": 400,\n    \"message\": \"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).\"}}","code":400}}`, true, 1200293, 1048576},
		{"vertex", 400, `Unable to submit request because the input token count is 1251952 but model only supports up to 1048576.`, true, 1251952, 1048576},
		{"vertex without count", 400, `Unable to submit request because the input token count exceeds the maximum, model only supports up to 1048576.`, true, 0, 1048576},
		{"openrouter", 502, `{"error":{"message":"This endpoint's maximum context length is 65536 tokens. However, you requested about 92208 tokens (90000 of text input, 2208 in the output).","code":400}}`, true, 92208, 65536},
		{"groq", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","code":"context_length_exceeded"}}`, true, 0, 0},
		{"groq quota", 413, `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size.","type":"tokens","code":"rate_limit_exceeded"}}`, true, 14810, 6000},
		{"cerebras", 400, `Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000`, true, 42328, 40000},
		{"cerebras, no body", 413, ``, true, 0, 0},
		{"vllm prompt", 400, `{"error":{"message":"This model's maximum context length is 40960 tokens. However, you requested 0 output tokens and your prompt contains at least 40961 input tokens, for a total of at least 40961 tokens."}}`, true, 40961, 40960},
		{"vllm new", 400, `{"error":{"message":"You passed 40961 input tokens and requested 10 output tokens. However, the model's context length is only 40960 tokens, resulting in a maximum input length of 40950 tokens."}}`, true, 40971, 40960},
		{"vllm output", 400, `{"object":"error","message":"max_tokens must be at least 1, got -186.","code":400}`, true, 0, 0},
		{"vllm decoder", 400, `The decoder prompt (length 12324) is longer than the maximum model length of 8192. Make sure that it is no smaller.`, true, 12324, 8192},
		{"llama.cpp", 500, `{"error":{"code":500,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}}`, true, 1407, 256},
		{"ollama", 400, `prompt too long; exceeded max context length by 4096 tokens`, true, 0, 0},
		{"lm studio", 400, `The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 10978 >= n_ctx: 8192)`, true, 10978, 8192},
		{"mistral", 400, `{"message":"Prompt contains 40046 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}`, true, 40046, 32768},
		{"bedrock", 400, `{"message":"Input is too long for requested model."}`, true, 0, 0},
		{"xai", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 179111 tokens."}`, true, 179111, 131072},
		{"copilot", 400, `{"error":{"message":"prompt token count of 391491 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, true, 391491, 128000},
		{"kimi", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072","type":"invalid_request_error"}}`, true, 0, 131072},
		{"minimax", 400, `{"error":{"type":"bad_request_error","message":"invalid params, context window exceeds limit (2013)"}}`, true, 0, 0},
		{"z.ai", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, true, 0, 0},
		{"dashscope", 400, `{"error":{"message":"Range of input length should be [1, 983616]"}}`, true, 0, 983616},
		{"together", 400, `The input (210000 tokens) is longer than the model's context length (200000 tokens)`, true, 210000, 200000},
		{"string length", 400, `Invalid 'messages[3].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1744259 instead.`, true, 0, 0},

		{"sglang", 400, `Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens: 39000 tokens from the input messages and 1000 tokens for the completion.`, true, 40000, 32768},
		{"fireworks", 400, `{"error":{"message":"The prompt is too long: 134521, model maximum context length: 131071"}}`, true, 134521, 131071},
		{"vllm, output too large", 400, `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 1000 input tokens (4096 > 4096 - 1000)."}}`, true, 0, 4096},
		{"vllm, input", 400, `{"error":{"message":"This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please reduce the length of the input messages."}}`, true, 5000, 4096},
		{"cloudflare", 400, `{"errors":[{"code":5021,"message":"AiError: The estimated number of input and maximum output tokens (8650) exceeded this model context window limit (8000)."}]}`, true, 8650, 8000},
		{"github", 413, `{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens."}}`, true, 0, 8000},
		{"cohere", 400, `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try using a shorter prompt."}`, true, 5000, 4081},
		{"text generation", 422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 500 `max_new_tokens`\"}", true, 4500, 4096},
		{"lm studio, loaded small", 400, `Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.`, true, 9000, 4096},
		{"llama.cpp, new wording", 400, `{"error":{"message":"request (14429 tokens) exceeds the available context size (8192 tokens), try increasing it"}}`, true, 14429, 8192},
		{"ollama, input length", 400, `{"error":"the input length exceeds the context length"}`, true, 0, 0},
		{"nova", 400, `{"message":"Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again."}`, true, 0, 0},
		{"kimi with both", 400, `Your request exceeded model token limit: 8192 (requested: 9000)`, true, 9000, 8192},
		{"tensorrt", 400, `Prompt length (5000) exceeds maximum input length (4096).`, true, 5000, 4096},
		{"too many messages", 400, `Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length 3000 instead.`, true, 0, 0},
		{"bytes at gemini", 400, `{"error":{"message":"Request payload size exceeds the limit: 20971520 bytes."}}`, true, 0, 0},
		{"bytes at bedrock", 400, `{"message":"1 validation error detected: Value at 'body' failed to satisfy constraint: Member must have length less than or equal to 25000000"}`, true, 0, 0},
		{"bytes at a proxy", 413, `<html><head><title>413 Request Entity Too Large</title></head></html>`, true, 0, 0},

		{"id too long", 400, `Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64, but got a string with length 70 instead.`, false, 0, 0},
		{"description too long", 400, `{"error":{"code":"string_above_max_length","message":"Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 2000 instead."}}`, false, 0, 0},
		{"too many tools", 400, `Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 200 instead.`, false, 0, 0},
		{"thinking budget", 400, "{\"error\":{\"message\":\"`max_tokens` must be greater than `thinking.budget_tokens`.\"}}", false, 0, 0},
		{"gemini quota", 429, `{"error":{"code":429,"message":"You exceeded your current quota. Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000. Please retry in 34.07s.","status":"RESOURCE_EXHAUSTED"}}`, false, 0, 0},
		{"azure quota", 429, `{"error":{"code":"429","message":"Requests have exceeded token rate limit of your current pricing tier. Please retry after 2 seconds."}}`, false, 0, 0},
		{"image dimensions", 400, `{"error":{"message":"messages.3.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"}}`, false, 0, 0},
		{"credits for a long prompt", 402, `{"error":{"message":"Prompt tokens limit exceeded: 20000 > 10000. To increase, visit the settings and upgrade to a paid account"}}`, false, 0, 0},
		{"quota of a minute", 429, `Rate limit reached for model on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s.`, false, 0, 0},
		{"anthropic quota", 429, `{"error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute"}}`, false, 0, 0},
		{"bedrock throttling", 429, `{"message":"Too many tokens, please wait before trying again."}`, false, 0, 0},
		{"overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, false, 0, 0},
		{"output cap", 400, "{\"message\":\"`max_completion_tokens` must be less than or equal to `16384`, the maximum value for `max_completion_tokens` is less than the `context_window` for this model\"}", false, 0, 0},
		{"output cap of claude", 400, `{"error":{"message":"max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-x"}}`, false, 0, 0},
		{"output cap of openai", 400, `{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000."}}`, false, 0, 0},
		{"output cap of deepseek", 400, `{"error":{"message":"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"}}`, false, 0, 0},
		{"output cap of dashscope", 400, `{"error":{"message":"Range of max_tokens should be [1, 8192]"}}`, false, 0, 0},
		{"image", 400, `{"error":{"message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6412344 bytes > 5242880 bytes"}}`, false, 0, 0},
		{"image of minimax", 400, `{"error":{"message":"invalid params, image size too large (2013)"}}`, false, 0, 0},
		{"credits", 402, `{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 4096"}}`, false, 0, 0},
		{"thought signature", 400, `function call in the 540. content block is missing a thought_signature.`, false, 0, 0},
		{"exhausted", 429, `{"error":{"code":429,"message":"Resource exhausted. Please try again later.","status":"RESOURCE_EXHAUSTED"}}`, false, 0, 0},
		{"key", 401, `{"error":{"message":"Incorrect API key provided"}}`, false, 0, 0},
		{"unauthorized without a body", 401, ``, false, 0, 0},
		{"server fault", 500, `{"error":{"message":"Internal error"}}`, false, 0, 0},
		{"page of a proxy", 502, `<html><head><title>502 Bad Gateway</title></head></html>`, false, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := overflow.Classify(test.status, []byte(test.body))
			want := overflow.Verdict{Overflow: test.overflow, UsedTokens: test.used, LimitTokens: test.limit}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// Bodies of every shape give their fields.
func TestFields(t *testing.T) {
	tests := []struct{ name, body, message, code, kind string }{
		{"nested", `{"error":{"message":"m","code":"c","type":"t"}}`, "m", "c", "t"},
		{"flat", `{"object":"error","message":"m","type":"BadRequestError","code":400}`, "m", "400", "BadRequestError"},
		{"array", `[{"error":{"message":"m","code":400,"status":"INVALID_ARGUMENT"}}]`, "m", "INVALID_ARGUMENT", ""},
		{"string", `{"error":"m","code":"c"}`, "m", "c", ""},
		{"plain", "m\n", "m", "", ""},
		{"empty", "", "", "", ""},
		{"inside a string", `{"error":{"message":"{\"error\":{\"message\":\"m\",\"type\":\"t\"}}"}}`, "m", "", "t"},
		{"printed", `{'error': {'message': 'm', 'type': 't', 'code': 'c'}}`, "m", "c", "t"},
		{"null", `null`, "null", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := overflow.Read([]byte(test.body))
			if f.Message != test.message || f.Code != test.code || f.Type != test.kind {
				t.Errorf("got %q %q %q", f.Message, f.Code, f.Type)
			}
		})
	}
}

// Fuzzed bodies never panic, and what is found is consistent.
func FuzzClassify(f *testing.F) {
	f.Add(400, []byte(`{"error":{"message":"prompt is too long: 2 tokens > 1 maximum"}}`))
	f.Add(500, []byte(`[[[{"error":"{\"error\":1}"}]]]`))
	f.Add(0, []byte(`tpm limit 99999999999999999999 requested 1e9`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		v := overflow.Classify(status, body)
		if v != overflow.Classify(status, body) {
			t.Fatal("the same body gets two verdicts")
		}
		if v.UsedTokens < 0 || v.LimitTokens < 0 || !v.Overflow && v != (overflow.Verdict{}) {
			t.Fatalf("impossible verdict %+v", v)
		}
	})
}
