package cl100k_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/cl100k"
)

var _ tokenizer.Counter = cl100k.New()

// F-CAP-02: the provider's own tokenizer, token for token.
func TestEqualToReference(t *testing.T) {
	tokentest.Suite(t, cl100k.New(), tokentest.Tiktoken(t, cl100k.Name))
}

func TestSource(t *testing.T) {
	tokentest.CheckSource(t, "cl100k.merges")
}

func FuzzCount(f *testing.F) {
	tokentest.Fuzz(f, cl100k.New(), tokentest.Tiktoken(f, cl100k.Name))
}
