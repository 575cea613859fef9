package mcp_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/internal/mcp"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tool"
)

// A server over stdio: its tools work, it gets a reduced environment, and
// nothing of it is left.
func TestStdio(t *testing.T) {
	server := declared(t, "one", "good")
	server.Env["DECLARED"] = "yes"
	o := options()
	o.Environ = append(o.Environ, "SECRET_TOKEN=x", "PASSED=p")
	o.Pass = []string{"PASSED"}
	o.Dir = t.TempDir()
	all := connect(t, o, server)
	s := set(t, all)
	if len(all.Problems()) != 0 {
		t.Fatalf("problems: %v", all.Problems())
	}
	if r := call(t, s, "one__echo", `{"a": 12345678901234567890, "b":"<&>"}`); r.Outcome != message.OutcomeSuccess || r.Text != `{"a":12345678901234567890,"b":"<&>"}` {
		t.Errorf("echo: %+v", r)
	}
	got := call(t, s, "one__environment", "").Text
	for _, want := range []string{"DECLARED=yes", "PASSED=p", "PATH=", "dir=" + o.Dir} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in the environment", want)
		}
	}
	if strings.Contains(got, "SECRET_TOKEN") {
		t.Error("a variable that was not declared was passed")
	}
	if r := call(t, s, "one__fail", ""); r.Outcome != message.OutcomeFailure || r.Text != "no such ticket" {
		t.Errorf("fail: %+v", r)
	}
	if r := call(t, s, "one__refuse", "{}"); r.Outcome != message.OutcomeFailure || !strings.Contains(r.Text, "computer says no") {
		t.Errorf("refuse: %+v", r)
	}
	infos := all.Infos()
	if len(infos) != 1 || infos[0].Transport != "stdio" || infos[0].Risk != tool.RiskProcess || strings.Contains(infos[0].Title, "\u202e") || infos[0].Tools != 9 {
		t.Errorf("infos: %+v", infos)
	}
}

// A result that asks for a person's answer is a failure that says so.
func TestNeedsInput(t *testing.T) {
	all := connect(t, options(), declared(t, "one", "good"))
	if r := call(t, set(t, all), "one__ask", "{}"); r.Outcome != message.OutcomeFailure || !strings.Contains(r.Text, "wants an answer from a person") {
		t.Errorf("got %+v", r)
	}
}

// F-RUN-01: a message of 50 MB is not read; the call fails with its size, and
// the server goes on working.
func TestHugeResult(t *testing.T) {
	all := connect(t, options(), declared(t, "one", "good"))
	s := set(t, all)
	if r := call(t, s, "one__big", `{"bytes":50000000}`); r.Outcome != message.OutcomeFailure || !strings.Contains(r.Text, "thrown away") || len(r.Text) > 1000 {
		t.Errorf("got %d bytes: %.300s", len(r.Text), r.Text)
	}
	if r := call(t, s, "one__echo", "{}"); r.Outcome != message.OutcomeSuccess {
		t.Errorf("afterwards: %+v", r)
	}
}

// A server that dies during a call fails the call, and later calls are not
// made. Nothing is repeated (F-SEC-10).
func TestDies(t *testing.T) {
	all := connect(t, options(), declared(t, "one", "good"), declared(t, "two", "good"))
	s := set(t, all)
	r := call(t, s, "one__die", "{}")
	if r.Outcome != message.OutcomeFailure || !strings.Contains(r.Text, "died during the call") || !strings.Contains(r.Text, "exit code 3") || !strings.Contains(r.Text, "out of cheese") {
		t.Errorf("got %+v", r)
	}
	if r := call(t, s, "one__echo", "{}"); r.Outcome != message.OutcomeFailure {
		t.Errorf("afterwards: %+v", r)
	}
	if r := call(t, s, "two__echo", "{}"); r.Outcome != message.OutcomeSuccess {
		t.Errorf("the other server: %+v", r)
	}
	await(t, func() bool { return len(all.Problems()) > 0 })
	problem(t, all, mcp.Ended, "one", "exit code 3")
}

// await polls for what happens in another process or goroutine.
func await(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(2 * time.Minute)
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("it did not happen")
		}
	}
}

func exists(path string) func() bool {
	return func() bool { _, err := os.Stat(path); return err == nil }
}

