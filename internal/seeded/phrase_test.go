package seeded

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// The phrasings can be filled, hold what must be kept, and the held-out ones
// are not among those for tuning.
func TestPhrasings(t *testing.T) {
	known := map[string]bool{}
	for _, name := range []string{"dev", "heldout"} {
		w, err := ReadWording(name, name+".txt", "chatter_"+name+".txt")
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for _, p := range w.Phrases {
			if (p.Family == "corrected") != (len(p.Texts) == 2) {
				t.Errorf("%s: %q has %d texts", p.Family, p.Texts, len(p.Texts))
			}
			text, keys := Fill(r, p.Texts[len(p.Texts)-1])
			if len(keys) == 0 || strings.ContainsAny(text, "[]{}") {
				t.Errorf("%q became %q with keys %q", p.Texts, text, keys)
			}
			for _, k := range keys {
				if len(k) < 2 && k != "分" || !strings.Contains(text, k) {
					t.Errorf("%q: weak key %q", text, k)
				}
			}
			if known[p.Texts[0]] {
				t.Errorf("%q stands in both sets", p.Texts[0])
			}
			known[p.Texts[0]] = true
		}
	}
}

func TestWilson(t *testing.T) {
	low, high := Wilson(381, 381)
	if low < 0.989 || low > 0.991 || high < 0.9999 {
		t.Errorf("381 of 381: %.4f to %.4f", low, high)
	}
	if low, high := Wilson(0, 0); low != 0 || high != 1 {
		t.Errorf("nothing measured: %v to %v", low, high)
	}
}
