package qwen3_test

import (
	"testing"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/qwen3"
)

var _ tokenizer.Counter = qwen3.New()

const mergePath = "qwen3.merges"

// F-CAP-02: the provider's own tokenizer, token for token.
func TestEqualToReference(t *testing.T) {
	merges := tokentest.ReadFile(t, mergePath)
	tokentest.Suite(t, qwen3.New(), tokentest.Qwen2(t, string(merges)), merges)
}

func TestNoAllocation(t *testing.T) {
	tokentest.CheckAllocations(t, qwen3.New())
}

func TestSource(t *testing.T) {
	tokentest.CheckSource(t, mergePath)
}

func FuzzCount(f *testing.F) {
	merges := tokentest.ReadFile(f, mergePath)
	tokentest.Fuzz(f, qwen3.New(), tokentest.Qwen2(f, string(merges)))
}
