package codexapp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
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

// F-PKG-07, F-TST-18: the real program gets the view in a fresh thread for each
// prompt, and leaves no copies of the conversation behind.
func TestRealWrapper(t *testing.T) {
	r := newReal(t, setting{options: codexapp.Options{Carry: codexapp.Wrapper}})
	r.provider.plan(says("the tapir sleeps", 1500), runs("echo from the tool", 1500), says("it said so", 1600), says("tapir", 1700))
	r.good("remember: tapir")
	r.good("use a tool")
	res := r.good("which animal?")
	body := r.provider.last()
	for _, want := range []string{"remember: tapir", "the tapir sleeps", "from the tool", "it said so", "which animal?"} {
		if !strings.Contains(body, want) {
			t.Errorf("the request does not hold %q", want)
		}
	}
	if res.Carry != codexapp.Wrapper || res.WrapperTokens == 0 || res.Origin != codexapp.OriginFresh {
		t.Errorf("%+v", res)
	}
	if files := r.rollouts(); len(files) != 0 {
		t.Errorf("Codex kept %q", files)
	}
}

// A view of more than a mebibyte goes in too: the limit of Codex is on the
// input of a turn, and the wrapper is none.
func TestRealWrapperIsNoInput(t *testing.T) {
	r := newReal(t, setting{window: 2_000_000, options: codexapp.Options{Carry: codexapp.Wrapper, Capabilities: model.Capabilities{Model: "fake-model", WindowTokens: 2_000_000, WindowSource: model.WindowFromUser}}})
	r.provider.plan(says(strings.Repeat("long answer ", 100_000), 1500))
	r.good("one")
	r.provider.plan(says("fine", 300_000))
	if res := r.good("two"); res.WrapperBytes < 1<<20 {
		t.Errorf("a wrapper of %d bytes", res.WrapperBytes)
	}
}

// F-TST-18: with what Codex sends besides it, the view stays within Forge's
// budget turn after turn, and what the user stated stays in it.
func TestRealWrapperIsBounded(t *testing.T) {
	r := newReal(t, setting{window: 100_000, options: codexapp.Options{Carry: codexapp.Wrapper, Window: contextwindow.Options{Mode: contextwindow.Compact},
		Capabilities: model.Capabilities{Model: "fake-model", WindowTokens: 100_000, WindowSource: model.WindowFromUser}}})
	for turn := range 16 {
		prompt := fmt.Sprintf("tell me about part %d", turn)
		if turn == 1 {
			prompt = "Never touch the folder legacy/billing."
		}
		r.provider.plan(weighs(strings.Repeat(fmt.Sprintf("Part %d is about rows, columns and how they are counted. ", turn), 600)))
		r.good(prompt)
	}
	if !strings.Contains(r.provider.last(), "legacy/billing") {
		t.Error("the rule is lost")
	}
	for _, u := range payloads[*trace.EngineUsage](r.rig) {
		if u.Usage != nil && u.Usage.InputTokens > 95_000-16_384 {
			t.Errorf("Codex sent %d tokens", u.Usage.InputTokens)
		}
	}
	if r.s.Header().Checkpoints == 0 {
		t.Error("nothing was compacted: the session is too small for this test")
	}
	last := payloads[*trace.RequestCompleted](r.rig)
	if c := last[len(last)-1].Comparison; c == nil || c.ErrorPercent() > 25 || c.ErrorPercent() < -25 {
		t.Errorf("the estimate is off: %+v", c)
	}
}

