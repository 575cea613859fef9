package codexapp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/forge-agent/forge/codexapp"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/tool"
)

// busy is a turn with everything in it.
func busy(f *fake, c call) {
	if c.compact {
		f.item(c, "started", map[string]any{"type": "contextCompaction", "id": "k-" + c.turn})
		f.estimate(c, 500, 100_000)
		f.item(c, "completed", map[string]any{"type": "contextCompaction", "id": "k-" + c.turn})
		f.complete(c, "completed", "")
		return
	}
	f.item(c, "started", map[string]any{"type": "userMessage", "id": "u", "content": []any{}})
	f.item(c, "completed", map[string]any{"type": "reasoning", "id": "r", "summary": []string{"thinking"}, "content": []any{}})
	f.item(c, "started", map[string]any{"type": "commandExecution", "id": "cmd", "command": "/bin/bash -lc 'ls -l'", "cwd": "/", "status": "inProgress"})
	f.item(c, "completed", map[string]any{"type": "commandExecution", "id": "cmd", "command": "/bin/bash -lc 'ls -l'", "cwd": "/", "status": "completed", "exitCode": 0, "aggregatedOutput": "files\n"})
	f.usage(c, 1000, 10, 100_000)
	f.answer(c, "done")
}

// A server that ends at any point, after each of its messages: the run says so
// in one line, the session is whole, and the next prompt works.
func TestServerEndsAtAnyPoint(t *testing.T) {
	for _, carry := range []codexapp.Carry{codexapp.Wrapper, codexapp.Thread} {
		t.Run(string(carry), func(t *testing.T) {
			for after := 0; ; after++ {
				f := newFake(t, busy)
				f.words = "warn\npanicked at main.rs"
				r := newRig(t, f.options(codexapp.Options{Carry: carry}))
				r.good("one")
				f.mu.Lock()
				f.mortal, f.left = true, after
				f.mu.Unlock()
				res := r.run("two")
				f.mu.Lock()
				f.mortal = false
				f.mu.Unlock()
				if res.Status == codexapp.StatusCompleted {
					if after < 8 {
						t.Errorf("completed after %d messages", after)
					}
					break
				}
				if res.Status != codexapp.StatusFailed || !errors.Is(res.Err, codexapp.ErrExited) || !strings.Contains(res.Reason, "panicked at main.rs") || strings.Contains(res.Reason, "\n") {
					t.Errorf("after %d: %s: %s", after, res.Status, res.Reason)
				}
				r.good("three")
				// Where it ends before the run asks whether it lives, it is
				// started again within the run. One message may still be for
				// the run before.
				if f.starts != 2 && (after > 1 || f.starts != 3) {
					t.Errorf("after %d: started %d times", after, f.starts)
				}
				r.engine.Close()
			}
		})
	}
}

// A server that has ended between two runs is started again: nobody notices
// but for a line.
func TestServerEndsBetweenRuns(t *testing.T) {
	for _, carry := range []codexapp.Carry{codexapp.Wrapper, codexapp.Thread} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, busy)
			r := newRig(t, f.options(codexapp.Options{Carry: carry}))
			r.good("one")
			f.change(func() { f.out.Close() })
			synctest.Wait()
			res := r.good("two")
			if f.starts != 2 || carry == codexapp.Thread && res.Origin != codexapp.OriginResumed {
				t.Errorf("%s: %d starts, %+v", carry, f.starts, res)
			}
		})
	}
}

// What no good server says is passed over and counted.
func TestGarbageIsPassedOver(t *testing.T) {
	f := newFake(t, func(f *fake, c call) {
		f.raw("this is no JSON\n\n\r\n[1,2,3]\n\"text\"\n{\"id\":null}\n{}\n\xff\xfe\n")
		f.raw(`{"id":99,"result":{}}` + "\n" + `{"id":"abc","result":{}}` + "\n")
		f.note("something/new", map[string]any{"threadId": c.thread, "x": 1})
		f.note("item/started", "no object")
		f.note("turn/completed", map[string]any{"threadId": "another", "turn": map[string]any{"id": c.turn, "status": "failed"}})
		f.note("turn/completed", map[string]any{"threadId": c.thread, "turn": map[string]any{"id": "another", "status": "failed"}})
		f.note("thread/tokenUsage/updated", map[string]any{"threadId": c.thread, "tokenUsage": map[string]any{"last": map[string]any{"totalTokens": -5, "inputTokens": -7}, "total": map[string]any{}}})
		f.note("thread/tokenUsage/updated", map[string]any{"threadId": c.thread, "tokenUsage": map[string]any{"last": map[string]any{"totalTokens": 9e15, "inputTokens": 9e15}, "total": map[string]any{}}})
		f.item(c, "completed", map[string]any{"type": "somethingNew", "id": "n", "deep": map[string]any{"a": 1}})
		f.item(c, "completed", map[string]any{"type": "commandExecution", "id": 7, "command": []int{1}})
		f.item(c, "completed", map[string]any{"type": "agentMessage", "id": "m", "text": 7})
		f.answer(c, "fine")
	})
	f.reply = func(f *fake, method string, id, params json.RawMessage) bool {
		if method == "thread/start" {
			f.request(method, id, params, map[string]chan struct{}{})
			f.result(id, map[string]any{"thread": map[string]any{"id": "twice"}}) // the reply again
			return true
		}
		return false
	}
	r := newRig(t, f.options(codexapp.Options{}))
	res := r.good("one")
	if res.OccupancyTokens > 100_000 {
		t.Errorf("believed %d tokens", res.OccupancyTokens)
	}
	if s := r.engine.Strays(); s.Garbage != 6 || s.Unmatched != 3 || s.Oversize != 0 {
		t.Errorf("%+v", s)
	}
	found := false
	for _, m := range r.s.Transcript().All() {
		for _, b := range m.Blocks {
			o, ok := b.(message.Opaque)
			found = found || ok && o.Type == "somethingNew" && strings.Contains(string(o.Data), `"deep"`)
		}
	}
	if !found {
		t.Error("an item of an unknown kind is lost")
	}
}

