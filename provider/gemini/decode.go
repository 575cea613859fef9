package gemini

import (
	"bytes"
	"encoding/json"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider/internal/dialect"
	"github.com/forge-agent/forge/provider/internal/wire"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// event is one event of a stream.
type event struct {
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		FinishReason string `json:"finishReason"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage      json.RawMessage `json:"usageMetadata"`
	ResponseID string          `json:"responseId"`
	Error      json.RawMessage `json:"error"`
}

type part struct {
	Text             *string       `json:"text"`
	Thought          bool          `json:"thought"`
	ThoughtSignature string        `json:"thoughtSignature"`
	FunctionCall     *functionCall `json:"functionCall"`
}

type functionCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// turn reads one answer. Its terminal event is the one with a finish reason,
// or with the reason why the request was blocked; usage comes with it or not
// at all.
type turn struct {
	provider, model string
	answer          dialect.Answer
	id, finish      string
	blocked, done   bool
	usage           *message.Usage
	usageProblem    string
}

// Evidence reports whether anything was said.
func (t *turn) Evidence() bool { return t.answer.Evidence() }

// Done reports whether the terminal event and usage have come.
func (t *turn) Done() bool { return t.done }

// Ended reports whether the stream may end here: the finish reason has come,
// and the server reports no usage.
func (t *turn) Ended() bool { return t.finish != "" || t.blocked }

// Take reads one event.
func (t *turn) Take(e wire.Event) ([]model.Event, error) {
	data := bytes.TrimSpace(e.Data)
	var ev event
	if err := json.Unmarshal(data, &ev); err != nil {
		if len(data) > 0 && data[0] == '[' {
			return nil, wire.EventError(data)
		}
		return nil, wire.Malformed(data, err)
	}
	if present(ev.Error) {
		return nil, wire.EventError(data)
	}
	if ev.ResponseID != "" {
		t.id = ev.ResponseID
	}
	if present(ev.Usage) {
		u, err := wirebody.DecodeUsage(ev.Usage)
		if err != nil {
			t.usage, t.usageProblem = nil, err.Error()
		} else if u != nil {
			t.usage, t.usageProblem = u, ""
		}
	}
	var out []model.Event
	for _, c := range ev.Candidates {
		if c.Index != 0 {
			continue
		}
		for _, raw := range c.Content.Parts {
			said, err := t.part(raw)
			if err != nil {
				return out, wire.Malformed(data, err)
			}
			out = append(out, said...)
		}
		if c.FinishReason != "" && c.FinishReason != "FINISH_REASON_UNSPECIFIED" {
			t.finish = c.FinishReason
		}
	}
	t.blocked = t.blocked || ev.PromptFeedback.BlockReason != ""
	t.done = t.Ended() && present(ev.Usage)
	return out, nil
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func (t *turn) part(raw json.RawMessage) ([]model.Event, error) {
	var p part
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	if p.ThoughtSignature != "" {
		sealed := t.answer.Add(message.KindReasoning)
		sealed.Opaque, _ = json.Marshal(p.ThoughtSignature) // a string always encodes
	}
	switch {
	case p.FunctionCall != nil:
		call := t.answer.Add(message.KindToolCall)
		call.ID, call.Name = p.FunctionCall.ID, p.FunctionCall.Name
		var compact bytes.Buffer
		if present(p.FunctionCall.Args) && json.Compact(&compact, p.FunctionCall.Args) == nil {
			call.Text = compact.Bytes()
		}
	case p.Text == nil:
		if p.ThoughtSignature == "" {
			unread := t.answer.Add(message.KindOpaque)
			unread.Type, unread.Opaque = "part", append(json.RawMessage(nil), raw...)
		}
	case *p.Text == "":
	case p.Thought:
		t.thought(*p.Text)
		return []model.Event{model.ReasoningDelta{Text: *p.Text}}, nil
	default:
		text := t.answer.Last(message.KindText)
		text.Text = append(text.Text, *p.Text...)
		return []model.Event{model.TextDelta{Text: *p.Text}}, nil
	}
	return nil, nil
}

// thought adds to the visible thought that is being written; a signature
// before it stays a block of its own.
func (t *turn) thought(text string) {
	p := t.answer.Last(message.KindReasoning)
	if len(p.Opaque) > 0 {
		p = t.answer.Add(message.KindReasoning)
	}
	p.Text = append(p.Text, text...)
}

// Completed returns the whole answer. A call that the model made and the
// provider could not read is missing from it, so that it is none.
func (t *turn) Completed() (model.Completed, error) {
	switch t.finish {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL":
		return model.Completed{}, &model.Error{Kind: model.ErrUnreadable, Code: t.finish, Message: "the model made a tool call that the provider could not read (" + t.finish + ")"}
	}
	return model.Completed{
		Messages:     t.answer.Messages(t.provider, t.model, t.id),
		Usage:        t.usage,
		UsageProblem: t.usageProblem,
		Stop:         t.stop(),
	}, nil
}

func (t *turn) stop() model.StopReason {
	switch t.finish {
	case "STOP":
		if t.answer.HasCalls() {
			return model.StopToolCall
		}
		return model.StopEnd
	case "MAX_TOKENS":
		return model.StopOutput
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "MODEL_ARMOR":
		return model.StopRefusal
	}
	if t.blocked {
		return model.StopRefusal
	}
	return model.StopUnknown
}
