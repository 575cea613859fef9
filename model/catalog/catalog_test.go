package catalog_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
)

var update = flag.Bool("update", false, "write the golden files")

func lookup(t *testing.T, name string) catalog.Model {
	t.Helper()
	m, ok := catalog.Default().Lookup(name)
	if !ok {
		t.Fatalf("Lookup(%q) finds nothing", name)
	}
	return m
}

// F-CAP-03: every value comes from a table, with its source and date.
func TestEveryKnownValueHasASourceAndADate(t *testing.T) {
	for m := range catalog.Default().All() {
		for f := range m.Facts() {
			if !f.Known {
				if f.From != (catalog.Provenance{}) || f.Text != "" {
					t.Errorf("%s: unknown %s has %+v", m.ID, f.Name, f)
				}
				continue
			}
			if f.From.Origin != catalog.OriginCatalog || f.From.Source == "" || f.Text == "" {
				t.Errorf("%s: %s = %q comes from %+v", m.ID, f.Name, f.Text, f.From)
			}
			if _, err := time.Parse(time.DateOnly, f.From.Date); err != nil {
				t.Errorf("%s: date of %s: %v", m.ID, f.Name, err)
			}
		}
	}
}

func TestTheDataIsPlausible(t *testing.T) {
	for m := range catalog.Default().All() {
		if m.Provider == "" || m.Family == "" || !m.WindowTokens.Known || m.Origin != catalog.OriginCatalog {
			t.Errorf("%s lacks provider, family or window: %+v", m.ID, m)
		}
		window := m.WindowTokens.V
		if window < 4096 || m.MaxInputTokens.V > window || m.MaxOutputTokens.V > window {
			t.Errorf("%s: window %d, input %d, output %d", m.ID, window, m.MaxInputTokens.V, m.MaxOutputTokens.V)
		}
		if min, ok := m.Cache.MinTokens.Get(); ok && (min < 1 || min > 8192) {
			t.Errorf("%s: cache from %d tokens on", m.ID, min)
		}
		if short, ok := m.Cache.TTL.Get(); ok && m.Cache.LongTTL.Known && m.Cache.LongTTL.V <= short {
			t.Errorf("%s: long TTL %v is not longer than %v", m.ID, m.Cache.LongTTL.V, short)
		}
		sizes := []int{1}
		for _, tier := range m.Prices.Tiers {
			sizes = append(sizes, tier.AboveInputTokens+1)
		}
		previous := catalog.Rates{}
		for _, size := range sizes {
			if size > window {
				t.Errorf("%s: a tier begins at %d, beyond the window of %d", m.ID, size, window)
			}
			r := m.Prices.RatesFor(size)
			checkRates(t, fmt.Sprintf("%s at %d", m.ID, size), r)
			if r.InputUSDPerMillion.V < previous.InputUSDPerMillion.V || r.OutputUSDPerMillion.V < previous.OutputUSDPerMillion.V {
				t.Errorf("%s: longer requests are cheaper at %d", m.ID, size)
			}
			previous = r
		}
	}
}

// checkRates: a cached read costs at most half the fresh input, writing at
// least the fresh input, and known input goes with known output. A slip in the
// data (reads and writes swapped, a price per thousand) breaks one of them.
func checkRates(t *testing.T, what string, r catalog.Rates) {
	t.Helper()
	in := r.InputUSDPerMillion
	if in.Known != r.OutputUSDPerMillion.Known {
		t.Errorf("%s: input known %t, output known %t", what, in.Known, r.OutputUSDPerMillion.Known)
	}
	if !in.Known {
		return
	}
	if in.V < 0.01 || in.V > 200 || r.OutputUSDPerMillion.V < in.V || r.OutputUSDPerMillion.V > 700 {
		t.Errorf("%s: input %v, output %v", what, in.V, r.OutputUSDPerMillion.V)
	}
	if read, ok := r.CachedInputUSDPerMillion.Get(); ok && (read <= 0 || read > in.V/2) {
		t.Errorf("%s: cached read %v, input %v", what, read, in.V)
	}
	for _, write := range []catalog.Value[float64]{r.CacheWriteUSDPerMillion, r.LongCacheWriteUSDPerMillion} {
		if write.Known && (write.V < in.V || write.V > 3*in.V) {
			t.Errorf("%s: cache write %v, input %v", what, write.V, in.V)
		}
	}
}

