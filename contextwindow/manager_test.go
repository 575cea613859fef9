package contextwindow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// words counts words, so that sizes in these tests are plain to see.
type words struct{}

func (words) Count(text string) int { return len(strings.Fields(text)) }
func (words) Name() string          { return "words" }

func counter() *tokencount.Counter {
	return tokencount.New(words{}, tokencount.Profile{Family: "test", Method: model.MethodSDK})
}

func manager(t *testing.T, windowTokens int, mode contextwindow.Mode) *contextwindow.Manager {
	t.Helper()
	m, err := contextwindow.New(model.Capabilities{Model: "test", WindowTokens: windowTokens, WindowSource: model.WindowFromUser}, counter(), &contextwindow.Options{Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func say(id string, role message.Role, words int) message.Message {
	return message.Message{ID: id, Role: role, Blocks: []message.Block{message.Text{Text: strings.Repeat("w ", words)}}}
}

// output is what a tool answered, different for each id.
func output(id string, words int) []message.Block {
	return []message.Block{message.Text{Text: id + strings.Repeat(" w", words-1)}}
}

func record(t *testing.T, ms ...message.Message) *transcript.Transcript {
	t.Helper()
	var tr transcript.Transcript
	for _, m := range ms {
		if err := tr.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	return &tr
}

// F-MOD-01, F-MOD-02, C4, C14, weak spot 11: the mode picks the action and
// never the measurement. The available budget of a window of 20,000 is 10,000.
func TestModes(t *testing.T) {
	old, request := say("a", message.RoleAssistant, 9000), say("u", message.RoleUser, 1000)
	for _, c := range []struct {
		name      string
		mode      contextwindow.Mode
		oldTokens int
		request   int
		action    contextwindow.Action
		verdict   budget.Verdict
		warns     bool
	}{
		{"exactly full, warn", contextwindow.Warn, 9000, 1000, contextwindow.Send, budget.Fits, false},
		{"one over, warn", contextwindow.Warn, 9001, 1000, contextwindow.SendOverBudget, budget.Overflow, true},
		{"one over, off", contextwindow.Off, 9001, 1000, contextwindow.SendOverBudget, budget.Overflow, false},
		{"request alone fits exactly, off", contextwindow.Off, 0, 10000, contextwindow.Send, budget.Fits, false},
		{"request alone too big, warn", contextwindow.Warn, 0, 10001, contextwindow.Stop, budget.MandatoryOverflow, false},
		{"request alone too big, off", contextwindow.Off, 0, 10001, contextwindow.Stop, budget.MandatoryOverflow, false},
		{"default mode is warn", "", 9001, 1000, contextwindow.SendOverBudget, budget.Overflow, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			old, request := old, request
			old.Blocks = say("", "", c.oldTokens).Blocks
			request.Blocks = say("", "", c.request).Blocks
			f, err := manager(t, 20000, c.mode).Fit(context.Background(), contextwindow.Input{Transcript: record(t, old, request), Complete: true})
			if stop := c.action == contextwindow.Stop; errors.Is(err, contextwindow.ErrLimitReached) != stop {
				t.Fatalf("error %v", err)
			}
			if f.Action != c.action || f.Verdict != c.verdict || (f.Warning != "") != c.warns {
				t.Errorf("action %s, verdict %s, warning %q", f.Action, f.Verdict, f.Warning)
			}
			if f.Estimate.Tokens != c.oldTokens+c.request || f.Breakdown.Total() != f.Estimate.Tokens {
				t.Errorf("estimate %d, categories %d, want %d", f.Estimate.Tokens, f.Breakdown.Total(), c.oldTokens+c.request)
			}
		})
	}
}

// F-CLS-12, F-PHA-A: the error names the exhausted budget and its heaviest
// part.
func TestLimitErrorNamesWhatIsTooBig(t *testing.T) {
	m := manager(t, 20000, contextwindow.Warn)
	in := contextwindow.Input{Transcript: record(t, say("u", message.RoleUser, 10)),
		Tools: []message.ToolDefinition{{Name: "big", Description: strings.Repeat("w ", 12000)}}}
	_, err := m.Fit(context.Background(), in)
	var limit *contextwindow.LimitError
	if !errors.As(err, &limit) || limit.Largest != budget.ToolSchemas {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"toolSchemas", "12001", "10000"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
}

// Must reach: the budget before a request costs what is new in it.
func TestFitCostsWhatIsNew(t *testing.T) {
	visited := func(turns int) int {
		m := manager(t, 2_000_000, contextwindow.Warn)
		tr := record(t)
		for i := range turns {
			for _, msg := range []message.Message{say(fmt.Sprint("u", i), message.RoleUser, 5), say(fmt.Sprint("a", i), message.RoleAssistant, 5)} {
				if err := tr.Append(msg); err != nil {
					t.Fatal(err)
				}
			}
		}
		in := contextwindow.Input{Transcript: tr, Instructions: []message.Message{say("", message.RoleSystem, 9)}}
		if _, err := m.Fit(context.Background(), in); err != nil {
			t.Fatal(err)
		}
		if err := tr.Append(say("new", message.RoleUser, 3)); err != nil {
			t.Fatal(err)
		}
		f, err := m.Fit(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Ledger.Added) != 1 {
			t.Errorf("the second ledger change adds %d lines, want the new message only", len(f.Ledger.Added))
		}
		return f.Visited
	}
	if short, long := visited(20), visited(2000); short != long {
		t.Errorf("Fit visits %d items after 20 turns and %d after 2,000", short, long)
	}
}

// F-CLS-13, F-SEC-11: the hash of the instructions is stable while they are
// the same, and only they change it.
func TestInstructionsHash(t *testing.T) {
	m := manager(t, 20000, contextwindow.Warn)
	tr := record(t, say("u", message.RoleUser, 3))
	in := contextwindow.Input{Transcript: tr, Instructions: []message.Message{say("x", message.RoleSystem, 4)}}
	fit := func() *contextwindow.Fit {
		f, err := m.Fit(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first := fit()
	if err := tr.Append(say("a", message.RoleAssistant, 3)); err != nil {
		t.Fatal(err)
	}
	second := fit()
	in.Instructions = []message.Message{say("x", message.RoleSystem, 5)}
	third := fit()
	if first.InstructionsHash != second.InstructionsHash || second.InstructionsHash == third.InstructionsHash {
		t.Error("the hash does not follow the instructions")
	}
	if second.Restructured || !third.Restructured {
		t.Errorf("restructured: %t after an appended message, %t after changed instructions", second.Restructured, third.Restructured)
	}
}

// F-EST-01, F-TST-09: usage is compared with the estimate of its own request.
func TestReconcile(t *testing.T) {
	m := manager(t, 20000, contextwindow.Warn)
	if _, err := m.Reconcile(message.Usage{InputTokens: 1}); !errors.Is(err, contextwindow.ErrInvalid) {
		t.Errorf("usage without a request: %v", err)
	}
	tr := record(t, say("u", message.RoleUser, 100))
	f, err := m.Fit(context.Background(), contextwindow.Input{Transcript: tr})
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Reconcile(message.Usage{InputTokens: 150})
	if err != nil {
		t.Fatal(err)
	}
	if r.EstimatedTokens != f.Estimate.Tokens || r.ReportedTokens != 150 || r.UndercountTokens() != 150-f.Estimate.Tokens || r.Step != 1 {
		t.Errorf("reconciliation %+v", r)
	}
	if _, err := m.Reconcile(message.Usage{InputTokens: 1}); !errors.Is(err, contextwindow.ErrInvalid) {
		t.Errorf("usage taken in twice: %v", err)
	}
}

// What the provider counts besides the messages known here is learned, and
// only growth is estimated after that.
func TestUnseenInstructionsAreLearned(t *testing.T) {
	m := manager(t, 20000, contextwindow.Warn)
	tr := record(t, say("u", message.RoleUser, 100))
	in := contextwindow.Input{Transcript: tr}
	if _, err := m.Fit(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Reconcile(message.Usage{InputTokens: 2100}); err != nil {
		t.Fatal(err)
	}
	if err := tr.Append(say("a", message.RoleAssistant, 50)); err != nil {
		t.Fatal(err)
	}
	f, err := m.Fit(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if f.Estimate.Tokens != 2150 || f.Breakdown[budget.Instructions] != 2000 {
		t.Errorf("estimate %d with %d of instructions, want 2150 with 2000", f.Estimate.Tokens, f.Breakdown[budget.Instructions])
	}
}

// Another agent's compaction shapes the view that off and warn count.
func TestChangesOfAnotherAgent(t *testing.T) {
	m := manager(t, 20000, contextwindow.Warn)
	tr := record(t, say("u1", message.RoleUser, 500), say("a1", message.RoleAssistant, 700), say("u2", message.RoleUser, 9))
	summary := message.Message{Role: message.RoleUser, Origin: message.OriginSummary, Blocks: say("", "", 40).Blocks}
	in := contextwindow.Input{Transcript: tr, Changes: []activeview.Change{{Kind: activeview.ChangeCompaction, At: 2, KeepFrom: 2, Replacement: []message.Message{summary}}}}
	f, err := m.Fit(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if f.Estimate.Tokens != 49 || f.Breakdown[budget.Memory] != 40 || f.RetainedMessages != 1 {
		t.Errorf("%d tokens, %d of memory, %d messages retained", f.Estimate.Tokens, f.Breakdown[budget.Memory], f.RetainedMessages)
	}
	r := m.Request(in)
	if len(r.Messages) != 2 || r.Messages[0].Origin != message.OriginSummary || r.OutputTokens != budget.DefaultReservedOutputTokens {
		t.Errorf("request has %d messages and an output cap of %d", len(r.Messages), r.OutputTokens)
	}
	in.Changes = nil
	if _, err := m.Fit(context.Background(), in); !errors.Is(err, contextwindow.ErrInvalid) {
		t.Errorf("changes taken back: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	good := model.Capabilities{WindowTokens: 20000}
	for name, f := range map[string]func() error{
		"nil counter": func() error { _, err := contextwindow.New(good, nil, nil); return err },
		"negative window": func() error {
			_, err := contextwindow.New(model.Capabilities{WindowTokens: -1}, counter(), nil)
			return err
		},
		"unknown mode": func() error {
			_, err := contextwindow.New(good, counter(), &contextwindow.Options{Mode: "magic"})
			return err
		},
		"negative reserve": func() error {
			_, err := contextwindow.New(good, counter(), &contextwindow.Options{Budget: budget.Settings{BufferTokens: -1}})
			return err
		},
		"nil transcript": func() error {
			_, err := manager(t, 20000, "").Fit(context.Background(), contextwindow.Input{})
			return err
		},
	} {
		err := f()
		if !errors.Is(err, contextwindow.ErrInvalid) && !errors.Is(err, budget.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A stated input limit below the window caps the budget; the rest counts as
// reserve.
func TestInputLimitOfTheProvider(t *testing.T) {
	m, err := contextwindow.New(model.Capabilities{WindowTokens: 400_000, MaxInputTokens: 272_000}, counter(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if b := m.Budget(); b.AvailableTokens != 272_000 || b.ReserveTokens != 128_000 {
		t.Errorf("budget %+v", b)
	}
}

func BenchmarkFitOneNewMessage(b *testing.B) {
	for _, turns := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			m, err := contextwindow.New(model.Capabilities{WindowTokens: 100_000_000}, counter(), nil)
			if err != nil {
				b.Fatal(err)
			}
			var tr transcript.Transcript
			for i := range turns {
				for _, msg := range []message.Message{say(fmt.Sprint("u", i), message.RoleUser, 50), say(fmt.Sprint("a", i), message.RoleAssistant, 50)} {
					if err := tr.Append(msg); err != nil {
						b.Fatal(err)
					}
				}
			}
			in := contextwindow.Input{Transcript: &tr}
			if _, err := m.Fit(context.Background(), in); err != nil {
				b.Fatal(err)
			}
			visited, i := 0, 0
			for b.Loop() {
				i++
				if err := tr.Append(say(fmt.Sprint("n", i), message.RoleAssistant, 50)); err != nil {
					b.Fatal(err)
				}
				f, err := m.Fit(context.Background(), in)
				if err != nil {
					b.Fatal(err)
				}
				visited = f.Visited
			}
			b.ReportMetric(float64(visited), "items/op")
		})
	}
}
