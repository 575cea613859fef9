package sessionfile

import "strings"

// overflowPhrases are what providers write, in lower case, when a request is
// too long for the window or for the request size. They are collected from
// recorded error bodies of 25 providers and hosts.
var overflowPhrases = []string{
	"prompt is too long", "prompt too long", "request_too_large", "exceed context limit", // Anthropic, Ollama
	"maximum context length", "context_length_exceeded", "reduce the length of the messages", // OpenAI and compatible
	"exceeds the context window", "exceed context window", "context window exceeds limit",
	"contextwindowexceeded", "contextoverflow", // litellm, OpenCode
	"maximum number of tokens allowed", "but model only supports up to", // Gemini, Vertex
	"request too large for model",                                                                             // Groq
	"too long to fit into the model", "longer than the maximum model length", "max_tokens must be at least 1", // vLLM
	"exceeds the available context size", "exceed_context_size_error", "greater than the context length", // llama.cpp, LM Studio
	"longer than the model's context length",                                                     // Together
	"is too long for requested model",                                                            // Bedrock
	"exceeded model token limit", "prompt exceeds max length", "range of input length should be", // Kimi, Z.ai, DashScope
	"maximum prompt length is", "model_max_prompt_tokens_exceeded", "expected a string with maximum length", // xAI, Copilot
}

// SaysOverflow reports whether a recorded error text says that a request was
// too long. It looks at the words only, so it is for the files of other
// agents; an adapter knows the status and the code too.
func SaysOverflow(text string) bool {
	text = strings.ToLower(text)
	for _, phrase := range overflowPhrases {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}