func TestNamesAreSortedUniqueAndFound(t *testing.T) {
	c := catalog.Default()
	owner := map[string]string{}
	last := ""
	n := 0
	for m := range c.All() {
		n++
		if m.ID <= last {
			t.Errorf("%s comes after %s", m.ID, last)
		}
		last = m.ID
		if !slices.IsSorted(m.Aliases) {
			t.Errorf("%s: aliases %v", m.ID, m.Aliases)
		}
		for _, name := range append([]string{m.ID}, m.Aliases...) {
			if other, taken := owner[name]; taken {
				t.Errorf("%s is a name of %s and of %s", name, other, m.ID)
			}
			owner[name] = m.ID
			if name != strings.ToLower(strings.TrimSpace(name)) {
				t.Errorf("name %q is not normalized", name)
			}
			found, match := c.Resolve(name)
			want := catalog.MatchAlias
			if name == m.ID {
				want = catalog.MatchExact
			}
			if found.ID != m.ID || match != want {
				t.Errorf("Resolve(%q) = %s, %s, want %s, %s", name, found.ID, match, m.ID, want)
			}
		}
	}
	if n != c.Len() || n < 150 {
		t.Errorf("All yields %d models, Len says %d", n, c.Len())
	}
}

// The whole table as text, so that a change of the data shows in a review.
func TestTableIsAsReviewed(t *testing.T) {
	var b strings.Builder
	b.WriteString("id  family  vocabulary  window/input/output  in/read/write/long/out (USD for a million)  cache\n")
	for m := range catalog.Default().All() {
		var facts []string
		for f := range m.Facts() {
			text := f.Text
			if !f.Known {
				text = "?"
			}
			facts = append(facts, text)
		}
		prices := facts[4 : len(facts)-5]
		var steps []string
		for group := range slices.Chunk(prices, 5) {
			steps = append(steps, strings.Join(group, "/"))
		}
		for i, tier := range m.Prices.Tiers {
			steps[i+1] = fmt.Sprintf(">%d %s", tier.AboveInputTokens, steps[i+1])
		}
		fmt.Fprintf(&b, "%s  %s  %s  %s  %s  %s\n", m.ID, m.Family, facts[0], strings.Join(facts[1:4], "/"),
			strings.Join(steps, " "), strings.Join(facts[len(facts)-5:], "/"))
	}
	golden(t, "testdata/table.txt", b.String())
}

func TestFactsShowEveryValueInOrder(t *testing.T) {
	var b strings.Builder
	for f := range lookup(t, "claude-haiku-5-5").Facts() {
		fmt.Fprintf(&b, "%s\t%s\t%t\t%s\t%s\t%s\n", f.Name, f.Text, f.Known, f.From.Origin, f.From.Source, f.From.Date)
	}
	golden(t, "testdata/facts-claude-haiku-5-5.txt", b.String())
	n := 0
	for range lookup(t, "claude-haiku-5-5").Facts() {
		n++
		break // the sequence must stop when asked to
	}
	if n != 1 {
		t.Errorf("the sequence went on to %d", n)
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (run with -update after a wanted change):\n%s", path, diff)
	}
}

