package codexapp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/forge-agent/forge/codexapp"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/tool"
	"github.com/forge-agent/forge/trace"
)

// How Codex ends a turn, and what the result says.
func TestOutcomes(t *testing.T) {
	for _, test := range []struct {
		status, kind string
		want         codexapp.Status
		limit, says  string
	}{
		{"completed", "", codexapp.StatusCompleted, "", ""},
		{"interrupted", "", codexapp.StatusCancelled, "", "Codex interrupted"},
		{"failed", "contextWindowExceeded", codexapp.StatusLimitReached, "context", "context window"},
		{"failed", "usageLimitExceeded", codexapp.StatusLimitReached, "account", "limit of the account"},
		{"failed", "sessionBudgetExceeded", codexapp.StatusLimitReached, "account", "limit of the account"},
		{"failed", "unauthorized", codexapp.StatusFailed, "", "codex login"},
		{"failed", "serverOverloaded", codexapp.StatusFailed, "", "serverOverloaded"},
		{"failed", "somethingNew", codexapp.StatusFailed, "", "somethingNew"},
		{"failed", "", codexapp.StatusFailed, "", "gave no reason"},
	} {
		f := newFake(t, func(f *fake, c call) { f.complete(c, test.status, test.kind) })
		r := newRig(t, f.options(codexapp.Options{}))
		res := r.run("one")
		if res.Status != test.want || res.Limit != test.limit || !strings.Contains(res.Reason, test.says) {
			t.Errorf("%s %s: %s (%s): %s", test.status, test.kind, res.Status, res.Limit, res.Reason)
		}
		done := payloads[*trace.RunCompleted](r)
		if len(done) != 1 || string(done[0].Status) != string(test.want) {
			t.Errorf("trace: %+v", done)
		}
		f.change(func() { f.play = busy })
		if got := r.good("two"); got.WrapperBytes != 0 {
			if strings.Contains(f.lastInjected(), "one") != (test.want == codexapp.StatusCompleted) {
				t.Errorf("%s %s: the next prompt carried %s", test.status, test.kind, f.lastInjected())
			}
		}
		r.engine.Close()
	}
}

// Everything that Codex tells is in the session: reasoning, calls, results,
// files, whatever else.
func TestItemsAreRecorded(t *testing.T) {
	f := newFake(t, func(f *fake, c call) {
		f.item(c, "completed", map[string]any{"type": "reasoning", "id": "r1", "summary": []string{"a", "b"}})
		f.item(c, "completed", map[string]any{"type": "reasoning", "id": "r2", "content": []string{"raw"}})
		f.item(c, "completed", map[string]any{"type": "reasoning", "id": "r3"})
		f.item(c, "completed", map[string]any{"type": "plan", "id": "p", "text": "first this"})
		f.item(c, "started", map[string]any{"type": "commandExecution", "id": "c1", "command": "make", "cwd": "/w", "status": "inProgress"})
		f.item(c, "started", map[string]any{"type": "commandExecution", "id": "c1", "command": "make", "cwd": "/w", "status": "inProgress"})
		f.item(c, "started", map[string]any{"type": "mcpToolCall", "id": "m1", "server": "docs", "tool": "search", "arguments": map[string]any{"q": "x"}})
		f.item(c, "completed", map[string]any{"type": "mcpToolCall", "id": "m1", "server": "docs", "tool": "search", "status": "failed", "error": map[string]any{"message": "no such page"}})
		f.item(c, "completed", map[string]any{"type": "commandExecution", "id": "c1", "command": "make", "cwd": "/w", "status": "failed", "exitCode": 2, "aggregatedOutput": "boom\n"})
		f.item(c, "completed", map[string]any{"type": "commandExecution", "id": "c1", "command": "make", "cwd": "/w", "status": "failed", "exitCode": 2, "aggregatedOutput": "boom\n"})
		f.item(c, "completed", map[string]any{"type": "fileChange", "id": "f1", "status": "completed", "changes": []any{map[string]any{"path": "a.go", "diff": "+x", "kind": map[string]any{"type": "add"}}}})
		f.item(c, "completed", map[string]any{"type": "webSearch", "id": "w1", "query": "forge"})
		f.item(c, "started", map[string]any{"type": "imageView", "id": "i1", "path": "a.png"})
		f.item(c, "completed", map[string]any{"type": "agentMessage", "id": "a1", "text": "on it", "phase": "commentary"})
		f.answer(c, "done")
	})
	r := newRig(t, f.options(codexapp.Options{}))
	res := r.good("one")
	var got []string
	for _, m := range r.s.Transcript().All() {
		for _, b := range m.Blocks {
			switch v := b.(type) {
			case message.Text:
				got = append(got, string(m.Role)+": "+v.Text)
			case message.Reasoning:
				got = append(got, "thinks: "+v.Text)
			case message.ToolCall:
				got = append(got, "calls "+v.Name+" "+v.Arguments)
			case message.ToolResult:
				got = append(got, strings.TrimSpace("result of "+v.Name+" "+string(v.Outcome)+": "+v.Text()))
			}
		}
	}
	want := []string{"user: one", "thinks: a\n\nb", "thinks: raw", "assistant: first this", `calls shell {"command":"make","cwd":"/w"}`, `calls docs.search {"q":"x"}`,
		"result of docs.search failure: no such page", "result of shell failure: boom\n[exit code 2]",
		`calls apply_patch {"changes":[{"path":"a.go","kind":{"type":"add"},"diff":"+x"}]}`, "result of apply_patch success:",
		`calls web_search {"query":"forge"}`, "result of web_search :", `calls view_image {"path":"a.png"}`, "assistant: on it", "assistant: done",
		"result of view_image : [the turn ended before Codex reported a result; whether the call had an effect is not known]"}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("recorded\n%s", a)
	}
	if res.Totals.ToolCalls != 5 || res.Text != "done" {
		t.Errorf("%+v", res)
	}
}

