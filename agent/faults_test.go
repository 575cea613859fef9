package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/scripted"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// connected is a bench whose model is a real adapter in front of a scripted
// provider. It gives up an answer that says nothing for idle.
func connected(t *testing.T, mode contextwindow.Mode, d wirebody.Dialect, window int, idle time.Duration, o scripted.Options) (*bench, *scripted.Server) {
	t.Helper()
	server, err := scripted.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	b := newBench(t, mode, window, nil)
	caps := model.Capabilities{WindowTokens: window, MaxOutputTokens: 8192, WindowSource: model.WindowFromUser}
	if b.options.Model, err = server.Connect(d, caps, idle); err != nil {
		t.Fatal(err)
	}
	if m, ok := catalog.Default().Lookup(scripted.ModelOf(d)); ok {
		b.options.Prices, b.options.Cache = m.Prices, m.Cache
	}
	if b.request.Policy, err = policy.New(policy.WorkspaceWrite, nil); err != nil {
		t.Fatal(err)
	}
	b.renew()
	return b, server
}

// reads is how many large results stand in the window before the fault.
const reads = 12

// faulty plays a task: reads, an answer with a fault, which calls a tool that
// writes, and the end. always repeats the fault.
func faulty(fault scripted.Fault, always bool, retryAfter string) func(scripted.Request) scripted.Reply {
	asked, failed := 0, false
	return func(r scripted.Request) scripted.Reply {
		write := scripted.Reply{Text: "Now I write.", Calls: []scripted.Call{{Name: "write", Arguments: `{"text":"once"}`}}}
		switch {
		case asked < reads:
			asked++
			return scripted.Reply{Calls: []scripted.Call{{Name: "read", Arguments: fmt.Sprintf(`{"text":"part %d 900"}`, asked)}}}
		case always || !failed:
			failed = true
			write.Fault, write.RetryAfter = fault, retryAfter
			return write
		case !strings.Contains(r.Last(), "once") && !written(r):
			return write
		}
		return scripted.Reply{Text: "done"}
	}
}

// written reports whether the result of the write is in a request.
func written(r scripted.Request) bool {
	return slices.ContainsFunc(strings.Split(r.Text(), "\n"), func(line string) bool { return line == "tool: once" })
}

// F-SEC-09, F-SEC-10, F-TST-13, F-TST-14, issue "single faults": each fault of a provider, in
// each wire format. A run recovers where it safely can, else ends with a
// status that says so; no tool runs twice.
func TestSingleFaults(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		fault      scripted.Fault
		always     bool
		retryAfter string
		want       agent.Status
		writes     int
		reason     string // what the reason has to say
	}{
		{fault: scripted.RateLimited, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.RateLimited, retryAfter: "2", want: agent.StatusCompleted, writes: 1},
		{fault: scripted.RateLimited, retryAfter: "7200", want: agent.StatusFailed, reason: "429"},
		{fault: scripted.RateLimited, always: true, want: agent.StatusFailed, reason: "429"},
		{fault: scripted.ServerError, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.ServerError, always: true, want: agent.StatusFailed, reason: "500"},
		{fault: scripted.Overloaded, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.Unauthorized, want: agent.StatusFailed, reason: "401"},
		{fault: scripted.ErrorInStream, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.ErrorInStream, always: true, want: agent.StatusFailed, reason: "Internal"},
		{fault: scripted.Hang, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.HangInStream, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.CutAtStart, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.CutAtStart, always: true, want: agent.StatusFailed, reason: "ended early"},
		{fault: scripted.CutInStream, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.CutInStream, always: true, want: agent.StatusFailed, reason: "ended early"},
		{fault: scripted.NoUsage, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.BadUsage, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.Drip, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.Garbage, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.Garbage, always: true, want: agent.StatusFailed, reason: "unreadable"},
		{fault: scripted.Empty, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.Empty, always: true, want: agent.StatusFailed, reason: "empty answers"},
		{fault: scripted.BrokenArguments, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.DuplicateIDs, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.Overflow, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.OverflowInStream, want: agent.StatusCompleted, writes: 1},
		{fault: scripted.Overflow, always: true, want: agent.StatusFailed, reason: "retried once"},
		{fault: scripted.OverflowAfterText, want: agent.StatusFailed, reason: "already produced output"},
	} {
		dialects := scripted.Dialects()
		if testing.Short() { // each in the next wire format
			dialects = dialects[i%len(dialects):][:1]
		}
		for _, d := range dialects {
			t.Run(fmt.Sprintf("%s %t %s %s", c.fault, c.always, c.retryAfter, d), func(t *testing.T) {
				t.Parallel()
				idle := time.Minute
				if c.fault == scripted.Hang || c.fault == scripted.HangInStream {
					idle = 2 * time.Second
				}
				b, server := connected(t, contextwindow.Compact, d, 64000, idle, scripted.Options{Script: faulty(c.fault, c.always, c.retryAfter)})
				res := b.run("Read, then write once.")
				if res.Status != c.want || len(b.write.runs) != c.writes || len(b.read.runs) != reads {
					t.Errorf("got %+v, %d reads, %d writes", res, len(b.read.runs), len(b.write.runs))
				}
				if res.Status != agent.StatusCompleted && (res.Reason == "" || !strings.Contains(res.Reason, c.reason)) {
					t.Errorf("the reason is %q", res.Reason)
				}
				if total := server.Totals(); total.Uncapped > 0 || total.Requests > reads+6 {
					t.Errorf("totals %+v", total)
				}
			})
		}
	}
}

// F-SEC-07: a provider that repeats a key in its refusal does not get
// it shown; a refusal without text is called one.
func TestReasonsShowNoSecret(t *testing.T) {
	secret := "ghp_" + strings.Repeat("A1b2", 9)
	b := newBench(t, contextwindow.Warn, 64000, func(int, model.Request) modeltest.Reply {
		return modeltest.Reply{Err: &model.Error{Provider: "test", Status: 401, Message: "wrong key " + secret}}
	})
	if res := b.run("go"); res.Status != agent.StatusFailed || strings.Contains(res.Reason, secret) || !strings.Contains(res.Reason, "wrong key") {
		t.Errorf("reason %q", res.Reason)
	}
	b.model.reply = func(int, model.Request) modeltest.Reply {
		return modeltest.Reply{Events: []model.Event{model.Completed{Stop: model.StopRefusal}}}
	}
	if res := b.run("go"); res.Status != agent.StatusFailed || !strings.Contains(res.Reason, "declined") {
		t.Errorf("reason %q", res.Reason)
	}
}
