package catalog_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
)

func merge(t *testing.T, overrides string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load([]byte(overrides))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// F-CFG-03: what the user states wins and says that it is theirs; the rest
// keeps its source.
func TestUserOverridesAnyValue(t *testing.T) {
	c := merge(t, `[{"id":"claude-opus-5-5","source":"our contract","date":"2026-11-01",
		"provider":"acme","family":"claude","vocabulary":"o200k_base",
		"windowTokens":500000,"maxInputTokens":400000,"maxOutputTokens":32000,
		"prices":{"inputUSDPerMillion":1,"cachedInputUSDPerMillion":0,"cacheWriteUSDPerMillion":2,"longCacheWriteUSDPerMillion":3,"outputUSDPerMillion":4},
		"cache":{"mode":"both","minTokens":2048,"ttlSeconds":60,"longTTLSeconds":7200,"maxBreakpoints":2}}]`)
	m, ok := c.Lookup("anthropic/claude-opus-5.5")
	if !ok || m.Provider != "acme" || m.Family != catalog.FamilyClaude || m.Origin != catalog.OriginCatalog {
		t.Fatalf("Lookup = %+v, %t", m, ok)
	}
	want := []string{"o200k_base", "500000", "400000", "32000", "1", "0", "2", "3", "4", "both", "2048", "1m0s", "2h0m0s", "2"}
	var got []string
	for f := range m.Facts() {
		got = append(got, f.Text)
		if f.From != (catalog.Provenance{Origin: catalog.OriginUser, Source: "our contract", Date: "2026-11-01"}) {
			t.Errorf("%s comes from %+v", f.Name, f.From)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// A stated zero is a price, not an unknown.
	if usd, ok := m.Cost(message.Usage{InputTokens: 1000, CachedInputTokens: 1000}, nil); !ok || usd != 0 {
		t.Errorf("Cost = %v, %t", usd, ok)
	}
	if other := lookup(t, "claude-opus-5-5"); other.WindowTokens.V != 1000000 || other.Provider != "anthropic" {
		t.Error("Merge changed the built-in catalog")
	}
}

func TestOverrideLeavesTheRestAlone(t *testing.T) {
	c := merge(t, `[{"id":"gpt-5","windowTokens":200000}]`)
	got, _ := c.Lookup("gpt-5")
	want := lookup(t, "gpt-5")
	want.WindowTokens = catalog.Value[int]{V: 200000, Known: true, From: catalog.Provenance{Origin: catalog.OriginUser}}
	want.MaxInputTokens = catalog.Value[int]{} // it was stated for the other window
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c.Len() != catalog.Default().Len() {
		t.Errorf("%d models instead of %d", c.Len(), catalog.Default().Len())
	}
}

func TestOverrideByAliasReachesTheModel(t *testing.T) {
	c := merge(t, `[{"ids":["Claude-Sonnet-4-20250514","gpt-5.6"],"windowTokens":123456}]`)
	for _, name := range []string{"claude-sonnet-4", "gpt-5.6-sol"} {
		if m, _ := c.Lookup(name); m.WindowTokens.V != 123456 {
			t.Errorf("window of %s = %d", name, m.WindowTokens.V)
		}
	}
}

func TestNewModelOfTheUser(t *testing.T) {
	c := merge(t, `[{"id":"My-Model","aliases":["house-model"],"windowTokens":65536}]`)
	m, match := c.Resolve("corp/house-model:free")
	if m.ID != "my-model" || m.Origin != catalog.OriginUser || match != catalog.MatchDecorated || m.WindowTokens.V != 65536 {
		t.Fatalf("Resolve = %+v, %s", m, match)
	}
	if _, ok := m.Cost(message.Usage{InputTokens: 1}, nil); ok {
		t.Error("a price out of nowhere")
	}
}

// A private name for a known model is one alias away.
func TestAliasOfTheUser(t *testing.T) {
	c := merge(t, `[{"id":"gpt-5","aliases":["aide-gpt-5","GPT-5"]}]`)
	if m, match := c.Resolve("aide-gpt-5"); m.ID != "gpt-5" || match != catalog.MatchAlias {
		t.Errorf("Resolve = %s, %s", m.ID, match)
	}
}

func TestAliasMovesToTheModelThatTheUserNames(t *testing.T) {
	c := merge(t, `[{"id":"gpt-5.6-terra","aliases":["gpt-5.6"]}]`)
	if m, _ := c.Lookup("gpt-5.6"); m.ID != "gpt-5.6-terra" {
		t.Errorf("gpt-5.6 is %s", m.ID)
	}
	if m, _ := c.Lookup("gpt-5.6-sol"); len(m.Aliases) != 0 {
		t.Errorf("aliases of gpt-5.6-sol: %v", m.Aliases)
	}
}

func TestResellersNameKeepsTheWindow(t *testing.T) {
	c := merge(t, `[{"id":"openrouter/z-ai/glm-4.6","prices":{"inputUSDPerMillion":0.55}}]`)
	m, match := c.Resolve("openrouter/z-ai/glm-4.6")
	base := lookup(t, "glm-4.6")
	if match != catalog.MatchExact || m.WindowTokens != base.WindowTokens || m.Prices.InputUSDPerMillion.V != 0.55 ||
		m.Prices.OutputUSDPerMillion != base.Prices.OutputUSDPerMillion || m.Origin != catalog.OriginUser {
		t.Errorf("Resolve = %+v, %s", m, match)
	}
	if again, _ := c.Lookup("glm-4.6"); cmp.Diff(base, again) != "" {
		t.Error("the maker's entry changed")
	}
}

func TestRateIsForRequestsOfEverySize(t *testing.T) {
	c := merge(t, `[{"id":"claude-haiku-5-5","prices":{"cachedInputUSDPerMillion":0.002}}]`)
	m, _ := c.Lookup("claude-haiku-5-5")
	for _, size := range []int{1, 100_000, 100_001} {
		if r := m.Prices.RatesFor(size); r.CachedInputUSDPerMillion.V != 0.002 {
			t.Errorf("cached read at %d = %v", size, r.CachedInputUSDPerMillion.V)
		}
	}
	if r := m.Prices.RatesFor(100_001); r.InputUSDPerMillion.V != 0.5 {
		t.Errorf("input above the step = %v", r.InputUSDPerMillion.V)
	}
}

func TestStatedTiersReplaceAllTiers(t *testing.T) {
	c := merge(t, `[{"id":"claude-haiku-5-5","prices":{"tiers":[{"aboveInputTokens":50000,"inputUSDPerMillion":7},{"aboveInputTokens":1000,"inputUSDPerMillion":6}]}},
		{"id":"gpt-6.2-sol","prices":{"tiers":[]}}]`)
	m, _ := c.Lookup("claude-haiku-5-5")
	for size, want := range map[int]float64{1000: 0.1, 1001: 6, 50_000: 6, 50_001: 7, 900_000: 7} {
		if got := m.Prices.RatesFor(size).InputUSDPerMillion.V; got != want {
			t.Errorf("input at %d = %v, want %v", size, got, want)
		}
	}
	m, _ = c.Lookup("gpt-6.2-sol")
	if got := m.Prices.RatesFor(900_000).InputUSDPerMillion.V; got != 2 {
		t.Errorf("input without tiers = %v", got)
	}
}

func TestForget(t *testing.T) {
	c := merge(t, `[{"id":"claude-haiku-5-5","unknown":["vocabulary","windowTokens","maxInputTokens","maxOutputTokens","prices","cache"]}]`)
	m, _ := c.Lookup("claude-haiku-5-5")
	for f := range m.Facts() {
		if f.Known {
			t.Errorf("%s is still known", f.Name)
		}
	}
}

func TestLaterStatementWins(t *testing.T) {
	c := merge(t, `[{"id":"gpt-5","windowTokens":1},{"id":"gpt-5","windowTokens":2}]`)
	if m, _ := c.Lookup("gpt-5"); m.WindowTokens.V != 2 {
		t.Errorf("window = %d", m.WindowTokens.V)
	}
}

func TestMergeTwice(t *testing.T) {
	first, err := catalog.ParseOverrides([]byte(`[{"id":"a-model","windowTokens":10000}]`))
	if err != nil {
		t.Fatal(err)
	}
	second, err := catalog.ParseOverrides([]byte(`[{"id":"a-model","maxOutputTokens":500},{"id":"0-first","windowTokens":9000}]`))
	if err != nil {
		t.Fatal(err)
	}
	one, err := catalog.Default().Merge(first)
	if err != nil {
		t.Fatal(err)
	}
	two, err := one.Merge(second)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := two.Lookup("a-model")
	if m.WindowTokens.V != 10000 || m.MaxOutputTokens.V != 500 {
		t.Errorf("a-model = %+v", m)
	}
	if m, _ := one.Lookup("a-model"); m.MaxOutputTokens.Known {
		t.Error("the second merge changed the first catalog")
	}
	for m := range two.All() {
		if m.ID != "0-first" {
			t.Errorf("the first model is %s", m.ID)
		}
		break
	}
}

func TestNoOverridesAreTheBuiltInCatalog(t *testing.T) {
	for _, data := range [][]byte{nil, {}, []byte("[]"), []byte(" null ")} {
		c, err := catalog.Load(data)
		if err != nil || c.Len() != catalog.Default().Len() {
			t.Errorf("Load(%q) = %v, %v", data, c, err)
		}
	}
}

// F-CFG-01, F-TST-05: what cannot be meant is refused, with the place.
func TestInvalidOverrides(t *testing.T) {
	for overrides, want := range map[string]string{
		`{`:                                                          "unexpected EOF",
		`{"id":"x"}`:                                                 "cannot unmarshal object",
		`[]x`:                                                        "text after the closing bracket",
		`[{"id":"x","windowTokns":1}]`:                               `unknown field "windowTokns"`,
		`[{}]`:                                                       `entry 1: state either "id" or "ids"`,
		`[{"id":"x"},{"id":"a","ids":["b"]}]`:                        `entry 2: state either "id" or "ids"`,
		`[{"id":"  "}]`:                                              `name "  "`,
		`[{"id":"x","aliases":[""]}]`:                                `name ""`,
		`[{"ids":["x","y"],"aliases":["z"]}]`:                        `"aliases" need a single "id"`,
		`[{"id":"x","aliases":["gpt-5"]}]`:                           `"gpt-5" of x is the id of another model`,
		`[{"id":"x","date":"11/30/2026"}]`:                           "YYYY-MM-DD",
		`[{"id":"x","family":"clod"}]`:                               `family "clod": use one of [openai claude`,
		`[{"id":"x","vocabulary":"gpt2"}]`:                           `vocabulary "gpt2": use one of [o200k_base`,
		`[{"id":"x","unknown":["price"]}]`:                           `unknown "price": use any of`,
		`[{"id":"x","windowTokens":0}]`:                              "windowTokens is 0",
		`[{"id":"x","windowTokens":-5}]`:                             "windowTokens is -5",
		`[{"id":"x","windowTokens":2000000000}]`:                     "windowTokens is 2000000000",
		`[{"id":"x","windowTokens":1.5}]`:                            "cannot unmarshal number 1.5",
		`[{"id":"x","maxInputTokens":-1}]`:                           "maxInputTokens is -1",
		`[{"id":"x","maxOutputTokens":-1}]`:                          "maxOutputTokens is -1",
		`[{"id":"x","prices":{"inputUSDPerMillion":-0.1}}]`:          "-0.1 is not between",
		`[{"id":"x","prices":{"outputUSDPerMillion":1e9}}]`:          "1e+09 is not between",
		`[{"id":"x","prices":{"outputUSDPerMillion":1e999}}]`:        "1e999",
		`[{"id":"x","prices":{"tiers":[{"inputUSDPerMillion":1}]}}]`: "aboveInputTokens is 0",
		`[{"id":"x","prices":{"tiers":[{"aboveInputTokens":5},{"aboveInputTokens":5}]}}]`:   "5 is there twice",
		`[{"id":"x","prices":{"tiers":[{"aboveInputTokens":5,"outputUSDPerMillion":-1}]}}]`: "-1 is not between",
		`[{"id":"x","cache":{"mode":"magic"}}]`:                                             `cache mode "magic"`,
		`[{"id":"x","cache":{"minTokens":-1}}]`:                                             "minTokens is -1",
		`[{"id":"x","cache":{"ttlSeconds":-1}}]`:                                            "ttlSeconds is -1",
		`[{"id":"x","cache":{"longTTLSeconds":999999999}}]`:                                 "longTTLSeconds is 999999999",
		`[{"id":"x","cache":{"maxBreakpoints":-1}}]`:                                        "maxBreakpoints is -1",
		fmt.Sprintf(`[{"id":%q}]`, strings.Repeat("é", 101)):                                "must have 1 to 200 bytes",
		strings.Repeat(" ", catalog.MaxOverridesBytes+1):                                    "bytes, at most",
		strings.Repeat("[", 20_000):                                                         "exceeded max depth",
	} {
		c, err := catalog.Load([]byte(overrides))
		if !errors.Is(err, catalog.ErrInvalid) || c != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load(%.80s) = %v, %v, want an error with %q", overrides, c, err, want)
		}
	}
}

func FuzzParseOverrides(f *testing.F) {
	f.Add([]byte(`[{"id":"gpt-5","windowTokens":1,"aliases":["x"],"prices":{"inputUSDPerMillion":0,"tiers":[{"aboveInputTokens":1}]},"cache":{"mode":"both","ttlSeconds":1},"unknown":["prices"]}]`))
	f.Add([]byte(`[{"ids":["a/b","b","c-20250101"],"date":"2026-01-01"},{"id":"b","aliases":["a/b"]}]`))
	f.Add([]byte(`[null]`))
	f.Add(bytes.Repeat([]byte(`[`), 100))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := catalog.ParseOverrides(data)
		if err != nil {
			if !errors.Is(err, catalog.ErrInvalid) {
				t.Fatalf("error %v does not wrap ErrInvalid", err)
			}
			return
		}
		c, err := catalog.Default().Merge(o)
		if err != nil {
			if !errors.Is(err, catalog.ErrInvalid) {
				t.Fatalf("error %v does not wrap ErrInvalid", err)
			}
			return
		}
		for m := range c.All() {
			for _, name := range append(m.Aliases, m.ID) {
				if found, ok := c.Lookup(name); !ok || found.ID != m.ID {
					t.Fatalf("%q of %q leads to %q", name, m.ID, found.ID)
				}
			}
			if m.WindowTokens.Known && m.WindowTokens.V < 1 || m.Cache.TTL.V < 0 || m.Cache.TTL.V > 366*24*time.Hour {
				t.Fatalf("%q: window %d, TTL %v", m.ID, m.WindowTokens.V, m.Cache.TTL.V)
			}
			m.Cost(message.Usage{InputTokens: 1000, OutputTokens: 1}, nil)
		}
	})
}
