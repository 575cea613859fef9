package o200k_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

// BenchmarkKinds counts 1 MB of each kind of text, hostile ones among them.
func BenchmarkKinds(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, kind := range tokentest.Hostile() {
		text := kind.Make(random, 1<<20)
		b.Run(strings.ReplaceAll(kind.Name, " ", "-"), func(b *testing.B) {
			counter := o200k.New()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				counter.Count(text)
			}
		})
	}
}
