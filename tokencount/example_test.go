package tokencount_test

import (
	"fmt"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

func Example() {
	route := tokencount.Route{Family: "openai", Model: "gpt-5", Wire: tokencount.WireResponses}
	counter := tokencount.New(o200k.New(), tokencount.ProfileOf(route))
	result := counter.Request(model.Request{
		Instructions: []message.Message{{Role: message.RoleSystem, Blocks: []message.Block{message.Text{Text: "You are a helpful assistant"}}}},
		Messages:     []message.Message{{Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: "Say hi in Portuguese"}}}},
	})
	fmt.Println(result.Estimate.Tokens, "tokens by", result.Estimate.Method)
	fmt.Println("instructions:", result.Breakdown[budget.Instructions], "request:", result.Breakdown[budget.CurrentRequest], "framing:", result.Breakdown[budget.Framing])
	// Output:
	// 19 tokens by provider-tokenizer
	// instructions: 5 request: 4 framing: 10
}

func ExampleCalibration() {
	var k tokencount.Calibration
	profile := tokencount.ProfileFor("claude")
	sample := tokencount.Sample{}
	sample.Counted[budget.Conversation] = 400 // all that a session file holds
	k.Observe(profile, sample, message.Usage{InputTokens: 15_400})
	sample.Counted[budget.ToolResults] = 2000 // what came in since
	b, e := k.Estimate(profile, sample)
	fmt.Println(e.Tokens, "tokens,", b[budget.Instructions], "of them instructions that the file does not hold")
	// Output:
	// 17400 tokens, 15000 of them instructions that the file does not hold
}
