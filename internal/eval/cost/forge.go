package cost

import (
	"context"
	"errors"
	"fmt"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/baseline"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// A ForgeRun is a session in the mode compact.
type ForgeRun struct {
	baseline.Run
	// Stops is how many requests were not sent because nothing would have
	// made them fit, Cleared how many tool results got stand-ins.
	Stops, Cleared int
}

// runForge plays a session through the gate that live runs use, in the mode
// compact, at the prices and in the window of a model.
func runForge(ctx context.Context, s *sessionfile.Session, at Sheet, c *tokencount.Counter) (ForgeRun, error) {
	manager, err := contextwindow.New(model.Capabilities{Model: at.Name, WindowTokens: at.Limits.WindowTokens, MaxInputTokens: at.Limits.MaxInputTokens,
		MaxOutputTokens: at.Limits.MaxOutputTokens}, c, &contextwindow.Options{Mode: contextwindow.Compact,
		Compaction: contextwindow.Compaction{Prices: at.Prices, Cache: at.Cache}})
	if err != nil {
		return ForgeRun{}, err
	}
	var out ForgeRun
	var tr transcript.Transcript
	for _, q := range s.Requests {
		if q.Failed != "" || q.Compaction || q.At == 0 {
			continue
		}
		if err := extend(&tr, s, q.At); err != nil {
			return out, err
		}
		fit, err := manager.Fit(ctx, contextwindow.Input{Instructions: s.Instructions, Tools: s.Tools, Transcript: &tr, Complete: true})
		var limit *contextwindow.LimitError
		if err != nil && !errors.As(err, &limit) {
			return out, fmt.Errorf("fit request at message %d: %w", q.At, err)
		}
		output := 0
		for i := q.At; i < q.End; i++ {
			output += c.Message(s.Transcript.At(i)).Total()
		}
		if fit.Action == contextwindow.Stop {
			out.Stops++
		} else {
			out.Requests = append(out.Requests, baseline.Request{InputTokens: fit.CountedTokens, CachedTokens: fit.PrefixTokens, OutputTokens: output})
			if fit.CountedTokens > at.Limits.Input() {
				out.Overflows++
			}
		}
		out.Compactions += len(fit.Compactions)
		out.Cleared += len(fit.Projections)
		if err := extend(&tr, s, max(q.End, q.At)); err != nil {
			return out, err
		}
	}
	return out, nil
}

func extend(tr *transcript.Transcript, s *sessionfile.Session, end int) error {
	for tr.Len() < end {
		if err := tr.Append(s.Transcript.At(tr.Len())); err != nil {
			return err
		}
	}
	return nil
}
