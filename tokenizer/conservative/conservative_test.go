package conservative_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/cl100k"
	"github.com/forge-agent/forge/tokenizer/conservative"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/tokenizer/qwen3"
)

var _ tokenizer.Counter = conservative.New()

// The bound holds by construction only while the embedded files are the heads
// of the vocabularies.
func TestHeads(t *testing.T) {
	for head, whole := range map[string]string{
		"o200k-head.merges": "../o200k/o200k.merges",
		"qwen3-head.merges": "../qwen3/qwen3.merges",
	} {
		h, w := tokentest.ReadFile(t, head), tokentest.ReadFile(t, whole)
		const mergeBytes = 6
		if want := w[:4096*mergeBytes]; !bytes.Equal(h, want) {
			t.Errorf("%s is not the first 4,096 merges of %s", head, whole)
		}
	}
}

// cl100k_base is bounded through Qwen 3: without the merges of digits, its
// merges are the first of Qwen 3.
func TestCL100KLeadsQwen3(t *testing.T) {
	cl100kTokens := tokensInOrder(t, "../cl100k/cl100k.merges")
	qwen3Tokens := tokensInOrder(t, "../qwen3/qwen3.merges")
	withoutDigits := slices.DeleteFunc(cl100kTokens, func(token string) bool {
		return strings.Trim(token, "0123456789") == ""
	})
	for i, token := range withoutDigits {
		if token != qwen3Tokens[i] {
			t.Fatalf("token %d is %q, Qwen 3 has %q", i, token, qwen3Tokens[i])
		}
	}
}

func tokensInOrder(t *testing.T, path string) []string {
	ranks := tokentest.Ranks(string(tokentest.ReadFile(t, path)))
	tokens := make([]string, len(ranks))
	for token, rank := range ranks {
		tokens[rank] = token
	}
	return tokens[256:]
}

type exact []tokenizer.Counter

func newExact() exact { return exact{o200k.New(), cl100k.New(), qwen3.New()} }

func (e exact) largest(text string) int {
	largest := 0
	for _, counter := range e {
		largest = max(largest, counter.Count(text))
	}
	return largest
}

// F-TST-02, F-CAP-04: a model without a known vocabulary is never undercounted.
func TestNeverBelow(t *testing.T) {
	counter, exact := conservative.New(), newExact()
	t.Run("kinds", func(t *testing.T) {
		random := rand.New(rand.NewPCG(5, 6))
		for _, kind := range tokentest.Kinds() {
			for size := range 80 {
				checkBound(t, counter, exact, kind.Make(random, size))
			}
			checkBound(t, counter, exact, kind.Make(random, 1<<16))
		}
	})
	t.Run("tokens", func(t *testing.T) {
		// Texts that one vocabulary has a long token for and another has not.
		for _, path := range []string{"../o200k/o200k.merges", "../cl100k/cl100k.merges", "../qwen3/qwen3.merges"} {
			for i, token := range tokensInOrder(t, path) {
				if i%7 == 0 {
					checkBound(t, counter, exact, token)
				}
			}
		}
	})
	t.Run("property", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			checkBound(rt, counter, exact, tokentest.Text().Draw(rt, "text"))
		})
	})
}

func FuzzNeverBelow(f *testing.F) {
	counter, exact := conservative.New(), newExact()
	f.Add("\u0958\U0001d15e 12345 \xff\xfe")
	f.Fuzz(func(t *testing.T, text string) {
		checkBound(t, counter, exact, text)
	})
}

func checkBound(t interface {
	Helper()
	Errorf(string, ...any)
}, counter tokenizer.Counter, exact exact, text string) {
	t.Helper()
	if got, largest := counter.Count(text), exact.largest(text); got < largest {
		t.Errorf("Count = %d, below %d, for %d bytes: %.200q", got, largest, len(text), text)
	}
}

// Every file, every line and every string inside a line of the shared session
// files is a document here.
func TestCorpusOvercount(t *testing.T) {
	counter, exact := conservative.New(), newExact()
	var overcounts, long []float64
	for document := range tokentest.CorpusTexts(t) {
		checkBound(t, counter, exact, document)
		overcount := float64(counter.Count(document)) / float64(exact.largest(document))
		overcounts = append(overcounts, overcount)
		if len(document) >= 200 {
			long = append(long, overcount)
		}
	}
	for name, values := range map[string][]float64{"all": overcounts, "200 bytes and more": long} {
		slices.Sort(values)
		median := values[len(values)/2]
		t.Logf("%s: %d documents, median overcount %.3f, p95 %.3f", name, len(values), median, values[len(values)*95/100])
		if median > 1.6 {
			t.Errorf("%s: median overcount %.3f is above 1.6", name, median)
		}
	}
}

func TestGoSourceOvercount(t *testing.T) {
	counter, exact := conservative.New(), newExact()
	total, largest := 0, 0
	for _, text := range tokentest.GoSource(t, 1<<20) {
		checkBound(t, counter, exact, text)
		total += counter.Count(text)
		largest += exact.largest(text)
	}
	if overcount := float64(total) / float64(largest); overcount > 1.6 {
		t.Errorf("overcount of Go source is %.2f, above 1.6", overcount)
	}
}

func TestNoAllocation(t *testing.T) {
	text, err := os.ReadFile("conservative.go")
	if err != nil {
		t.Fatal(err)
	}
	counter := conservative.New()
	document := string(text) + strings.Repeat("a", 1<<16) + "e\u0301"
	counter.Count(document)
	if allocations := testing.AllocsPerRun(5, func() { counter.Count(document) }); allocations != 0 {
		t.Errorf("%v allocations per count, want none", allocations)
	}
}