// A program that is no app server at all.
func TestOnlyGarbage(t *testing.T) {
	f := newFake(t, nil)
	f.reply = func(f *fake, method string, _, _ json.RawMessage) bool {
		f.raw(strings.Repeat("hello\n", 2000))
		return true
	}
	_, err := codexapp.New(context.Background(), f.options(fixed(t)))
	if !errors.Is(err, codexapp.ErrProtocol) {
		t.Errorf("%v", err)
	}
}

// fixed are options that are complete but for the server.
func fixed(t testing.TB) codexapp.Options {
	f := newFake(t, nil)
	r := newRig(t, f.options(codexapp.Options{}))
	return r.opts
}

// A notification of 50 MB is read, and its output kept within what Forge keeps
// of any tool; a longer one is skipped. Both leave the turn as it is.
func TestLargeNotifications(t *testing.T) {
	size := 50 << 20
	if testing.Short() {
		size = 20 << 20
	}
	big := strings.Repeat("0123456789abcde\n", size/16)
	f := newFake(t, func(f *fake, c call) {
		f.item(c, "completed", map[string]any{"type": "commandExecution", "id": "cmd", "command": "yes", "status": "completed", "exitCode": 0, "aggregatedOutput": "begin\n" + big + "end\n"})
		f.raw(`{"method":"item/completed","params":{"x":"` + strings.Repeat("x", 70<<20) + `"}}` + "\n")
		f.answer(c, "fine")
	})
	r := newRig(t, f.options(codexapp.Options{}))
	r.good("one")
	if s := r.engine.Strays(); s.Oversize != 1 || s.Garbage != 0 {
		t.Errorf("%+v", s)
	}
	var kept message.ToolResult
	for _, m := range r.s.Transcript().All() {
		if m.Role == message.RoleTool {
			kept = m.Blocks[0].(message.ToolResult)
		}
	}
	text := kept.Text()
	if !kept.Truncated || kept.OriginalBytes != len(big)+10 || len(text) > tool.MaxOutputBytes || !strings.HasPrefix(text, "begin\n") || !strings.HasSuffix(text, "end\n") {
		t.Errorf("%d of %d bytes, truncated %v", len(text), kept.OriginalBytes, kept.Truncated)
	}
}

