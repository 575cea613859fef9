package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/trace"
)

// prose is text of about n tokens that differs with k.
func prose(k, n int) string {
	var b strings.Builder
	for i := range n / 8 {
		fmt.Fprintf(&b, "line %d of part %d says nothing new.\n", i, k)
	}
	return b.String()
}

// part is what the tool read takes to answer with prose(k, n).
func part(k, n int) string { return fmt.Sprintf("part %d %d", k, n) }

// working is a model that reads n results of about size tokens and then ends.
func working(n, size int) func(int, model.Request) modeltest.Reply {
	return func(i int, r model.Request) modeltest.Reply {
		if i < n {
			return modeltest.Call(call(fmt.Sprint("c", i), "read", part(i, size)))
		}
		return say("done")
	}
}

func seen(r model.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		data, _ := json.Marshal(m)
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.String()
}

// F-E2E-01, F-RUN-02: under pressure in one run, no request is over the
// window and the constraint of the first message stays in view.
func TestPressureInOneRun(t *testing.T) {
	b := newBench(t, contextwindow.Compact, 32000, working(80, 900))
	res := b.run("Never change the file vendor/lock.json. Read everything.")
	if res.Status != agent.StatusCompleted || res.Totals.Compactions+res.Totals.Projections == 0 || res.Totals.Compactions > 10 {
		t.Errorf("result %+v", res)
	}
	for _, e := range b.trace.Events {
		if f, ok := e.Payload.(*trace.ContextBudgeted); ok && f.Estimate.Tokens > f.AvailableTokens {
			t.Errorf("request %d weighs %d of %d", f.Request, f.Estimate.Tokens, f.AvailableTokens)
		}
	}
	last := b.model.requests[len(b.model.requests)-1]
	if !strings.Contains(seen(last), "vendor/lock.json") {
		t.Error("the constraint is gone")
	}
}

// F-SEL-10, F-TST-17, F-E2E-06: after a restart the next request is the same
// to the byte, whatever projection and compaction did before.
func TestRestartGivesTheSameRequest(t *testing.T) {
	for _, runs := range []int{1, 3, 6} {
		var last [2]string
		for restart := range 2 {
			b := newBench(t, contextwindow.Compact, 24000, nil)
			count := 0
			b.model.reply = func(i int, r model.Request) modeltest.Reply {
				count++
				if count%9 != 0 {
					return modeltest.Call(call(fmt.Sprint("c", count), "read", part(count, 900)))
				}
				return say(fmt.Sprint("answer ", count))
			}
			for k := range runs {
				b.run(fmt.Sprintf("task %d: use tabs in file%d.go, never spaces", k, k))
				if restart == 1 {
					b.reopen()
				}
			}
			b.run("and now the last one")
			var all strings.Builder
			for _, r := range b.model.requests[len(b.model.requests)-9:] {
				all.WriteString(seen(r))
			}
			last[restart] = all.String()
		}
		if last[0] != last[1] {
			t.Errorf("%d runs: requests differ after a restart\n%s", runs, firstDifference(last[0], last[1]))
		}
	}
}

func firstDifference(a, b string) string {
	for i := 0; i < min(len(a), len(b)); i++ {
		if a[i] != b[i] {
			from := max(0, i-200)
			return fmt.Sprintf("at %d:\n%s\n----\n%s", i, a[from:min(len(a), i+200)], b[from:min(len(b), i+200)])
		}
	}
	return fmt.Sprintf("lengths %d and %d", len(a), len(b))
}

func overflow() modeltest.Reply {
	return modeltest.Reply{Err: &model.Error{Kind: model.ErrContextOverflow, Provider: "test", Status: 400, Message: "too long", UsedTokens: 30000, LimitTokens: 20000}}
}