// A view that the provider refuses as too long before anything has happened is
// made smaller once; the window that Codex tells counts from then on.
func TestWrapperIsMadeSmaller(t *testing.T) {
	refuse := 0
	f := newFake(t, nil)
	f.play = func(f *fake, c call) {
		if refuse > 0 {
			refuse--
			f.complete(c, "failed", "contextWindowExceeded")
			return
		}
		f.say(c, strings.Repeat("a long answer about many things. ", 60))
		f.complete(c, "completed", "")
	}
	r := newRig(t, f.options(codexapp.Options{Window: contextwindow.Options{Mode: contextwindow.Compact}}))
	for range 40 {
		r.good("tell me more")
	}
	large := r.result().WrapperTokens
	refuse = 1
	res := r.good("and now?")
	if res.WrapperTokens >= large*8/10 || res.WrapperTokens == 0 {
		t.Errorf("%d tokens became %d", large, res.WrapperTokens)
	}
	budgets := payloads[*trace.ContextBudgeted](r)
	if last := budgets[len(budgets)-1]; last.Attempt != 2 || last.RetryReason == "" {
		t.Errorf("%+v", last)
	}
	refuse = 2
	if res := r.run("again"); res.Status != codexapp.StatusLimitReached {
		t.Errorf("%s: %s", res.Status, res.Reason)
	}
	r.good("and after that?")
}

// In the mode warn nothing is refused that fits the window, and what does not
// fit is refused before it is sent (weak spot 19, F-MOD-02).
func TestWarnRefusesOnlyWhatCannotFit(t *testing.T) {
	f := newFake(t, func(f *fake, c call) { f.say(c, strings.Repeat("words ", 4000)); f.complete(c, "completed", "") })
	r := newRig(t, f.options(codexapp.Options{Capabilities: model.Capabilities{Model: "m", WindowTokens: 1_000_000, WindowSource: model.WindowFromUser}}))
	for range 8 {
		r.good("tell me")
	}
	if tokens := r.result().WrapperTokens; tokens < 25_000 {
		t.Errorf("a wrapper of %d tokens", tokens)
	}
	turns := f.called("turn/start")
	res := r.run(strings.Repeat("word ", 1_000_000))
	if res.Status != codexapp.StatusLimitReached || f.called("turn/start") != turns {
		t.Errorf("%s: %s", res.Status, res.Reason)
	}
	r.good("tell me once more")
	if res := r.run("fifth"); res.Status != codexapp.StatusCompleted {
		t.Errorf("%s: %s", res.Status, res.Reason)
	}
}

// The window that Codex reports counts where it is smaller than the one given,
// and where that was a guess; a report that no window can be does not.
func TestWindowOfCodex(t *testing.T) {
	for _, test := range []struct {
		given    int
		source   model.WindowSource
		reported int
		want     int
		from     model.WindowSource
	}{
		{200_000, model.WindowFromUser, 95_000, 95_000, model.WindowFromProvider},
		{50_000, model.WindowFromUser, 95_000, 50_000, model.WindowFromUser},
		{32_768, model.WindowFallback, 258_400, 258_400, model.WindowFromProvider},
		{32_768, model.WindowFallback, 0, 32_768, model.WindowFallback},
		{32_768, model.WindowFromUser, 10, 32_768, model.WindowFromUser},
		{32_768, model.WindowFallback, -3, 32_768, model.WindowFallback},
	} {
		f := newFake(t, func(f *fake, c call) {
			f.say(c, "fine")
			f.usage(c, 100, 10, test.reported)
			f.complete(c, "completed", "")
		})
		r := newRig(t, f.options(codexapp.Options{Capabilities: model.Capabilities{Model: "m", WindowTokens: test.given, WindowSource: test.source}}))
		r.good("one")
		r.restartFake()
		r.good("two")
		budgets := payloads[*trace.ContextBudgeted](r)
		if b := budgets[1]; b.WindowTokens != test.want || b.WindowSource != test.from {
			t.Errorf("%+v: %d from %s", test, b.WindowTokens, b.WindowSource)
		}
		r.engine.Close()
	}
}

