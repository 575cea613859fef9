package journey

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/scripted"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/trace"
)

func sorted(keys iter.Seq[string]) []string { return slices.Sorted(keys) }

// payloads returns the events of one kind.
func payloads[P trace.Payload](events []trace.Event) []P {
	var out []P
	for _, e := range events {
		if p, ok := e.Payload.(P); ok {
			out = append(out, p)
		}
	}
	return out
}

// sent returns the budget events of the requests that went out, in order.
func sent(events []trace.Event) []*trace.ContextBudgeted {
	return slices.DeleteFunc(payloads[*trace.ContextBudgeted](events), func(b *trace.ContextBudgeted) bool { return b.Action == contextwindow.Stop })
}

// measure takes what a run says about the context window, and compares what
// the provider received with the budgets declared before.
func (s *stage) measure(r *run) {
	j := &s.journey
	j.Runs++
	if s.fixture.id != "F-E2E-09" { // there the requests are Codex's
		s.compare(r)
	}
	for _, q := range r.requests {
		j.PeakInputTokens = max(j.PeakInputTokens, q.InputTokens)
		for _, p := range s.prompts {
			if n := timesSaid(q, p); n > 1 {
				j.Duplicates += n - 1
			}
		}
	}
	started := map[string]time.Time{}
	for _, e := range r.events {
		switch p := e.Payload.(type) {
		case *trace.ContextBudgeted:
			j.SchemaTokens = max(j.SchemaTokens, p.Categories[budget.ToolSchemas])
			j.ReclaimedTokens += p.ReclaimedTokens
		case *trace.CompactionStarted:
			started[p.Compaction] = e.Time
		case *trace.CompactionCompleted:
			j.Compactions++
			j.SummaryTokens += p.Mark.SummaryTokens
			j.SummarizedMessages = max(j.SummarizedMessages, p.Mark.Summarized)
			if begin, ok := started[p.Compaction]; ok {
				j.SummaryMillis += int(e.Time.Sub(begin).Milliseconds())
			}
		case *trace.CompactionFailed:
			j.SummaryFailures++
		case *trace.LimitReached:
			j.LimitStops++
			if p.Reason == trace.LimitNoProgress {
				j.NoProgressStops++
			}
		case *trace.ContextOverflow:
			j.ContextErrors++
		}
	}
	j.Recoveries += r.result.Totals.Recoveries
}

// compare sets each request beside the budget event that stands before it.
func (s *stage) compare(r *run) {
	j := &s.journey
	budgets := sent(r.events)
	for i, q := range r.requests {
		if i >= len(budgets) {
			s.unsafe("request %d of a run went out without a budget event", i+1)
			continue
		}
		b := budgets[i]
		s.over(q.InputTokens, b.AvailableTokens)
		s.mu.Lock()
		refused := s.refused[q.N]
		s.mu.Unlock()
		if refused {
			continue
		}
		j.EstimateTokens += b.Estimate.Tokens
		j.ComparedTokens += q.InputTokens
		j.EstimateErrorTokens += max(b.Estimate.Tokens-q.InputTokens, q.InputTokens-b.Estimate.Tokens)
	}
}

// over notes what weighs more than was declared for it.
func (s *stage) over(weight, available int) {
	if weight > available {
		s.journey.OverBudget++
		s.journey.OverBudgetTokens = max(s.journey.OverBudgetTokens, weight-available)
	}
}

// total takes what can only be said at the end.
func (s *stage) total() {
	j := &s.journey
	t := s.server.Totals()
	j.Requests, j.ProviderInputTokens, j.ProviderCachedTokens, j.ProviderOutputTokens = t.Requests, t.InputTokens, t.CachedTokens, t.OutputTokens
	all := s.server.Requests()
	if len(all) == 0 {
		return
	}
	last := all[len(all)-1]
	for _, p := range s.prompts {
		if timesSaid(last, p) > 0 {
			j.VerbatimTurns++
		}
	}
	units := strings.Split(last.Text(), "\n")
	for _, x := range s.seeds {
		j.Seeds++
		if x.keptIn(units) {
			j.SeedsKept++
		}
	}
}

// timesSaid counts the messages of the user that are this text and nothing
// else.
func timesSaid(q scripted.Request, prompt string) int {
	n := 0
	for _, m := range q.Messages {
		if m.Role != message.RoleUser {
			continue
		}
		for _, b := range m.Blocks {
			if t, ok := b.(message.Text); ok && strings.TrimSpace(t.Text) == prompt {
				n++
			}
		}
	}
	return n
}

// toolTokens is the provider's count of the tools of a request alone.
func toolTokens(q scripted.Request, count func(string) int) int {
	n := 0
	for _, t := range q.Tools {
		n += count("tool " + t.Name + " " + t.Description + " " + string(t.Parameters))
	}
	return n
}
