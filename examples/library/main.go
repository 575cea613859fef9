// Command library wraps a toy model loop in Forge's context window: it needs
// no provider, and shows the few calls that an agent has to make.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/transcript"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	counter := tokencount.New(o200k.New(), tokencount.ProfileFor("openai"))
	m, err := contextwindow.New(model.Capabilities{Model: "toy", WindowTokens: 8000}, counter, &contextwindow.Options{Mode: contextwindow.Compact})
	if err != nil {
		return err
	}
	var t transcript.Transcript
	in := contextwindow.Input{Transcript: &t, Complete: true}
	for turn := 1; turn <= 12; turn++ {
		question := fmt.Sprintf("Question %d. Never touch the file db/schema.sql.", turn)
		if err := t.Append(say(fmt.Sprintf("q%d", turn), message.RoleUser, question)); err != nil {
			return err
		}
		fit, err := m.Fit(ctx, in)
		if err != nil {
			return err // a limit says what fills the window, and what helps
		}
		fmt.Printf("request %2d: %5d of %d tokens, done to make it fit: %v\n", turn, fit.Estimate.Tokens, fit.Budget.AvailableTokens, fit.Relief)
		answer := toyModel(m.Request(in))
		if err := t.Append(say(fmt.Sprintf("a%d", turn), message.RoleAssistant, answer)); err != nil {
			return err
		}
	}
	return nil
}

func say(id string, role message.Role, text string) message.Message {
	return message.Message{ID: id, Role: role, Blocks: []message.Block{message.Text{Text: text}}}
}

// toyModel stands for a provider.
func toyModel(r model.Request) string {
	return strings.Repeat(fmt.Sprintf("I read %d messages and think about them. ", len(r.Messages)), 60)
}
