package catalog

import "time"

// apply writes what the entry states into the model.
func (e *entry) apply(m *Model, origin Origin) {
	from := Provenance{Origin: origin, Source: e.Source, Date: e.Date}
	for _, what := range e.Unknown {
		m.forget(what)
	}
	if e.Provider != nil {
		m.Provider = *e.Provider
	}
	if e.Family != nil {
		m.Family = *e.Family
	}
	state(&m.Vocabulary, e.Vocabulary, from)
	if e.WindowTokens != nil && origin == OriginUser {
		m.MaxInputTokens = Value[int]{} // it was stated for the other window
	}
	state(&m.WindowTokens, e.WindowTokens, from)
	state(&m.MaxInputTokens, e.MaxInputTokens, from)
	state(&m.MaxOutputTokens, e.MaxOutputTokens, from)
	if e.Prices != nil {
		e.Prices.apply(&m.Prices, from)
	}
	if c := e.Cache; c != nil {
		state(&m.Cache.Mode, c.Mode, from)
		state(&m.Cache.MinTokens, c.MinTokens, from)
		state(&m.Cache.TTL, seconds(c.TTLSeconds), from)
		state(&m.Cache.LongTTL, seconds(c.LongTTLSeconds), from)
		state(&m.Cache.MaxBreakpoints, c.MaxBreakpoints, from)
	}
}

// apply writes the rates for requests of every size, then replaces the tiers
// if the entry states any.
func (p *priceEntry) apply(prices *Prices, from Provenance) {
	p.rateEntry.apply(&prices.Rates, from)
	if p.Tiers != nil {
		prices.Tiers = make([]Tier, len(p.Tiers))
		for i, tier := range p.Tiers {
			prices.Tiers[i].AboveInputTokens = tier.AboveInputTokens
			tier.rateEntry.apply(&prices.Tiers[i].Rates, from)
		}
		return
	}
	for i := range prices.Tiers {
		p.rateEntry.apply(&prices.Tiers[i].Rates, from)
	}
}

func (r rateEntry) apply(rates *Rates, from Provenance) {
	state(&rates.InputUSDPerMillion, r.Input, from)
	state(&rates.CachedInputUSDPerMillion, r.CachedInput, from)
	state(&rates.CacheWriteUSDPerMillion, r.CacheWrite, from)
	state(&rates.LongCacheWriteUSDPerMillion, r.LongCacheWrite, from)
	state(&rates.OutputUSDPerMillion, r.Output, from)
}

func (m *Model) forget(what string) {
	switch what {
	case "vocabulary":
		m.Vocabulary = Value[string]{}
	case "windowTokens":
		m.WindowTokens = Value[int]{}
	case "maxInputTokens":
		m.MaxInputTokens = Value[int]{}
	case "maxOutputTokens":
		m.MaxOutputTokens = Value[int]{}
	case "prices":
		m.Prices = Prices{}
	case "cache":
		m.Cache = CacheRules{}
	}
}

func state[T any](target *Value[T], stated *T, from Provenance) {
	if stated != nil {
		*target = known(*stated, from)
	}
}

func seconds(n *int) *time.Duration {
	if n == nil {
		return nil
	}
	d := time.Duration(*n) * time.Second
	return &d
}
