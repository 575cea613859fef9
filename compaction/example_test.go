package compaction_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/transcript"
)

func Example() {
	t := &transcript.Transcript{}
	for i, text := range []string{
		"Never edit gen/api.go by hand.",
		"Understood. " + strings.Repeat("Here is what I found in the parser. ", 80),
		"thanks, go on",
	} {
		role := message.RoleUser
		if i == 1 {
			role = message.RoleAssistant
		}
		if err := t.Append(message.Message{ID: fmt.Sprint("m", i), Role: role, Blocks: []message.Block{message.Text{Text: text}}}); err != nil {
			fmt.Println(err)
			return
		}
	}
	plan, err := compaction.Extractive{}.Plan(context.Background(), compaction.Input{
		Transcript: t, Through: t.Len(), Counter: tokencount.New(o200k.New(), tokencount.Profile{}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pin := range plan.Pins {
		fmt.Printf("%s (%s, message %s)\n", pin.Text, pin.Kind, pin.MessageID)
	}
	fmt.Println("lighter:", plan.CheckpointTokens < plan.RangeTokens)
	// Output:
	// Never edit gen/api.go by hand. (prohibition, message m0)
	// lighter: true
}
