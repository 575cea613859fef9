package cl100k_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/cl100k"
)

var _ tokenizer.Counter = cl100k.New()

const mergePath = "cl100k.merges"

// F-CAP-02: the provider's own tokenizer, token for token.
func TestEqualToReference(t *testing.T) {
	merges := tokentest.ReadFile(t, mergePath)
	tokentest.Suite(t, cl100k.New(), tokentest.Tiktoken(t, cl100k.Name), merges)
}

func TestNoAllocation(t *testing.T) {
	tokentest.CheckAllocations(t, cl100k.New())
}

func TestSource(t *testing.T) {
	tokentest.CheckSource(t, mergePath)
}

func FuzzCount(f *testing.F) {
	tokentest.Fuzz(f, cl100k.New(), tokentest.Tiktoken(f, cl100k.Name))
}
