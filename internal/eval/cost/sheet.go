package cost

import (
	"fmt"

	"github.com/forge-agent/forge/internal/eval/baseline"
	"github.com/forge-agent/forge/internal/eval/clearing"
	"github.com/forge-agent/forge/model/catalog"
)

// A Sheet is a set of prices and the window that goes with it.
type Sheet struct {
	clearing.Sheet
	// Limits are those of the model.
	Limits baseline.Limits
	// Models is how many models of the catalog have these ratios of prices
	// and this window.
	Models int
	// Source and Date say who stated the input price, and for which day.
	Source, Date string
}

// known wraps a price of the evaluation's own.
func known(v float64) catalog.Value[float64] { return catalog.Value[float64]{V: v, Known: true} }

// RoundSheets are the prices of the requirement in a window of 1,000,000
// tokens, where nothing but the price counts, and in one of 200,000. Output
// costs five times input, as most lists have it.
func RoundSheets() []Sheet {
	var out []Sheet
	for _, window := range []int{1_000_000, 200_000} {
		for _, s := range clearing.RoundSheets() {
			s.Prices.OutputUSDPerMillion = known(5)
			s.Name = fmt.Sprintf("%s, window %d", s.Name, window)
			out = append(out, Sheet{Sheet: s, Limits: baseline.Limits{WindowTokens: window, MaxOutputTokens: 32_000}, Models: 0,
				Source: "round prices for an input price of one dollar", Date: "2026-11-30"})
		}
	}
	return out
}

// CatalogSheets are the price sheets of the catalog, one for each combination
// of price ratios and window: sheets that differ by a factor give the same
// ratios of costs.
func CatalogSheets() []Sheet {
	var out []Sheet
	at := map[string]int{}
	for m := range catalog.Default().All() {
		p := m.Prices
		if !p.CachedInputUSDPerMillion.Known || !p.InputUSDPerMillion.Known || !p.OutputUSDPerMillion.Known || !m.WindowTokens.Known || p.InputUSDPerMillion.V == 0 {
			continue
		}
		s := Sheet{Sheet: clearing.Sheet{Name: m.ID, Prices: p, Cache: m.Cache}, Models: 1, Source: p.InputUSDPerMillion.From.Source, Date: p.InputUSDPerMillion.From.Date,
			Limits: baseline.Limits{WindowTokens: m.WindowTokens.V, MaxInputTokens: m.MaxInputTokens.V, MaxOutputTokens: m.MaxOutputTokens.V}}
		key := fmt.Sprintf("%s %.3f %d %d", s.Shape(), p.OutputUSDPerMillion.V/p.InputUSDPerMillion.V, s.Limits.WindowTokens, s.Limits.Input())
		if i, ok := at[key]; ok {
			out[i].Models++
			continue
		}
		at[key] = len(out)
		out = append(out, s)
	}
	return out
}

// bill sums up what requests cost.
type bill struct {
	input, output         float64 // US dollars
	inputTokens, hitToken int
}

// total is the whole bill in US dollars.
func (b bill) total() float64 { return b.input + b.output }

func (s Sheet) bill(requests []baseline.Request) bill {
	var b bill
	for _, r := range requests {
		b.input += s.Cost(r.InputTokens, r.CachedTokens)
		b.output += s.Prices.RatesFor(r.InputTokens).OutputUSDPerMillion.V * float64(r.OutputTokens) / 1e6
		b.inputTokens += r.InputTokens
		b.hitToken += r.CachedTokens
	}
	return b
}