// Silence at every point ends in one clear error, in bounded time.
func TestSilence(t *testing.T) {
	limits := codexapp.Timeouts{Reply: time.Minute, Idle: 2 * time.Minute, Interrupt: 20 * time.Second, Exit: 3 * time.Second}
	mute := func(methods ...string) func(*fake, string, json.RawMessage, json.RawMessage) bool {
		return func(_ *fake, method string, _, _ json.RawMessage) bool {
			for _, m := range methods {
				if m == method {
					return true
				}
			}
			return false
		}
	}
	t.Run("initialize", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, busy)
			f.reply = mute("initialize")
			o := fixed(t)
			o.Timeouts = limits
			_, err := codexapp.New(t.Context(), f.options(o))
			if !errors.Is(err, codexapp.ErrSilent) || !strings.Contains(err.Error(), "initialize within 1m0s") {
				t.Errorf("%v", err)
			}
		})
	})
	for _, method := range []string{"thread/start", "thread/inject_items", "turn/start"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, busy)
				r := newRig(t, f.options(codexapp.Options{Timeouts: limits}))
				r.good("one")
				f.change(func() { f.reply = mute(method) })
				res := r.run("two")
				if !errors.Is(res.Err, codexapp.ErrSilent) || !strings.Contains(res.Reason, method) {
					t.Errorf("%s: %s", res.Status, res.Reason)
				}
				f.change(func() { f.reply = nil })
				r.good("three")
			})
		})
	}
	t.Run("in the middle of a turn", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			quiet := true
			f := newFake(t, func(f *fake, c call) {
				if quiet {
					f.item(c, "started", map[string]any{"type": "commandExecution", "id": "cmd", "command": "sleep 1"})
					return
				}
				busy(f, c)
			})
			f.reply = mute("thread/loaded/list")
			r := newRig(t, f.options(codexapp.Options{Timeouts: limits}))
			res := r.run("one")
			if !errors.Is(res.Err, codexapp.ErrSilent) {
				t.Errorf("%s: %s", res.Status, res.Reason)
			}
			if !strings.Contains(r.results(), "the turn ended before Codex reported a result") {
				t.Errorf("results: %s", r.results())
			}
			quiet = false
			r.good("two")
		})
	})
	t.Run("a long command, on a server that lives", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, func(f *fake, c call) {
				time.Sleep(time.Hour)
				f.answer(c, "fine")
			})
			r := newRig(t, f.options(codexapp.Options{Timeouts: limits}))
			r.good("one")
			if n := f.called("thread/loaded/list"); n < 20 || n > 40 {
				t.Errorf("asked %d times", n)
			}
		})
	})
	t.Run("the end of a turn is never told", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, func(f *fake, c call) {
				f.say(c, "fine")
				f.note("thread/status/changed", map[string]any{"threadId": c.thread, "status": map[string]any{"type": "idle"}})
			})
			r := newRig(t, f.options(codexapp.Options{Timeouts: limits}))
			if res := r.run("one"); !errors.Is(res.Err, codexapp.ErrProtocol) {
				t.Errorf("%s: %s", res.Status, res.Reason)
			}
		})
	})
	t.Run("after an interruption", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, func(f *fake, c call) { f.say(c, "begun") })
			r := newRig(t, f.options(codexapp.Options{Timeouts: limits}))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			res := r.runCtx(ctx, "one")
			if res.Status != codexapp.StatusCancelled {
				t.Errorf("%s: %s", res.Status, res.Reason)
			}
			f.change(func() { f.play = busy })
			r.good("two")
		})
	})
}

// A server that does not read what it is sent.
func TestServerDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, busy)
		r := newRig(t, f.options(codexapp.Options{}))
		block := make(chan struct{})
		f.change(func() {
			f.reply = func(*fake, string, json.RawMessage, json.RawMessage) bool { <-block; return true }
		})
		res := r.run("one")
		if !errors.Is(res.Err, codexapp.ErrSilent) {
			t.Errorf("%s: %s", res.Status, res.Reason)
		}
		close(block)
	})
}

// Cancelling interrupts the turn; what was done is recorded.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, func(f *fake, c call) {
			f.item(c, "started", map[string]any{"type": "commandExecution", "id": "cmd", "command": "sleep 100"})
			f.item(c, "started", map[string]any{"type": "agentMessage", "id": "m", "text": ""})
			f.note("item/agentMessage/delta", map[string]any{"threadId": c.thread, "itemId": "m", "delta": "I was about"})
			<-c.interrupted
			f.complete(c, "interrupted", "")
		})
		r := newRig(t, f.options(codexapp.Options{Carry: codexapp.Thread}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		res := r.runCtx(ctx, "one")
		if res.Status != codexapp.StatusCancelled || f.called("turn/interrupt") != 1 {
			t.Errorf("%s: %s", res.Status, res.Reason)
		}
		if got := r.texts(message.RoleAssistant); got != "I was about […]" || r.s.Header().Info.LastRun != session.Cancelled {
			t.Errorf("%q, %s", got, r.s.Header().Info.LastRun)
		}
		f.change(func() { f.play = busy })
		r.good("two")
	})
}

