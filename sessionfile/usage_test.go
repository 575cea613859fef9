package sessionfile_test

import (
	"strings"
	"testing"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// usages builds a session in which each request has one short reply and the
// given input and output tokens.
func usages(b *sessionfile.Builder, counts ...[2]int) *sessionfile.Session {
	for i, c := range counts {
		b.Append(i+1, msg(b.NextID(), "user", text("A question of some words.")))
		at, end := b.Append(i+1, msg(b.NextID(), "assistant", text("An answer.")))
		b.Request(sessionfile.Request{At: at, End: end, Line: i + 1, Usage: &message.Usage{InputTokens: c[0], OutputTokens: c[1]}})
	}
	return b.Finish()
}

// Usage is disbelieved for signs that no real usage shows, and for no others.
func TestUsageSynthetic(t *testing.T) {
	for _, c := range []struct {
		name            string
		provider, model string
		counts          [][2]int
		want            string
	}{
		{"real", "openai", "gpt-5", [][2]int{{5645, 810}, {5822, 244}, {6565, 895}}, ""},
		{"no usage", "openai", "gpt-5", nil, ""},
		{"one round number among others", "", "", [][2]int{{16000, 50}, {16111, 60}}, ""},
		{"a single thousand", "", "", [][2]int{{16000, 53}}, ""},
		{"round numbers", "", "", [][2]int{{16000, 50}, {16100, 60}, {2500, 20}}, "round number"},
		{"two hundreds", "", "", [][2]int{{1700, 7}, {1800, 3}}, "round number"},
		{"the same again and again", "", "", [][2]int{{1234, 5}, {1234, 6}, {1234, 5}, {1234, 9}}, "again and again"},
		{"a few repeats", "", "", [][2]int{{1234, 5}, {1234, 6}, {1377, 5}, {1401, 9}}, ""},
		{"a provider that says so", "fake", "", [][2]int{{1234, 5}}, `"fake"`},
		{"a model that says so", "", "mock-model-2", [][2]int{{1234, 5}}, `"mock-model-2"`},
		{"a name that only sounds so", "fakenham", "dummying", [][2]int{{1234, 5}}, ""},
		{"zero", "", "", [][2]int{{0, 0}, {0, 0}, {1234, 5}}, "usage is zero for 2 of 3 replies"},
		{"one zero", "", "", [][2]int{{0, 0}, {1377, 5}, {1401, 9}}, ""},
		{"fewer tokens than words", "", "", [][2]int{{1, 1}, {2, 1}, {3, 1}}, "fewer input tokens"},
		{"few tokens", "", "", [][2]int{{4, 1}, {9, 1}, {13, 1}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := sessionfile.NewBuilder(nil, "test")
			b.Session.Provider, b.Session.Model = c.provider, c.model
			s := usages(b, c.counts...)
			if (s.UsageSynthetic == "") != (c.want == "") || !strings.Contains(s.UsageSynthetic, c.want) {
				t.Errorf("synthetic %q, want %q", s.UsageSynthetic, c.want)
			}
		})
	}
}

// After a compaction the view is smaller than the transcript: the words of
// the transcript prove nothing.
func TestUsageAfterACompactionIsBelieved(t *testing.T) {
	b := sessionfile.NewBuilder(nil, "test")
	b.Append(1, msg("a", "user", text(strings.Repeat("many words ", 1000))))
	b.Mark(sessionfile.Mark{At: 1, Kind: sessionfile.MarkCompaction, Change: &activeview.Change{
		Replacement: []message.Message{msg("s", "user", text("summary"))}, KeepFrom: 1}})
	if s := usages(b, [2]int{123, 4}, [2]int{137, 9}); s.UsageSynthetic != "" {
		t.Errorf("synthetic %q", s.UsageSynthetic)
	}
}

// The instructions were sent too.
func TestUsageCountsInstructions(t *testing.T) {
	b := sessionfile.NewBuilder(nil, "test")
	b.Session.Instructions = []message.Message{msg("i", "system", text(strings.Repeat("many words ", 1000)))}
	if s := usages(b, [2]int{123, 4}); s.UsageSynthetic == "" {
		t.Error("123 tokens are believed for 2000 words")
	}
}

// Impossible counts are left out, parts are brought down to their whole, and
// both are named.
func TestUsageRepairs(t *testing.T) {
	b := sessionfile.NewBuilder(nil, "test")
	for _, u := range []message.Usage{
		{InputTokens: 101, CachedInputTokens: 90, CacheWriteInputTokens: 20, OutputTokens: 7, ReasoningTokens: 9},
		{InputTokens: -1, OutputTokens: 7},
		{InputTokens: 1 << 50},
		{InputTokens: 207, CachedInputTokens: 200, CacheWriteInputTokens: 7, OutputTokens: 9, ReasoningTokens: 9},
	} {
		b.Request(sessionfile.Request{Line: len(b.Session.Requests) + 1, Usage: &u})
	}
	b.Session.Requests[1].LongCacheWriteTokens = 5
	b.Session.Requests[3].LongCacheWriteTokens = 70
	s := b.Finish()
	if got, want := *s.Requests[0].Usage, (message.Usage{InputTokens: 101, CachedInputTokens: 90, CacheWriteInputTokens: 11,
		OutputTokens: 7, ReasoningTokens: 7}); got != want {
		t.Errorf("usage %+v, want %+v", got, want)
	}
	if s.Requests[1].Usage != nil || s.Requests[2].Usage != nil || s.Requests[3].Usage == nil {
		t.Errorf("requests: %+v", s.Requests)
	}
	if s.Requests[1].LongCacheWriteTokens != 0 || s.Requests[3].LongCacheWriteTokens != 7 {
		t.Errorf("long cache writes: %+v", s.Requests)
	}
	if len(s.Losses) != 3 || s.Losses[0].Line != 1 || s.Losses[1].Line != 2 || s.Losses[2].Line != 4 {
		t.Errorf("losses: %v", s.Losses)
	}
}
