package catalog_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Max(1, math.Abs(b)) }

func TestCost(t *testing.T) {
	const million = 1_000_000
	for _, test := range []struct {
		what, model string
		usage       message.Usage
		longWrite   int
		want        float64
	}{
		{"fresh input and output", "claude-sonnet-4-5", message.Usage{InputTokens: million, OutputTokens: million}, 0, 3 + 15},
		{"cached parts are inside the input", "claude-sonnet-4-5",
			message.Usage{InputTokens: 100_000, CachedInputTokens: 60_000, CacheWriteInputTokens: 30_000, OutputTokens: 1000},
			0, 0.010*3 + 0.060*0.3 + 0.030*3.75 + 0.001*15},
		{"long writes are inside the writes", "claude-sonnet-4-5",
			message.Usage{InputTokens: 100_000, CacheWriteInputTokens: 30_000}, 10_000, 0.070*3 + 0.020*3.75 + 0.010*6},
		{"reasoning is inside the output", "claude-sonnet-4-5",
			message.Usage{OutputTokens: 1000, ReasoningTokens: 900}, 0, 0.001 * 15},
		{"nothing costs nothing", "claude-sonnet-4-5", message.Usage{}, 0, 0},
		{"Haiku 5.5 at the cliff", "claude-haiku-5-5", message.Usage{InputTokens: 100_000, CachedInputTokens: 90_000, OutputTokens: 1000}, 0,
			0.010*0.10 + 0.090*0.01 + 0.001*0.50},
		// Every token of the request costs five times as much, the cached ones
		// and the output too.
		{"Haiku 5.5 one token above", "claude-haiku-5-5", message.Usage{InputTokens: 100_001, CachedInputTokens: 90_001, OutputTokens: 1000}, 0,
			0.010*0.50 + 0.090001*0.05 + 0.001*2.50},
		{"GPT-6.2 Sol at the cliff", "gpt-6.2-sol", message.Usage{InputTokens: 272_000, OutputTokens: 1000}, 0, 0.272*2 + 0.001*10},
		{"GPT-6.2 Sol one token above", "gpt-6.2-sol", message.Usage{InputTokens: 272_001, OutputTokens: 1000}, 0, 0.272001*4 + 0.001*15},
		{"GPT-6.2 Sol 12-hour write", "gpt-6.2-sol", message.Usage{InputTokens: 10_000, CacheWriteInputTokens: 10_000}, 10_000, 0.010 * 5},
		{"Gemini 2.5 Pro at the cliff", "gemini-2.5-pro", message.Usage{InputTokens: 200_000}, 0, 0.200 * 1.25},
		{"Gemini 2.5 Pro above", "gemini-2.5-pro", message.Usage{InputTokens: 200_001}, 0, 0.200001 * 2.5},
		// xAI's step is at 200,000, not above it.
		{"Grok 4.6 below the step", "grok-4.6", message.Usage{InputTokens: 199_999}, 0, 0.199999 * 2},
		{"Grok 4.6 at the step", "grok-4.6", message.Usage{InputTokens: 200_000}, 0, 0.200 * 4},
		{"writes cost nothing extra before GPT-5.6", "gpt-5", message.Usage{InputTokens: 2000, CacheWriteInputTokens: 1000}, 0, 0.002 * 1.25},
	} {
		m := lookup(t, test.model)
		got, ok := m.Cost(test.usage, &catalog.CostOptions{LongCacheWriteTokens: test.longWrite})
		if !ok || !near(got, test.want) {
			t.Errorf("%s: Cost = %v, %t, want %v", test.what, got, ok, test.want)
		}
		if test.longWrite == 0 {
			if plain, ok := m.Cost(test.usage, nil); !ok || plain != got {
				t.Errorf("%s: without options Cost = %v, %t", test.what, plain, ok)
			}
		}
	}
}

