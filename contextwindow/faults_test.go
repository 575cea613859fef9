package contextwindow_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/transcript"
)

// B1, F-RUN-02, F-RUN-08, F-TST-08, P-INL-02: one run that grows step by step
// is weighed before every step and never sends more than its budget.
func TestB1RunIsGuardedAtEveryStep(t *testing.T) {
	c := converse(t, 6000, contextwindow.Compaction{})
	c.user("Read everything.")
	relieved := 0
	for range 60 {
		c.step(250)
		f := c.fit()
		if f.Estimate.Tokens > f.Budget.AvailableTokens {
			t.Fatalf("request %d: %d of %d tokens", f.Step, f.Estimate.Tokens, f.Budget.AvailableTokens)
		}
		relieved += len(f.Relief)
	}
	if relieved == 0 {
		t.Error("60 results fitted without relief: the test proves nothing")
	}
}

// B2: four large results that arrive together at one boundary are handled
// there, or stopped with what fills the window; they never fail again and
// again.
func TestB2ParallelResults(t *testing.T) {
	for _, c := range []struct {
		windowTokens int
		stops        bool
	}{{200_000, false}, {20_000, true}} {
		conv := converse(t, c.windowTokens, contextwindow.Compaction{})
		conv.turn("Earlier question.", 12, 2000)
		conv.user("Read these four.")
		call := message.Message{Role: message.RoleAssistant}
		result := message.Message{Role: message.RoleTool}
		for i, words := range []int{700, 22_700, 10_300, 38_900} {
			id := fmt.Sprint("parallel", i)
			call.Blocks = append(call.Blocks, message.ToolCall{ID: id, Name: "read_file", Arguments: "{}"})
			result.Blocks = append(result.Blocks, message.ToolResult{CallID: id, Content: output(id, words)})
		}
		conv.add(call)
		conv.add(result)
		_, err := conv.m.Fit(context.Background(), conv.in)
		if stopped := errors.Is(err, contextwindow.ErrLimitReached); stopped != c.stops || err != nil && !stopped {
			t.Errorf("window of %d: %v", c.windowTokens, err)
		}
		if c.stops && !strings.Contains(err.Error(), "read_file") {
			t.Errorf("the stop does not name the result: %v", err)
		}
	}
}

// B3, P-ALT-03: a tool result at the very end does not send the cut back to
// the oldest message: recent steps stay.
func TestB3TrailingResult(t *testing.T) {
	c := converse(t, 6000, contextwindow.Compaction{})
	c.user("Work through it.")
	for range 30 {
		c.answer(120)
		c.step(20)
	}
	f := c.fit()
	if len(f.Compactions) == 0 {
		t.Fatalf("relief %v", f.Relief)
	}
	if f.RetainedMessages < 8 {
		t.Errorf("%d messages of %d stay", f.RetainedMessages, c.tr.Len())
	}
	last := c.m.Request(c.in).Messages
	if got := last[len(last)-1].Role; got != message.RoleTool {
		t.Errorf("the request ends with a %s message", got)
	}
}

