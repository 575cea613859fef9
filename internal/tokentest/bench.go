package tokentest

import (
	"testing"

	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/bpe"
)

// benchmarkBytes is about how much text a benchmark counts.
const benchmarkBytes = 8 << 20

// BenchmarkCount counts mixed agent text with a warm counter. Ratios to other
// counters: go run ./internal/tokenbench.
func BenchmarkCount(b *testing.B, counter tokenizer.Counter) {
	texts := MixedTexts(b, benchmarkBytes)
	countAll(counter, texts)
	b.SetBytes(sizeOf(texts))
	b.ReportAllocs()
	for b.Loop() {
		countAll(counter, texts)
	}
}

// BenchmarkFirstPass is the same with a new counter, whose cache is empty,
// each time.
func BenchmarkFirstPass(b *testing.B, newCounter func() *bpe.Counter) {
	texts := MixedTexts(b, benchmarkBytes)
	b.SetBytes(sizeOf(texts))
	for b.Loop() {
		countAll(newCounter(), texts)
	}
}

func countAll(counter tokenizer.Counter, texts []string) {
	for _, text := range texts {
		counter.Count(text)
	}
}

func sizeOf(texts []string) int64 {
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	return int64(size)
}
