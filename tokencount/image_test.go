package tokencount_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
)

// The prices that the providers' own guides give as examples.
func TestImagePrices(t *testing.T) {
	rule := func(family, model string) tokencount.ImageRule {
		return tokencount.ProfileOf(tokencount.Route{Family: family, Model: model}).Image
	}
	for _, test := range []struct {
		name          string
		rule          tokencount.ImageRule
		width, height int
		detail        string
		low, high     int
	}{
		{"GPT-4o square", rule("openai", "gpt-4o"), 1024, 1024, "high", 765, 765},
		{"GPT-4o tall", rule("openai", "gpt-4o"), 2048, 4096, "high", 1105, 1105},
		{"GPT-4o low", rule("openai", "gpt-4o"), 4096, 8192, "low", 85, 85},
		{"GPT-5 small", rule("openai", "gpt-5"), 50, 50, "", 210, 210},
		{"Claude square", rule("claude", ""), 1000, 1000, "", 1334, 1345},
		{"Claude beyond the cap", rule("claude", ""), 1568, 1568, "", 1600, 1610},
		{"Gemini small", rule("gemini", "gemini-2.5-pro"), 384, 384, "", 258, 258},
		{"Gemini wide", rule("gemini", "gemini-2.5-pro"), 960, 540, "", 6 * 258, 6 * 258},
		{"Gemini 3", rule("gemini", "gemini-3-pro"), 4000, 3000, "", 1120, 1120},
		{"no rule", tokencount.ImageRule{}, 100, 100, "", 1600, 1600},
	} {
		got := blockTokens(tokencount.Profile{Image: test.rule}, message.Image{WidthPixels: test.width, HeightPixels: test.height, Detail: test.detail})
		if got < test.low || got > test.high {
			t.Errorf("%s: %d tokens, want %d to %d", test.name, got, test.low, test.high)
		}
	}
}

// A picture of unknown size costs the most that its rule can charge, and no
// size costs more.
func TestUnknownImageIsTheDearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, f := range families() {
			p := tokencount.Profile{Image: tokencount.ProfileFor(f).Image}
			known := blockTokens(p, message.Image{WidthPixels: rapid.IntRange(1, 1_000_000).Draw(t, "w"), HeightPixels: rapid.IntRange(1, 1_000_000).Draw(t, "h")})
			if unknown := blockTokens(p, message.Image{}); known > unknown || known <= 0 {
				t.Fatalf("%s: a known size costs %d, an unknown one %d", f, known, unknown)
			}
		}
	})
}
