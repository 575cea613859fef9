package tokencount

import "github.com/forge-agent/forge/message"

// block counts the content of one block; what the provider adds around it is
// framing.
func (c *Counter) block(b message.Block) int {
	switch b := b.(type) {
	case message.Text:
		return c.Text(b.Text)
	case message.Reasoning:
		return c.reasoning(b)
	case message.Image:
		return c.image(b)
	case message.ToolCall:
		return c.profile.scale(c.text.Count(b.Name) + c.text.Count(b.Arguments))
	case message.ToolResult:
		total := 0
		for _, inner := range b.Content {
			total += c.block(inner)
		}
		return total
	case message.Opaque:
		return c.opaque(b.Data)
	}
	return 0
}

func (c *Counter) reasoning(b message.Reasoning) int {
	if b.Text != "" {
		return c.Text(b.Text)
	}
	return c.opaque(b.Opaque)
}

// opaque estimates content that only its provider can read from its size.
// Base64 carries three bytes in four characters, and a token is about four
// bytes of text.
func (c *Counter) opaque(data []byte) int { return len(data) * 3 / 4 / 4 }

// image estimates a picture from its size where that is known.
func (c *Counter) image(b message.Image) int {
	const unknownTokens = 1600
	if b.WidthPixels <= 0 || b.HeightPixels <= 0 {
		return unknownTokens
	}
	return min(unknownTokens, max(1, b.WidthPixels*b.HeightPixels/750))
}
