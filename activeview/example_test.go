package activeview_test

import (
	"fmt"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// A view follows a transcript; its ledger has a line for each item, with the
// decision taken about it.
func Example() {
	var t transcript.Transcript
	for _, m := range []message.Message{
		{ID: "u1", Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: "list the files"}}},
		{ID: "a1", Role: message.RoleAssistant, Blocks: []message.Block{message.Text{Text: "three files"}}},
		{ID: "u2", Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: "read the first"}}},
	} {
		if err := t.Append(m); err != nil {
			fmt.Println(err)
			return
		}
	}
	v := activeview.New(counter())
	v.Extend(&t)
	summary := message.Message{Role: message.RoleUser, Origin: message.OriginSummary, Blocks: []message.Block{message.Text{Text: "files were listed"}}}
	if err := v.Install(&t, activeview.Retention{Through: 2, Memory: []message.Message{summary}}); err != nil {
		fmt.Println(err)
		return
	}
	for l := range v.Lines() {
		fmt.Println(l.ID, l.Category, l.Tokens, l.Decision)
	}
	// Output:
	// compaction-1-1#0 memory 3 kept
	// u1#0 conversation 0 summarized
	// a1#0 conversation 0 summarized
	// u2#0 currentRequest 3 kept
}
