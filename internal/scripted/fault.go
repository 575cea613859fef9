package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// A Fault is a way in which a provider fails. The empty one is none.
type Fault string

// The faults.
const (
	// RateLimited, ServerError, Overloaded and Unauthorized refuse with 429,
	// 500, 503 and 401.
	RateLimited  Fault = "429"
	ServerError  Fault = "500"
	Overloaded   Fault = "503"
	Unauthorized Fault = "401"
	// Unscripted refuses because the script has no answer.
	Unscripted Fault = "unscripted"
	// Overflow refuses the request as too long, in the provider's own words.
	// OverflowInStream does so in the first event of a stream,
	// OverflowAfterText once something was said.
	Overflow          Fault = "overflow"
	OverflowInStream  Fault = "overflow-in-stream"
	OverflowAfterText Fault = "overflow-after-text"
	// ErrorInStream is a fault of the server in the first event of a stream.
	ErrorInStream Fault = "error-in-stream"
	// Hang says nothing until the caller gives up, HangInStream nothing more
	// after the first half.
	Hang         Fault = "hang"
	HangInStream Fault = "hang-in-stream"
	// CutAtStart breaks the connection before the first event, CutInStream
	// after the first half.
	CutAtStart  Fault = "cut-at-start"
	CutInStream Fault = "cut-in-stream"
	// NoUsage reports no usage.
	NoUsage Fault = "no-usage"
	// BadUsage reports a negative number of tokens.
	BadUsage Fault = "bad-usage"
	// Drip sends the answer byte by byte.
	Drip Fault = "drip"
	// Garbage puts an event that cannot be read into the middle.
	Garbage Fault = "garbage"
	// Empty is an answer that says nothing.
	Empty Fault = "empty"
	// BrokenArguments cuts the arguments of the calls. Gemini, which sends
	// them as an object, says that the call was malformed instead.
	BrokenArguments Fault = "broken-arguments"
	// DuplicateIDs sends each call twice, with the same id.
	DuplicateIDs Fault = "duplicate-ids"
)

// Faults lists them.
func Faults() []Fault {
	return []Fault{RateLimited, ServerError, Overloaded, Unauthorized, Overflow, OverflowInStream, OverflowAfterText, ErrorInStream, Hang, HangInStream,
		CutAtStart, CutInStream, NoUsage, BadUsage, Drip, Garbage, Empty, BrokenArguments, DuplicateIDs}
}

// refuses reports whether no answer is begun.
func (f Fault) refuses() bool {
	return slices.Contains([]Fault{RateLimited, ServerError, Overloaded, Unauthorized, Unscripted, Overflow, OverflowInStream, ErrorInStream, Hang, CutAtStart}, f)
}

// A refusal is an error as a provider states it.
type refusal struct {
	status        int
	kind, message string
	code          string // of OpenAI
	state         string // of Gemini
}

// refusalOf is what a fault says, in the words of a dialect.
func refusalOf(f Fault, d wirebody.Dialect, tokens, windowTokens int) refusal {
	switch f {
	case RateLimited:
		return refusal{http.StatusTooManyRequests, "rate_limit_error", "Too many requests.", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"}
	case Overloaded:
		return refusal{http.StatusServiceUnavailable, "overloaded_error", "Overloaded", "server_error", "UNAVAILABLE"}
	case Unauthorized:
		return refusal{http.StatusUnauthorized, "authentication_error", "The key is not valid.", "invalid_api_key", "UNAUTHENTICATED"}
	case Unscripted:
		return refusal{http.StatusNotImplemented, "invalid_request_error", "The script has no answer to this request.", "unscripted", "UNIMPLEMENTED"}
	case Overflow, OverflowInStream, OverflowAfterText:
		if windowTokens <= 0 || windowTokens >= tokens {
			windowTokens = tokens * 9 / 10
		}
		r := refusal{status: http.StatusBadRequest, kind: "invalid_request_error", code: "context_length_exceeded", state: "INVALID_ARGUMENT"}
		switch d {
		case wirebody.Anthropic:
			r.message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, windowTokens)
		case wirebody.Gemini:
			r.message = fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", tokens, windowTokens)
		case wirebody.Responses:
			r.message = "Your input exceeds the context window of this model. Please adjust your input and try again."
		default:
			r.message = fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", windowTokens, tokens)
		}
		return r
	}
	return refusal{http.StatusInternalServerError, "api_error", "Internal server error", "server_error", "INTERNAL"}
}

// body is the error's JSON. inStream says that it comes as an event.
func (r refusal) body(d wirebody.Dialect, inStream bool) any {
	openAI := map[string]any{"message": r.message, "type": r.kind, "code": r.code}
	switch {
	case d == wirebody.Anthropic:
		return map[string]any{"type": "error", "error": map[string]any{"type": r.kind, "message": r.message}}
	case d == wirebody.Gemini && inStream:
		return map[string]any{"error": map[string]any{"code": r.status, "message": r.message, "status": r.state}}
	case d == wirebody.Gemini:
		return []any{map[string]any{"error": map[string]any{"code": r.status, "message": r.message, "status": r.state}}}
	case d == wirebody.Responses && inStream:
		return map[string]any{"type": "response.failed", "response": map[string]any{"id": "resp_failed", "status": "failed", "error": map[string]any{"code": r.code, "message": r.message}}}
	}
	return map[string]any{"error": openAI}
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, d wirebody.Dialect, r refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_ = json.NewEncoder(w).Encode(r.body(d, false)) // whoever asked may be gone
}