// B4: usage of a request before a compaction says nothing of the request
// after it.
func TestB4StaleUsage(t *testing.T) {
	c := converse(t, 8000, contextwindow.Compaction{})
	for i := range 30 {
		c.turn(fmt.Sprintf("Question %d?", i), 0, 0)
		c.answer(200)
		f := c.fit()
		if len(f.Compactions) > 0 {
			if f.Estimate.Tokens > f.CountedTokens+10 {
				t.Errorf("after the compaction %d tokens are estimated, %d counted", f.Estimate.Tokens, f.CountedTokens)
			}
			return
		}
		if _, err := c.m.Reconcile(message.Usage{InputTokens: f.CountedTokens}); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("never compacted")
}

// B9, P-RET-04: user messages that were retained once are not carried twice.
func TestB9UsersAreNotDoubled(t *testing.T) {
	c := converse(t, 4000, contextwindow.Compaction{SummaryTargetTokens: 300})
	for i := range 4 {
		c.turn(fmt.Sprintf("Request number %d.", i), 0, 0)
	}
	c.user("The active one.")
	compactions := 0
	for range 80 {
		c.answer(120)
		c.step(30)
		compactions += len(c.fit().Compactions)
	}
	if compactions < 3 {
		t.Fatalf("%d compactions", compactions)
	}
	for i := range 4 {
		want, n := fmt.Sprintf("Request number %d.", i), 0
		for _, m := range c.m.Request(c.in).Messages {
			if m.Origin != message.OriginSummary && strings.Contains(m.Text(), want) {
				n++
			}
		}
		if n > 1 {
			t.Errorf("%q stands in the view %d times", want, n)
		}
	}
}

// B23, P-INL-01: there is one trigger, the budget. A view that has room is
// left alone, turn after turn.
func TestB23NoSecondTrigger(t *testing.T) {
	c := converse(t, 100_000, contextwindow.Compaction{})
	for i := range 40 {
		c.turn(fmt.Sprintf("Question %d?", i), 1, 200)
		if f := c.fit(); len(f.Relief) != 0 {
			t.Fatalf("turn %d, %d of %d tokens: %v", i, f.Estimate.Tokens, f.Budget.AvailableTokens, f.Relief)
		}
	}
}

// B29: no reminder claims that details are lost for good.
func TestB29ReminderSaysOriginalsRemain(t *testing.T) {
	c := converse(t, 40_000, contextwindow.Compaction{})
	c.user("Start.")
	c.answer(c.m.Budget().AvailableTokens - 500)
	f := c.fit()
	if f.ReminderTier != 2 || !strings.Contains(f.Reminder, "originals stay available") || strings.Contains(f.Reminder, "lost") {
		t.Errorf("tier %d: %q", f.ReminderTier, f.Reminder)
	}
}

// B32: the estimate after a compaction counts instructions and tools too.
func TestB32EstimateIsWhole(t *testing.T) {
	c := converse(t, 20_000, contextwindow.Compaction{})
	c.in.Instructions = []message.Message{say("", message.RoleSystem, 1500)}
	c.in.Tools = []message.ToolDefinition{{Name: "t", Description: strings.Repeat("w ", 900)}}
	var f *contextwindow.Fit
	for i := range 60 {
		c.turn(fmt.Sprintf("Question %d?", i), 0, 0)
		c.answer(300)
		if f = c.fit(); len(f.Compactions) > 0 {
			break
		}
	}
	if len(f.Compactions) == 0 || f.Breakdown[budget.Instructions] < 1500 || f.Breakdown[budget.ToolSchemas] < 900 {
		t.Errorf("compactions %d, categories %v", len(f.Compactions), f.Breakdown)
	}
}

// Weak spot 4: an empty final answer does not freeze what may be selected.
func TestWeakSpot4EmptyAnswer(t *testing.T) {
	c := converse(t, 6000, contextwindow.Compaction{})
	for i := range 20 {
		c.user(fmt.Sprintf("Question %d?", i))
		c.add(message.Message{Role: message.RoleAssistant, Blocks: []message.Block{message.Text{}}})
		c.user("And the long version?")
		c.answer(200)
		if f := c.fit(); f.Estimate.Tokens > f.Budget.AvailableTokens {
			t.Fatalf("turn %d is over budget", i)
		}
	}
}

// Weak spot 10, F-SEL-08: when the tail that was asked for does not fit, it
// shrinks, down to the last completed turn and then into the run.
func TestWeakSpot10TailShrinks(t *testing.T) {
	c := converse(t, 6000, contextwindow.Compaction{RecentTailTokens: 12_000})
	for i := range 6 {
		c.turn(fmt.Sprintf("Question %d?", i), 0, 0)
		c.answer(700)
	}
	f := c.fit()
	if len(f.Compactions) == 0 || f.Estimate.Tokens > f.Budget.AvailableTokens {
		t.Fatalf("relief %v, %d of %d tokens", f.Relief, f.Estimate.Tokens, f.Budget.AvailableTokens)
	}
}

// C16, F-SEC-04: a turn that failed stays in the transcript and out of the
// view, with a ledger line that says why; the next request is not touched.
func TestUncompletedTurnIsLeftOut(t *testing.T) {
	for _, mode := range []contextwindow.Mode{contextwindow.Warn, contextwindow.Compact} {
		m := manager(t, 20_000, mode)
		tr := record(t, say("u1", message.RoleUser, 5), say("a1", message.RoleAssistant, 5), say("u2", message.RoleUser, 7), say("a2", message.RoleAssistant, 9), say("u3", message.RoleUser, 3))
		f, err := m.Fit(context.Background(), contextwindow.Input{Transcript: tr, Complete: true, Uncompleted: []transcript.Turn{{Start: 2, End: 4}}})
		if err != nil {
			t.Fatal(err)
		}
		if f.Estimate.Tokens != 13 || f.RetainedMessages != 3 {
			t.Errorf("%s: %d tokens, %d messages", mode, f.Estimate.Tokens, f.RetainedMessages)
		}
		for _, l := range f.Ledger.Added {
			if l.ID == "a2#0" && (l.Decision != activeview.Dropped || l.Reason != activeview.ReasonUncompleted) {
				t.Errorf("%s: ledger line %+v", mode, l)
			}
		}
	}
}

// P-INL-03, P-DEV-02: the limit is window − reserve, taken from the model.
func TestHardLimit(t *testing.T) {
	c := converse(t, 256_000, contextwindow.Compaction{})
	if got := c.m.Budget().AvailableTokens; got != 256_000-16_384 {
		t.Errorf("available %d", got)
	}
	m, err := contextwindow.New(model.Capabilities{WindowTokens: 256_000, MaxOutputTokens: 32_000}, counter(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Budget().AvailableTokens; got != 224_000 {
		t.Errorf("available %d with an output limit", got)
	}
}

// P-CON-02, P-CON-04, F-CLS-11, F-SEC-06: after many compactions the
// transcript is untouched, and every checkpoint can be audited from it.
func TestTranscriptIsTheRecord(t *testing.T) {
	c := converse(t, 5000, contextwindow.Compaction{})
	var hashes []message.Hash
	for i := range 60 {
		c.turn(fmt.Sprintf("Question %d? Keep file%d.go as it is.", i, i), 1, 150)
		hashes = append(hashes, c.tr.RangeHash(0, c.tr.Len()))
		f := c.fit()
		if f.Checkpoint != nil {
			if findings := f.Checkpoint.Verify(c.tr); len(findings) != 0 {
				t.Fatalf("checkpoint %s: %v", f.Checkpoint.ID, findings)
			}
		}
	}
	for i, h := range hashes {
		if got := c.tr.RangeHash(0, (i+1)*4); got != h {
			t.Fatalf("the transcript changed before message %d", (i+1)*4)
		}
	}
}

// F-MOD-02: in the mode warn no view is ever changed.
func TestWarnChangesNothing(t *testing.T) {
	m := manager(t, 4000, contextwindow.Warn)
	tr := record(t)
	in := contextwindow.Input{Transcript: tr, Complete: true}
	for i := range 30 {
		for _, msg := range []message.Message{say(fmt.Sprint("u", i), message.RoleUser, 20), say(fmt.Sprint("a", i), message.RoleAssistant, 200)} {
			if err := tr.Append(msg); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := m.Fit(context.Background(), in); err != nil {
			t.Fatal(err)
		}
	}
	var want []message.Message
	for _, msg := range tr.All() {
		want = append(want, msg)
	}
	if !reflect.DeepEqual(m.View(), want) {
		t.Error("the view is not the transcript")
	}
}

// Issue behaviour 8: when what the provider counts besides the known content
// fills the window already, the request is diagnosed and nothing is compacted.
func TestHopelessRequestIsNotCompacted(t *testing.T) {
	c := converse(t, 8000, contextwindow.Compaction{})
	c.in.Complete = false
	c.turn("First question.", 1, 100)
	c.user("Second question.")
	c.fit()
	if _, err := c.m.Reconcile(message.Usage{InputTokens: 40_000}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		c.answer(200)
		c.user("Go on.")
		f, err := c.m.Fit(context.Background(), c.in)
		if !errors.Is(err, contextwindow.ErrLimitReached) || len(f.Relief) != 0 {
			t.Fatalf("relief %v, error %v", f.Relief, err)
		}
	}
}
