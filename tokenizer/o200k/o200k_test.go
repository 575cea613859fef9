package o200k_test

import (
	"testing"

	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

var _ tokenizer.Counter = o200k.New()

func TestKnownCounts(t *testing.T) {
	c := o200k.New()
	for text, want := range map[string]int{
		"":              0,
		"a":             1,
		"hello world":   2,
		"\n \n":         1,
		"\x7f":          1,
		"<|endoftext|>": 7,
		"\xff":          1,
	} {
		if got := c.Count(text); got != want {
			t.Errorf("Count(%q) = %d, want %d", text, got, want)
		}
	}
}