// restartFake makes another engine for the same session.
func (r *rig) restartFake() {
	r.engine.Close()
	r.use(r.s, r.opts)
}

// A view that is larger than the whole window is not sent in the mode warn
// either: Codex would drop the conversation to make room for the prompt. The
// same thing in the mode compact works.
func TestViewLargerThanTheWindow(t *testing.T) {
	for _, carry := range []codexapp.Carry{codexapp.Wrapper, codexapp.Thread} {
		f := newFake(t, func(f *fake, c call) { f.say(c, strings.Repeat("words ", 4000)); f.complete(c, "completed", "") })
		small := model.Capabilities{Model: "m", WindowTokens: 20_000, WindowSource: model.WindowFromUser}
		r := newRig(t, f.options(codexapp.Options{Carry: carry, Capabilities: model.Capabilities{Model: "m", WindowTokens: 1_000_000, WindowSource: model.WindowFromUser}}))
		for range 8 {
			r.good("tell me")
		}
		r.engine.Close()
		o := r.opts
		o.Capabilities, o.Model = small, "another" // which leaves the thread
		r.use(r.s, o)
		turns := f.called("turn/start")
		res := r.run("go on")
		if res.Status != codexapp.StatusLimitReached || !strings.Contains(res.Reason, "use the mode compact") || f.called("turn/start") != turns {
			t.Errorf("%s: %s: %s", carry, res.Status, res.Reason)
		}
		r.engine.Close()
		o.Window.Mode = contextwindow.Compact
		r.use(r.s, o)
		if res := r.good("go on"); res.WrapperTokens == 0 || res.WrapperTokens > 10_000 {
			t.Errorf("%s: %+v", carry, res)
		}
		r.engine.Close()
	}
}

// The wrapper of a rebuilt thread that is refused at once is not left to
// Codex's compaction, which would drop it.
func TestRefusedWrapperIsNotCompacted(t *testing.T) {
	refuse := false
	f := newFake(t, nil)
	f.play = func(f *fake, c call) {
		if refuse {
			f.complete(c, "failed", "contextWindowExceeded")
			return
		}
		f.answer(c, "answer to "+c.prompt)
	}
	r := newRig(t, f.options(codexapp.Options{Carry: codexapp.Thread}))
	r.good("one")
	r.engine.Close()
	o := r.opts
	o.Model = "another"
	r.use(r.s, o)
	f.change(func() { refuse = true })
	if res := r.run("two"); res.Status != codexapp.StatusLimitReached || res.Origin != codexapp.OriginRebuilt {
		t.Errorf("%+v", res)
	}
	f.change(func() { refuse = false })
	res := r.good("three")
	if res.Rebuilt != "wrapper-refused" || f.called("thread/compact/start") != 0 || !strings.Contains(f.lastInjected(), "answer to one") {
		t.Errorf("%+v", res)
	}
}

// A prompt after one that did not complete says so: "go on" means that.
func TestUnfinishedIsTold(t *testing.T) {
	f := newFake(t, func(f *fake, c call) {
		f.item(c, "completed", map[string]any{"type": "commandExecution", "id": "c1", "command": "make", "status": "completed", "exitCode": 0})
		f.complete(c, "failed", "serverOverloaded")
	})
	r := newRig(t, f.options(codexapp.Options{}))
	r.run("build the ark")
	f.change(func() { f.play = busy })
	r.good("go on")
	if got := f.prompts[1]; !strings.HasPrefix(got, "go on[Note") || !strings.Contains(got, "failed, after 1 tool calls") || !strings.Contains(got, "build the ark") {
		t.Errorf("%q", got)
	}
	r.good("and now")
	if got := f.prompts[2]; got != "and now" {
		t.Errorf("%q", got)
	}
}

