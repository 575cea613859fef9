package journey

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/gate"
	"github.com/forge-agent/forge/trace"
)

// measure fills in what server, program and trace say.
func (p *play) measure(ctx context.Context, j *gate.Journey) error {
	for _, r := range p.server.requests() {
		if r.refused {
			j.ContextErrors++
			continue
		}
		j.ProviderInputTokens += r.inputTokens
		j.ProviderOutputTokens += r.outputTokens
	}
	for _, o := range p.runs {
		j.Recoveries += o.Totals.Recoveries
	}
	declared, err := p.traced(j)
	if err != nil {
		return err
	}
	if len(declared) != len(p.server.requests()) {
		return fmt.Errorf("the traces declare %d requests, the server got %d; runs: %+v", len(declared), len(p.server.requests()), p.runs)
	}
	for i, r := range p.server.requests() {
		if r.inputTokens > declared[i].tokens {
			j.OverBudget++
		}
		if !r.refused {
			j.EstimateTokens += declared[i].estimate
		}
	}
	j.Seeds = len(p.seeds)
	if last := p.last(); len(last.Messages) > 0 {
		for _, words := range p.seeds {
			if slices.ContainsFunc(last.texts(), func(text string) bool { return holds(text, words) }) {
				j.SeedsKept++
			}
		}
		j.VerbatimTurns = last.tasks()
	}
	if p.session != "" {
		if _, exit, err := p.forge(ctx, false, "sessions", "verify", p.session); err != nil || exit != 0 {
			j.Corruptions = append(j.Corruptions, "the session does not verify")
		}
	}
	return nil
}

func holds(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// A declaration is what was said of one request that was sent: its budget and
// its estimate.
type declaration struct {
	at               time.Time
	tokens, estimate int
}

// traced reads the traces of the runs, and returns the budgets that they
// declare for the requests that were sent, in order.
func (p *play) traced(j *gate.Journey) ([]declaration, error) {
	var out []declaration
	err := filepath.WalkDir(filepath.Join(p.home(), "runs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		for e, failed := range trace.NewReader(file).Events() {
			if failed != nil {
				break // the end of a file of a process that was killed
			}
			if b, ok := e.Payload.(*trace.ContextBudgeted); ok && b.Action != contextwindow.Stop {
				out = append(out, declaration{e.Time, b.AvailableTokens, b.Estimate.Tokens})
			}
			add(j, e.Payload)
		}
		return file.Close()
	})
	slices.SortStableFunc(out, func(a, b declaration) int { return a.at.Compare(b.at) })
	return out, err
}

// add takes in what an event says.
func add(j *gate.Journey, e trace.Payload) {
	switch e := e.(type) {
	case *trace.ContextBudgeted:
		j.SchemaTokens = max(j.SchemaTokens, e.Categories[schemas])
		j.ReclaimedTokens += e.ReclaimedTokens
	case *trace.CompactionCompleted:
		j.Compactions++
		j.SummaryTokens += e.Mark.SummaryTokens
		j.SummarizedMessages += e.Mark.Summarized
	case *trace.CompactionFailed:
		j.SummaryFailures++
	case *trace.LimitReached:
		j.LimitStops++
	}
}
