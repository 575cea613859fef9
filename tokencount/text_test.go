package tokencount_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/tokencount"
)

// none counts no tokens, so that only the other features show.
type none struct{}

func (none) Count(string) int { return 0 }
func (none) Name() string     { return "none" }

// kinds sorts the characters of a text, slowly and obviously.
func kinds(s string) []byte {
	var out []byte
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z':
			out = append(out, 'l')
		case r >= 'A' && r <= 'Z':
			out = append(out, 'u')
		case r >= '0' && r <= '9':
			out = append(out, 'd')
		case r == ' ':
			out = append(out, ' ')
		case r == '\n' || r == '\r':
			out = append(out, 'n')
		case r == '\t':
			out = append(out, 't')
		case r < 0x80:
			out = append(out, 'p')
		case r >= 0x3000 && r < 0xE000:
			out = append(out, 'c')
		default:
			out = append(out, 'o')
		}
	}
	return out
}

// slow counts one feature from its description.
func slow(f tokencount.Feature, s string) int {
	n := 0
	previous := byte('n')
	for _, k := range kinds(s) {
		hit := false
		letter := func(k byte) bool { return k == 'l' || k == 'u' }
		switch f {
		case tokencount.FeatureWords:
			hit = letter(k) && !letter(previous)
		case tokencount.FeatureCamel:
			hit = k == 'u' && previous == 'l'
		case tokencount.FeatureDigits:
			hit = k == 'd'
		case tokencount.FeaturePunctuation:
			hit = k == 'p'
		case tokencount.FeaturePunctuationRuns:
			hit = k == 'p' && previous != 'p'
		case tokencount.FeatureNewlines:
			hit = k == 'n'
		case tokencount.FeatureIndent:
			hit = k == ' ' && (previous == ' ' || previous == 'n')
		case tokencount.FeatureCJK:
			hit = k == 'c'
		case tokencount.FeatureOther:
			hit = k == 'o'
		}
		if hit {
			n++
		}
		previous = k
	}
	return n
}

// The one pass over the bytes counts each feature as its description says.
func TestFeaturesAgainstSlowReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.ToValidUTF8(genText(t), "?") // the features of invalid text are not described
		for f := range tokencount.Feature(tokencount.FeatureCount) {
			var w tokencount.TextWeights
			w[f] = 1
			c := tokencount.New(none{}, tokencount.Profile{Base: "none", TextWeights: w})
			if got, want := c.Text(s), slow(f, s); got != want {
				t.Fatalf("feature %d of %q: got %d, want %d", f, s, got, want)
			}
		}
	})
}

// A weight for one vocabulary is not used with another.
func TestWeightsBelongToTheirVocabulary(t *testing.T) {
	p := tokencount.Profile{Base: "words", TextWeights: tokencount.TextWeights{2}, TextRatio: 1.5}
	if got := tokencount.New(words{}, p).Text("one two"); got != 6 {
		t.Errorf("with weights %d tokens, want 6", got)
	}
	if got := tokencount.New(words{"other"}, p).Text("one two"); got != 3 {
		t.Errorf("without weights %d tokens, want 3", got)
	}
}

// However odd a text is, a weighted count stays within a fixed share of the
// plain one from below.
func TestWeightedCountHasAFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genText(t)
		p := tokencount.Profile{Base: "words", TextWeights: tokencount.TextWeights{0.1, -5, -5, -5, -5, -5, -5, -5, -5, -5}}
		plain, weighted := (words{}).Count(s), tokencount.New(words{}, p).Text(s)
		if weighted < int(math.Floor(0.6*float64(plain))) {
			t.Fatalf("%q: %d words, weighted %d", s, plain, weighted)
		}
	})
}