// A call that is interrupted returns, and the server is told.
func TestCanceled(t *testing.T) {
	all := connect(t, options(), declared(t, "one", "good"))
	started, canceled := filepath.Join(t.TempDir(), "s"), filepath.Join(t.TempDir(), "c")
	p := plan(t, set(t, all), "one__wait", `{"started":"`+started+`","canceled":"`+canceled+`"}`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		await(t, exists(started))
		cancel()
	}()
	if r := p.Run(ctx); r.Outcome != message.OutcomeFailure || !strings.Contains(r.Text, "interrupted") {
		t.Errorf("got %+v", r)
	}
	await(t, exists(canceled))
}

// A call that takes too long is given up; so is one to a server that no longer
// reads what it is sent.
func TestCallTimeout(t *testing.T) {
	o := options()
	o.CallTimeout = 100 * time.Millisecond
	all := connect(t, o, declared(t, "one", "good"), declared(t, "deaf", "deaf"))
	s := set(t, all)
	for name, arguments := range map[string]string{
		"one__wait":  `{}`,
		"deaf__only": `{"a":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		if r := call(t, s, name, arguments); r.Outcome != message.OutcomeFailure || !strings.Contains(r.Text, "no answer within 100ms") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Servers that do not come up are problems with a reason; the others work, and
// nothing is left of any.
func TestUnreachable(t *testing.T) {
	bad := func(name, mode string) mcp.Server { return declared(t, name, mode) }
	missing := mcp.Server{Name: "missing", Command: []string{"no-such-program-anywhere"}}
	secret := bad("exits", "exit")
	secret.Env["TOKEN"] = "sesame-street"
	all := connect(t, options(), secret, missing, bad("garbage", "endless garbage"), declared(t, "good", "good"),
		mcp.Server{Name: "folder", Command: []string{"true"}, Dir: filepath.Join(t.TempDir(), "none")})
	problem(t, all, mcp.Unreachable, "exits", "exit code 7", "no licence for token [redacted]")
	problem(t, all, mcp.Unreachable, "missing", "could not be started", "no-such-program-anywhere")
	problem(t, all, mcp.Unreachable, "folder", "could not be started")
	problem(t, all, mcp.Unreachable, "garbage")
	if s := set(t, all); !slices.Contains(s.Names(), "good__echo") || call(t, s, "good__echo", "").Outcome != message.OutcomeSuccess {
		t.Errorf("names %v", s.Names())
	}
	if len(all.Infos()) != 1 {
		t.Errorf("infos %+v", all.Infos())
	}
	o := options()
	o.ConnectTimeout = 3 * time.Second // it begins and says so in this time
	problem(t, connect(t, o, bad("hangs", "hang")), mcp.Unreachable, "hangs", "not ready within 3s", "thinking")
}

// Greetings on the standard output are passed over and named.
func TestNoise(t *testing.T) {
	all := connect(t, options(), declared(t, "one", "garbage first"))
	problem(t, all, mcp.Noise, "one", "Welcome to the", "u{202E}")
	if r := call(t, set(t, all), "one__echo", ""); r.Outcome != message.OutcomeSuccess {
		t.Errorf("got %+v", r)
	}
}

// A server that ends over the question of the newest protocol is asked the old
// way.
func TestOldServer(t *testing.T) {
	all := connect(t, options(), declared(t, "one", "old"))
	if r := call(t, set(t, all), "one__only", ""); r.Outcome != message.OutcomeSuccess || r.Text != "done" {
		t.Errorf("got %+v, %v", r, all.Problems())
	}
}

// A server that ignores the end of its input and the signal is killed with what
// it started, in sessions of their own too.
func TestStubborn(t *testing.T) {
	all := connect(t, options(), declared(t, "one", "stubborn"))
	if len(all.Tools()) == 0 {
		t.Fatalf("no tools: %v", all.Problems())
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
}

// Closing ends a call that is under way.
func TestCloseDuringCall(t *testing.T) {
	all := connect(t, options(), declared(t, "one", "good"))
	started := filepath.Join(t.TempDir(), "s")
	p := plan(t, set(t, all), "one__wait", `{"started":"`+started+`"}`)
	done := make(chan tool.Result)
	go func() { done <- p.Run(t.Context()) }()
	await(t, exists(started))
	all.Close()
	if r := <-done; r.Outcome != message.OutcomeFailure {
		t.Errorf("got %+v", r)
	}
}

// A context that is done while servers start leaves none running.
func TestConnectCanceled(t *testing.T) {
	server := declared(t, "one", "hang")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if all, err := mcp.Connect(ctx, []mcp.Server{server}, options()); err == nil {
		t.Errorf("got %v", all)
	}
	nothingLeft(t, server.Env[markName])
}