// Requests of the server always get an answer, whatever they are and whenever
// they come.
func TestEveryRequestIsAnswered(t *testing.T) {
	answers, late := map[string]string{}, make(chan string, 1)
	f := newFake(t, nil)
	f.play = func(f *fake, c call) {
		for i, q := range []struct {
			method string
			params any
		}{
			{"item/tool/requestUserInput", map[string]any{"threadId": c.thread, "questions": []any{}, "isBlocking": true}},
			{"mcpServer/elicitation/request", map[string]any{"threadId": c.thread}},
			{"item/tool/call", map[string]any{"threadId": c.thread, "tool": "x"}},
			{"account/chatgptAuthTokens/refresh", map[string]any{}},
			{"something/new", map[string]any{}},
			{"item/commandExecution/requestApproval", "no object"},
			{"item/fileChange/requestApproval", map[string]any{"threadId": c.thread, "itemId": "f"}},
			{"item/permissions/requestApproval", map[string]any{"threadId": c.thread, "permissions": map[string]any{"network": map[string]any{"enabled": true}}}},
			{"item/commandExecution/requestApproval", map[string]any{"threadId": c.thread, "itemId": "c", "command": "rm -r x", "reason": "to clean\nup"}},
		} {
			key := fmt.Sprintf("%d %s", i, q.method)
			answers[key] = string(f.ask(fmt.Sprint(1000+i), q.method, q.params))
		}
		f.change(func() { f.play = busy })
		f.answer(c, "fine")
		late <- string(f.ask("2000", "item/commandExecution/requestApproval", map[string]any{"threadId": c.thread, "command": "ls"}))
	}
	r := newRig(t, f.options(codexapp.Options{}))
	r.policy = profile(t, policy.Safe, nil)
	var asked []string
	r.ask = func(_ context.Context, q policy.Request, _ policy.Decision) (policy.Answer, error) {
		asked = append(asked, string(q.Risk)+": "+q.Summary)
		return policy.Refuse, nil
	}
	res := r.good("one")
	r.good("two")
	if got := <-late; got != `{"code":-32601,"message":"no turn is running"}` {
		t.Errorf("after the turn: %s", got)
	}
	for key, want := range map[string]string{
		"0 item/tool/requestUserInput":            `{"answers":{}}`,
		"1 mcpServer/elicitation/request":         `{"action":"decline"}`,
		"2 item/tool/call":                        `{"contentItems":[{"type":"inputText","text":"Forge has no such tool."}],"success":false}`,
		"3 account/chatgptAuthTokens/refresh":     `{"code":-32601,"message":"Forge does not know this request"}`,
		"4 something/new":                         `{"code":-32601,"message":"Forge does not know this request"}`,
		"5 item/commandExecution/requestApproval": `{"code":-32601,"message":"Forge cannot read this request"}`,
		"6 item/fileChange/requestApproval":       `{"decision":"decline"}`,
		"7 item/permissions/requestApproval":      `{"permissions":{},"scope":"turn"}`,
		"8 item/commandExecution/requestApproval": `{"decision":"decline"}`,
	} {
		if answers[key] != want {
			t.Errorf("%s: %s", key, answers[key])
		}
	}
	want := []string{"write: change files that Codex does not name", `network: widen Codex's sandbox for this turn: {"network":{"enabled":true}}`,
		"process: run outside of Codex's sandbox: rm -r x (to clean up)"}
	if strings.Join(asked, "|") != strings.Join(want, "|") || res.Totals.Denied != 3 {
		t.Errorf("asked %q, denied %d", asked, res.Totals.Denied)
	}
}

// A person may take long; meanwhile what Codex says is taken in, and a question
// that it settles itself is dropped.
func TestQuestionIsDropped(t *testing.T) {
	f := newFake(t, func(f *fake, c call) {
		go f.ask("7", "item/commandExecution/requestApproval", map[string]any{"threadId": c.thread, "command": "ls"})
		f.say(c, "meanwhile")
		f.note("serverRequest/resolved", map[string]any{"threadId": c.thread, "requestId": 7})
		f.answer(c, "fine")
	})
	r := newRig(t, f.options(codexapp.Options{}))
	r.ask = func(ctx context.Context, _ policy.Request, _ policy.Decision) (policy.Answer, error) {
		<-ctx.Done() // nobody answers
		return policy.ApproveOnce, ctx.Err()
	}
	r.good("one")
}

// Versions: an older program is refused, a newer one warns.
func TestVersions(t *testing.T) {
	for _, test := range []struct {
		agent, version string
		warns          bool
		err            error
	}{
		{"forge/0.171.0 (Linux)", "0.171.0", false, nil},
		{"forge/0.171.9-alpha.1 (Linux)", "0.171.9-alpha.1", false, nil},
		{"forge/0.172.0 (Linux)", "0.172.0", true, nil},
		{"forge/1.0.0", "1.0.0", true, nil},
		{"forge/0.170.5 (Linux)", "0.170.5", false, codexapp.ErrVersion},
		{"something else", "", true, nil},
		{"", "", true, nil},
		{"forge/x.y.z", "", true, nil},
	} {
		version, warning, err := codexapp.CheckVersion(test.agent)
		if version != test.version || (warning != "") != test.warns || !errors.Is(err, test.err) {
			t.Errorf("%q: %q, %q, %v", test.agent, version, warning, err)
		}
	}
	f := newFake(t, busy)
	f.userAgent = "forge/9.9.9 (Test)"
	r := newRig(t, f.options(codexapp.Options{}))
	if res := r.good("one"); len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "9.9.9") {
		t.Errorf("%q", res.Warnings)
	}
}
