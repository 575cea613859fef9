package tokencount

import (
	"slices"
	"strings"

	"github.com/forge-agent/forge/model"
)

// A Wire is the protocol that carries a request. Some providers render the
// same request differently on different ones.
type Wire string

// The wires. The zero value means that the wire is unknown or makes no
// difference.
const (
	// WireChat: chat completions at the model's own provider.
	WireChat Wire = "chat"
	// WireGateway: chat completions at a reseller, which calls the provider
	// in its own way.
	WireGateway Wire = "gateway"
	// WireResponses: OpenAI Responses.
	WireResponses Wire = "responses"
	// WireMessages: Anthropic Messages.
	WireMessages Wire = "messages"
	// WireGemini: generateContent at the Gemini API.
	WireGemini Wire = "gemini"
	// WireVertex: generateContent at Vertex AI.
	WireVertex Wire = "vertex"
)

// A Route is the way of a request to a model.
type Route struct {
	// Family is the model's family as the catalog names it.
	Family string
	// Model is the model's name as the provider takes it, empty for any.
	Model string
	// Wire is the protocol.
	Wire Wire
}

// A Match says which routes of a family a profile is for.
type Match struct {
	// Models are beginnings of model names without what stands before a
	// slash; one that ends in "$" is a whole name. Empty matches every model.
	Models []string
	// Wires are the protocols. Empty matches every one.
	Wires []Wire
}

// Covers reports whether the match fits a route.
func (m Match) Covers(r Route) bool {
	name := bareName(r.Model)
	models := len(m.Models) == 0 || slices.ContainsFunc(m.Models, func(pattern string) bool {
		whole, exact := strings.CutSuffix(pattern, "$")
		return name == whole || !exact && strings.HasPrefix(name, pattern)
	})
	return models && (len(m.Wires) == 0 || slices.Contains(m.Wires, r.wire()))
}

// wire is the route's wire. A model name with its maker in front of a slash
// is a reseller's.
func (r Route) wire() Wire {
	if r.Wire == WireChat && strings.Contains(r.Model, "/") {
		return WireGateway
	}
	return r.Wire
}

// bareName is a model's name without maker, region and host.
func bareName(model string) string {
	name := strings.ToLower(model)
	name = name[strings.LastIndexByte(name, '/')+1:]
	if i := strings.LastIndex(name, "anthropic."); i >= 0 {
		name = name[i+len("anthropic."):]
	}
	name, _, _ = strings.Cut(name, ":")
	return name
}

// ProfileFor returns the profile of a family, by the name that the catalog
// uses. A family that nobody knows gets the conservative fallback.
func ProfileFor(family string) Profile { return ProfileOf(Route{Family: family}) }

// ProfileOf returns the profile that fits a route: the last of the family's
// profiles that covers it, for the table goes from the general to the special.
func ProfileOf(r Route) Profile {
	for _, f := range slices.Backward(fitted()) {
		if f.profile.Family == r.Family && f.match.Covers(r) {
			return f.profile
		}
	}
	return fallback()
}

// fittedProfile is one line of the fitted table.
type fittedProfile struct {
	match   Match
	profile Profile
}

// fallback is the profile of a model that nobody knows: framing above that of
// every fitted family, for a text counter that is itself conservative, and a
// wide band. (F-CAP-04, F-TST-02)
func fallback() Profile {
	return Profile{
		Family: "unknown", Method: model.MethodConservativeFallback,
		RequestTokens: 16, MessageTokens: 8, ToolCallTokens: 40, ToolResultTokens: 24, ArgumentTokens: 12, ReasoningTokens: 16,
		ToolsTokens: 550, ToolTokens: 48, Schema: SchemaJSON, SchemaRatio: 1.15,
		Sealed:       SealedRule{BytesPerToken: 4},
		BandFraction: 0.2, BandTokens: 32,
		Source: "above the framing of every fitted family",
	}
}
