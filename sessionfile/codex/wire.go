package codex

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// wireLine is one line of the file, as far as it is read. The payloads of all
// types share one struct: their fields do not collide.
type wireLine struct {
	Timestamp timestamp `json:"timestamp"`
	Ordinal   *int      `json:"ordinal"`
	Type      string    `json:"type"`
	Payload   payload   `json:"payload"`
}

type payload struct {
	item

	// session_meta
	Version          string                           `json:"cli_version"`
	Provider         string                           `json:"model_provider"`
	BaseInstructions sessionfile.TextOrList[wireText] `json:"base_instructions"`
	Instructions     sessionfile.TextOrList[wireText] `json:"instructions"`
	Base             *historyBase                     `json:"history_base"`
	Started          timestamp                        `json:"timestamp"`

	// turn_context, events
	Model        string          `json:"model"`
	WindowTokens int             `json:"model_context_window"`
	Info         *tokenInfo      `json:"info"`
	Message      string          `json:"message"`
	Error        *wireError      `json:"error"`
	ErrorInfo    json.RawMessage `json:"codex_error_info"`
	Reason       string          `json:"reason"`
	Turns        int             `json:"num_turns"`
	Item         *shownItem      `json:"item"`
	TurnID       string          `json:"turn_id"`

	// token_usage_record
	ResponseID string     `json:"response_id"`
	Usage      *wireUsage `json:"usage"`

	// compacted
	Replacement  []replacementItem `json:"replacement_history"`
	CompactionID string            `json:"compaction_response_id"`
}

type wireText struct {
	Text string `json:"text"`
}

type historyBase struct {
	ThreadID   string `json:"thread_id"`
	EndOrdinal *int   `json:"end_ordinal_exclusive"`
}

type wireError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codex_error_info"`
}

// shownItem is an item as the screen shows it.
type shownItem struct {
	Type    string                           `json:"type"`
	ID      string                           `json:"id"`
	Text    string                           `json:"text"`
	Content sessionfile.TextOrList[wireText] `json:"content"`
	Output  string                           `json:"aggregated_output"`
}

type tokenInfo struct {
	Total  wireUsage `json:"total_token_usage"`
	Last   wireUsage `json:"last_token_usage"`
	Window int       `json:"model_context_window"`
}

// wireUsage is usage in the provider's terms: input includes what was cached,
// output includes reasoning.
type wireUsage struct {
	Input      int `json:"input_tokens"`
	Cached     int `json:"cached_input_tokens"`
	CacheWrite int `json:"cache_write_input_tokens"`
	Output     int `json:"output_tokens"`
	Reasoning  int `json:"reasoning_output_tokens"`
	Total      int `json:"total_tokens"`
}

// partless reports whether only the total, or nothing, is stated.
func (u wireUsage) partless() bool {
	return u.Input == 0 && u.Cached == 0 && u.CacheWrite == 0 && u.Output == 0 && u.Reasoning == 0
}

func (u wireUsage) normalized() *message.Usage {
	return &message.Usage{
		InputTokens: u.Input, CachedInputTokens: u.Cached, CacheWriteInputTokens: u.CacheWrite,
		OutputTokens: u.Output, ReasoningTokens: u.Reasoning,
	}
}

// item is a response item: what the model saw or said.
type item struct {
	Type      string                           `json:"type"`
	ID        string                           `json:"id"`
	Role      string                           `json:"role"`
	Content   sessionfile.TextOrList[wirePart] `json:"content"`
	Name      string                           `json:"name"`
	Namespace string                           `json:"namespace"`
	Arguments json.RawMessage                  `json:"arguments"`
	Input     json.RawMessage                  `json:"input"`
	Action    json.RawMessage                  `json:"action"`
	CallID    string                           `json:"call_id"`
	Output    sessionfile.TextOrList[wirePart] `json:"output"`
	Tools     json.RawMessage                  `json:"tools"`
	Summary   sessionfile.TextOrList[wirePart] `json:"summary"`
	Encrypted json.RawMessage                  `json:"encrypted_content"`
	Author    string                           `json:"author"`
	Passed    struct {
		Kinds []string `json:"content_item_kinds"`
	} `json:"internal_chat_message_metadata_passthrough"`
}

// wirePart is one part of an item's content or of a tool's output.
type wirePart struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	ImageURL string          `json:"image_url"`
	Detail   string          `json:"detail"`
	Content  string          `json:"content"` // of an output with a success flag
	Success  *bool           `json:"success"`
	raw      json.RawMessage // of a type that is carried unread
}

// UnmarshalJSON reads a part, or a bare string as a text part.
func (p *wirePart) UnmarshalJSON(data []byte) error {
	if v := (sessionfile.Value{Raw: data}); v.Kind() == '"' {
		*p = wirePart{Type: "text", Text: v.Text()}
		return nil
	}
	type plain wirePart
	var w plain
	if err := json.Unmarshal(data, &w); err != nil && !isMismatch(err) {
		return err
	}
	switch w.Type {
	case "input_text", "output_text", "text", "summary_text", "reasoning_text", "input_image", "refusal":
	default:
		w.raw = bytes.Clone(data)
	}
	*p = wirePart(w)
	return nil
}

// replacementItem is an item of a compaction's new history, with its JSON if
// it is carried unread.
type replacementItem struct {
	item
	raw json.RawMessage
}

// UnmarshalJSON reads an item.
func (r *replacementItem) UnmarshalJSON(data []byte) error {
	*r = replacementItem{}
	if err := json.Unmarshal(data, &r.item); err != nil && !isMismatch(err) {
		return err
	}
	if !readItem(r.Type) {
		r.raw = bytes.Clone(data)
	}
	return nil
}

func isMismatch(err error) bool {
	mismatch := (*json.UnmarshalTypeError)(nil)
	return errors.As(err, &mismatch)
}

// timestamp reads a time and is zero for anything that is none.
type timestamp struct{ time.Time }

// UnmarshalJSON reads a time.
func (t *timestamp) UnmarshalJSON(data []byte) error {
	t.Time, _ = time.Parse(time.RFC3339Nano, sessionfile.Value{Raw: data}.Text())
	return nil
}
