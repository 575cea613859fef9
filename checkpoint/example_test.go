package checkpoint_test

import (
	"fmt"
	"time"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

func Example() {
	t := &transcript.Transcript{}
	for i, text := range []string{"Never touch vendor/.", "Understood.", "Go on."} {
		role := message.RoleUser
		if i == 1 {
			role = message.RoleAssistant
		}
		m := message.Message{ID: fmt.Sprint("m", i), Role: role, Blocks: []message.Block{message.Text{Text: text}}}
		if err := t.Append(m); err != nil {
			fmt.Println(err)
			return
		}
	}
	chain := &checkpoint.Chain{}
	parent, generation := chain.Next()
	c, err := checkpoint.New(checkpoint.Checkpoint{
		Parent: parent, Generation: generation,
		Strategy: checkpoint.ForgeSummary, Method: checkpoint.MethodExtractive,
		SummarizedThroughMessageIndex: 2, RetainedTailStartIndex: 2, SourceMessageCount: t.Len(),
		SourceHash: t.RangeHash(0, 2), RetainedTailHash: t.RangeHash(2, 3), Anchors: checkpoint.AnchorsOf(t, 2, 3),
		Pins:    []checkpoint.Pin{{Text: "Never touch vendor/.", MessageID: "m0", Source: "user"}},
		Summary: "Never touch vendor/. #0",
	}, time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := chain.Add(c, t); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(chain.Verify(t)), "findings;", chain.Active(t).Summary)
	// Output: 0 findings; Never touch vendor/. #0
}
