package contextwindow_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

// answers is a call with a result of the caller's.
func (c *conversation) answers(content []message.Block) transcript.Ref {
	id := fmt.Sprint("call", c.n)
	c.add(message.Message{Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: id, Name: "read_file", Arguments: `{"path":"a.go"}`}}})
	c.add(message.Message{Role: message.RoleTool, Blocks: []message.Block{message.ToolResult{CallID: id, Outcome: message.OutcomeSuccess, Content: content}}})
	return transcript.Ref{Message: c.tr.Len() - 1}
}

// F-RUN-01, F-RUN-05: what the window shows is not put into it again. The
// pointer stands there from the first request on, so the cache stays whole.
func TestRepeatedOutputPointsToTheFirst(t *testing.T) {
	c := converse(t, 100_000, contextwindow.Compaction{})
	c.user("Read it.")
	first := c.answers(output("a.go", 900))
	before := c.fit()
	again := c.answers(output("a.go", 900))
	f := c.fit()
	if len(f.Projections) != 1 || f.Projections[0].Result != again || f.Projections[0].TokensBefore != 900 || f.Projections[0].TokensAfter > 40 {
		t.Fatalf("projections %+v", f.Projections)
	}
	if f.PrefixTokens != before.CountedTokens || f.Restructured {
		t.Errorf("the cache covers %d of %d tokens, restructured %v", f.PrefixTokens, before.CountedTokens, f.Restructured)
	}
	view := ""
	for _, m := range c.m.View() {
		for _, b := range m.Blocks {
			if r, ok := b.(message.ToolResult); ok {
				view += r.Text() + "\n"
			}
		}
	}
	if want := "the same as " + projection.Reference(first) + ", hash "; strings.Count(view, want) != 1 || strings.Count(view, "a.go w") != 1 {
		t.Errorf("the view is\n%s", view)
	}
	reasons := 0
	for l := range c.m.Lines() {
		if l.Reason == activeview.ReasonRepeated && l.Decision == activeview.Projected {
			reasons++
		}
	}
	if reasons != 1 {
		t.Errorf("%d ledger lines give the reason", reasons)
	}
	c.answers(output("b.go", 900))
	c.answers(output("short", 60))
	c.answers(output("short", 60))
	if f := c.fit(); len(f.Projections) != 0 {
		t.Errorf("another file and short outputs were taken for repeats: %+v", f.Projections)
	}
}

// readMany is a conversation with seven results; it returns the first.
func readMany(t *testing.T) (*conversation, transcript.Ref) {
	c := converse(t, 100_000, contextwindow.Compaction{})
	c.user("Read it.")
	first := c.answers(output("a.go", 900))
	for i := range 6 {
		c.answers(output(fmt.Sprint("other", i), 900))
	}
	c.fit()
	return c, first
}

// What was cleared cannot be pointed to: the output comes whole again.
func TestRepeatOfClearedOutputIsShown(t *testing.T) {
	c, first := readMany(t)
	c.in.Idle = 48 * time.Hour // the cache is gone: old output is cleared
	c.answers(output("last", 900))
	if f := c.fit(); len(f.Projections) == 0 || f.Projections[0].Result != first {
		t.Fatalf("projections %+v", f.Projections)
	}
	c.in.Idle = 0
	c.answers(output("a.go", 900))
	if f := c.fit(); len(f.Projections) != 0 {
		t.Errorf("projections %+v", f.Projections)
	}
}

// The first output stays for as long as a pointer to it is among the newest,
// and may go afterwards.
func TestFirstOutputIsHeldByItsRepeat(t *testing.T) {
	c, first := readMany(t)
	c.answers(output("a.go", 900))
	cleared := func(f *contextwindow.Fit) bool {
		for _, p := range f.Projections {
			if p.Result == first {
				return true
			}
		}
		return false
	}
	c.in.Idle = 48 * time.Hour
	if f := c.fit(); cleared(f) || len(f.Projections) < 2 {
		t.Fatalf("projections %+v", f.Projections)
	}
	for i := range projection.DefaultKeepNewest {
		c.answers(output(fmt.Sprint("more", i), 900))
		c.in.Idle = 0
		c.fit()
	}
	c.in.Idle = 48 * time.Hour
	c.answers(output("last", 900))
	if f := c.fit(); !cleared(f) {
		t.Fatalf("projections %+v", f.Projections)
	}
}

// A pointer names what stands further up, so it is no use where a checkpoint
// will soon take that away.
func TestNoPointerInAWindowThatIsNearlyFull(t *testing.T) {
	pointers := func(words int) int {
		c := converse(t, 20_000, contextwindow.Compaction{})
		c.user("Read it.")
		c.answers(output("a.go", 900))
		c.answer(words)
		c.fit()
		c.answers(output("a.go", 900))
		return len(c.fit().Projections)
	}
	room := converse(t, 20_000, contextwindow.Compaction{}).m.Budget().AvailableTokens
	if n := pointers(room/2 - 2000); n != 1 {
		t.Errorf("in a half empty window: %d pointers", n)
	}
	if n := pointers(room*3/4 - 1500); n != 0 {
		t.Errorf("in a nearly full window: %d pointers", n)
	}
}

// After a new window was asked for, and where the provider counts more than is
// known here, the window is full earlier.
func TestNoPointerBeforeANewWindow(t *testing.T) {
	c, _ := readMany(t)
	c.m.RequestNewContext()
	c.answers(output("a.go", 900))
	if f := c.fit(); len(f.Projections) != 0 {
		t.Errorf("projections %+v", f.Projections)
	}
	c, _ = readMany(t)
	f := c.fit()
	if _, err := c.m.Reconcile(message.Usage{InputTokens: f.Budget.AvailableTokens * 9 / 10}); err != nil {
		t.Fatal(err)
	}
	c.answers(output("a.go", 900))
	if f := c.fit(); len(f.Projections) != 0 {
		t.Errorf("estimate %d of %d, projections %+v", f.Estimate.Tokens, f.Budget.AvailableTokens, f.Projections)
	}
}

// What was sent whole in another mode stays so: the cache has it.
func TestNoPointerForWhatWasSentInWarn(t *testing.T) {
	c := converse(t, 100_000, contextwindow.Compaction{})
	c.user("Read it.")
	for range 3 {
		c.answers(output("a.go", 900))
	}
	warn := manager(t, 100_000, contextwindow.Warn)
	if _, err := warn.Fit(t.Context(), c.in); err != nil {
		t.Fatal(err)
	}
	if err := c.m.Restore(c.in, warn.State()); err != nil {
		t.Fatal(err)
	}
	again := c.answers(output("a.go", 900))
	if f := c.fit(); len(f.Projections) != 1 || f.Projections[0].Result != again {
		t.Errorf("projections %+v", f.Projections)
	}
}

// A step costs the same however often an output has come, and however long ago
// the first of it was.
func TestStepsWithRepeatsAreFlat(t *testing.T) {
	visits := func(steps, outputs int) int {
		c := converse(t, 100_000_000, contextwindow.Compaction{})
		c.user("Watch it.")
		last := 0
		for i := range steps {
			c.answers(output(fmt.Sprint("file", i%outputs), 300))
			last = c.fit().Visited
			c.m.Request(c.in)
		}
		return last
	}
	for _, outputs := range []int{1, 6, 700} {
		short, long := visits(1500, outputs), visits(3000, outputs)
		if long > short+short/5+8 {
			t.Errorf("%d outputs in turn: a step looks at %d items after 1,500 steps, at %d after 3,000", outputs, short, long)
		}
	}
}
