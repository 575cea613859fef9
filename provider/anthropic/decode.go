package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/provider/internal/dialect"
	"github.com/forge-agent/forge/provider/internal/wire"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// event is one event of a stream.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID    string          `json:"id"`
		Usage json.RawMessage `json:"usage"`
	} `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        json.RawMessage `json:"delta"`
	Usage        json.RawMessage `json:"usage"`
}

// block is the beginning of a content block.
type block struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	Input     json.RawMessage `json:"input"`
}

type delta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`
	StopReason  string `json:"stop_reason"`
}

// usage as the provider reports it: the input leaves out both cache figures,
// the output contains thinking.
type usage struct {
	InputTokens         *int `json:"input_tokens"`
	CacheCreationTokens *int `json:"cache_creation_input_tokens"`
	CacheReadTokens     *int `json:"cache_read_input_tokens"`
	OutputTokens        *int `json:"output_tokens"`
	OutputDetails       *struct {
		ThinkingTokens int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

const maxTokens = 1 << 40

// take keeps the newer figures. A zero does not overrule what was reported
// before: some hosts fill their last event with zeros. whole says that they tell
// input and output both, an error that none were taken.
func (u *usage) take(raw json.RawMessage) (whole bool, err error) {
	if len(raw) == 0 {
		return false, nil
	}
	var newer usage
	if err := wirebody.UnmarshalUsage(raw, &newer); err != nil {
		return false, err
	}
	taken := *u
	for _, f := range []struct{ old, new **int }{
		{&taken.InputTokens, &newer.InputTokens}, {&taken.CacheCreationTokens, &newer.CacheCreationTokens},
		{&taken.CacheReadTokens, &newer.CacheReadTokens}, {&taken.OutputTokens, &newer.OutputTokens},
	} {
		if *f.new == nil {
			continue
		}
		if n := **f.new; n < 0 || n > maxTokens {
			return false, fmt.Errorf("decode usage: impossible number of tokens %d", n)
		}
		if *f.old == nil || **f.new > 0 {
			*f.old = *f.new
		}
	}
	if newer.OutputDetails != nil {
		taken.OutputDetails = newer.OutputDetails
	}
	*u = taken
	return newer.InputTokens != nil && *newer.InputTokens > 0 && newer.OutputTokens != nil, nil
}

// normal brings usage into the form in which the wholes contain the parts, nil
// when nothing was reported.
func (u *usage) normal() *message.Usage {
	value := func(n *int) int {
		if n == nil || *n < 0 || *n > maxTokens {
			return 0
		}
		return *n
	}
	out := message.Usage{
		CachedInputTokens:     value(u.CacheReadTokens),
		CacheWriteInputTokens: value(u.CacheCreationTokens),
		OutputTokens:          value(u.OutputTokens),
	}
	out.InputTokens = value(u.InputTokens) + out.CachedInputTokens + out.CacheWriteInputTokens
	if u.OutputDetails != nil {
		out.ReasoningTokens = min(max(0, u.OutputDetails.ThinkingTokens), out.OutputTokens)
	}
	if out == (message.Usage{}) {
		return nil
	}
	return &out
}

// turn reads one answer. Its terminal event is message_stop.
type turn struct {
	provider, model string
	answer          dialect.Answer
	open            map[int]*openBlock
	id, stop        string
	usage           usage
	usageProblem    string
	done            bool
}

// openBlock is a block that is being written.
type openBlock struct {
	part      *dialect.Part
	kind      string
	start     json.RawMessage
	signature string
	input     []byte
}

// Evidence reports whether anything was said.
func (t *turn) Evidence() bool { return t.answer.Evidence() }

// Done reports whether message_stop has come.
func (t *turn) Done() bool { return t.done }

// report takes a usage in. One that cannot be read costs no answer, and what it
// said is unknown until a whole one comes.
func (t *turn) report(raw json.RawMessage) {
	whole, err := t.usage.take(raw)
	switch {
	case err != nil:
		t.usageProblem = err.Error()
	case whole:
		t.usageProblem = ""
	}
}

// reported is the usage as far as all of it could be read.
func (t *turn) reported() *message.Usage {
	if t.usageProblem != "" {
		return nil
	}
	return t.usage.normal()
}

// Take reads one event.
func (t *turn) Take(e wire.Event) ([]model.Event, error) {
	var ev event
	if err := json.Unmarshal(e.Data, &ev); err != nil {
		return nil, wire.Malformed(e.Data, err)
	}
	var out []model.Event
	var err error
	switch ev.Type {
	case "message_start":
		t.id = ev.Message.ID
		t.report(ev.Message.Usage)
	case "content_block_start":
		out, err = t.begin(ev)
	case "content_block_delta":
		out, err = t.grow(ev)
	case "content_block_stop":
		err = t.end(ev.Index)
	case "message_delta":
		var d delta
		if err = json.Unmarshal(ev.Delta, &d); err == nil {
			if d.StopReason != "" {
				t.stop = d.StopReason
			}
			t.report(ev.Usage)
		}
	case "message_stop":
		if len(t.open) > 0 {
			return nil, wire.Malformed(e.Data, errors.New("the answer ends inside a block"))
		}
		t.done = true
	case "error":
		return nil, wire.EventError(e.Data)
	case "ping":
	case "":
		if e.Name == "error" {
			return nil, wire.EventError(e.Data)
		}
		return nil, wire.Malformed(e.Data, errors.New("the event has no type"))
	}
	if err != nil {
		return nil, wire.Malformed(e.Data, err)
	}
	return out, nil
}

func (t *turn) begin(ev event) ([]model.Event, error) {
	var b block
	if err := json.Unmarshal(ev.ContentBlock, &b); err != nil {
		return nil, err
	}
	if _, taken := t.open[ev.Index]; taken {
		return nil, fmt.Errorf("block %d begins twice", ev.Index)
	}
	o := &openBlock{kind: b.Type, start: append(json.RawMessage(nil), ev.ContentBlock...), signature: b.Signature}
	var out []model.Event
	switch b.Type {
	case "text":
		o.part = t.answer.Add(message.KindText)
		out = t.say(o, b.Text)
	case "thinking":
		o.part = t.answer.Add(message.KindReasoning)
		out = t.say(o, b.Thinking)
	case "redacted_thinking":
		o.part = t.answer.Add(message.KindReasoning)
		o.part.Opaque, _ = json.Marshal(b.Data) // a string always encodes
	case "tool_use":
		o.part = t.answer.Add(message.KindToolCall)
		o.part.ID, o.part.Name = b.ID, b.Name
	default:
		o.part = t.answer.Add(message.KindOpaque)
		o.part.Type, o.part.Opaque = b.Type, o.start
	}
	if t.open == nil {
		t.open = map[int]*openBlock{}
	}
	t.open[ev.Index] = o
	return out, nil
}

// say adds to the text of a block.
func (t *turn) say(o *openBlock, text string) []model.Event {
	if text == "" {
		return nil
	}
	o.part.Text = append(o.part.Text, text...)
	if o.kind == "thinking" {
		return []model.Event{model.ReasoningDelta{Text: text}}
	}
	return []model.Event{model.TextDelta{Text: text}}
}

func (t *turn) grow(ev event) ([]model.Event, error) {
	o := t.open[ev.Index]
	if o == nil {
		return nil, fmt.Errorf("block %d grows and has not begun", ev.Index)
	}
	var d delta
	if err := json.Unmarshal(ev.Delta, &d); err != nil {
		return nil, err
	}
	switch d.Type {
	case "text_delta":
		if o.kind == "text" {
			return t.say(o, d.Text), nil
		}
	case "thinking_delta":
		if o.kind == "thinking" {
			return t.say(o, d.Thinking), nil
		}
	case "signature_delta":
		o.signature += d.Signature
	case "input_json_delta":
		o.input = append(o.input, d.PartialJSON...)
	case "compaction_delta":
		return nil, o.merge(ev.Delta)
	}
	return nil, nil
}

// merge puts the members of a delta into an unread block.
func (o *openBlock) merge(delta json.RawMessage) error {
	var members, news map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(o.part.Opaque, &members), json.Unmarshal(delta, &news)); err != nil {
		return err
	}
	for name, value := range news {
		if name != "type" {
			members[name] = value
		}
	}
	var err error
	o.part.Opaque, err = json.Marshal(members)
	return err
}

// end finishes a block.
func (t *turn) end(index int) error {
	o := t.open[index]
	if o == nil {
		return fmt.Errorf("block %d ends and has not begun", index)
	}
	delete(t.open, index)
	switch {
	case o.kind == "tool_use":
		o.part.Text = o.input
		var b block
		if len(o.input) == 0 && json.Unmarshal(o.start, &b) == nil && len(b.Input) > 0 && string(b.Input) != "null" {
			o.part.Text = b.Input
		}
	case o.kind == "thinking" && o.signature != "" && len(o.part.Text) == 0:
		// Thinking that is not shown: the whole block, to tell it from
		// redacted thinking.
		o.part.Opaque, _ = json.Marshal(map[string]string{"type": "thinking", "thinking": "", "signature": o.signature})
	case o.kind == "thinking" && o.signature != "":
		o.part.Opaque, _ = json.Marshal(o.signature)
	case o.part.Kind == message.KindOpaque && len(o.input) > 0:
		if !json.Valid(o.input) {
			return errors.New("the input of a server tool is no JSON")
		}
		return o.merge([]byte(`{"input":` + string(o.input) + `}`))
	}
	return nil
}

// Completed returns the whole answer.
func (t *turn) Completed() (model.Completed, error) {
	return model.Completed{
		Messages:     t.answer.Messages(t.provider, t.model, t.id),
		Usage:        t.reported(),
		UsageProblem: t.usageProblem,
		Stop:         t.reason(),
	}, nil
}

func (t *turn) reason() model.StopReason {
	switch t.stop {
	case "end_turn", "stop_sequence":
		return model.StopEnd
	case "tool_use":
		return model.StopToolCall
	case "max_tokens":
		return model.StopOutput
	case "model_context_window_exceeded":
		return model.StopWindow
	case "refusal":
		return model.StopRefusal
	}
	return model.StopUnknown
}
