package replay_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/replay"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/formats"
	"github.com/forge-agent/forge/trace"
)

func open(t *testing.T, lines ...string) *sessionfile.Session {
	t.Helper()
	s, err := sessionfile.Read("session.jsonl", []byte(strings.Join(lines, "\n")), formats.All(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t *testing.T, s *sessionfile.Session, o replay.Options) *replay.Report {
	t.Helper()
	o.Catalog, o.Counter = catalog.Default(), vocabulary.Counter
	r, err := replay.Run(context.Background(), "session.jsonl", s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const asked = `{"type":"user","uuid":"u%d","parentUuid":%s,"sessionId":"s","message":{"role":"user","content":%q}}`

// exchange is a question and its answer in the form of Claude Code, with the
// usage given as JSON.
func exchange(n int, text, usage string) []string {
	parent := "null"
	if n > 1 {
		parent = fmt.Sprintf(`"a%d"`, n-1)
	}
	return []string{fmt.Sprintf(asked, n, parent, text),
		fmt.Sprintf(`{"type":"assistant","uuid":"a%d","parentUuid":"u%d","sessionId":"s","message":{"id":"r%d","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"Done."}],"usage":%s}}`, n, n, n, usage)}
}

// A cache write that lives for an hour costs more than one of five minutes.
func TestLongCacheWritesCostMore(t *testing.T) {
	const usage = `{"input_tokens":3,"cache_creation_input_tokens":1013,"cache_read_input_tokens":507,"output_tokens":41,"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":%d}}`
	for _, c := range []struct {
		short, long int
		want        float64
	}{
		{1013, 0, (3*5 + 507*0.5 + 1013*6.25 + 41*25) / 1e6},
		{0, 1013, (3*5 + 507*0.5 + 1013*10 + 41*25) / 1e6},
		{1000, 13, (3*5 + 507*0.5 + 1000*6.25 + 13*10 + 41*25) / 1e6},
	} {
		r := run(t, open(t, exchange(1, "Please rename it.", fmt.Sprintf(usage, c.short, c.long))...), replay.Options{})
		if r.CostUSD == nil || math.Abs(*r.CostUSD-c.want) > 1e-12 {
			t.Errorf("%d written for minutes, %d for an hour: cost %v, want %v", c.short, c.long, r.CostUSD, c.want)
		}
		if r.TotalInputTokens != 1523 || r.CachedInputTokens == nil || *r.CachedInputTokens != 507 {
			t.Errorf("input %d, cached %v", r.TotalInputTokens, r.CachedInputTokens)
		}
	}
}

// An unknown price makes the cost unknown, and unknown is null.
func TestUnknownPrice(t *testing.T) {
	lines := exchange(1, "Please rename it.", `{"input_tokens":1523,"output_tokens":41}`)
	r := run(t, open(t, lines...), replay.Options{Model: "nobody-knows-this"})
	if r.CostUSD != nil || r.WindowSource != "fallback" {
		t.Errorf("cost %v, window from %s", r.CostUSD, r.WindowSource)
	}
}

// Every mode counts the same messages; categories sum to the peak; no request
// in the mode compact is sent over its budget.
func TestModes(t *testing.T) {
	var lines []string
	for n := range 60 {
		lines = append(lines, exchange(n+1, strings.Repeat(fmt.Sprintf("Word %d of a question. ", n), 60), `{"input_tokens":0,"output_tokens":0}`)...)
	}
	for _, mode := range []contextwindow.Mode{contextwindow.Off, contextwindow.Warn, contextwindow.Compact} {
		r := run(t, open(t, lines...), replay.Options{Mode: mode, WindowTokens: 16_000})
		if r.Requests != 60 || r.Messages != 120 || r.Turns != 60 || r.Categories.Total() != r.PeakInputTokens {
			t.Errorf("%s: %d requests, %d messages, %d turns, categories %d of %d", mode, r.Requests, r.Messages, r.Turns, r.Categories.Total(), r.PeakInputTokens)
		}
		if mode != contextwindow.Compact {
			if r.OverBudgetRequests == 0 || r.OverBudgetSent != r.OverBudgetRequests || r.CompactReport != nil {
				t.Errorf("%s: %d over budget, %d sent", mode, r.OverBudgetRequests, r.OverBudgetSent)
			}
			continue
		}
		if r.OverBudgetSent != 0 || r.PeakInputTokens > r.AvailableTokens || r.Compactions == 0 || len(r.Checkpoints) != r.Compactions {
			t.Errorf("compact: %d sent over budget, peak %d of %d, %d compactions, %d checkpoints", r.OverBudgetSent, r.PeakInputTokens, r.AvailableTokens, r.Compactions, len(r.Checkpoints))
		}
		for _, c := range r.Checkpoints {
			if c.TokensAfter >= c.TokensBefore {
				t.Errorf("a checkpoint took the window from %d to %d tokens", c.TokensBefore, c.TokensAfter)
			}
		}
	}
}

type fullDisk struct{}

func (fullDisk) Emit(trace.Payload) error { return errors.New("no space left") }

// A trace that cannot be written ends the replay with its file's name.
func TestTraceFails(t *testing.T) {
	s := open(t, exchange(1, "Please rename it.", `{"input_tokens":1523,"output_tokens":41}`)...)
	_, err := replay.Run(context.Background(), "session.jsonl", s, replay.Options{Catalog: catalog.Default(), Counter: vocabulary.Counter, Trace: fullDisk{}})
	if err == nil || !strings.Contains(err.Error(), `"session.jsonl"`) || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error: %v", err)
	}
}

// A window that no model has is not used, and named.
func TestStatedWindowTooSmall(t *testing.T) {
	s := open(t, exchange(1, "Please rename it.", `{"input_tokens":1523,"output_tokens":41}`)...)
	for _, c := range []struct {
		stated int
		source string
		losses int
	}{{0, "catalog", 0}, {950, "catalog", 1}, {1024, "file", 0}} {
		s.WindowTokens = c.stated
		r := run(t, s, replay.Options{})
		if string(r.WindowSource) != c.source || len(r.Losses) != c.losses {
			t.Errorf("stated %d: window from %s, losses %v", c.stated, r.WindowSource, r.Losses)
		}
	}
}
