package cl100k_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/cl100k"
)

// BenchmarkCount counts mixed agent text with a warm counter. Ratios to other
// counters: go run ./internal/tokenbench.
func BenchmarkCount(b *testing.B) {
	texts := tokentest.MixedTexts(b, 8<<20)
	counter := cl100k.New()
	size := 0
	for _, text := range texts {
		size += len(text)
		counter.Count(text)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for _, text := range texts {
			counter.Count(text)
		}
	}
}

// BenchmarkFirstPass is the same with an empty cache.
func BenchmarkFirstPass(b *testing.B) {
	texts := tokentest.MixedTexts(b, 8<<20)
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		counter := cl100k.New()
		for _, text := range texts {
			counter.Count(text)
		}
	}
}
