package contextwindow_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/contextwindow"
)

// Weak spot 5: each user message that stays is marked as an old one. Where the
// messages are tiny the marks outweigh the range, and nothing is compacted.
func TestMarksMayOutweighTheRange(t *testing.T) {
	c := converse(t, 40_000, contextwindow.Compaction{})
	for i := range 400 {
		c.user(fmt.Sprintf("Go on %d.", i))
		c.answer(1)
	}
	c.user("And now the rest.")
	c.step(50)
	c.step(22_000)
	f, err := c.m.Fit(context.Background(), c.in)
	if limit := (*contextwindow.LimitError)(nil); err != nil && !errors.As(err, &limit) {
		t.Fatal(err)
	}
	if f.Breakdown.Total() > 24_000 {
		t.Errorf("the window grew to %d tokens", f.Breakdown.Total())
	}
	for _, r := range f.Compactions {
		if r.TokensAfter >= r.TokensBefore {
			t.Errorf("a compaction of the shape %s took the window from %d to %d tokens", r.Shape, r.TokensBefore, r.TokensAfter)
		}
	}
}

// Weak spot 5: a person who asks for it hears that nothing would be won.
func TestManualPlanNeverGrowsTheWindow(t *testing.T) {
	for users := range 12 {
		c := converse(t, 100_000, contextwindow.Compaction{})
		for i := range users {
			c.user(fmt.Sprintf("Go on %d.", i))
			c.answer(10 * i)
		}
		for range 2 {
			c.step(8)
		}
		plan, err := c.m.Plan(context.Background(), c.in, contextwindow.ManualOptions{TailTokens: -1})
		switch {
		case errors.Is(err, compaction.ErrNoGain), errors.Is(err, contextwindow.ErrNothing):
		case err != nil:
			t.Fatal(err)
		case plan.TokensAfter >= plan.TokensBefore:
			t.Errorf("%d users: from %d to %d tokens", users, plan.TokensBefore, plan.TokensAfter)
		}
	}
}