// F-OVF-02, F-OVF-03, F-TST-13, F-E2E-08: a clean overflow is recovered from
// once, with the same input and without a call run twice.
func TestOverflowIsRecoveredOnce(t *testing.T) {
	b := newBench(t, contextwindow.Compact, 64000, func(i int, r model.Request) modeltest.Reply {
		switch {
		case i < 30:
			return modeltest.Call(call(fmt.Sprint("c", i), "read", part(i, 900)))
		case i == 30:
			return overflow()
		}
		return say("done")
	})
	res := b.run("Read it all.")
	if res.Status != agent.StatusCompleted || res.Totals.Recoveries != 1 || len(b.read.runs) != 30 {
		t.Errorf("result %+v, %d runs", res, len(b.read.runs))
	}
	n := len(b.model.requests)
	if len(seen(b.model.requests[n-1])) >= len(seen(b.model.requests[n-2])) {
		t.Error("the second attempt is not smaller")
	}
	asked := 0
	for _, m := range b.model.requests[n-1].Messages {
		if m.Authored() && m.Text() == "Read it all." {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the request of the person stands %d times in the second attempt", asked)
	}
}

// F-OVF-04, F-NOP-04: a second overflow is an ordinary failure.
func TestSecondOverflowFails(t *testing.T) {
	b := newBench(t, contextwindow.Compact, 64000, func(i int, r model.Request) modeltest.Reply {
		if i < 20 {
			return modeltest.Call(call(fmt.Sprint("c", i), "read", part(i, 900)))
		}
		return overflow()
	})
	res := b.run("Read it all.")
	if res.Status == agent.StatusCompleted || res.Totals.Requests != 22 || res.Reason == "" {
		t.Errorf("result %+v", res)
	}
	var reasons []trace.LimitReason
	for _, e := range b.trace.Events {
		if l, ok := e.Payload.(*trace.LimitReached); ok {
			reasons = append(reasons, l.Reason)
		}
	}
	if fmt.Sprint(reasons) != "[second-overflow]" {
		t.Errorf("limits %v", reasons)
	}
}

// F-TST-14: an overflow after output is not retried; in the mode warn none is.
func TestOverflowThatIsNotRetried(t *testing.T) {
	late := overflow()
	late.Events = []model.Event{model.TextDelta{Text: "so"}}
	late.Err.(*model.Error).Evidence = true
	b := newBench(t, contextwindow.Compact, 64000, func(int, model.Request) modeltest.Reply { return late })
	if res := b.run("go"); res.Status != agent.StatusFailed || res.Totals.Requests != 1 {
		t.Errorf("result %+v", res)
	}
	b = newBench(t, contextwindow.Warn, 64000, func(int, model.Request) modeltest.Reply { return overflow() })
	if res := b.run("go"); res.Status != agent.StatusFailed || res.Totals.Requests != 1 {
		t.Errorf("result %+v", res)
	}
}

// F-CLS-12, F-TST-12, F-EVT-05: what can never fit is not sent.
func TestMandatoryOverflowIsNotSent(t *testing.T) {
	for _, mode := range []contextwindow.Mode{contextwindow.Off, contextwindow.Warn, contextwindow.Compact} {
		b := newBench(t, mode, 16000, func(int, model.Request) modeltest.Reply { return say("never") })
		res := b.run(prose(1, 30000))
		if res.Status != agent.StatusLimitReached || res.Limit != "context" || len(b.model.requests) != 0 || !strings.Contains(res.Reason, "available") {
			t.Errorf("%s: result %+v, %d requests", mode, res, len(b.model.requests))
		}
	}
}

// F-MAN-01 to F-MAN-04, F-SEC-06: a look and a dry run change nothing; a
// compaction keeps the transcript, approves nothing, and the next run uses it
// after a restart too, in the mode warn as well.
func TestManualCompaction(t *testing.T) {
	b := newBench(t, contextwindow.Warn, 64000, working(30, 900))
	b.run("Never touch go.sum. Read everything.")
	before := b.session.Header()
	w, err := b.agent.Look(t.Context(), b.request)
	if err != nil || w.Fit.Estimate.Tokens == 0 || len(w.Lines) == 0 || w.Next == "" {
		t.Fatalf("look: %+v %v", w, err)
	}
	plan, err := b.agent.PlanCompaction(t.Context(), b.request, contextwindow.ManualOptions{})
	if err != nil || plan.TokensAfter >= plan.TokensBefore {
		t.Fatalf("plan: %+v %v", plan, err)
	}
	if after := b.session.Header(); after.Version != before.Version {
		t.Error("looking has changed the session")
	}
	made, err := b.agent.Compact(t.Context(), b.request, contextwindow.ManualOptions{})
	if err != nil || made.TokensAfter != plan.TokensAfter {
		t.Fatalf("compact: %+v %v", made, err)
	}
	if h := b.session.Header(); h.Checkpoints != 1 || h.Messages != before.Messages || h.Hash != before.Hash {
		t.Errorf("header %+v", h)
	}
	b.valid()
	b.reopen()
	b.model.reply = func(i int, r model.Request) modeltest.Reply {
		if i == 31 {
			return modeltest.Call(call("w", "write", "x"))
		}
		return say("done")
	}
	if res := b.run("Now write."); res.Status != agent.StatusDenied {
		t.Errorf("a compaction has approved a call: %+v", res)
	}
	if got := seen(b.model.requests[31]); !strings.Contains(got, "go.sum") || strings.Contains(got, "part 3 says") {
		t.Errorf("the request after the compaction holds %d bytes:\n%.2000s", len(got), got)
	}
	look, err := b.agent.Look(t.Context(), b.request)
	if err != nil || look.Fit.Checkpoint == nil || look.Fit.Breakdown[budget.Memory] == 0 {
		t.Errorf("look after restart: %+v %v", look.Fit, err)
	}
}

// P-TOOL-03, B30: a new context window is begun with the next request, and
// not in the next run when the run ends before.
func TestRequestNewContext(t *testing.T) {
	var b *bench
	b = newBench(t, contextwindow.Compact, 64000, func(i int, r model.Request) modeltest.Reply {
		switch {
		case i < 12:
			return modeltest.Call(call(fmt.Sprint("c", i), "read", part(i, 900)))
		case i == 12:
			b.agent.RequestNewContext()
			return modeltest.Call(call("last", "read", "x"))
		}
		return say("done")
	})
	if res := b.run("Read."); res.Totals.Compactions != 1 {
		t.Errorf("result %+v", res)
	}
	n := len(b.model.requests)
	if len(seen(b.model.requests[n-1])) >= len(seen(b.model.requests[n-2])) {
		t.Error("no new window was begun")
	}
	b.model.reply = func(i int, r model.Request) modeltest.Reply {
		if i == n {
			b.agent.RequestNewContext()
		}
		return say("done")
	}
	b.run("One more.")
	if res := b.run("And one."); res.Totals.Compactions != 0 {
		t.Errorf("a request for a new window outlived its run: %+v", res)
	}
}

// F-RUN-01, F-RUN-05: a large result is stored whole and shown cut, and both
// the same way after a restart.
func TestLargeOutputIsShownCut(t *testing.T) {
	big := strings.Repeat("0123456789abcdef\n", 4000)
	b := newBench(t, contextwindow.Warn, 64000, func(i int, r model.Request) modeltest.Reply {
		if i == 0 {
			return modeltest.Call(call("c", "read", big))
		}
		return say("done")
	})
	b.run("go")
	result := func(m message.Message) message.ToolResult { return m.Blocks[0].(message.ToolResult) }
	shown := result(b.model.requests[1].Messages[2])
	if len(shown.Text()) > 8192 || !shown.Truncated || shown.OriginalBytes != len(big) {
		t.Errorf("shown: %d bytes, %v, of %d", len(shown.Text()), shown.Truncated, shown.OriginalBytes)
	}
	whole, err := b.session.MessageAt(t.Context(), 2)
	if err != nil || result(whole.Message).Text() != big {
		t.Errorf("stored: %d bytes, %v", len(result(whole.Message).Text()), err)
	}
	b.request.Limits.StoredBytes = 20_000
	b.model.reply = func(i int, r model.Request) modeltest.Reply {
		if i == 2 {
			return modeltest.Call(call("d", "read", big))
		}
		return say("done")
	}
	b.run("again")
	if cut, err := b.session.MessageAt(t.Context(), 6); err != nil || len(result(cut.Message).Text()) > 20_000 || result(cut.Message).OriginalBytes != len(big) {
		t.Errorf("stored: %d bytes, %v", len(result(cut.Message).Text()), err)
	}
	b.reopen()
	if again := result(b.session.Transcript().At(2)); again.Text() != shown.Text() {
		t.Error("another cut after a restart")
	}
	b.valid()
}

// B2: parallel results that would fill the window are not all run at once.
func TestParallelResultsB2(t *testing.T) {
	b := newBench(t, contextwindow.Compact, 16000, func(i int, r model.Request) modeltest.Reply {
		if i > 0 {
			return say("done")
		}
		calls := []message.ToolCall{call("w", "write", "x")} // is denied
		for k := range 12 {
			calls = append(calls, call(fmt.Sprint("c", k), "read", part(k, 4000)))
		}
		return modeltest.Call(calls...)
	})
	res := b.run("Read.")
	// What was denied before the rest was left is not forgotten.
	if res.Status != agent.StatusDenied || res.Totals.Denied != 1 || len(b.read.runs) == 0 || len(b.read.runs) == 12 || res.Totals.Refused != 12-len(b.read.runs) {
		t.Errorf("result %+v, %d runs", res, len(b.read.runs))
	}
}

// B11: every entry recovers, the first request of a run as well as a later
// one, and a recovery leaves nothing behind that would keep the next run's
// events back. F-SEC-09: a run that the context ends says so.
func TestRecoveryAtEveryEntryB11(t *testing.T) {
	refuse := map[int]bool{}
	count := 0
	b := newBench(t, contextwindow.Compact, 64000, func(i int, r model.Request) modeltest.Reply {
		if refuse[i] {
			return overflow()
		}
		if count++; count%12 != 0 {
			return modeltest.Call(call(fmt.Sprint("c", count), "read", part(count, 900)))
		}
		return say("done")
	})
	b.run("Read it all.")
	for _, at := range []int{0, 0, 3} {
		refuse = map[int]bool{len(b.model.requests) + at: true}
		before := len(b.trace.Events)
		res := b.run("And once more.")
		if res.Status != agent.StatusCompleted || res.Totals.Recoveries != 1 {
			t.Fatalf("refused request %d: %+v", at, res)
		}
		kinds := map[trace.Type]int{}
		for _, e := range b.trace.Events[before:] {
			kinds[e.Payload.Type()]++
		}
		if kinds[trace.TypeContextOverflow] != 1 || kinds[trace.TypeContextBudgeted] != res.Totals.Requests || kinds[trace.TypeRequestCompleted] != res.Totals.Requests ||
			kinds[trace.TypeRunStarted] != 1 || kinds[trace.TypeRunCompleted] != 1 {
			t.Errorf("refused request %d: events %v, %d requests", at, kinds, res.Totals.Requests)
		}
	}
	// When nothing is left that could be left out, the status is not that of an answer.
	for i := range 50 {
		refuse[len(b.model.requests)+i] = true
	}
	if res := b.run("And the last."); res.Status == agent.StatusCompleted || res.Text != "" {
		t.Errorf("result %+v", res)
	}
}

// A request that breaks the provider's cache says so before it goes out.
func TestBrokenCacheIsToldBefore(t *testing.T) {
	b := newBench(t, contextwindow.Warn, 64000, func(int, model.Request) modeltest.Reply { return say("done") })
	told := func() (texts []string) {
		for _, e := range b.events {
			if n, ok := e.(agent.Notice); ok && n.Kind == "cache" {
				texts = append(texts, n.Text)
			}
		}
		return texts
	}
	b.run("one")
	b.run("two")
	b.reopen()
	b.run("three")
	if got := told(); len(got) != 0 {
		t.Errorf("told %q", got)
	}
	b.request.Instructions = []message.Message{{ID: "i", Role: message.RoleSystem, Blocks: []message.Block{message.Text{Text: "Be long."}}}}
	b.run("four")
	if got := told(); len(got) != 1 || !strings.Contains(got[0], "instructions") {
		t.Errorf("told %q", got)
	}
}

// C16: a request that was too long does not make the next one too long.
func TestRequestAfterOneThatWasTooLong(t *testing.T) {
	b := newBench(t, contextwindow.Compact, 16000, func(int, model.Request) modeltest.Reply { return say("here") })
	if res := b.run(prose(1, 30000)); res.Limit != "context" {
		t.Fatalf("result %+v", res)
	}
	if res := b.run("A short one."); res.Status != agent.StatusCompleted {
		t.Errorf("result %+v", res)
	}
	seen := b.model.requests[0].Messages
	if len(seen) != 2 || seen[0].Text() != "A short one." || !strings.Contains(seen[1].Text(), "did not complete") {
		t.Errorf("the model saw %+v", seen)
	}
	b.reopen()
	if res := b.run("Another."); res.Status != agent.StatusCompleted {
		t.Errorf("result %+v", res)
	}
}

// What decides about clearing finds a compaction that a person asked for, also
// when requests were made since: the results before it are in no window, and
// nothing is cleared there.
func TestManualCompactionIsFoundByClearing(t *testing.T) {
	skip := time.Duration(0)
	b := newBench(t, contextwindow.Compact, 200_000, working(30, 900))
	now := b.options.Now
	b.options.Now = func() time.Time { return now().Add(skip) }
	b.renew()
	b.run("Read everything.")
	if _, err := b.agent.Compact(t.Context(), b.request, contextwindow.ManualOptions{TailTokens: 2000}); err != nil {
		t.Fatal(err)
	}
	b.model.reply = func(int, model.Request) modeltest.Reply { return say("done") }
	b.run("And now?")
	b.reopen()
	skip = 72 * time.Hour // the cache is gone: everything old that there is gets a stand-in
	if res := b.run("And after a while?"); res.Totals.Projections > 4 {
		t.Errorf("%d results of a tail of 2,000 tokens got a stand-in", res.Totals.Projections)
	}
}
