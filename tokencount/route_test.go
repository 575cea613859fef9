package tokencount_test

import (
	"strings"
	"testing"

	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/tokencount"
)

// A route finds the profile that was fitted for its model and wire.
func TestProfileOf(t *testing.T) {
	of := func(family, model string, wire tokencount.Wire) tokencount.Profile {
		return tokencount.ProfileOf(tokencount.Route{Family: family, Model: model, Wire: wire})
	}
	for _, test := range []struct {
		name string
		a, b tokencount.Profile
		same bool
	}{
		{"GPT-4o and GPT-5", of("openai", "gpt-4o", ""), of("openai", "gpt-5", ""), false},
		{"GPT-4o and GPT-4.1", of("openai", "gpt-4o-2024-08-06", tokencount.WireChat), of("openai", "GPT-4.1", tokencount.WireChat), true},
		{"GPT-5 over chat and Responses", of("openai", "gpt-5-mini", tokencount.WireChat), of("openai", "gpt-5-mini", tokencount.WireResponses), false},
		{"GPT-5 at its maker and at a reseller", of("openai", "gpt-5", tokencount.WireChat), of("openai", "openai/gpt-5", tokencount.WireChat), false},
		{"a reseller by name and by wire", of("openai", "gpt-5", tokencount.WireGateway), of("openai", "openai/gpt-5", tokencount.WireChat), true},
		{"Sonnet 4 and 4.5", of("claude", "claude-sonnet-4-20250514", ""), of("claude", "claude-sonnet-4-5-20250929", ""), false},
		{"Sonnet 4 at Bedrock", of("claude", "us.anthropic.claude-sonnet-4-20250514-v1:0", ""), of("claude", "claude-sonnet-4", ""), true},
		{"Sonnet 4.5 by reseller's name", of("claude", "anthropic/claude-sonnet-4.5", ""), of("claude", "claude-opus-4-6", ""), true},
		{"Opus 4.1 and 4.5", of("claude", "claude-opus-4-1-20250805", ""), of("claude", "claude-opus-4-5-20251101", ""), false},
		{"Gemini 2.5 and 3", of("gemini", "gemini-2.5-pro", tokencount.WireGemini), of("gemini", "gemini-3-pro-preview", tokencount.WireGemini), false},
		{"a family without a model", of("glm", "", ""), tokencount.ProfileFor("glm"), true},
	} {
		if (test.a == test.b) != test.same {
			t.Errorf("%s: same is %v, want %v", test.name, test.a == test.b, test.same)
		}
	}
}

// F-CAP-03: every profile says where its numbers come from, and only fitted
// ones claim requests.
func TestProfilesNameTheirSource(t *testing.T) {
	for _, f := range families() {
		p := tokencount.ProfileFor(f)
		if p.Source == "" || p.Family != f {
			t.Errorf("%s: profile %q from %q", f, p.Family, p.Source)
		}
		if p.BandFraction <= 0 || p.BandFraction > 0.25 {
			t.Errorf("%s: the band is %v of the estimate", f, p.BandFraction)
		}
		if strings.Contains(p.Source, "no recorded requests") != (p.Requests == 0) && f != "unknown" && f != "deepseek" {
			t.Errorf("%s: %d requests, source %q", f, p.Requests, p.Source)
		}
	}
}

// Every family that the catalog names has a profile of its own.
func TestCatalogFamiliesHaveProfiles(t *testing.T) {
	seen := 0
	for m := range catalog.Default().All() {
		if m.Family == "" {
			continue
		}
		seen++
		if p := tokencount.ProfileFor(string(m.Family)); p.Family != string(m.Family) {
			t.Errorf("%s: family %q gets the profile %q", m.ID, m.Family, p.Family)
		}
	}
	if seen == 0 {
		t.Error("the catalog names no family")
	}
}
