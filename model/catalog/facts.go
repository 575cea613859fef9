package catalog

import (
	"fmt"
	"iter"
	"strconv"
)

// A Fact is one value of a model as text, for showing.
type Fact struct {
	// Name is the value's name in the JSON of ParseOverrides, with a dot
	// between the levels: "windowTokens", "prices.inputUSDPerMillion",
	// "prices.above200000.outputUSDPerMillion", "cache.minTokens".
	Name string
	// Text is the value: a plain number, a duration ("5m0s") or a word. Empty
	// when not Known.
	Text string
	// Known says whether anybody stated the value.
	Known bool
	// From says who did.
	From Provenance
}

// Facts yields every value that has a provenance, unknown ones too, always in
// the same order: vocabulary, sizes, prices by size of the request, cache
// rules.
func (m Model) Facts() iter.Seq[Fact] {
	facts := []Fact{
		fact("vocabulary", m.Vocabulary),
		fact("windowTokens", m.WindowTokens),
		fact("maxInputTokens", m.MaxInputTokens),
		fact("maxOutputTokens", m.MaxOutputTokens),
	}
	facts = append(facts, m.Prices.facts("prices.")...)
	for _, tier := range m.Prices.Tiers {
		facts = append(facts, tier.facts("prices.above"+strconv.Itoa(tier.AboveInputTokens)+".")...)
	}
	facts = append(facts,
		fact("cache.mode", m.Cache.Mode),
		fact("cache.minTokens", m.Cache.MinTokens),
		fact("cache.ttl", m.Cache.TTL),
		fact("cache.longTTL", m.Cache.LongTTL),
		fact("cache.maxBreakpoints", m.Cache.MaxBreakpoints),
	)
	return func(yield func(Fact) bool) {
		for _, f := range facts {
			if !yield(f) {
				return
			}
		}
	}
}

func (r Rates) facts(prefix string) []Fact {
	return []Fact{
		fact(prefix+"inputUSDPerMillion", r.InputUSDPerMillion),
		fact(prefix+"cachedInputUSDPerMillion", r.CachedInputUSDPerMillion),
		fact(prefix+"cacheWriteUSDPerMillion", r.CacheWriteUSDPerMillion),
		fact(prefix+"longCacheWriteUSDPerMillion", r.LongCacheWriteUSDPerMillion),
		fact(prefix+"outputUSDPerMillion", r.OutputUSDPerMillion),
	}
}

func fact[T any](name string, v Value[T]) Fact {
	f := Fact{Name: name, Known: v.Known, From: v.From}
	switch value := any(v.V).(type) {
	case float64:
		f.Text = strconv.FormatFloat(value, 'f', -1, 64)
	default:
		f.Text = fmt.Sprint(value)
	}
	if !v.Known {
		f.Text = ""
	}
	return f
}
