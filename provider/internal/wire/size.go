package wire

import (
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// SizeHint is about as many bytes as a request's body has, so that it is
// written into one piece of memory.
func SizeHint(r model.Request) int {
	n := 1 << 10
	for _, ms := range [][]message.Message{r.Instructions, r.Messages} {
		for _, m := range ms {
			n += 64 + blocksSize(m.Blocks)
		}
	}
	for _, t := range r.Tools {
		n += 128 + len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return n + n/16
}

func blocksSize(bs []message.Block) int {
	n := 0
	for _, b := range bs {
		n += 96
		switch b := b.(type) {
		case message.Text:
			n += len(b.Text)
		case message.Reasoning:
			n += len(b.Text) + len(b.Opaque)
		case message.Image:
			n += len(b.Data)*4/3 + len(b.URL)
		case message.ToolCall:
			n += len(b.ID) + len(b.Name) + len(b.Arguments)
		case message.ToolResult:
			n += len(b.CallID) + blocksSize(b.Content)
		case message.Opaque:
			n += len(b.Data)
		}
	}
	return n
}
