package qwen3_test

import (
	"os"
	"testing"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/qwen3"
)

var _ tokenizer.Counter = qwen3.New()

// F-CAP-02: the provider's own tokenizer, token for token.
func TestEqualToReference(t *testing.T) {
	tokentest.Suite(t, qwen3.New(), tokentest.Qwen2(t, mergeFile(t)))
}

func TestSource(t *testing.T) {
	tokentest.CheckSource(t, "qwen3.merges")
}

func FuzzCount(f *testing.F) {
	tokentest.Fuzz(f, qwen3.New(), tokentest.Qwen2(f, mergeFile(f)))
}

func mergeFile(tb testing.TB) string {
	tb.Helper()
	content, err := os.ReadFile("qwen3.merges")
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}
