package catalog

import "github.com/forge-agent/forge/message"

// Rates are prices in US dollars for a million tokens.
type Rates struct {
	// InputUSDPerMillion is for input that is neither read from nor written
	// to a cache.
	InputUSDPerMillion Value[float64]
	// CachedInputUSDPerMillion is for input read from a cache.
	CachedInputUSDPerMillion Value[float64]
	// CacheWriteUSDPerMillion is for input written to a cache with the
	// ordinary lifetime. Where writing costs nothing extra it equals the
	// input price.
	CacheWriteUSDPerMillion Value[float64]
	// LongCacheWriteUSDPerMillion is for input written with the long
	// lifetime.
	LongCacheWriteUSDPerMillion Value[float64]
	// OutputUSDPerMillion is for output, reasoning included.
	OutputUSDPerMillion Value[float64]
}

// Prices are a model's rates, and those of longer requests.
type Prices struct {
	Rates
	// Tiers are the steps, sorted by size. A tier that states no rate says
	// that there is a step but not what it costs.
	Tiers []Tier
}

// A Tier holds the rates of requests above a size. They are for every token of
// such a request, output included, not only for the tokens above.
type Tier struct {
	// AboveInputTokens: the rates apply when the whole input, cached parts
	// included, is more than this.
	AboveInputTokens int
	Rates
}

// RatesFor returns the rates of a request whose whole input is inputTokens.
func (p Prices) RatesFor(inputTokens int) Rates {
	rates := p.Rates
	for _, tier := range p.Tiers {
		if inputTokens > tier.AboveInputTokens {
			rates = tier.Rates
		}
	}
	return rates
}

// CostOptions refine Cost. The nil and the zero value mean that every cache
// write had the ordinary lifetime.
type CostOptions struct {
	// LongCacheWriteTokens is the part of the usage's CacheWriteInputTokens
	// that was written with the long lifetime.
	LongCacheWriteTokens int
}

// Cost returns what one request cost in US dollars. It is not rounded: it is
// the float64 sum of tokens × rate / 1,000,000, exact to about 15 digits;
// round when showing it.
//
// ok is false, and the cost zero, when a rate that the usage needs is unknown,
// when input or output have no price at all, or when the usage contradicts
// itself (a negative count, or more cached and written tokens than input).
func (p Prices) Cost(u message.Usage, o *CostOptions) (usd float64, ok bool) {
	longWrite := 0
	if o != nil {
		longWrite = o.LongCacheWriteTokens
	}
	rates := p.RatesFor(u.InputTokens)
	if !consistent(u, longWrite) || !rates.InputUSDPerMillion.Known || !rates.OutputUSDPerMillion.Known {
		return 0, false
	}
	for _, part := range []struct {
		tokens int
		rate   Value[float64]
	}{
		{u.InputTokens - u.CachedInputTokens - u.CacheWriteInputTokens, rates.InputUSDPerMillion},
		{u.CachedInputTokens, rates.CachedInputUSDPerMillion},
		{u.CacheWriteInputTokens - longWrite, rates.CacheWriteUSDPerMillion},
		{longWrite, rates.LongCacheWriteUSDPerMillion},
		{u.OutputTokens, rates.OutputUSDPerMillion},
	} {
		if part.tokens > 0 && !part.rate.Known {
			return 0, false
		}
		usd += float64(part.tokens) * part.rate.V / 1e6
	}
	return usd, true
}

func consistent(u message.Usage, longWriteTokens int) bool {
	return u.InputTokens >= 0 && u.OutputTokens >= 0 &&
		0 <= u.CachedInputTokens && u.CachedInputTokens <= u.InputTokens &&
		0 <= u.CacheWriteInputTokens && u.CacheWriteInputTokens <= u.InputTokens-u.CachedInputTokens &&
		0 <= longWriteTokens && longWriteTokens <= u.CacheWriteInputTokens
}

// Cost returns what one request to this model cost, see Prices.Cost.
func (m Model) Cost(u message.Usage, o *CostOptions) (usd float64, ok bool) {
	return m.Prices.Cost(u, o)
}
