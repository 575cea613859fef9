package openaichat

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider/internal/dialect"
	"github.com/forge-agent/forge/provider/internal/wire"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// chunk is one event of a stream.
type chunk struct {
	ID      string          `json:"id"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Groq    struct {
		Usage json.RawMessage `json:"usage"`
	} `json:"x_groq"`
}

type choice struct {
	Index        int    `json:"index"`
	Delta        delta  `json:"delta"`
	FinishReason string `json:"finish_reason"`
}

type delta struct {
	Content          content         `json:"content"`
	ReasoningContent content         `json:"reasoning_content"`
	Reasoning        content         `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	Refusal          string          `json:"refusal"`
	ToolCalls        []callDelta     `json:"tool_calls"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// content is text, or a list of parts as Mistral sends them: texts, and
// thinking that holds texts.
type content struct{ text, thinking string }

func (c *content) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, &c.text)
	case '[':
		var parts []struct {
			Text     string            `json:"text"`
			Thinking []json.RawMessage `json:"thinking"`
		}
		if err := json.Unmarshal(data, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			c.text += p.Text
			for _, raw := range p.Thinking {
				var inner struct{ Text string }
				if json.Unmarshal(raw, &inner) == nil {
					c.thinking += inner.Text
				}
			}
		}
	}
	return nil
}

// turn reads one answer. Its terminal event is "[DONE]", after a chunk with a
// finish reason.
type turn struct {
	provider, model string
	answer          dialect.Answer
	calls           []callPart
	id              string
	finish          string
	field           string // the member that reasoning came in
	details         []json.RawMessage
	usage           *message.Usage
	usageProblem    string
	refused, done   bool
}

type callPart struct {
	index int
	part  *dialect.Part
}

// Evidence reports whether anything was said.
func (t *turn) Evidence() bool { return t.answer.Evidence() }

// Done reports whether "[DONE]" has come.
func (t *turn) Done() bool { return t.done }

// Take reads one event.
func (t *turn) Take(e wire.Event) ([]model.Event, error) {
	data := bytes.TrimSpace(e.Data)
	if string(data) == "[DONE]" {
		if t.finish == "" {
			return nil, &model.Error{Kind: model.ErrIncompleteStream, Err: errors.New("[DONE] came without a finish reason")}
		}
		t.done = true
		return nil, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, wire.Malformed(data, err)
	}
	if e.Name == "error" || present(c.Error) {
		return nil, wire.EventError(data)
	}
	if t.id == "" {
		t.id = c.ID
	}
	for _, raw := range []json.RawMessage{c.Groq.Usage, c.Usage} {
		if !present(raw) {
			continue
		}
		u, err := wirebody.DecodeUsage(raw)
		if err != nil {
			t.usage, t.usageProblem = nil, err.Error()
		} else if u != nil {
			t.usage, t.usageProblem = u, ""
		}
	}
	var out []model.Event
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		out = append(out, t.take(choice.Delta)...)
		if choice.FinishReason != "" {
			t.finish = choice.FinishReason
		}
		if t.finish == "error" {
			return out, wire.EventError(data)
		}
	}
	return out, nil
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func (t *turn) take(d delta) []model.Event {
	var out []model.Event
	think := func(text, field string) {
		if text == "" || t.field != "" && t.field != field {
			return // some servers send the same text under both names
		}
		t.field = field
		p := t.answer.Last(message.KindReasoning)
		p.Text = append(p.Text, text...)
		p.Opaque, _ = json.Marshal(field) // a string always encodes
		out = append(out, model.ReasoningDelta{Text: text})
	}
	think(d.ReasoningContent.text, "reasoning_content")
	think(d.Reasoning.text, "reasoning")
	think(d.Content.thinking, thinkingPart)
	if len(d.ReasoningDetails) > 0 && d.ReasoningDetails[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(d.ReasoningDetails, &list) == nil {
			t.details = append(t.details, list...)
		}
	}
	if d.Refusal != "" {
		t.refused = true
	}
	if text := d.Content.text + d.Refusal; text != "" {
		p := t.answer.Last(message.KindText)
		p.Text = append(p.Text, text...)
		out = append(out, model.TextDelta{Text: text})
	}
	for _, c := range d.ToolCalls {
		t.call(c)
	}
	return out
}

// call adds to a call. Calls are told apart by index; a server that gives
// every call the same index, or none, begins a new one with a new id.
func (t *turn) call(c callDelta) {
	var p *dialect.Part
	for _, known := range t.calls { // the newest that fits
		id, name := known.part.ID, c.Function.Name
		if c.Index == nil && (c.ID == "" && name == "" || c.ID != "" && c.ID == id) ||
			c.Index != nil && *c.Index == known.index && (c.ID == "" || id == "" || c.ID == id) {
			p = known.part
		}
	}
	if p == nil {
		p = t.answer.Add(message.KindToolCall)
		index := len(t.calls)
		if c.Index != nil {
			index = *c.Index
		}
		t.calls = append(t.calls, callPart{index, p})
	}
	if p.ID == "" {
		p.ID = c.ID
	}
	if p.Name == "" {
		p.Name = c.Function.Name
	}
	raw := c.Function.Arguments
	var text string
	switch {
	case !present(raw):
	case json.Unmarshal(raw, &text) == nil:
		p.Text = append(p.Text, text...)
	default:
		p.Text = append(p.Text, raw...) // a server that sends an object
	}
}

// Completed returns the whole answer.
func (t *turn) Completed() (model.Completed, error) {
	if t.sealed() {
		p := t.answer.First(message.KindReasoning)
		p.Opaque, _ = json.Marshal(t.details) // what came as JSON encodes
	}
	return model.Completed{
		Messages:     t.answer.Messages(t.provider, t.model, t.id),
		Usage:        t.usage,
		UsageProblem: t.usageProblem,
		Stop:         t.stop(),
	}, nil
}

// sealed reports whether the details hold more than the text: what a provider
// wants back.
func (t *turn) sealed() bool {
	for _, raw := range t.details {
		var d struct{ Data, Signature string }
		if json.Unmarshal(raw, &d) == nil && (d.Data != "" || d.Signature != "") {
			return true
		}
	}
	return false
}

func (t *turn) stop() model.StopReason {
	switch {
	case t.refused, t.finish == "content_filter":
		return model.StopRefusal
	case t.finish == "length":
		return model.StopOutput
	case t.finish == "model_length":
		return model.StopWindow
	case t.answer.HasCalls(), t.finish == "tool_calls", t.finish == "function_call":
		return model.StopToolCall
	case t.finish == "stop", t.finish == "end_turn", t.finish == "eos":
		return model.StopEnd
	}
	return model.StopUnknown
}
