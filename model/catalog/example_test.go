package catalog_test

import (
	"fmt"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
)

func Example() {
	m, match := catalog.Default().Resolve("anthropic/claude-haiku-5.5")
	fmt.Println(m.ID, match)
	fmt.Println(m.WindowTokens.V, "tokens, says", m.WindowTokens.From.Source)
	usage := message.Usage{InputTokens: 100_001, CachedInputTokens: 90_001, OutputTokens: 1_000}
	if usd, ok := m.Cost(usage, nil); ok {
		fmt.Printf("$%.4f\n", usd)
	}
	// Output:
	// claude-haiku-5-5 decorated
	// 1000000 tokens, says platform.claude.com/docs/en/models, overview of each model
	// $0.0120
}
