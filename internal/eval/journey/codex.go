package journey

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

const (
	codexModel = "scripted-model"
	codexKey   = "FORGE_EVAL_CODEX_KEY"
	wrapperTag = "<forge_conversation>"
)

// codexConfig lets Codex ask the scripted provider, in a window that is large
// enough never to make it compact by itself.
const codexConfig = `model = %q
model_provider = "scripted"
model_context_window = 2000000
model_auto_compact_token_limit = 1900000
[model_providers.scripted]
name = "scripted"
base_url = %q
wire_api = "responses"
env_key = %q
request_max_retries = 0
stream_max_retries = 0
`

// codexWrapper: a long session is carried into the Codex program, which knows
// nothing of it, within the budget and with the same rules (F-E2E-09).
func codexWrapper(ctx context.Context, s *stage) error {
	const turns, seeds = 24, 16
	if err := os.MkdirAll(s.path("codex"), 0o700); err != nil {
		return err
	}
	config := fmt.Sprintf(codexConfig, codexModel, s.server.URL(), codexKey)
	if err := os.WriteFile(filepath.Join(s.path("codex"), "config.toml"), []byte(config), 0o600); err != nil {
		return err
	}
	p, err := newPlan(9)
	if err != nil {
		return err
	}
	failed := 0
	for i := 1; i <= turns; i++ {
		said := p.talk()
		if i <= seeds {
			x := p.rule()
			s.seeds = append(s.seeds, x)
			said = x.text
		}
		prompt := fmt.Sprintf("%s\nWhat does part %d of the import job do?", said, i)
		answer := fmt.Sprintf("Part %d does this:\n%s", i, p.document(fmt.Sprintf("Part %d", i), 50))
		s.feeds("answer", answer)
		r, err := s.turn(ctx, prompt, says("%s", answer))
		if err != nil {
			return err
		}
		// What is handed over is bounded in every mode: where nothing may be
		// left out, the program stops.
		if stopped := s.mode != contextwindow.Compact && r.code == 3 && r.result.Limit == "context"; r.code != 0 && !stopped {
			failed++
			if failed == 1 {
				s.journey.Problems = append(s.journey.Problems, fmt.Sprintf("turn %d ended with %d: %s%.300s", i, r.code, r.result.Reason, r.stderr))
			}
		}
		s.bounded(r)
	}
	s.passed(map[string]bool{"every turn completes, or stops at the context limit where nothing may be left out": failed == 0, "the wrapper carries the session": s.wrapped()})
	return nil
}

// bounded holds what Forge handed over, by the provider's vocabulary, against
// the budget that it declared for it.
func (s *stage) bounded(r *run) {
	j := &s.journey
	budgets := sent(r.events)
	if len(r.requests) == 0 || len(budgets) == 0 {
		return
	}
	count := o200k.New().Count
	weight := 0
	for _, m := range r.requests[0].Messages {
		if text := m.Text(); m.Role == message.RoleUser && (strings.Contains(text, wrapperTag) || strings.TrimSpace(text) == r.prompt) {
			weight += count(text)
		}
	}
	b := budgets[0]
	s.over(weight, b.AvailableTokens)
	j.EstimateTokens += b.Estimate.Tokens
	j.ComparedTokens += weight
	j.EstimateErrorTokens += max(b.Estimate.Tokens-weight, weight-b.Estimate.Tokens)
}

// wrapped reports whether the last request carries the conversation.
func (s *stage) wrapped() bool {
	q := s.lastRequest()
	return q != nil && strings.Contains(q.Text(), wrapperTag)
}
