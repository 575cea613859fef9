package tokencount

import (
	"math"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// A Profile says how a model family turns a request into tokens, given counts
// of its texts in a public vocabulary. The zero Profile adds nothing and has
// no band. ProfileFor returns the fitted ones.
//
// Numbers of tokens that are added for something are whole in the fitted
// profiles, because providers add whole tokens; the fraction of any other
// number is rounded once for each item, so that items always sum to the total.
type Profile struct {
	// Family names the profile, for example "openai" or "claude".
	Family string
	// Vocabulary is the family's own public vocabulary, empty when it has
	// none. A counter of that vocabulary counts the family's text exactly.
	Vocabulary string
	// Method is reported with each estimate. New derives it from the
	// vocabulary where it is empty.
	Method model.Method

	// TextRatio multiplies the count of every text that is not counted in the
	// family's own vocabulary; zero means 1.
	TextRatio float64
	// TextWeights brings a count in Base to the family's count. It is used
	// with a counter of the vocabulary Base only.
	TextWeights TextWeights
	Base        string

	// RequestTokens is added once for each request.
	RequestTokens float64
	// MessageTokens is added for each message that says something: any block
	// but a tool call or result.
	MessageTokens float64
	// ToolCallTokens and ToolResultTokens are added for each such block,
	// ArgumentTokens for each argument of a call whose arguments are read as
	// Arguments says, ParallelTokens for each call of a message but the
	// first, ReasoningTokens for each block of reasoning that counts.
	ToolCallTokens, ToolResultTokens, ArgumentTokens, ParallelTokens, ReasoningTokens float64
	// Arguments is how the model reads the arguments of a call.
	Arguments ArgumentsForm
	// DropsReasoning says that the provider leaves visible reasoning of
	// earlier replies out when it comes back.
	DropsReasoning bool

	// ToolsTokens is added once when any tool is advertised, ToolTokens for
	// each tool, PropertyTokens for each named property of its schema, nested
	// ones included. ProviderToolTokens stands for a tool that has only a
	// name: the provider supplies its text.
	ToolsTokens, ToolTokens, PropertyTokens, ProviderToolTokens float64
	// Schema is how the model reads a tool's definition.
	Schema SchemaForm
	// SchemaRatio multiplies the count of a tool's text, besides TextRatio;
	// zero means 1.
	SchemaRatio float64

	// Sealed is how reasoning is counted that only the provider can read.
	Sealed SealedRule
	// Image is how pictures are counted.
	Image ImageRule

	// BandFraction and BandTokens are the half-width of the error band:
	// fraction of the estimate, and a constant.
	BandFraction float64
	BandTokens   int
	// Requests is how many recorded requests the numbers were fitted on, zero
	// when they were not fitted.
	Requests int
	// Source says where the numbers come from.
	Source string
}

// ArgumentsForm is how a model reads the arguments of a tool call.
type ArgumentsForm string

const (
	// ArgumentsJSON: the JSON text as the model wrote it.
	ArgumentsJSON ArgumentsForm = ""
	// ArgumentsValues: name and value of each argument apart, strings without
	// quotes and escapes. Claude and GLM write calls in such a form.
	ArgumentsValues ArgumentsForm = "values"
)

// SchemaForm is how a model reads a tool definition.
type SchemaForm string

const (
	// SchemaParts: name, description and JSON schema apart, as they are.
	SchemaParts SchemaForm = ""
	// SchemaJSON: the three as members of one JSON object, written with a
	// space after each colon and comma. Most chat templates do that.
	SchemaJSON SchemaForm = "json"
	// SchemaTypeScript: a type declaration with comments.
	SchemaTypeScript SchemaForm = "typescript"
	// SchemaWords: only names, descriptions and enumerated values count;
	// ToolTokens and PropertyTokens stand for the rest.
	SchemaWords SchemaForm = "words"
)

// resolved returns the profile as a counter with this vocabulary uses it: the
// method and the weights that belong to the vocabulary.
func (p Profile) resolved(vocabulary string) Profile {
	exact := p.Vocabulary != "" && vocabulary == p.Vocabulary
	if exact || vocabulary != p.Base {
		p.TextWeights = TextWeights{}
	}
	if exact {
		p.TextRatio = 1
	}
	if p.Method == "" {
		switch {
		case exact:
			p.Method = model.MethodProviderTokenizer
		case p.Requests == 0 && p.TextWeights == TextWeights{}:
			p.Method = model.MethodConservativeFallback
		default:
			p.Method = model.MethodSDK
		}
	}
	return p
}

func (p Profile) ratio() float64 {
	if p.TextRatio == 0 {
		return 1
	}
	return p.TextRatio
}

// Estimate wraps a total with the profile's method and band.
func (p Profile) Estimate(tokens int) model.Estimate {
	return model.Estimate{
		Tokens:     tokens,
		BandTokens: p.BandTokens + int(math.Ceil(p.BandFraction*float64(max(tokens, 0)))),
		Method:     p.Method,
		Confidence: model.ConfidenceEstimated,
	}
}

func (p Profile) messageFraming(m message.Message) int {
	n := 0.0
	says := len(m.Blocks) == 0
	calls := 0
	for _, b := range m.Blocks {
		switch b.(type) {
		case message.ToolCall:
			n += p.ToolCallTokens
			if calls++; calls > 1 {
				n += p.ParallelTokens
			}
		case message.ToolResult:
			n += p.ToolResultTokens
		case message.Reasoning:
			// Reasoning stands in front of what the same reply says.
		default:
			says = true
		}
	}
	if says {
		n += p.MessageTokens
	}
	return round(n)
}

func (p Profile) fixed(tools int) int {
	n := p.RequestTokens
	if tools > 0 {
		n += p.ToolsTokens
	}
	return round(n)
}

// round rounds to the nearest whole number of tokens, never below zero.
func round(x float64) int { return max(0, int(math.Round(x))) }
