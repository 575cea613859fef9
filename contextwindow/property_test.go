package contextwindow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/transcript"
)

// session draws the steps of a conversation: for each model request the
// messages that come before it.
func drawSession(t *rapid.T) [][]message.Message {
	n := 0
	id := func() string { n++; return fmt.Sprint("m", n) }
	text := func(most int) message.Block {
		words := rapid.IntRange(1, most).Draw(t, "words")
		return message.Text{Text: strings.Repeat(rapid.SampledFrom([]string{"always use tabs ", "path/to/file.go ", "日本 ", "ok "}).Draw(t, "word"), words)}
	}
	var steps [][]message.Message
	calls := 0
	var answer []message.Block // of the tool call before
	for range rapid.IntRange(1, 6).Draw(t, "turns") {
		before := []message.Message{{ID: id(), Role: message.RoleUser, Blocks: []message.Block{text(60)}}}
		if rapid.IntRange(0, 5).Draw(t, "injected") == 0 {
			before = append(before, message.Message{ID: id(), Role: message.RoleUser, Origin: message.OriginInjected, Blocks: []message.Block{text(20)}})
		}
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			steps = append(steps, before)
			a := message.Message{ID: id(), Role: message.RoleAssistant, Blocks: []message.Block{text(30)}}
			r := message.Message{ID: id(), Role: message.RoleTool}
			for range rapid.IntRange(1, 3).Draw(t, "calls") {
				calls++
				c := message.ToolCall{ID: fmt.Sprint("c", calls), Name: "read_file", Arguments: `{"path":"a.go"}`}
				a.Blocks = append(a.Blocks, c)
				if answer == nil || rapid.IntRange(0, 3).Draw(t, "repeats") > 0 {
					answer = []message.Block{text(200)}
				}
				r.Blocks = append(r.Blocks, message.ToolResult{CallID: c.ID, Content: answer})
			}
			before = []message.Message{a, r}
			switch rapid.IntRange(0, 9).Draw(t, "oddity") {
			case 0: // an interrupted run: the last call has no result
				r.Blocks = r.Blocks[:len(r.Blocks)-1]
				before = []message.Message{a}
				if len(r.Blocks) > 0 {
					before = append(before, r)
				}
			case 1: // results in separate messages
				before = []message.Message{a}
				for i, b := range r.Blocks {
					before = append(before, message.Message{ID: fmt.Sprintf("%s-%d", r.ID, i), Role: message.RoleTool, Blocks: []message.Block{b}})
				}
			}
		}
		steps = append(steps, before)
		steps = append(steps, []message.Message{{ID: id(), Role: message.RoleAssistant, Blocks: []message.Block{text(80)}}})
	}
	return steps
}

// play fits each request of a session and calls check after it.
func play(t *rapid.T, m *contextwindow.Manager, steps [][]message.Message, check func(int, *contextwindow.Fit, contextwindow.Input)) {
	var tr transcript.Transcript
	in := contextwindow.Input{Transcript: &tr, Complete: true}
	for i, step := range steps {
		for _, msg := range step {
			if err := tr.Append(msg); err != nil {
				t.Fatal(err)
			}
		}
		before := tr.RangeHash(0, tr.Len())
		f, err := m.Fit(context.Background(), in)
		if err != nil && !errors.Is(err, contextwindow.ErrLimitReached) {
			t.Fatal(err)
		}
		if tr.RangeHash(0, tr.Len()) != before {
			t.Fatal("a fit changed the transcript (F-SEC-06)")
		}
		check(i, f, in)
	}
}

