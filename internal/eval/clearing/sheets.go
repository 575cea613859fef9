package clearing

import (
	"fmt"
	"time"

	"github.com/forge-agent/forge/model/catalog"
)

// RoundSheets are the prices of the requirement: reading at a tenth, a
// twentieth and a fortieth of input, writing at five quarters.
func RoundSheets() []Sheet {
	var out []Sheet
	for _, read := range []float64{0.1, 0.05, 0.025} {
		out = append(out, Sheet{Name: fmt.Sprintf("read %.3f write 1.25", read), Prices: Flat(read, 1.25), Cache: FiveMinutes()})
	}
	return out
}

// FiveMinutes is the cache lifetime of the round prices; it counts only where
// pauses do.
func FiveMinutes() catalog.CacheRules {
	return catalog.CacheRules{TTL: catalog.Value[time.Duration]{V: 5 * time.Minute, Known: true}}
}

// Flat returns prices for an input price of one dollar.
func Flat(read, write float64) catalog.Prices {
	known := func(v float64) catalog.Value[float64] { return catalog.Value[float64]{V: v, Known: true} }
	return catalog.Prices{Rates: catalog.Rates{
		InputUSDPerMillion: known(1), CachedInputUSDPerMillion: known(read), CacheWriteUSDPerMillion: known(write),
	}}
}

// CatalogSheets returns the price sheets of the catalog, one for each shape:
// sheets that differ by a factor give the same ratios.
func CatalogSheets() (sheets []Sheet, models int) {
	seen := map[string]bool{}
	for m := range catalog.Default().All() {
		if !m.Prices.CachedInputUSDPerMillion.Known || !m.Prices.InputUSDPerMillion.Known {
			continue
		}
		models++
		s := Sheet{Name: m.ID, Prices: m.Prices, Cache: m.Cache}
		if shape := s.Shape(); !seen[shape] {
			seen[shape] = true
			sheets = append(sheets, s)
		}
	}
	return sheets, models
}

// Shape describes the ratios of the prices: sheets of one shape give the same
// ratios of costs.
func (p Sheet) Shape() string {
	unit := p.Prices.InputUSDPerMillion.V
	text := ""
	for _, tokens := range append([]int{0}, steps(p.Prices)...) {
		read, write := p.Rate(tokens + 1)
		text += fmt.Sprintf(">%d %.4f/%.4f ", tokens, read/unit, write/unit)
	}
	return text
}

func steps(p catalog.Prices) []int {
	var out []int
	for _, t := range p.Tiers {
		out = append(out, t.AboveInputTokens)
	}
	return out
}
