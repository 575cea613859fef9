package bpe_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/bpe"
)

var patterns = map[string]bpe.Pattern{
	"o200k":    bpe.PatternO200K,
	"cl100k":   bpe.PatternCL100K,
	"qwen2":    bpe.PatternQwen2,
	"deepseek": bpe.PatternDeepSeek,
}

// Windows cut where the function that cuts one piece at a time cuts.
func TestWindows(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 15))
	// Every short sequence of what the patterns tell apart, then all of it at
	// random.
	characters := []string{"a", "B", "1", " ", "\t", "\n", "\r", "/", "'", ".", "'s", "'LL", "\x00", "é", "中"}
	for name, pattern := range patterns {
		t.Run(name, func(t *testing.T) {
			for sequence := range sequences(characters, 3) {
				compareEnds(t, pattern, sequence)
				compareEnds(t, pattern, sequence+strings.Repeat("x ", 40))
			}
			for range 4000 {
				var text strings.Builder
				for text.Len() < 200 {
					text.WriteString(characters[random.IntN(len(characters))])
				}
				compareEnds(t, pattern, text.String())
			}
			for _, kind := range tokentest.Kinds() {
				for range 50 {
					compareEnds(t, pattern, kind.Make(random, 400))
				}
			}
		})
	}
}

// sequences yields every sequence of n members of a list.
func sequences(list []string, n int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if n == 0 {
			yield("")
			return
		}
		for rest := range sequences(list, n-1) {
			for _, first := range list {
				if !yield(first + rest) {
					return
				}
			}
		}
	}
}

func TestWindowsProperty(t *testing.T) {
	for name, pattern := range patterns {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				compareEnds(rt, pattern, tokentest.Text().Draw(rt, "text"))
			})
		})
	}
}

func FuzzWindows(f *testing.F) {
	f.Add(strings.Repeat("don't HTTPServer/x.\n/\n  \n 12345 \t(foo) ", 3))
	f.Fuzz(func(t *testing.T, text string) {
		for _, pattern := range patterns {
			compareEnds(t, pattern, text)
		}
	})
}

func compareEnds(t interface {
	Helper()
	Errorf(string, ...any)
}, pattern bpe.Pattern, text string) {
	t.Helper()
	got, want := bpe.PieceEnds(pattern, text, true), bpe.PieceEnds(pattern, text, false)
	if !slices.Equal(got, want) {
		t.Errorf("pieces of %q end at\n%v, want\n%v", text, got, want)
	}
}
