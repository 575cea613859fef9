package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
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
// times as long as the other, for the same new messages: with the view as it
// is, and in the mode compact, where old tool output is weighed for clearing
// too.
func measureFit() error {
	fmt.Println("budget before a request, one new message of 2 KB:")
	for _, mode := range []contextwindow.Mode{contextwindow.Warn, contextwindow.Compact} {
		if err := measureFitIn(mode); err != nil {
			return err
		}
	}
	return nil
}

func measureFitIn(mode contextwindow.Mode) error {
	const fresh = 400 // new messages for each run; the median of all is printed
	text := strings.Repeat("The tests of the parser pass; next is the printer.\n", 40)
	lengths := []int{200, 2_000}
	times := make([][]time.Duration, len(lengths))
	visited := make([][]int, len(lengths))
	tokens := make([]int, len(lengths))
	for range runs {
		for i, n := range lengths {
			m, err := newManager(mode)
			if err != nil {
				return err
			}
			var tr transcript.Transcript
			in := contextwindow.Input{Transcript: &tr}
			for tr.Len() < n {
				if err := grow(&tr, text); err != nil {
					return err
				}
				if _, err := m.Fit(context.Background(), in); err != nil {
					return err
				}
			}
			tokens[i] = m.Counted()
			runtime.GC()
			for range fresh {
				if err := grow(&tr, text); err != nil {
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
				visited[i] = append(visited[i], f.Visited)
			}
		}
	}
	for i, n := range lengths {
		slices.Sort(visited[i])
		fmt.Printf("  %-8s %6d messages (%d tokens): %v, %d items visited (median)\n", mode, n, tokens[i], median(times[i]), visited[i][len(visited[i])/2])
	}
	fmt.Printf("  %-8s ten times as long costs %.2f x (at most 1.2)\n", mode, ratio(median(times[1]), median(times[0])))
	return nil
}

func newManager(mode contextwindow.Mode) (*contextwindow.Manager, error) {
	m := knownModel()
	return contextwindow.New(model.Capabilities{WindowTokens: 1 << 40}, vocabulary.Counter(m, tokencount.Route{}),
		&contextwindow.Options{Mode: mode, Compaction: contextwindow.Compaction{Prices: m.Prices, Cache: m.Cache}})
}

func knownModel() catalog.Model {
	m, _ := catalog.Default().Lookup("gpt-5")
	return m
}

// grow appends one message: a question now and then, else an answer.
func grow(tr *transcript.Transcript, text string) error {
	i := tr.Len()
	role := message.RoleAssistant
	if i%20 == 0 {
		role = message.RoleUser
	}
	return tr.Append(message.Message{ID: fmt.Sprint("m", i), Role: role, Blocks: []message.Block{message.Text{Text: text}}})
}