// F-CAP-04, F-TST-02: an unknown model gets a small window and says so.
func TestUnknownModelFallsBackConservatively(t *testing.T) {
	for _, name := range []string{"aide-gpt-5", "", "no such model", "ollama/llama3.1"} {
		m, match := catalog.Default().Resolve(name)
		if match != catalog.MatchNone {
			t.Fatalf("Resolve(%q) matches %s", name, match)
		}
		if m.ID != name || m.Origin != catalog.OriginFallback || m.WindowTokens.V != 32768 || m.WindowTokens.From.Origin != catalog.OriginFallback {
			t.Errorf("Resolve(%q) = %+v", name, m)
		}
		for f := range m.Facts() {
			if f.Known && f.Name != "windowTokens" {
				t.Errorf("fallback knows %s", f.Name)
			}
		}
		got := m.Capabilities()
		want := model.Capabilities{Model: name, WindowTokens: 32768, WindowSource: model.WindowFallback,
			NativeCompaction: model.NativeCompactionUnsupported, ContinuationProjection: model.ContinuationProjectionUnsupported}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Capabilities of %q:\n%s", name, diff)
		}
	}
	smaller := 0
	for m := range catalog.Default().All() {
		if m.WindowTokens.V < catalog.FallbackWindowTokens {
			smaller++
		}
	}
	if smaller*20 > catalog.Default().Len() {
		t.Errorf("the fallback window is too large for %d of %d known models", smaller, catalog.Default().Len())
	}
}

// F-CAP-01, F-CAP-03.
func TestCapabilities(t *testing.T) {
	got := lookup(t, "openai/gpt-5").Capabilities()
	want := model.Capabilities{Provider: "openai", Model: "gpt-5", WindowTokens: 400000, WindowSource: model.WindowFromCatalog,
		MaxInputTokens: 272000, MaxOutputTokens: 128000, MaxOutputSource: model.WindowFromCatalog,
		PromptCache:      model.PromptCache{MinTokens: 1024, Source: model.WindowFromCatalog},
		NativeCompaction: model.NativeCompactionUnsupported, ContinuationProjection: model.ContinuationProjectionUnsupported}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCapabilitiesOfAModelWithoutAWindowUseTheFallback(t *testing.T) {
	c := merge(t, `[{"id":"mine","maxOutputTokens":1000},{"id":"gpt-4o","windowTokens":64000}]`)
	m, _ := c.Lookup("mine")
	if got := m.Capabilities(); got.WindowTokens != 32768 || got.WindowSource != model.WindowFallback || got.MaxOutputTokens != 1000 {
		t.Errorf("Capabilities = %+v", got)
	}
	m, _ = c.Lookup("gpt-4o")
	if got := m.Capabilities(); got.WindowTokens != 64000 || got.WindowSource != model.WindowFromUser {
		t.Errorf("Capabilities = %+v", got)
	}
}

func TestDefaultIsOneValueForEverybody(t *testing.T) {
	var wg sync.WaitGroup
	catalogs := make([]*catalog.Catalog, 8)
	for i := range catalogs {
		wg.Go(func() { catalogs[i] = catalog.Default() })
	}
	wg.Wait()
	for _, c := range catalogs {
		if c != catalogs[0] || c.Len() == 0 {
			t.Fatal("Default differs between callers")
		}
	}
}

func TestWhatIsReturnedBelongsToTheCaller(t *testing.T) {
	for _, get := range []func() catalog.Model{
		func() catalog.Model { return lookup(t, "claude-haiku-5-5") },
		func() catalog.Model { m, _ := catalog.Default().Resolve("claude-haiku-5-5"); return m },
		func() catalog.Model {
			for m := range catalog.Default().All() {
				if m.ID == "claude-haiku-5-5" {
					return m
				}
			}
			return catalog.Model{}
		},
	} {
		m := get()
		m.Aliases[0] = "scribbled"
		m.Prices.Tiers[0].AboveInputTokens = 1
		fresh := lookup(t, "claude-haiku-5-5")
		if fresh.Aliases[0] == "scribbled" || fresh.Prices.Tiers[0].AboveInputTokens != 100000 {
			t.Fatal("a caller changed the catalog")
		}
	}
}

func TestZeroCatalogKnowsNothing(t *testing.T) {
	var c catalog.Catalog
	if _, ok := c.Lookup("gpt-5"); ok || c.Len() != 0 {
		t.Error("the zero catalog knows a model")
	}
	if _, match := c.Resolve("gpt-5"); match != catalog.MatchNone {
		t.Errorf("match = %s", match)
	}
	for range c.All() {
		t.Error("the zero catalog yields a model")
	}
}
