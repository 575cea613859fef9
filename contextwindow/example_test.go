package contextwindow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/transcript"
)

// A loop asks Fit before each request and tells Reconcile what the provider
// counted. In the mode Compact the view is kept within its budget.
func Example() {
	counter := tokencount.New(o200k.New(), tokencount.ProfileFor("openai"))
	m, err := contextwindow.New(model.Capabilities{Model: "gpt-5", WindowTokens: 4000}, counter, &contextwindow.Options{Mode: contextwindow.Compact})
	if err != nil {
		fmt.Println(err)
		return
	}
	var t transcript.Transcript
	in := contextwindow.Input{Transcript: &t, Complete: true}
	for turn := range 12 {
		say := func(id string, role message.Role, text string) {
			if err := t.Append(message.Message{ID: fmt.Sprint(id, turn), Role: role, Blocks: []message.Block{message.Text{Text: text}}}); err != nil {
				fmt.Println(err)
			}
		}
		say("q", message.RoleUser, "Never change the file LICENSE.")
		fit, err := m.Fit(context.Background(), in)
		if err != nil {
			fmt.Println(err)
			return
		}
		if len(fit.Compactions) > 0 {
			fmt.Println("compacted; pinned:", fit.Compactions[0].Checkpoint.Pins[0].Text)
		}
		say("a", message.RoleAssistant, strings.Repeat("The next step is to read on. ", 40))
	}
	// Output:
	// compacted; pinned: Never change the file LICENSE.
}

// A request whose mandatory part alone does not fit is never sent; the error
// says what fills the window and what helps.
func ExampleLimitError() {
	counter := tokencount.New(o200k.New(), tokencount.Profile{})
	m, err := contextwindow.New(model.Capabilities{Model: "small", WindowTokens: 2000}, counter, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var t transcript.Transcript
	text := strings.Repeat("word ", 1500)
	if err := t.Append(message.Message{ID: "u", Role: message.RoleUser, Blocks: []message.Block{message.Text{Text: text}}}); err != nil {
		fmt.Println(err)
		return
	}
	_, err = m.Fit(context.Background(), contextwindow.Input{Transcript: &t, Complete: true})
	var limit *contextwindow.LimitError
	if errors.As(err, &limit) {
		fmt.Println(limit.Diagnosis.Category, "-", limit.Diagnosis.Remedy)
	}
	// Output:
	// currentRequest - shorten the request, or put the text into a file that can be read in parts
}
