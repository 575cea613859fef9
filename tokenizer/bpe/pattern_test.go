package bpe_test

import (
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/bpe"
)

// Patterns without an embedded vocabulary are compared on one that is there:
// how a text is cut does not depend on it.
func TestDeepSeekPattern(t *testing.T) {
	merges := tokentest.ReadFile(t, "../qwen3/qwen3.merges")
	v, err := bpe.NewVocabulary(bpe.Definition{Name: "deepseek pattern", Pattern: bpe.PatternDeepSeek, MergeFile: string(merges)})
	if err != nil {
		t.Fatal(err)
	}
	counter := bpe.NewCounter(v)
	tokentest.Suite(t, counter, tokentest.DeepSeek(t, string(merges)), merges)
	tokentest.CheckAllocations(t, counter)
}

func FuzzDeepSeekPattern(f *testing.F) {
	merges := tokentest.ReadFile(f, "../qwen3/qwen3.merges")
	v, err := bpe.NewVocabulary(bpe.Definition{Name: "deepseek pattern", Pattern: bpe.PatternDeepSeek, MergeFile: string(merges)})
	if err != nil {
		f.Fatal(err)
	}
	tokentest.Fuzz(f, bpe.NewCounter(v), tokentest.DeepSeek(f, string(merges)))
}

// Engines disagree whether (?i:'s) matches U+017F, the long s. It makes no
// difference: no token holds it beside another character.
func TestLongS(t *testing.T) {
	const longS = "\u017f"
	for _, path := range []string{"../o200k/o200k.merges", "../cl100k/cl100k.merges", "../qwen3/qwen3.merges"} {
		for token := range tokentest.Ranks(string(tokentest.ReadFile(t, path))) {
			if strings.Contains(token, longS) && token != longS {
				t.Errorf("%s has the token %q", path, token)
			}
		}
	}
}
