package tokencount

import (
	"math"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// A Profile says how a model family turns a request into tokens, given the
// count of its texts in a public vocabulary. The zero Profile adds nothing and
// has no band.
type Profile struct {
	// Family names the profile, for example "openai" or "claude".
	Family string
	// Method is reported with each estimate.
	Method model.Method
	// TextRatio is tokens of the family for one token of the vocabulary; zero
	// means 1.
	TextRatio float64
	// RequestTokens is added once for each request.
	RequestTokens float64
	// MessageTokens is added for each message.
	MessageTokens float64
	// ToolCallTokens and ToolResultTokens are added for each such block.
	ToolCallTokens, ToolResultTokens float64
	// ToolsTokens is added once when any tool is advertised, ToolTokens for
	// each tool.
	ToolsTokens, ToolTokens float64
	// BandFraction and BandTokens are the half-width of the error band:
	// fraction of the estimate, and a constant.
	BandFraction float64
	BandTokens   int
	// Requests is how many recorded requests the numbers were fitted on, zero
	// when they were not.
	Requests int
	// Source says where the numbers come from.
	Source string
}

// Estimate wraps a total with the profile's method and band.
func (p Profile) Estimate(tokens int) model.Estimate {
	return model.Estimate{
		Tokens:     tokens,
		BandTokens: p.BandTokens + int(math.Ceil(p.BandFraction*float64(tokens))),
		Method:     p.Method,
		Confidence: model.ConfidenceEstimated,
	}
}

func (p Profile) scale(raw int) int {
	if p.TextRatio == 0 || p.TextRatio == 1 {
		return raw
	}
	return int(math.Round(float64(raw) * p.TextRatio))
}

func (p Profile) messageFraming(m message.Message) int {
	n := p.MessageTokens
	for _, b := range m.Blocks {
		switch b.(type) {
		case message.ToolCall:
			n += p.ToolCallTokens
		case message.ToolResult:
			n += p.ToolResultTokens
		}
	}
	return int(math.Round(n))
}

func (p Profile) tool(raw int) int { return int(math.Round(float64(p.scale(raw)) + p.ToolTokens)) }

func (p Profile) fixed(tools int) int {
	n := p.RequestTokens
	if tools > 0 {
		n += p.ToolsTokens
	}
	return int(math.Round(n))
}
