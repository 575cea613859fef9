package clearing

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

// small generates a series that brute force can try every clearing of.
func small(t *rapid.T) *Series {
	s := &Series{Name: "generated", Front: rapid.IntRange(0, 500).Draw(t, "front")}
	for i := range rapid.IntRange(1, 9).Draw(t, "steps") {
		s.Items = append(s.Items, Item{Tokens: rapid.IntRange(0, 300).Draw(t, "text")})
		for b := range rapid.SampledFrom([]int{0, 1, 1, 2, 3}).Draw(t, "results") {
			o := projection.Observation{Ref: transcript.Ref{Message: i, Block: b}, Tokens: rapid.IntRange(0, 4000).Draw(t, "result")}
			o.StandInTokens = min(o.Tokens, rapid.IntRange(0, 100).Draw(t, "stand-in"))
			s.Items = append(s.Items, Item{Tokens: o.Tokens, Result: &o})
		}
		s.Steps = append(s.Steps, Step{Items: len(s.Items), Idle: rapid.SampledFrom([]time.Duration{0, 0, 0, 6 * time.Minute}).Draw(t, "idle")})
	}
	return s
}

func anyPrices(t *rapid.T) Sheet {
	p := Sheet{Name: "generated", Cache: FiveMinutes(), Prices: Flat(rapid.SampledFrom([]float64{0.02, 0.1, 0.5}).Draw(t, "read"), rapid.SampledFrom([]float64{1, 1.25}).Draw(t, "write"))}
	if rapid.Bool().Draw(t, "step") {
		known := func(v float64) catalog.Value[float64] { return catalog.Value[float64]{V: v, Known: true} }
		p.Prices.Tiers = []catalog.Tier{{AboveInputTokens: rapid.IntRange(500, 8000).Draw(t, "above"), Rates: catalog.Rates{
			InputUSDPerMillion: known(5), CachedInputUSDPerMillion: known(0.5), CacheWriteUSDPerMillion: known(6.25)}}}
	}
	return p
}

// The search over numbers of cleared observations finds what trying every
// set of clearing times finds, for the series and each of its beginnings.
func TestBestIsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, p := small(t), anyPrices(t)
		got := Best(s, p)
		for n := 1; n <= len(s.Steps); n++ {
			least := math.Inf(1)
			for times := range 1 << n {
				request := -1
				totals, err := Play(s.Until(n), p, func(v *View, _ int) ([]int, error) {
					request++
					if times>>request&1 == 0 {
						return nil, nil
					}
					return olderThan(s, v, KeepNewest), nil
				})
				if err != nil {
					t.Fatal(err)
				}
				least = min(least, totals[n-1])
			}
			if math.Abs(least-got[n-1]) > 1e-9*least {
				t.Fatalf("after %d requests: search %g, brute force %g", n, got[n-1], least)
			}
		}
	})
}

// The best clearing pays first and saves later: on its way it stands above
// never clearing by what the broken cache cost, and below in the end.
func TestBestExcess(t *testing.T) {
	s := &Series{Front: 100}
	for i := range 40 {
		s.Items = append(s.Items, Item{Tokens: 200})
		if i < 6 {
			o := &projection.Observation{Ref: transcript.Ref{Message: i}, Tokens: 3000, StandInTokens: 50}
			s.Items = append(s.Items, Item{Tokens: 3000, Result: o})
		}
		s.Steps = append(s.Steps, Step{Items: len(s.Items)})
	}
	s.Items[1].Result.Tokens, s.Items[1].Tokens = 40_000, 40_000
	p := Sheet{Prices: Flat(0.1, 1.25)}
	never, err := Play(s, p, AppendOnly)
	if err != nil {
		t.Fatal(err)
	}
	best := Best(s, p)
	if e := BestExcess(s, p); e < 1.05 || e > 1.5 || best[39] >= never[39] {
		t.Errorf("the best costs %g of never clearing in the end, and %g at its worst moment", best[39]/never[39], e)
	}
	p.Prices = Flat(0, 1.25) // clearing never pays
	if e := BestExcess(s, p); e != 1 {
		t.Errorf("with cached reads for nothing: %g", e)
	}
}

// Replays account for every token once: a request costs what its parts cost.
func TestPlayOfAFewRequests(t *testing.T) {
	o := &projection.Observation{Ref: transcript.Ref{Message: 1}, Tokens: 1000, StandInTokens: 100}
	s := &Series{Front: 500, Items: []Item{{Tokens: 100}, {Tokens: 1000, Result: o}, {Tokens: 50}, {Tokens: 60}},
		Steps: []Step{{Items: 1}, {Items: 3}, {Items: 4}}}
	p := Sheet{Prices: Flat(0.1, 1.25)}
	request := 0
	totals, err := Play(s, p, func(*View, int) ([]int, error) {
		request++
		if request == 3 {
			return []int{1}, nil
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{
		1.25 * 600,
		0.1*600 + 1.25*1050,
		0.1*600 + 1.25*(100+50+60),
	}
	sum := 0.0
	for i, w := range want {
		sum += w / 1e6
		if !close(sum, totals[i]) {
			t.Errorf("after request %d: $%.9f, want $%.9f", i+1, totals[i], sum)
		}
	}
}

// Generated series: the scheduler's own account agrees with the replay, and
// it is never above the bound after any request.
func TestOursOnGeneratedSeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Series
		for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
			s.Items = append(s.Items, Item{Tokens: rapid.IntRange(0, 800).Draw(t, "text")})
			o := projection.Observation{Ref: transcript.Ref{Message: i}, Tokens: rapid.OneOf(rapid.IntRange(0, 500), rapid.IntRange(0, 20_000)).Draw(t, "result")}
			o.StandInTokens = min(o.Tokens, 60)
			s.Items = append(s.Items, Item{Tokens: o.Tokens, Result: &o})
			s.Steps = append(s.Steps, Step{Items: len(s.Items)})
		}
		p := anyPrices(t)
		ours, err := PlayOurs(&s, p, projection.Options{})
		if err != nil {
			t.Fatal(err)
		}
		never, _ := Play(&s, p, AppendOnly)
		for i := range ours {
			if ours[i] > (1+projection.DefaultMostOverspend)*never[i]*(1+1e-9) {
				t.Fatalf("after request %d: %g, never clearing costs %g", i+1, ours[i], never[i])
			}
		}
	})
}
