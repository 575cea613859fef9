package recall

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/seeded"
)

// Issue behaviour 2: the set that only the evaluation uses has all families
// and languages, can be filled, and shares no phrase with the other sets.
func TestUnseenSet(t *testing.T) {
	w, err := wording(Unseen)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, set := range seeded.Sets() {
		other, err := wording(set)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range other.Phrases {
			known[p.Texts[0]] = true
		}
	}
	families, languages := map[string]bool{}, map[string]bool{}
	r := rand.New(rand.NewPCG(1, 1))
	for _, p := range w.Phrases {
		families[p.Family], languages[p.Language] = true, true
		text, keys := seeded.Fill(r, p.Texts[len(p.Texts)-1])
		if len(keys) == 0 || strings.ContainsAny(text, "[]{}") || known[p.Texts[0]] || (p.Family == "corrected") != (len(p.Texts) == 2) {
			t.Errorf("%q: keys %q, known %v", p.Texts, keys, known[p.Texts[0]])
		}
	}
	for _, f := range []string{"explicit", "paraphrased", "prohibition", "conditional", "corrected"} {
		if !families[f] {
			t.Errorf("no %s rules", f)
		}
	}
	for _, l := range []string{"en", "zh", "ja", "ko", "de", "es"} {
		if !languages[l] {
			t.Errorf("no rules in %s", l)
		}
	}
	if !slices.Contains(Sets(), Unseen) {
		t.Error("the set is not listed")
	}
}