// A price that nobody stated is not zero.
func TestUnknownPriceIsNoCost(t *testing.T) {
	half, _ := merge(t, `[{"id":"half","prices":{"inputUSDPerMillion":1}}]`).Lookup("half")
	some := message.Usage{InputTokens: 1000, OutputTokens: 10}
	for what, test := range map[string]struct {
		model     catalog.Model
		usage     message.Usage
		longWrite int
	}{
		"unknown model":               {catalog.Fallback("x"), some, 0},
		"unknown model, empty usage":  {catalog.Fallback("x"), message.Usage{}, 0},
		"output without a price":      {half, message.Usage{InputTokens: 1000}, 0},
		"open model":                  {lookup(t, "gpt-oss-20b"), some, 0},
		"no price for cached reads":   {lookup(t, "gpt-5-pro"), message.Usage{InputTokens: 1000, CachedInputTokens: 1}, 0},
		"no price for cache writes":   {lookup(t, "deepseek-chat"), message.Usage{InputTokens: 1000, CacheWriteInputTokens: 1}, 0},
		"no price for long writes":    {lookup(t, "gpt-5.6-sol"), message.Usage{InputTokens: 1000, CacheWriteInputTokens: 1}, 1},
		"long write above the cliff":  {lookup(t, "gpt-6.2-sol"), message.Usage{InputTokens: 300_000, CacheWriteInputTokens: 1}, 1},
		"negative input":              {lookup(t, "gpt-5"), message.Usage{InputTokens: -1}, 0},
		"negative output":             {lookup(t, "gpt-5"), message.Usage{OutputTokens: -1}, 0},
		"negative cached":             {lookup(t, "gpt-5"), message.Usage{InputTokens: 5, CachedInputTokens: -1}, 0},
		"more cached than input":      {lookup(t, "gpt-5"), message.Usage{InputTokens: 5, CachedInputTokens: 6}, 0},
		"cached and written overlap":  {lookup(t, "gpt-5"), message.Usage{InputTokens: 5, CachedInputTokens: 3, CacheWriteInputTokens: 3}, 0},
		"more long writes than write": {lookup(t, "claude-opus-5-5"), message.Usage{InputTokens: 5, CacheWriteInputTokens: 1}, 2},
		"sum of parts overflows int": {lookup(t, "gpt-5"),
			message.Usage{InputTokens: 2, CachedInputTokens: math.MaxInt, CacheWriteInputTokens: math.MaxInt}, 0},
	} {
		if usd, ok := test.model.Cost(test.usage, &catalog.CostOptions{LongCacheWriteTokens: test.longWrite}); ok || usd != 0 {
			t.Errorf("%s: Cost = %v, %t", what, usd, ok)
		}
	}
}

// A tier that states no rate says that there is a step: below it the price is
// known, above it it is not.
func TestTierWithoutRatesIsAKnownUnknown(t *testing.T) {
	c := merge(t, `[{"id":"stepped","prices":{"inputUSDPerMillion":1,"outputUSDPerMillion":2,"tiers":[{"aboveInputTokens":128000}]}}]`)
	m, _ := c.Lookup("stepped")
	if usd, ok := m.Cost(message.Usage{InputTokens: 128_000}, nil); !ok || !near(usd, 0.128) {
		t.Errorf("at the step: %v, %t", usd, ok)
	}
	if usd, ok := m.Cost(message.Usage{InputTokens: 128_001}, nil); ok {
		t.Errorf("above the step: %v, %t", usd, ok)
	}
}

// Costs are never negative, grow with every kind of token that is priced, and
// a cached read is never dearer than a fresh one.
func TestCostProperties(t *testing.T) {
	var priced []catalog.Model
	for m := range catalog.Default().All() {
		if m.Prices.InputUSDPerMillion.Known && m.Prices.CachedInputUSDPerMillion.Known {
			priced = append(priced, m)
		}
	}
	if len(priced) < 60 {
		t.Fatalf("only %d models have prices", len(priced))
	}
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(priced).Draw(t, "model")
		input := rapid.IntRange(0, 1_200_000).Draw(t, "input")
		u := message.Usage{InputTokens: input, CachedInputTokens: rapid.IntRange(0, input).Draw(t, "cached"),
			OutputTokens: rapid.IntRange(0, 200_000).Draw(t, "output")}
		usd, ok := m.Cost(u, nil)
		if !ok || usd < 0 || math.IsNaN(usd) || math.IsInf(usd, 0) {
			t.Fatalf("%s: Cost(%+v) = %v, %t", m.ID, u, usd, ok)
		}
		fresh := u
		fresh.CachedInputTokens = 0
		if dearer, _ := m.Cost(fresh, nil); dearer < usd {
			t.Fatalf("%s: fresh %v, cached %v", m.ID, dearer, usd)
		}
		longer := u
		longer.InputTokens++
		longer.OutputTokens++
		if more, _ := m.Cost(longer, nil); more <= usd {
			t.Fatalf("%s: %v for %+v, %v for a token more", m.ID, usd, u, more)
		}
	})
}
