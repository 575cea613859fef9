package o200k_test

import (
	"fmt"
	"testing"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

var _ tokenizer.Counter = o200k.New()

const mergePath = "o200k.merges"

// F-CAP-02: the provider's own tokenizer, token for token.
func TestEqualToReference(t *testing.T) {
	merges := tokentest.ReadFile(t, mergePath)
	tokentest.Suite(t, o200k.New(), tokentest.Tiktoken(t, o200k.Name), merges)
}

func TestNoAllocation(t *testing.T) {
	tokentest.CheckAllocations(t, o200k.New())
}

func TestSource(t *testing.T) {
	tokentest.CheckSource(t, mergePath)
}

func FuzzCount(f *testing.F) {
	tokentest.Fuzz(f, o200k.New(), tokentest.Tiktoken(f, o200k.Name))
}

func ExampleNew() {
	counter := o200k.New()
	fmt.Println(counter.Name(), counter.Count("What fills this context window?"))
	// Output: o200k_base 6
}
