package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
)

// talk makes short turns, each after a restart, until the session has some
// checkpoints.
func talk(t *testing.T, b *bench, checkpoints int) {
	t.Helper()
	b.run("Never bind port 7333.")
	for i := 0; b.session.Header().Checkpoints < checkpoints; i++ {
		b.reopen()
		if res := b.run(fmt.Sprintf("turn %d", i)); res.Status != agent.StatusCompleted {
			t.Fatalf("turn %d: %+v", i, res)
		}
		if i > 200 {
			t.Fatal("there is no checkpoint after 200 turns")
		}
	}
}

// F-E2E-01, F-E2E-06: a session that is opened behind its checkpoint gets the
// next checkpoint too: the whole conversation is read for it.
func TestCheckpointsAfterRestarts(t *testing.T) {
	b := newBench(t, contextwindow.Compact, 16000, func(i int, _ model.Request) modeltest.Reply { return say(prose(i, 300)) })
	talk(t, b, 4)
	last := b.model.requests[len(b.model.requests)-1]
	if !strings.Contains(seen(last), "Never bind port 7333.") {
		t.Error("the constraint is gone")
	}
}

// F-E2E-08, F-OVF-02: an overflow in such a session is recovered from as well.
func TestOverflowAfterRestart(t *testing.T) {
	refuse := false
	b := newBench(t, contextwindow.Compact, 16000, func(i int, _ model.Request) modeltest.Reply {
		if refuse {
			refuse = false
			return modeltest.Reply{Err: &model.Error{Kind: model.ErrContextOverflow, Provider: "test", Status: 400, Message: "too long"}}
		}
		return say(prose(i, 300))
	})
	talk(t, b, 2)
	for i := range 6 {
		if res := b.run(fmt.Sprintf("more %d", i)); res.Status != agent.StatusCompleted {
			t.Fatalf("%+v", res)
		}
	}
	b.reopen()
	refuse = true
	res := b.run("and this")
	if res.Status != agent.StatusCompleted || res.Totals.Recoveries != 1 || res.Totals.Requests != 2 {
		t.Errorf("result %+v", res)
	}
}

// F-E2E-06, C16: a run that compacts, clears and then ends at its limit leaves a
// session that can be gone on with, and every restart finds its window again.
func TestRestartAfterARunThatDidNotComplete(t *testing.T) {
	lengths := []int{80, 100, 130, 190}
	if testing.Short() {
		lengths = []int{80, 130}
	}
	for _, steps := range lengths {
		b := newBench(t, contextwindow.Compact, 16000, working(1000, 900))
		b.request.Limits = agent.Limits{Steps: steps, ToolCalls: 1000}
		if res := b.run("Never bind port 7333. Read everything."); res.Status != agent.StatusLimitReached || res.Totals.Compactions == 0 || res.Totals.Projections == 0 {
			t.Fatalf("%d steps: %+v", steps, res)
		}
		b.model.reply = func(i int, _ model.Request) modeltest.Reply { return say(prose(i, 300)) }
		for k := range 3 {
			b.reopen()
			if res := b.run(fmt.Sprintf("more %d", k)); res.Status != agent.StatusCompleted {
				t.Fatalf("%d steps, restart %d: %+v", steps, k, res)
			}
		}
	}
}

// B2, F-SEC-05: a session that is cut between a call and its result is gone on
// with, and the call gets a result that the model sees.
func TestRunAfterACutAtEveryMessage(t *testing.T) {
	for at := 1; at <= 6; at++ {
		b := newBench(t, contextwindow.Compact, 64000, working(2, 50))
		if res := b.run("Read it."); res.Status != agent.StatusCompleted {
			t.Fatalf("%+v", res)
		}
		if _, err := b.session.Truncate(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		b.reopen()
		for range 2 {
			if res := b.run("Go on."); res.Status != agent.StatusCompleted {
				t.Fatalf("cut after %d messages: %+v", at, res)
			}
			calls, results := 0, 0
			for _, m := range b.model.requests[len(b.model.requests)-1].Messages {
				for _, block := range m.Blocks {
					switch block.(type) {
					case message.ToolCall:
						calls++
					case message.ToolResult:
						results++
					}
				}
			}
			if calls != results || calls != min(2, at/2) {
				t.Errorf("cut after %d messages: the request has %d calls and %d results", at, calls, results)
			}
		}
	}
}
