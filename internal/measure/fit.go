package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// measureFit compares the budget before a request on two transcripts, one ten
// times as long as the other, for the same new messages.
func measureFit() error {
	const fresh = 400 // new messages for each run; the median of all is printed
	text := strings.Repeat("The tests of the parser pass; next is the printer.\n", 40)
	lengths := []int{1_000, 10_000}
	times := make([][]time.Duration, len(lengths))
	visited := make([]int, len(lengths))
	tokens := make([]int, len(lengths))
	for range runs {
		for i, n := range lengths {
			m, err := contextwindow.New(model.Capabilities{WindowTokens: 1 << 40}, vocabulary.Counter(knownModel(), tokencount.Route{}), nil)
			if err != nil {
				return err
			}
			var tr transcript.Transcript
			in := contextwindow.Input{Transcript: &tr}
			if err := grow(&tr, n, text); err != nil {
				return err
			}
			if _, err := m.Fit(context.Background(), in); err != nil {
				return err
			}
			runtime.GC()
			for range fresh {
				if err := grow(&tr, tr.Len()+1, text); err != nil {
					return err
				}
				var f *contextwindow.Fit
				d, err := timed(func() (err error) {
					f, err = m.Fit(context.Background(), in)
					return err
				})
				if err != nil {
					return err
				}
				times[i] = append(times[i], d)
				visited[i], tokens[i] = f.Visited, f.Estimate.Tokens
			}
		}
	}
	fmt.Println("budget before a request, one new message:")
	for i, n := range lengths {
		fmt.Printf("  %6d messages (%d tokens): %v, %d items visited\n", n, tokens[i], median(times[i]), visited[i])
	}
	fmt.Printf("  ten times as long costs %.2f x (at most 1.2)\n", ratio(median(times[1]), median(times[0])))
	return nil
}

func knownModel() catalog.Model {
	m, _ := catalog.Default().Lookup("gpt-5")
	return m
}

// grow appends messages, a question and an answer in turn.
func grow(tr *transcript.Transcript, to int, text string) error {
	for i := tr.Len(); i < to; i++ {
		role := message.RoleUser
		if i%2 == 1 {
			role = message.RoleAssistant
		}
		err := tr.Append(message.Message{ID: fmt.Sprint("m", i), Role: role, Blocks: []message.Block{message.Text{Text: text}}})
		if err != nil {
			return err
		}
	}
	return nil
}
