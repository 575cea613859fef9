package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/contextwindow"
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
