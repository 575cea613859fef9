package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider/internal/dialect"
	"github.com/forge-agent/forge/provider/internal/wire"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// event is one event of a stream.
type event struct {
	Type        string          `json:"type"`
	OutputIndex int             `json:"output_index"`
	Item        json.RawMessage `json:"item"`
	Delta       string          `json:"delta"`
	Response    struct {
		ID         string            `json:"id"`
		Output     []json.RawMessage `json:"output"`
		Usage      json.RawMessage   `json:"usage"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
	} `json:"response"`
}

// item is one item of an answer.
type item struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Phase     string `json:"phase"`
	Encrypted string `json:"encrypted_content"`
	Content   []part `json:"content"`
	Summary   []part `json:"summary"`
}

type part struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// turn reads one answer. Its terminal event is response.completed or
// response.incomplete. The items count as they are when they are done; the
// pieces before are for showing.
type turn struct {
	provider, model string
	id              string
	items           map[int]json.RawMessage
	usage           *message.Usage
	usageProblem    string
	answer          dialect.Answer
	incomplete      string
	evidence        bool
	refused         bool
	cut, done       bool
}

// Evidence reports whether anything was said or a call was begun.
func (t *turn) Evidence() bool { return t.evidence }

// Done reports whether the terminal event has come.
func (t *turn) Done() bool { return t.done }

// Take reads one event.
func (t *turn) Take(e wire.Event) ([]model.Event, error) {
	if string(e.Data) == "[DONE]" {
		return nil, nil // a gateway's; it ends nothing
	}
	var ev event
	if err := json.Unmarshal(e.Data, &ev); err != nil {
		if e.Name == "error" || strings.Contains(string(e.Data), `"error"`) {
			return nil, wire.EventError(e.Data)
		}
		return nil, wire.Malformed(e.Data, err)
	}
	switch ev.Type {
	case "response.output_text.delta", "response.refusal.delta":
		return t.say(model.TextDelta{Text: ev.Delta}, ev.Delta), nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return t.say(model.ReasoningDelta{Text: ev.Delta}, ev.Delta), nil
	case "response.output_item.added":
		var it item
		if err := json.Unmarshal(ev.Item, &it); err != nil {
			return nil, wire.Malformed(e.Data, err)
		}
		t.evidence = t.evidence || it.Type != "message" && it.Type != "reasoning"
	case "response.output_item.done":
		if err := t.keep(ev.OutputIndex, ev.Item); err != nil {
			return nil, wire.Malformed(e.Data, err)
		}
	case "response.completed", "response.incomplete":
		t.cut = ev.Type == "response.incomplete"
		if err := t.finish(ev); err != nil {
			return nil, wire.Malformed(e.Data, err)
		}
	case "response.failed", "error", "response.error":
		return nil, wire.EventError(e.Data)
	case "":
		return nil, wire.EventError(e.Data)
	}
	return nil, nil
}

func (t *turn) say(e model.Event, text string) []model.Event {
	if text == "" {
		return nil
	}
	t.evidence = true
	return []model.Event{e}
}

func (t *turn) keep(index int, raw json.RawMessage) error {
	var it item
	if err := json.Unmarshal(raw, &it); err != nil {
		return err
	}
	if t.items == nil {
		t.items = map[int]json.RawMessage{}
	}
	if _, taken := t.items[index]; taken {
		return fmt.Errorf("item %d is done twice", index)
	}
	t.items[index] = append(json.RawMessage(nil), raw...)
	t.evidence = true
	return nil
}

func (t *turn) finish(ev event) error {
	t.id, t.incomplete, t.done = ev.Response.ID, ev.Response.Incomplete.Reason, true
	if len(t.items) == 0 { // a server that sends the items only at the end
		for i, raw := range ev.Response.Output {
			if err := t.keep(i, raw); err != nil {
				return err
			}
		}
	}
	for _, index := range slices.Sorted(maps.Keys(t.items)) {
		if err := t.read(t.items[index]); err != nil {
			return err
		}
	}
	if !present(ev.Response.Usage) {
		return nil
	}
	var err error
	if t.usage, err = wirebody.DecodeUsage(ev.Response.Usage); err != nil {
		t.usageProblem = err.Error()
	}
	return nil
}

// read turns an item into blocks.
func (t *turn) read(raw json.RawMessage) error {
	var it item
	if err := json.Unmarshal(raw, &it); err != nil {
		return err
	}
	switch it.Type {
	case "message":
		if it.Phase != "" {
			p := t.answer.Add(message.KindOpaque)
			p.Type = phaseType
			p.Opaque, _ = json.Marshal(it.Phase) // a string always encodes
		}
		p := t.answer.Add(message.KindText)
		for _, c := range it.Content {
			p.Text = append(append(p.Text, c.Text...), c.Refusal...)
			t.refused = t.refused || c.Refusal != ""
		}
	case "reasoning":
		p := t.answer.Add(message.KindReasoning)
		var visible []string
		for _, c := range slices.Concat(it.Summary, it.Content) {
			if c.Text != "" {
				visible = append(visible, c.Text)
			}
		}
		p.Text = []byte(strings.Join(visible, "\n"))
		if it.Encrypted != "" {
			p.Opaque = raw
		}
	case "function_call":
		p := t.answer.Add(message.KindToolCall)
		p.ID, p.Name, p.Text = it.CallID, it.Name, []byte(it.Arguments)
	default:
		p := t.answer.Add(message.KindOpaque)
		p.Type, p.Opaque = it.Type, raw
	}
	return nil
}

// Completed returns the whole answer.
func (t *turn) Completed() (model.Completed, error) {
	return model.Completed{
		Messages:     t.answer.Messages(t.provider, t.model, t.id),
		Usage:        t.usage,
		UsageProblem: t.usageProblem,
		Stop:         t.stop(),
	}, nil
}

func (t *turn) stop() model.StopReason {
	switch {
	case t.refused, t.cut && t.incomplete == "content_filter":
		return model.StopRefusal
	case t.cut && t.incomplete == "max_output_tokens":
		return model.StopOutput
	case t.cut:
		return model.StopUnknown
	case t.answer.HasCalls():
		return model.StopToolCall
	}
	return model.StopEnd
}
