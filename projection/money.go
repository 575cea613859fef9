package projection

import (
	"time"

	"github.com/forge-agent/forge/model/catalog"
)

// longestTTL is how long a cache is believed to live when the catalog states
// no lifetime: no provider states a longer one for its automatic cache.
const longestTTL = 24 * time.Hour

// rates are what a token of a request costs, in US dollars.
type rates struct {
	read, write float64
	known       bool
}

// ratesAt returns the rates of a request that weighs this many tokens. Where
// no price for writing to the cache is stated, new input costs the input
// price. Where no price for reading is stated, nothing is known.
func ratesAt(p catalog.Prices, inputTokens int) rates {
	r := p.RatesFor(inputTokens)
	read, ok := r.CachedInputUSDPerMillion.Get()
	if !ok {
		return rates{}
	}
	write, ok := r.CacheWriteUSDPerMillion.Get()
	if !ok {
		write, ok = r.InputUSDPerMillion.Get()
	}
	return rates{read: read / 1e6, write: write / 1e6, known: ok}
}

// times multiplies. The conversion keeps the compiler from fusing the product
// with a sum, which some processors round differently: the same numbers must
// lead to the same decision everywhere.
func times(a, b float64) float64 { return float64(a * b) }

// cost is what a request costs whose first cached tokens are read and whose
// other tokens are written.
func (r rates) cost(tokens, cached int) float64 {
	cached = min(cached, tokens)
	return times(r.read, float64(cached)) + times(r.write, float64(tokens-cached))
}

// ttl returns how long the cache outlives its last use.
func ttl(c catalog.CacheRules) time.Duration {
	if d, ok := c.TTL.Get(); ok {
		return d
	}
	return longestTTL
}
