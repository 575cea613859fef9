package message

import (
	"encoding/json"
	"fmt"
	"time"
)

// jsonMessage is the stored form of a Message.
type jsonMessage struct {
	ID     string      `json:"id"`
	Role   Role        `json:"role"`
	Origin Origin      `json:"origin,omitempty"`
	Blocks []jsonBlock `json:"blocks"`
	Time   *time.Time  `json:"time,omitempty"`
	Model  string      `json:"model,omitempty"`
}

// jsonBlock is the union of all block types; kind says which fields count.
type jsonBlock struct {
	Kind          Kind            `json:"kind"`
	Text          string          `json:"text,omitempty"`
	Provider      string          `json:"provider,omitempty"`
	Opaque        json.RawMessage `json:"opaque,omitempty"`
	MediaType     string          `json:"mediaType,omitempty"`
	Data          []byte          `json:"data,omitempty"`
	URL           string          `json:"url,omitempty"`
	Detail        string          `json:"detail,omitempty"`
	WidthPixels   int             `json:"widthPixels,omitempty"`
	HeightPixels  int             `json:"heightPixels,omitempty"`
	ID            string          `json:"id,omitempty"`
	Name          string          `json:"name,omitempty"`
	Arguments     string          `json:"arguments,omitempty"`
	CallID        string          `json:"callId,omitempty"`
	Content       []jsonBlock     `json:"content,omitempty"`
	Outcome       Outcome         `json:"outcome,omitempty"`
	Truncated     bool            `json:"truncated,omitempty"`
	OriginalBytes int             `json:"originalBytes,omitempty"`
	Type          string          `json:"type,omitempty"`
	Item          json.RawMessage `json:"item,omitempty"`
}

// MarshalJSON writes the message with its blocks tagged by kind. The JSON
// form carries everything, and reading it back gives an equal message. It is
// not the canonical encoding: hashes never depend on it.
func (m Message) MarshalJSON() ([]byte, error) {
	j := jsonMessage{ID: m.ID, Role: m.Role, Origin: m.Origin, Blocks: encodeBlocks(m.Blocks), Model: m.Model}
	if !m.Time.IsZero() {
		j.Time = &m.Time
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads the form that MarshalJSON writes. An unknown kind of
// block is an error: dropping it would lose content.
func (m *Message) UnmarshalJSON(data []byte) error {
	var j jsonMessage
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	blocks, err := decodeBlocks(j.Blocks)
	if err != nil {
		return fmt.Errorf("read message %q: %w", j.ID, err)
	}
	*m = Message{ID: j.ID, Role: j.Role, Origin: j.Origin, Blocks: blocks, Model: j.Model}
	if j.Time != nil {
		m.Time = *j.Time
	}
	return nil
}

func encodeBlocks(bs []Block) []jsonBlock {
	out := make([]jsonBlock, 0, len(bs))
	for _, b := range bs {
		j := jsonBlock{Kind: b.Kind()}
		switch b := b.(type) {
		case Text:
			j.Text = b.Text
		case Reasoning:
			j.Text, j.Provider, j.Opaque = b.Text, b.Provider, b.Opaque
		case Image:
			j.MediaType, j.Data, j.URL, j.Detail = b.MediaType, b.Data, b.URL, b.Detail
			j.WidthPixels, j.HeightPixels = b.WidthPixels, b.HeightPixels
		case ToolCall:
			j.ID, j.Name, j.Arguments = b.ID, b.Name, b.Arguments
		case ToolResult:
			j.CallID, j.Name, j.Outcome = b.CallID, b.Name, b.Outcome
			j.Truncated, j.OriginalBytes = b.Truncated, b.OriginalBytes
			j.Content = encodeBlocks(b.Content)
		case Opaque:
			j.Provider, j.Type, j.Item = b.Provider, b.Type, b.Data
		}
		out = append(out, j)
	}
	return out
}

func decodeBlocks(js []jsonBlock) ([]Block, error) {
	if len(js) == 0 {
		return nil, nil
	}
	out := make([]Block, 0, len(js))
	for i, j := range js {
		switch j.Kind {
		case KindText:
			out = append(out, Text{Text: j.Text})
		case KindReasoning:
			out = append(out, Reasoning{Text: j.Text, Provider: j.Provider, Opaque: j.Opaque})
		case KindImage:
			out = append(out, Image{MediaType: j.MediaType, Data: j.Data, URL: j.URL, Detail: j.Detail,
				WidthPixels: j.WidthPixels, HeightPixels: j.HeightPixels})
		case KindToolCall:
			out = append(out, ToolCall{ID: j.ID, Name: j.Name, Arguments: j.Arguments})
		case KindToolResult:
			content, err := decodeBlocks(j.Content)
			if err != nil {
				return nil, fmt.Errorf("block %d: %w", i, err)
			}
			out = append(out, ToolResult{CallID: j.CallID, Name: j.Name, Content: content, Outcome: j.Outcome,
				Truncated: j.Truncated, OriginalBytes: j.OriginalBytes})
		case KindOpaque:
			out = append(out, Opaque{Provider: j.Provider, Type: j.Type, Data: j.Item})
		default:
			return nil, fmt.Errorf("block %d: unknown kind %q", i, j.Kind)
		}
	}
	return out, nil
}
