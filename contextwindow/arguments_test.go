package contextwindow_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// strategy is a strategy of the caller's own.
type strategy func(context.Context, compaction.Input) (*checkpoint.Checkpoint, error)

func (s strategy) Compact(ctx context.Context, in compaction.Input) (*checkpoint.Checkpoint, error) {
	return s(ctx, in)
}

// full is a conversation of 12 turns that is over the budget of the window of
// 20,000, with a call and a result in each turn.
func full(t *testing.T) contextwindow.Input {
	t.Helper()
	tr := record(t, say("s", message.RoleSystem, 10))
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		for _, m := range []message.Message{
			say(id+"1", message.RoleUser, 20),
			{ID: id + "2", Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: id, Name: "read", Arguments: `{"path":"a.go"}`}}},
			{ID: id + "3", Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: id, Content: output(id, 700)}}},
			say(id+"4", message.RoleAssistant, 700),
		} {
			if err := tr.Append(m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tr.Append(say("last", message.RoleUser, 20)); err != nil {
		t.Fatal(err)
	}
	return contextwindow.Input{Transcript: tr, Complete: true}
}

func compacting(t *testing.T, s compaction.Strategy, chain *checkpoint.Chain) *contextwindow.Manager {
	t.Helper()
	m, err := contextwindow.New(model.Capabilities{Model: "test", WindowTokens: 20000}, counter(), &contextwindow.Options{
		Mode: contextwindow.Compact, Compaction: contextwindow.Compaction{Strategy: s, Chain: chain}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// C1, F-CKP-08: what a strategy returns is used only when it stands for the
// range that was asked for; otherwise messages would be nowhere. Nothing is
// half installed.
func TestStrategyMustAnswerWhatWasAsked(t *testing.T) {
	in := full(t)
	for name, s := range map[string]strategy{
		"nothing": func(context.Context, compaction.Input) (*checkpoint.Checkpoint, error) { return nil, nil },
		"zero": func(context.Context, compaction.Input) (*checkpoint.Checkpoint, error) {
			return &checkpoint.Checkpoint{}, nil
		},
		"shorter": func(ctx context.Context, i compaction.Input) (*checkpoint.Checkpoint, error) {
			i.Through, i.Index, i.RangeTokens = 5, nil, 0
			return compaction.Extractive{}.Compact(ctx, i)
		},
		"longer": func(ctx context.Context, i compaction.Input) (*checkpoint.Checkpoint, error) {
			i.Through, i.Index, i.RangeTokens = i.Transcript.Len(), nil, 0
			return compaction.Extractive{}.Compact(ctx, i)
		},
		"cancelled": func(ctx context.Context, _ compaction.Input) (*checkpoint.Checkpoint, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if name == "cancelled" {
				cancel()
			}
			chain := &checkpoint.Chain{}
			m := compacting(t, s, chain)
			if _, err := m.Fit(ctx, in); err == nil {
				t.Error("Fit took it")
			}
			if _, err := m.Plan(ctx, in, contextwindow.ManualOptions{TailTokens: 3000}); err == nil {
				t.Error("Plan took it")
			}
			if chain.Len() != 0 || len(m.View()) != in.Transcript.Len() {
				t.Errorf("chain of %d, %d of %d messages in the view", chain.Len(), len(m.View()), in.Transcript.Len())
			}
		})
	}
}

// C1, F-SEL-03: a damaged state is an error, and never a view with messages
// missing or a result without its call.
func TestRestoreRefusesDamagedState(t *testing.T) {
	in, chain := full(t), &checkpoint.Chain{}
	m := compacting(t, nil, chain)
	if _, err := m.Fit(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	good := m.State()
	if err := compacting(t, nil, chain).Restore(in, good); err != nil {
		t.Fatalf("the good state: %v", err)
	}
	for name, damage := range map[string]func(*contextwindow.State, *contextwindow.Clearing){
		"more summarized": func(s *contextwindow.State, _ *contextwindow.Clearing) { s.Through += 4 },
		"less summarized": func(s *contextwindow.State, _ *contextwindow.Clearing) { s.Through = 0 },
		"negative":        func(s *contextwindow.State, _ *contextwindow.Clearing) { s.Through = -3 },
		"kept result":     func(s *contextwindow.State, _ *contextwindow.Clearing) { s.Kept = []int{3} },
		"kept beyond":     func(s *contextwindow.State, _ *contextwindow.Clearing) { s.Kept = []int{math.MaxInt} },
		"user beyond": func(s *contextwindow.State, _ *contextwindow.Clearing) {
			s.Users = []activeview.RetainedUser{{Index: math.MaxInt}}
		},
		"user is assistant": func(s *contextwindow.State, _ *contextwindow.Clearing) {
			s.Users = []activeview.RetainedUser{{Index: 4}}
		},
		"cut beyond":        func(_ *contextwindow.State, c *contextwindow.Clearing) { c.From = math.MaxInt },
		"cut before":        func(_ *contextwindow.State, c *contextwindow.Clearing) { c.From = -7 },
		"negative messages": func(_ *contextwindow.State, c *contextwindow.Clearing) { c.Messages = -5 },
		"negative tokens":   func(_ *contextwindow.State, c *contextwindow.Clearing) { c.Tokens = math.MinInt },
		"negative front":    func(_ *contextwindow.State, c *contextwindow.Clearing) { c.Query.FrontTokens = math.MinInt },
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			s.Clearings = append([]contextwindow.Clearing(nil), good.Clearings...)
			damage(&s, &s.Clearings[0])
			if err := compacting(t, nil, chain).Restore(in, s); err == nil {
				t.Error("it was taken")
			}
		})
	}
}

// Issue, library use: bad arguments are errors.
func TestPlanArguments(t *testing.T) {
	in, ctx := full(t), context.Background()
	m := compacting(t, nil, nil)
	for _, x := range []float64{math.NaN(), math.Inf(1), -1, 1} {
		if _, err := m.Plan(ctx, in, contextwindow.ManualOptions{Reduction: x}); err == nil {
			t.Errorf("a reduction of %v was taken", x)
		}
	}
	p, err := m.Plan(ctx, in, contextwindow.ManualOptions{TailTokens: 3000})
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"no plan":       m.Apply(in, nil),
		"zero plan":     m.Apply(in, &contextwindow.Plan{}),
		"no transcript": m.Apply(contextwindow.Input{}, p),
	} {
		if !errors.Is(err, contextwindow.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	fresh := compacting(t, nil, nil)
	if err := fresh.Apply(in, p); err != nil || fresh.Counted() != p.TokensAfter {
		t.Errorf("another manager: %v, %d tokens, the plan says %d", err, fresh.Counted(), p.TokensAfter)
	}
}

// C12: a plan of the fresh window says what applying it does.
func TestPlanOfFreshWindow(t *testing.T) {
	in := full(t)
	m := compacting(t, compaction.FreshWindow{}, nil)
	p, err := m.Plan(context.Background(), in, contextwindow.ManualOptions{TailTokens: 3000})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Apply(in, p); err != nil || p.Cut.Through != in.Transcript.Len() || m.Counted() != p.TokensAfter {
		t.Errorf("%v: cut at %d of %d, %d tokens, the plan says %d", err, p.Cut.Through, in.Transcript.Len(), m.Counted(), p.TokensAfter)
	}
}

// F-EST-01: a report that is no count of tokens teaches nothing.
func TestReconcileRefusesAbsurdUsage(t *testing.T) {
	in, m := full(t), manager(t, 2_000_000, contextwindow.Warn)
	before, err := m.Fit(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{-1, math.MinInt, math.MaxInt, 1 << 40} {
		if _, err := m.Reconcile(message.Usage{InputTokens: n}); !errors.Is(err, contextwindow.ErrInvalid) {
			t.Errorf("a usage of %d: %v", n, err)
		}
	}
	if _, err := m.Reconcile(message.Usage{InputTokens: before.Estimate.Tokens}); err != nil {
		t.Errorf("the right usage after it: %v", err)
	}
	if after, err := m.Fit(context.Background(), in); err != nil || after.Estimate.Tokens != before.Estimate.Tokens {
		t.Errorf("%v: estimate %d, before %d", err, after.Estimate.Tokens, before.Estimate.Tokens)
	}
}

// F-OVF-03, F-NOP-04: a retry is smaller than what was refused, whatever
// numbers the refusal stated.
func TestRecoverNeverSendsTheSameAgain(t *testing.T) {
	for _, stated := range [][2]int{{0, 0}, {1, 1}, {4401, 0}, {100_000, 200_000}, {4500, 20_000}, {-5, -4}} {
		in, m := full(t), compacting(t, nil, nil)
		f, err := m.Fit(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		g, err := m.Recover(context.Background(), in, &model.Error{Kind: model.ErrContextOverflow, UsedTokens: stated[0], LimitTokens: stated[1]})
		if err != nil && !errors.Is(err, contextwindow.ErrLimitReached) {
			t.Fatal(err)
		}
		if err == nil && g.Estimate.Tokens >= f.Estimate.Tokens {
			t.Errorf("used %d of %d: %d tokens again after %d", stated[0], stated[1], g.Estimate.Tokens, f.Estimate.Tokens)
		}
	}
}

// C13: memory stands after the instructions, those that an imported
// transcript begins with too.
func TestMemoryFollowsSystemMessages(t *testing.T) {
	in, m := full(t), compacting(t, nil, nil)
	f, err := m.Fit(context.Background(), in)
	if err != nil || len(f.Compactions) != 1 {
		t.Fatalf("%v, %v", err, f)
	}
	if ms := m.Request(in).Messages; ms[0].Role != message.RoleSystem || ms[1].Origin != message.OriginSummary {
		t.Errorf("the request begins with %s, then %s", ms[0].Role, ms[1].Role)
	}
}

// Issue, command line (--window): without another wish, the tail leaves room
// in the window, as in the mode Compact. Half of the budget of 10,000 is less
// than the default tail of 12,000.
func TestPlanTailFitsTheWindow(t *testing.T) {
	p, err := compacting(t, nil, nil).Plan(context.Background(), full(t), contextwindow.ManualOptions{})
	if err != nil || p.Cut.TailTokens > 5000 || p.TokensAfter > 10000 {
		t.Errorf("%v: %+v", err, p)
	}
}
