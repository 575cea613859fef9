package baseline_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/eval/baseline"
	"github.com/forge-agent/forge/message"
)

// track makes a session of steps: in each a call, and a result of a number of
// tokens; a person speaks before every turn-th.
func track(steps, resultTokens, turn int) *baseline.Track {
	t := &baseline.Track{Name: "made up", FrontTokens: 1000, FrontChars: 4000}
	n := 0
	add := func(role message.Role, authored, result bool, tokens int) {
		t.Items = append(t.Items, baseline.Item{Message: n, Role: role, Authored: authored, Starts: true, Tokens: 3},
			baseline.Item{Message: n, Role: role, Authored: authored, Result: result, Tokens: tokens, Chars: 4 * tokens})
		n++
	}
	for i := range steps {
		if i%turn == 0 {
			add(message.RoleUser, true, false, 100)
		}
		start := len(t.Items)
		add(message.RoleAssistant, false, false, 50)
		t.Steps = append(t.Steps, baseline.Step{Items: start, End: len(t.Items)})
		add(message.RoleTool, false, true, resultTokens)
	}
	return t
}

func policy(t *testing.T, id string) baseline.Policy {
	t.Helper()
	for _, p := range append(baseline.All(), baseline.AppendOnly()) {
		if p.ID == id {
			return p
		}
	}
	t.Fatalf("no policy %q", id)
	return baseline.Policy{}
}

// Issue behaviour 4: each peer acts where its documented rule says, and leaves
// what it says.
func TestPeersActWhereTheySay(t *testing.T) {
	l := baseline.Limits{WindowTokens: 200_000, MaxOutputTokens: 32_000}
	tr := track(300, 1000, 30)
	for _, c := range []struct {
		id string
		// first is what the request before the first compaction or clearing
		// may weigh at most, and at least; after what the one after it weighs
		// at most.
		least, most, after int
		compacts           bool
	}{
		{"append-only", 300_000, 400_000, 400_000, false},
		{"codex-local", 178_000, 180_100, 25_000, true},
		{"codex-fresh", 178_000, 180_100, 3_000, true},
		{"opencode-v2", 165_000, 169_100, 15_000, true},
		{"pi", 178_000, 217_000, 24_000, true},
		{"cline-basic", 118_000, 123_000, 120_000, true},
		{"claude-clear", 98_900, 100_000, 20_000, false},
		{"gemini-cli", 78_000, 87_000, 70_000, true},
		{"crush", 158_900, 160_100, 4_500, true},
		{"rolling-mask", 30_000, 33_000, 33_000, false},
		{"recency", 148_900, 150_000, 150_000, true},
	} {
		run := baseline.Play(tr, l, policy(t, c.id).Tactic())
		peak, after := 0, 0
		for i, r := range run.Requests {
			if r.Summary {
				continue
			}
			if i > 0 && r.InputTokens < peak-2000 {
				after = r.InputTokens
				break
			}
			peak = max(peak, r.InputTokens)
		}
		if peak < c.least || peak > c.most || after > c.after || c.compacts != (run.Compactions > 0) {
			t.Errorf("%s: grows to %d, then %d, %d compactions; want %d to %d, then at most %d, compacts %v", c.id, peak, after, run.Compactions, c.least, c.most, c.after, c.compacts)
		}
	}
}

// OpenCode's prune leaves fewer than 20,000 tokens alone, and the newest 40,000.
func TestOpenCodePrune(t *testing.T) {
	l := baseline.Limits{WindowTokens: 1_000_000, MaxOutputTokens: 32_000}
	heaviest := func(steps int) int {
		run := baseline.Play(track(steps, 1000, 10), l, policy(t, "opencode-v1").Tactic())
		return run.Requests[len(run.Requests)-1].InputTokens
	}
	whole := func(steps int) int {
		run := baseline.Play(track(steps, 1000, 10), l, policy(t, "append-only").Tactic())
		return run.Requests[len(run.Requests)-1].InputTokens
	}
	if a, b := heaviest(70), whole(70); a != b {
		t.Errorf("50,000 old tool tokens: %d of %d", a, b)
	}
	if a, b := heaviest(101), whole(101); a > b-20_000 {
		t.Errorf("80,000 old tool tokens: %d of %d", a, b)
	}
}

// OpenCode keeps no more than 32,000 tokens free for the answer, however much
// the model could write.
func TestOpenCodeOutput(t *testing.T) {
	for _, id := range []string{"opencode-v1", "opencode-v2"} {
		tr := track(120, 1000, 10)
		run := func(output int) baseline.Run {
			return baseline.Play(tr, baseline.Limits{WindowTokens: 131_072, MaxOutputTokens: output}, policy(t, id).Tactic())
		}
		if diff := cmp.Diff(run(32_000), run(98_304)); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
		if run(8_192).Compactions > run(32_000).Compactions {
			t.Errorf("%s compacts more often with more room", id)
		}
	}
}

// Whatever the session and the window: each step is one request, the cache
// never covers more than the request or the one before, and what a policy
// never changes costs what append-only does.
func TestPlayKeepsAccount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := track(rapid.IntRange(1, 60).Draw(t, "steps"), rapid.IntRange(1, 9000).Draw(t, "result"), rapid.IntRange(1, 20).Draw(t, "turn"))
		l := baseline.Limits{WindowTokens: rapid.SampledFrom([]int{16_000, 64_000, 200_000, 2_000_000}).Draw(t, "window"), MaxOutputTokens: rapid.SampledFrom([]int{0, 4096, 64_000}).Draw(t, "output")}
		for _, p := range append(baseline.All(), baseline.AppendOnly()) {
			if p.Tactic == nil {
				continue
			}
			run := baseline.Play(tr, l, p.Tactic())
			steps, last := 0, 0
			for i, r := range run.Requests {
				name := fmt.Sprintf("%s, request %d: %+v", p.ID, i, r)
				if r.InputTokens < 0 || r.CachedTokens < 0 || r.CachedTokens > r.InputTokens {
					t.Fatal(name)
				}
				if r.Summary {
					continue
				}
				if steps++; r.CachedTokens > last {
					t.Fatalf("%s: the request before had %d", name, last)
				}
				last = r.InputTokens
			}
			if steps != len(tr.Steps) {
				t.Fatalf("%s: %d requests for %d steps", p.ID, steps, len(tr.Steps))
			}
			if p.ID == "append-only" && run.Compactions != 0 {
				t.Fatal("append-only compacts")
			}
		}
	})
}