// Approvals go to the policy: what is confirmed runs, what is refused does not,
// and the turn goes on.
func TestRealApprovals(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer policy.Answer
		denied int
	}{{"yes", policy.ApproveOnce, 0}, {"no", policy.Refuse, 1}} {
		t.Run(test.name, func(t *testing.T) {
			r := newReal(t, setting{})
			r.policy = profile(t, policy.Safe, nil)
			var asked []policy.Request
			r.ask = func(_ context.Context, q policy.Request, _ policy.Decision) (policy.Answer, error) {
				asked = append(asked, q)
				return test.answer, nil
			}
			file := filepath.Join(r.work, "made")
			r.provider.plan(runs("touch "+file, 1500, "sandbox_permissions", "require_escalated", "justification", "to make it"), says("went on", 1600))
			ends := map[int]codexapp.Status{0: codexapp.StatusCompleted, 1: codexapp.StatusDenied}[test.denied]
			res := r.run("make a file")
			if res.Status != ends || res.Text != "went on" {
				t.Errorf("%s: %s", res.Status, res.Reason)
			}
			if len(asked) != 1 || asked[0].Risk != tool.RiskProcess || asked[0].Tool != "run_command" || !strings.Contains(asked[0].Summary, "touch") || !strings.Contains(asked[0].Summary, "to make it") ||
				strings.Join(asked[0].Command, " ") != "touch "+file {
				t.Errorf("asked %+v", asked)
			}
			for _, e := range r.events {
				if d, ok := e.(codexapp.CallDecided); ok && (d.Call.Name != "shell" || d.Decision.Allowed() == (test.denied == 1)) {
					t.Errorf("decided %+v", d)
				}
			}
			if _, err := os.Stat(file); (err == nil) != (test.denied == 0) || res.Totals.Denied != test.denied {
				t.Errorf("file: %v, %+v", err, res.Totals)
			}
			patch := "*** Begin Patch\n*** Add File: patched\n+hello\n*** End Patch\n"
			r.provider.plan(runs("apply_patch <<'EOF'\n"+patch+"EOF", 1500), says("went on", 1600))
			if res := r.run("patch a file"); res.Status != ends || res.Text != "went on" {
				t.Errorf("%s: %s", res.Status, res.Reason)
			}
			if len(asked) != 2 || asked[1].Risk != tool.RiskWrite || asked[1].Scope != "files of the workspace" || !strings.Contains(asked[1].Diff, "hello") || !strings.Contains(asked[1].Summary, "patched") {
				t.Errorf("asked %+v", asked)
			}
			if _, err := os.Stat(filepath.Join(r.work, "patched")); (err == nil) != (test.denied == 0) {
				t.Errorf("patched: %v", err)
			}
			for _, e := range payloads[*trace.ToolCompleted](r.rig) {
				if want := map[int]string{0: "run allow", 1: "denied deny"}[test.denied]; e.Fate+" "+e.Decision != want || e.Cause == "" {
					t.Errorf("trace: %+v", e)
				}
			}
			if test.denied > 0 && !strings.Contains(r.results(), "not allowed") {
				t.Errorf("results: %s", r.results())
			}
		})
	}
}

// With nobody to ask, what needs confirmation is denied; a command that a rule
// denies ends the turn even where Codex asks nobody.
func TestRealDenials(t *testing.T) {
	r := newReal(t, setting{})
	file := filepath.Join(r.work, "made")
	r.provider.plan(runs("touch "+file, 1500, "sandbox_permissions", "require_escalated", "justification", "x"), says("went on", 1600))
	if res := r.run("make a file"); res.Status != codexapp.StatusDenied || res.Totals.Denied != 1 {
		t.Errorf("%s: %+v", res.Status, res.Totals)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it ran")
	}
	r.policy = profile(t, policy.WorkspaceWrite, &policy.Options{Layers: []policy.Layer{{Source: "user", Rules: []policy.Rule{{Command: []string{"sleep"}, Action: policy.Deny}}}}})
	r.provider.plan(runs("cd / && sleep 30", 1500), says("went on", 1600))
	res := r.run("wait")
	if res.Status != codexapp.StatusDenied || !strings.Contains(res.Reason, "a rule of user says deny") {
		t.Errorf("%s: %s", res.Status, res.Reason)
	}
	r.policy = nil
	r.provider.plan()
	r.good("go on")
}

