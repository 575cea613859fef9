package projection_test

import (
	"fmt"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

// A stand-in says what the output was, and where the whole of it is.
func ExampleStandIn() {
	source := projection.Source{
		Tool:      "bash",
		Reference: projection.Reference(transcript.Ref{Message: 12}),
		Result: message.ToolResult{
			CallID: "call-1", Outcome: message.OutcomeSuccess,
			Content: []message.Block{message.Text{Text: "ok  example.com/a  0.1s\n" + strings.Repeat("ok  example.com/b  0.2s\n", 90)}},
		},
	}
	text, ok := projection.StandIn(source, projection.Targets{})
	fmt.Println(ok)
	fmt.Println(text)
	// Output:
	// true
	// [cleared tool output: bash, succeeded, 2184 bytes, hash 0b31fe1188cd, recall #12]
	// ok  example.com/a  0.1s
	// ok  example.com/b  0.2s
	// ok  e
	// […]
	// xample.com/b  0.2s
}

// Fresh output is cut before it is first sent.
func ExampleTrim() {
	result := message.ToolResult{CallID: "call-1", Content: []message.Block{
		message.Text{Text: strings.Repeat("a", 600) + strings.Repeat("z", 600)},
	}}
	result, cut := projection.Trim(result, projection.Bound{Bytes: 160})
	fmt.Println(cut, result.OriginalBytes)
	fmt.Println(result.Text())
	// Output:
	// true 1200
	// aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
	// [… about 1090 of 1200 bytes left out here …]
	// zzzzzzzzzzzzzzzzzzzzzzzzzzzz
}

// A scheduler is asked before each request.
func ExampleScheduler() {
	model, _ := catalog.Default().Lookup("claude-3-7-sonnet")
	s, err := projection.New(projection.Options{Prices: model.Prices, Cache: model.Cache})
	if err != nil {
		panic(err)
	}
	for step := range 60 {
		s.Extend(150) // the model's text and call
		if err := s.Admit(projection.Observation{
			Ref: transcript.Ref{Message: 2*step + 1}, Tokens: 1200, StandInTokens: 60,
			Call: hashOf(step), Content: hashOf(step), Outcome: message.OutcomeSuccess,
		}); err != nil {
			panic(err)
		}
		d := s.Decide(projection.Query{FrontTokens: 8000})
		if len(d.Clear) > 0 {
			fmt.Printf("request %d: %d results, %d tokens less, $%.4f now for $%.4f with each request\n",
				step+1, len(d.Clear), d.SavedTokens(), d.LossUSD(), d.SavedUSDPerRequest)
		}
		if err := s.Apply(d.Clear); err != nil {
			panic(err)
		}
		s.Sent()
	}
	spent := s.Spent()
	fmt.Printf("input cost $%.3f instead of $%.3f\n", spent.USD, spent.AppendOnlyUSD)
	// Output:
	// request 13: 10 results, 11400 tokens less, $0.0126 now for $0.0034 with each request
	// request 18: 5 results, 5700 tokens less, $0.0107 now for $0.0017 with each request
	// request 23: 5 results, 5700 tokens less, $0.0107 now for $0.0017 with each request
	// request 28: 5 results, 5700 tokens less, $0.0107 now for $0.0017 with each request
	// request 33: 5 results, 5700 tokens less, $0.0107 now for $0.0017 with each request
	// request 38: 5 results, 5700 tokens less, $0.0107 now for $0.0017 with each request
	// request 43: 5 results, 5700 tokens less, $0.0107 now for $0.0017 with each request
	// request 48: 5 results, 5700 tokens less, $0.0107 now for $0.0017 with each request
	// request 53: 5 results, 5700 tokens less, $0.0107 now for $0.0017 with each request
	// request 59: 6 results, 6840 tokens less, $0.0111 now for $0.0021 with each request
	// input cost $0.804 instead of $1.192
}