// A trace of either way can be read: every ledger has its hash, every request
// its end, and the run its total.
func TestTraceHolds(t *testing.T) {
	for _, carry := range []codexapp.Carry{codexapp.Wrapper, codexapp.Thread} {
		f := newFake(t, busy)
		r := newRig(t, f.options(codexapp.Options{Carry: carry}))
		for range 3 {
			r.trace.Events = nil
			r.good("go on")
			if _, err := trace.LedgerAt(r.trace.All(), 1); err != nil {
				t.Errorf("%s: %v", carry, err)
			}
			var kinds []string
			for _, e := range r.trace.Events {
				line, err := e.AppendJSON(nil)
				if err != nil {
					t.Error(err)
				}
				if back, err := trace.ParseEvent(line); err != nil {
					t.Errorf("%s: %v", line, err)
				} else if _, unknown := back.Payload.(*trace.Unknown); unknown {
					t.Errorf("unknown: %s", line)
				}
				kinds = append(kinds, string(e.Payload.Type()))
			}
			if got := strings.Join(kinds, " "); got != "run.started context.budgeted engine.turn tool.completed engine.usage engine.usage request.completed run.completed" {
				t.Errorf("%s: %s", carry, got)
			}
		}
	}
}

// A session in which a run broke off, as a crash leaves it, goes on.
func TestAfterACrash(t *testing.T) {
	ctx := context.Background()
	f := newFake(t, busy)
	r := newRig(t, f.options(codexapp.Options{}))
	_, err := r.s.Append(ctx, message.Message{ID: "u", Role: message.RoleUser, Blocks: text("lost")},
		message.Message{ID: "a", Role: message.RoleAssistant, Blocks: []message.Block{message.ToolCall{ID: "x", Name: "shell", Arguments: "{}"}}})
	if err != nil {
		t.Fatal(err)
	}
	r.good("go on")
	if r.s.Status(0) != session.Failed || f.lastInjected() != "" {
		t.Errorf("status %s, carried %q", r.s.Status(0), f.lastInjected())
	}
}

// A store or a trace that fails ends the run, and the turn with it.
func TestTraceFails(t *testing.T) {
	f := newFake(t, busy)
	r := newRig(t, f.options(codexapp.Options{}))
	o := r.opts
	o.Trace = failing{}
	r.engine.Close()
	e, err := codexapp.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	res, err := e.Run(context.Background(), codexapp.Request{Prompt: text("one"), Policy: r.policy})
	if err != nil || res.Status != codexapp.StatusFailed || !errors.Is(res.Err, errFull) {
		t.Errorf("%v %+v", err, res)
	}
	r.valid()
}

var errFull = errors.New("the disk is full")

type failing struct{}

func (failing) Emit(trace.Payload) error { return errFull }

// The compaction that Forge asks for is refused, ends at once, or never begins:
// the thread is left, not the session.
func TestCompactionDoesNotWork(t *testing.T) {
	for name, change := range map[string]func(f *fake){
		"refused": func(f *fake) {
			f.reply = func(f *fake, method string, id, _ json.RawMessage) bool {
				if method == "thread/compact/start" {
					f.refuse(id, "not now")
					return true
				}
				return false
			}
		},
		"fails": func(f *fake) {},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, func(f *fake, c call) {
				switch {
				case c.compact:
					f.complete(c, "failed", "contextWindowExceeded")
				case c.prompt == "overflow":
					f.complete(c, "failed", "contextWindowExceeded")
				default:
					f.answer(c, "answer to "+c.prompt)
				}
			})
			change(f)
			r := newRig(t, f.options(codexapp.Options{Carry: codexapp.Thread}))
			r.good("one")
			if res := r.run("overflow"); res.Status != codexapp.StatusLimitReached || !res.OccupancyUnknown {
				t.Errorf("%+v", res)
			}
			res := r.good("two")
			if res.Origin != codexapp.OriginRebuilt || res.Rebuilt != "stuck" || !strings.Contains(f.lastInjected(), "answer to one") {
				t.Errorf("%+v, carried %s", res, f.lastInjected())
			}
			if res := r.good("three"); res.Origin != codexapp.OriginKept {
				t.Errorf("%+v", res)
			}
		})
	}
}

// What a person approves for the run is not asked for again in it; the next run
// asks again (F-SEC-02).
func TestApprovalsLiveForOneRun(t *testing.T) {
	var decisions []string
	f := newFake(t, nil)
	f.play = func(f *fake, c call) {
		for _, id := range []string{"1", "2"} {
			decisions = append(decisions, string(f.ask(id+c.turn[5:], "item/commandExecution/requestApproval", map[string]any{"threadId": c.thread, "itemId": id, "command": "make", "cwd": "/w"})))
		}
		f.answer(c, "done")
	}
	r := newRig(t, f.options(codexapp.Options{}))
	asked := 0
	r.ask = func(_ context.Context, q policy.Request, _ policy.Decision) (policy.Answer, error) {
		if asked++; q.Risk != tool.RiskProcess {
			t.Errorf("%+v", q)
		}
		return policy.ApproveForRun, nil
	}
	r.good("one")
	r.good("two")
	if asked != 2 || strings.Count(strings.Join(decisions, ""), `{"decision":"accept"}`) != 4 {
		t.Errorf("asked %d times, %q", asked, decisions)
	}
}