// compactManager has the prices of the model named; an unknown name leaves old
// output to the budget.
func compactManager(t *rapid.T, windowTokens int, prices string, chain *checkpoint.Chain) *contextwindow.Manager {
	priced, _ := catalog.Default().Lookup(prices)
	m, err := contextwindow.New(model.Capabilities{Model: "test", WindowTokens: windowTokens}, counter(), &contextwindow.Options{Mode: contextwindow.Compact,
		Compaction: contextwindow.Compaction{RecentTailTokens: 300, SummaryTargetTokens: 150, Chain: chain, Prices: priced.Prices, Cache: priced.Cache}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// checkPairs: every result follows its call, and no call lost its result
// (F-SEC-05, P-RET-08, B12).
func checkPairs(t *rapid.T, in contextwindow.Input, ms []message.Message) {
	open := map[string]bool{}
	answered := map[string]bool{}
	for _, msg := range in.Transcript.All() {
		for _, b := range msg.Blocks {
			if r, ok := b.(message.ToolResult); ok {
				answered[r.CallID] = true
			}
		}
	}
	for _, msg := range ms {
		for _, b := range msg.Blocks {
			switch b := b.(type) {
			case message.ToolCall:
				open[b.ID] = true
			case message.ToolResult:
				if !open[b.CallID] {
					t.Fatalf("result of %s without its call", b.CallID)
				}
				delete(open, b.CallID)
			}
		}
	}
	for call := range open {
		if answered[call] {
			t.Fatalf("call %s lost its result", call)
		}
	}
}

// checkNoneIsNowhere: every message is verbatim in the view, inside the
// summarized range, or projected with a reference (C1, B8).
func checkNoneIsNowhere(t *rapid.T, f *contextwindow.Fit, in contextwindow.Input, ledger map[string]activeview.Line, ms []message.Message) {
	through := 0
	if f.Checkpoint != nil {
		through = f.Checkpoint.SummarizedThroughMessageIndex
	}
	seen := map[string]message.Message{}
	for _, msg := range ms {
		seen[msg.ID] = msg
	}
	for i, msg := range in.Transcript.All() {
		shown, visible := seen[msg.ID]
		if !visible {
			if i >= through {
				t.Fatalf("message %d of %d is nowhere: the checkpoint covers %d", i, in.Transcript.Len(), through)
			}
			continue
		}
		if shown.Hash() == msg.Hash() {
			continue
		}
		for b := range msg.Blocks {
			l := ledger[fmt.Sprintf("%s#%d", msg.ID, b)]
			if l.Hash != message.HashBlock(msg.Blocks[b]) {
				t.Fatalf("the ledger line %s does not refer to its original", l.ID)
			}
		}
	}
}

// Must reach 1 of "The context engine": whatever a session looks like, no
// request is over its budget or parts a call from its result, no compaction
// or projection makes the view larger, and the same session gives the same
// bytes again, also when the manager is restarted in the middle. More sessions
// run with FORGE_SOAK=1 and -rapid.checks.
func TestCompactProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := drawSession(t)
		window := rapid.IntRange(1100, 6000).Draw(t, "window")
		restart := rapid.IntRange(0, len(steps)-1).Draw(t, "restart")
		prices := rapid.SampledFrom([]string{"", "claude-sonnet-4-5", "gpt-5", "deepseek-chat"}).Draw(t, "prices")
		chain := &checkpoint.Chain{}
		m := compactManager(t, window, prices, chain)
		ledger := map[string]activeview.Line{}
		var bytes [][]byte
		play(t, m, steps, func(i int, f *contextwindow.Fit, in contextwindow.Input) {
			for _, l := range append(append([]activeview.Line(nil), f.Ledger.Added...), f.Ledger.Changed...) {
				ledger[l.ID] = l
			}
			if f.Action == contextwindow.SendOverBudget || f.Action == contextwindow.Send && f.Estimate.Tokens > f.Budget.AvailableTokens {
				t.Fatalf("request %d: %s with %d tokens of %d", f.Step, f.Action, f.Estimate.Tokens, f.Budget.AvailableTokens)
			}
			if f.Reminder != "" && f.Verdict != budget.Fits {
				t.Fatalf("request %d: the reminder made it %s", f.Step, f.Verdict)
			}
			made := 0 // F-NOP-01: attempts and what they freed are told for each request
			for _, c := range f.Compactions {
				if !c.Reused {
					made++
				}
				if made > contextwindow.MaxAttempts || c.ReclaimedTokens() <= 0 {
					t.Fatalf("attempt %d freed %d tokens", made, c.ReclaimedTokens())
				}
				if c.TokensAfter >= c.TokensBefore {
					t.Fatalf("a compaction took the view from %d to %d tokens", c.TokensBefore, c.TokensAfter)
				}
			}
			for _, p := range f.Projections {
				if p.TokensAfter >= p.TokensBefore {
					t.Fatalf("a projection took a result from %d to %d tokens", p.TokensBefore, p.TokensAfter)
				}
			}
			ms := m.Request(in).Messages
			checkPairs(t, in, ms)
			checkNoneIsNowhere(t, f, in, ledger, ms)
			bytes = append(bytes, encode(ms))
		})
		if findings := chain.Verify(whole(t, steps)); len(findings) > 0 {
			t.Fatalf("the chain does not verify: %v", findings)
		}
		again(t, steps, window, restart, prices, bytes)
	})
}

// again plays the session once more, with a restart before one of its
// requests, and compares every request.
func again(t *rapid.T, steps [][]message.Message, window, restart int, prices string, want [][]byte) {
	chain := &checkpoint.Chain{}
	m := compactManager(t, window, prices, chain)
	var tr transcript.Transcript
	in := contextwindow.Input{Transcript: &tr, Complete: true}
	for i, step := range steps {
		if i == restart && i > 0 {
			state := m.State()
			m = compactManager(t, window, prices, chain)
			if err := m.Restore(in, state); err != nil {
				t.Fatal(err)
			}
		}
		for _, msg := range step {
			if err := tr.Append(msg); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.Fit(context.Background(), in); err != nil && !errors.Is(err, contextwindow.ErrLimitReached) {
			t.Fatal(err)
		}
		if got := encode(m.Request(in).Messages); string(got) != string(want[i]) {
			t.Fatalf("request %d differs after a restart before request %d:\n%s\n---\n%s", i+1, restart+1, got, want[i])
		}
	}
}

func whole(t *rapid.T, steps [][]message.Message) *transcript.Transcript {
	var tr transcript.Transcript
	for _, step := range steps {
		for _, msg := range step {
			if err := tr.Append(msg); err != nil {
				t.Fatal(err)
			}
		}
	}
	return &tr
}

func encode(ms []message.Message) []byte {
	var out []byte
	for _, m := range ms {
		out = append(out, m.ID...)
		out = m.AppendCanonical(out)
	}
	return out
}
