package projection

import (
	"encoding/json"
	"strings"

	"github.com/forge-agent/forge/message"
)

// maxEscapes is how often a JSON text may be wrapped in a JSON string.
const maxEscapes = 3

// maxOutcomeBytes is the longest text that OutcomeOf parses.
const maxOutcomeBytes = 1 << 20

// OutcomeOf returns how a tool ended: what the result says or, where that is
// unknown, what its text states as JSON: {"metadata":{"exit_code":1}},
// {"success":true}, {"is_error":true}, also inside a JSON string, once or
// twice escaped. Text that is no JSON states nothing.
func OutcomeOf(r message.ToolResult) message.Outcome {
	if r.Outcome != message.OutcomeUnknown {
		return r.Outcome
	}
	text := strings.TrimSpace(r.Text())
	if len(text) > maxOutcomeBytes {
		return message.OutcomeUnknown
	}
	for range maxEscapes {
		if !strings.HasPrefix(text, `"`) {
			break
		}
		var inner string
		if json.Unmarshal([]byte(text), &inner) != nil {
			return message.OutcomeUnknown
		}
		text = strings.TrimSpace(inner)
	}
	if !strings.HasPrefix(text, "{") {
		return message.OutcomeUnknown
	}
	var s struct {
		statement
		Metadata json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal([]byte(text), &s) != nil {
		return message.OutcomeUnknown
	}
	if o := s.statement.outcome(); o != message.OutcomeUnknown {
		return o
	}
	var m statement
	if json.Unmarshal(s.Metadata, &m) != nil {
		return message.OutcomeUnknown
	}
	return m.outcome()
}

// A statement is what tools say about how they ended. Values of other types
// than expected say nothing.
type statement struct {
	ExitCode   any `json:"exit_code"`
	ExitCode2  any `json:"exitCode"`
	ReturnCode any `json:"returncode"`
	Success    any `json:"success"`
	OK         any `json:"ok"`
	IsError    any `json:"is_error"`
	IsError2   any `json:"isError"`
}

func (s statement) outcome() message.Outcome {
	for _, code := range []any{s.ExitCode, s.ExitCode2, s.ReturnCode} {
		if n, ok := code.(float64); ok {
			return outcomeIf(n == 0)
		}
	}
	for _, good := range []any{s.Success, s.OK} {
		if b, ok := good.(bool); ok {
			return outcomeIf(b)
		}
	}
	for _, bad := range []any{s.IsError, s.IsError2} {
		if b, ok := bad.(bool); ok {
			return outcomeIf(!b)
		}
	}
	return message.OutcomeUnknown
}

func outcomeIf(success bool) message.Outcome {
	if success {
		return message.OutcomeSuccess
	}
	return message.OutcomeFailure
}