func profile(t testing.TB, name policy.Profile, o *policy.Options) *policy.Policy {
	t.Helper()
	p, err := policy.New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// results are the texts of all tool results.
func (r *rig) results() string {
	var out []string
	for _, m := range r.s.Transcript().All() {
		for _, b := range m.Blocks {
			if res, ok := b.(message.ToolResult); ok {
				out = append(out, res.Text())
			}
		}
	}
	return strings.Join(out, "|")
}

// Codex's own file keeps 65,536 characters of this output, and its model sees
// 10,000; the session has all.
func TestRealOutputIsWhole(t *testing.T) {
	r := newReal(t, setting{})
	r.provider.plan(runs("seq 1 50000", 1500), says("counted", 4000))
	r.good("count")
	got := r.results()
	if !strings.HasSuffix(strings.TrimSpace(got), "\n49999\n50000") || !strings.Contains(got, "1\n2\n3\n") || len(got) < 288_000 {
		t.Errorf("%d bytes: %.100q", len(got), got)
	}
}

// Secrets are taken out before anything is stored.
func TestRealRedacts(t *testing.T) {
	r := newReal(t, setting{})
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	r.provider.plan(runs("echo "+secret, 1500), says("the token is "+secret, 1600))
	res := r.good("show it")
	if strings.Contains(res.Text, secret) {
		t.Errorf("the result holds the secret: %s", res.Text)
	}
	for e, err := range r.s.All(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(fmt.Sprintf("%+v", e.Message), secret) {
			t.Errorf("message %d holds the secret", e.Index)
		}
	}
}

// A session that was cut, forked or continued elsewhere does not agree with the
// thread any more: the thread is rebuilt from the view.
func TestRealThreadIsRebuilt(t *testing.T) {
	ctx := context.Background()
	t.Run("cut", func(t *testing.T) {
		r := newReal(t, setting{})
		r.provider.plan(says("first answer", 1500), says("second answer", 1600))
		r.good("one")
		r.good("two")
		if _, err := r.s.Truncate(ctx, 2); err != nil {
			t.Fatal(err)
		}
		r.restart()
		res := r.good("three")
		if res.Origin != codexapp.OriginRebuilt || res.WrapperBytes == 0 {
			t.Errorf("%+v", res)
		}
		if body := r.provider.last(); !strings.Contains(body, "first answer") || strings.Contains(body, "second answer") {
			t.Error("the new thread does not hold what the session holds")
		}
	})
	t.Run("forked", func(t *testing.T) {
		r := newReal(t, setting{})
		r.provider.plan(says("first answer", 1500))
		r.good("one")
		id, _, err := r.s.Fork(ctx, "", r.s.Header().Messages)
		if err != nil {
			t.Fatal(err)
		}
		fork, err := session.Open(ctx, r.store, id, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.engine.Close()
		r.use(fork, r.opts)
		if res := r.good("two"); res.Origin != codexapp.OriginRebuilt || res.Rebuilt != "forked" {
			t.Errorf("%+v", res)
		}
	})
	t.Run("continued in Codex", func(t *testing.T) {
		r := newReal(t, setting{})
		r.good("one")
		thread := r.result().Thread
		r.engine.Close()
		s := startRaw(t, r)
		s.call("thread/resume", map[string]any{"threadId": thread})
		s.turn(thread, "said to Codex itself")
		s.close()
		r.use(r.s, r.opts)
		if res := r.good("two"); res.Origin != codexapp.OriginRebuilt || res.Rebuilt != "continued-elsewhere" {
			t.Errorf("%+v", res)
		}
	})
	t.Run("gone", func(t *testing.T) {
		r := newReal(t, setting{})
		r.good("one")
		r.engine.Close()
		for _, f := range r.rollouts() {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range must(filepath.Glob(filepath.Join(r.home, "*.sqlite*"))) {
			os.Remove(f)
		}
		r.use(r.s, r.opts)
		if res := r.good("two"); res.Origin != codexapp.OriginRebuilt || res.Rebuilt != "not-found" {
			t.Errorf("%+v", res)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// In the mode compact a thread is kept within Forge's budget too.
func TestRealThreadInModeCompact(t *testing.T) {
	r := newReal(t, setting{options: codexapp.Options{Window: contextwindow.Options{Mode: contextwindow.Compact}}})
	r.provider.plan(says("first answer", 12000), says("the summary", 12100), says("second answer", 3000))
	r.good("one")
	res := r.good("two")
	if len(res.Compactions) != 1 || !res.Compactions[0].Manual || !res.Compactions[0].Completed {
		t.Errorf("%+v", res.Compactions)
	}
}

// Closing leaves nothing running, not even what a command left behind.
func TestRealLeavesNothingRunning(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	r := newReal(t, setting{})
	r.policy = profile(t, policy.WorkspaceWrite, &policy.Options{Grants: []policy.Rule{{Risk: tool.RiskProcess, Action: policy.Allow}}})
	mark := fmt.Sprintf("98761.%d", os.Getpid())
	r.provider.plan(runs("setsid sleep "+mark+" & sleep "+mark, 1500, "yield_time_ms", 300, "sandbox_permissions", "require_escalated", "justification", "x"), says("left it running", 1600))
	r.good("start something")
	if running("sleep\x00"+mark) == 0 {
		t.Fatal("it did not start")
	}
	r.engine.Close()
	if n := running("sleep\x00" + mark); n != 0 {
		t.Errorf("%d programs are left", n)
	}
	if r.kill() != 0 {
		t.Error("Codex is left")
	}
}

// running counts processes whose command line holds a text.
func running(text string) int {
	n := 0
	for _, file := range must(filepath.Glob("/proc/[0-9]*/cmdline")) {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), text) {
			n++
		}
	}
	return n
}

// The real program is killed in the middle of a turn: one clear error, a whole
// session, and the next prompt goes on.
func TestRealIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	for _, carry := range []codexapp.Carry{codexapp.Wrapper, codexapp.Thread} {
		t.Run(string(carry), func(t *testing.T) {
			r := newReal(t, setting{options: codexapp.Options{Carry: carry}})
			r.provider.plan(says("the tapir sleeps", 1500))
			r.good("one")
			r.provider.plan(runs("echo before the end", 1500), func(_ *responses, _ http.ResponseWriter, q *http.Request) {
				r.kill()
				<-q.Context().Done()
			})
			res := r.run("two")
			if res.Status != codexapp.StatusFailed || !errors.Is(res.Err, codexapp.ErrExited) || !strings.Contains(res.Reason, "killed") {
				t.Errorf("%s: %s", res.Status, res.Reason)
			}
			if !strings.Contains(r.results(), "before the end") {
				t.Errorf("results: %s", r.results())
			}
			r.provider.plan(says("it woke up", 1600))
			r.good("three")
			if !strings.Contains(r.provider.last(), "the tapir sleeps") {
				t.Error("the conversation is lost")
			}
		})
	}
}

// kill ends the processes that work with this test's folder, and says how many
// they were.
func (r *real) kill() int {
	n := 0
	for _, file := range must(filepath.Glob("/proc/[0-9]*/environ")) {
		data, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(data), "CODEX_HOME="+r.home+"\x00") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/environ", &pid); err != nil {
			continue
		}
		if p, err := os.FindProcess(pid); err == nil && p.Kill() == nil {
			n++
		}
	}
	return n
}

// Codex that does not start says why.
func TestRealBadConfiguration(t *testing.T) {
	r := newReal(t, setting{})
	if err := os.WriteFile(filepath.Join(r.home, "config.toml"), []byte("approval_policy = \"untrusted\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := codexapp.New(context.Background(), r.opts)
	if !errors.Is(err, codexapp.ErrStart) || !strings.Contains(err.Error(), "untrusted") {
		t.Errorf("%v", err)
	}
	t.Log(err)
}
