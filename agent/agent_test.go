package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/sqlitestore"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/tool"
	"github.com/forge-agent/forge/trace"
)

// fake answers each request with a function.
type fake struct {
	caps     model.Capabilities
	reply    func(i int, r model.Request) modeltest.Reply
	requests []model.Request
}

func (f *fake) Capabilities() model.Capabilities { return f.caps }

func (f *fake) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		f.requests = append(f.requests, r)
		reply := f.reply(len(f.requests)-1, r)
		for _, e := range reply.Events {
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			if !yield(e, nil) {
				return
			}
			if _, done := e.(model.Completed); done {
				return
			}
		}
		if reply.Err == nil {
			reply.Err = ctx.Err()
		}
		yield(nil, reply.Err)
	}
}

// echo is a tool that answers with its argument and counts its runs.
type echo struct {
	name string
	risk tool.Risk
	runs []string
	run  func(ctx context.Context, text string) tool.Result
}

func (e *echo) Definition() message.ToolDefinition {
	return message.ToolDefinition{Name: e.name, Description: "Answers.", Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)}
}

func (e *echo) Risk() tool.Risk { return e.risk }

func (e *echo) Plan(_ context.Context, arguments string) (tool.Plan, error) {
	var a struct {
		Text string `json:"text"`
	}
	if err := tool.Decode(arguments, &a); err != nil {
		return tool.Plan{}, err
	}
	return tool.Plan{Summary: e.name + " " + a.Text, Scope: a.Text, Run: func(ctx context.Context) tool.Result {
		e.runs = append(e.runs, a.Text)
		if e.run != nil {
			return e.run(ctx, a.Text)
		}
		var k, n int
		if found, _ := fmt.Sscanf(a.Text, "part %d %d", &k, &n); found == 2 {
			return tool.Success(prose(k, n))
		}
		return tool.Success(a.Text)
	}}, nil
}

// bench is an agent with everything around it.
type bench struct {
	t       *testing.T
	model   *fake
	store   *sqlitestore.Store
	session *session.Session
	agent   *agent.Agent
	events  []agent.Event
	trace   trace.List
	read    *echo
	write   *echo
	options agent.Options
	request agent.Request
}

func newBench(t *testing.T, mode contextwindow.Mode, window int, reply func(int, model.Request) modeltest.Reply) *bench {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	b := &bench{t: t, store: store, model: &fake{caps: model.Capabilities{Provider: "test", Model: "m", WindowTokens: window, MaxOutputTokens: 2048, WindowSource: model.WindowFromUser}, reply: reply}}
	clock := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { clock = clock.Add(time.Second); return clock }
	ids := 0
	b.session, err = session.Create(t.Context(), store, "s", session.Info{ShownBytes: 8192}, &session.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	b.options = agent.Options{Model: b.model, Session: b.session, Trace: &b.trace, Now: now, Adapter: "fake", Forge: "test",
		Counter:  tokencount.New(o200k.New(), tokencount.Profile{}),
		NewID:    func() string { ids++; return fmt.Sprintf("m%04d", ids) },
		Observer: func(e agent.Event) { b.events = append(b.events, e) },
		Window:   contextwindow.Options{Mode: mode, Budget: budget.Settings{}}}
	b.read, b.write = &echo{name: "read", risk: tool.RiskRead}, &echo{name: "write", risk: tool.RiskWrite}
	set, err := tool.NewSet(b.read, b.write)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(policy.Safe, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.request = agent.Request{Tools: set, Policy: p, Instructions: []message.Message{{ID: "i", Role: message.RoleSystem, Blocks: []message.Block{message.Text{Text: "Be brief."}}}}}
	b.renew()
	return b
}

func (b *bench) renew() {
	b.t.Helper()
	var err error
	if b.agent, err = agent.New(b.options); err != nil {
		b.t.Fatal(err)
	}
}

// reopen closes the session and begins again as after a restart.
func (b *bench) reopen() {
	b.t.Helper()
	if err := b.session.Close(); err != nil {
		b.t.Fatal(err)
	}
	var err error
	if b.session, err = session.Open(b.t.Context(), b.store, "s", &session.Options{Now: b.options.Now}); err != nil {
		b.t.Fatal(err)
	}
	b.options.Session = b.session
	b.renew()
}

func (b *bench) run(text string) *agent.Result {
	b.t.Helper()
	return b.runIn(b.t.Context(), text)
}

func (b *bench) runIn(ctx context.Context, text string) *agent.Result {
	b.t.Helper()
	r := b.request
	r.Prompt = []message.Block{message.Text{Text: text}}
	res, err := b.agent.Run(ctx, r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.valid()
	return res
}

// valid checks what holds after every run: the session is whole, no call
// waits, and nothing is left without a status.
func (b *bench) valid() {
	b.t.Helper()
	report, err := session.Verify(b.t.Context(), b.store, "s")
	if err != nil || len(report.Findings) > 0 {
		b.t.Fatalf("session is not whole: %v %v", report.Findings, err)
	}
	if p := b.session.Transcript().Pending(); len(p) > 0 {
		b.t.Fatalf("calls wait: %v", p)
	}
	for i := b.session.Transcript().Base(); i < b.session.Transcript().Len(); i++ {
		if b.session.Status(i) == session.Admitted {
			b.t.Fatalf("message %d has no status", i)
		}
	}
}

func call(id, name, text string) message.ToolCall {
	args, _ := json.Marshal(map[string]string{"text": text})
	return message.ToolCall{ID: id, Name: name, Arguments: string(args)}
}

func say(text string) modeltest.Reply { return modeltest.Text(text) }

func TestRunCompletes(t *testing.T) {
	b := newBench(t, contextwindow.Warn, 64000, func(i int, r model.Request) modeltest.Reply {
		if i == 0 {
			return modeltest.Call(call("c1", "read", "hello"))
		}
		return say("done")
	})
	res := b.run("do it")
	if res.Status != agent.StatusCompleted || res.Text != "done" || res.Totals.ToolCalls != 1 || res.Totals.Steps != 2 {
		t.Errorf("result %+v", res)
	}
	if got := b.model.requests[0].OutputTokens; got <= 0 {
		t.Errorf("no output cap in the request: %d", got)
	}
	last := b.model.requests[1].Messages
	if r, ok := last[len(last)-1].Blocks[0].(message.ToolResult); !ok || r.Text() != "hello" {
		t.Errorf("the model saw %+v", last)
	}
	if s := b.session.Header().Info.LastRun; s != session.Completed {
		t.Errorf("last run is %s", s)
	}
}

// F-EVT-06, F-TST-08, F-RUN-02: a budget event precedes every request, and the
// run begins and ends in the trace.
func TestBudgetPrecedesEveryRequest(t *testing.T) {
	b := newBench(t, contextwindow.Warn, 64000, func(i int, r model.Request) modeltest.Reply {
		if i < 3 {
			return modeltest.Call(call(fmt.Sprint("c", i), "read", fmt.Sprint(i)))
		}
		return say("done")
	})
	b.run("do it")
	var kinds []string
	for _, e := range b.trace.Events {
		kinds = append(kinds, string(e.Payload.Type()))
	}
	want := "run.started"
	for range 3 {
		want += " context.budgeted request.completed tool.completed"
	}
	want += " context.budgeted request.completed run.completed"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
	if _, err := trace.LedgerAt(b.trace.All(), 4); err != nil {
		t.Errorf("ledger: %v", err)
	}
}

// C16, B20: what the person said is in the session, whatever happens then.
func TestPromptIsKeptWhenTheRunFails(t *testing.T) {
	b := newBench(t, contextwindow.Warn, 64000, func(i int, _ model.Request) modeltest.Reply {
		if i == 0 {
			return modeltest.Call(call("c1", "read", "a"))
		}
		return modeltest.Reply{Err: &model.Error{Provider: "test", Message: "boom"}}
	})
	res := b.run("remember me")
	if res.Status != agent.StatusFailed || !strings.Contains(res.Reason, "boom") {
		t.Errorf("result %+v", res)
	}
	if got := b.session.Transcript().At(0).Text(); got != "remember me" {
		t.Errorf("session holds %q", got)
	}
	// F-SEC-04: the next run does not see it, and is told of it.
	b.model.reply = func(int, model.Request) modeltest.Reply { return say("ok") }
	b.run("go on")
	seen := b.model.requests[len(b.model.requests)-1].Messages
	if len(seen) != 2 || seen[0].Text() != "go on" || !strings.Contains(seen[1].Text(), "remember me") || seen[1].Authored() {
		t.Errorf("the model saw %+v", seen)
	}
}

// F-RUN-07 and policy: what is denied is not run, and the run says so.
func TestDeniedCall(t *testing.T) {
	b := newBench(t, contextwindow.Warn, 64000, func(i int, r model.Request) modeltest.Reply {
		if i == 0 {
			return modeltest.Call(call("c1", "write", "x"))
		}
		return say("I could not")
	})
	res := b.run("write")
	if res.Status != agent.StatusDenied || len(b.write.runs) != 0 || res.Totals.Denied != 1 {
		t.Errorf("result %+v, runs %v", res, b.write.runs)
	}
	b.model.requests = nil
	b.request.Confirm = func(context.Context, policy.Request, policy.Decision) (policy.Answer, error) {
		return policy.ApproveOnce, nil
	}
	if res := b.run("write"); res.Status != agent.StatusCompleted || len(b.write.runs) != 1 {
		t.Errorf("result %+v, runs %v", res, b.write.runs)
	}
	// A hook can only be stricter.
	b.model.requests = nil
	b.request.Hooks = []agent.Hook{func(context.Context, policy.Request) policy.Decision {
		return policy.Decision{Action: policy.Deny, Source: "plugin", Reason: "no"}
	}}
	if res := b.run("write"); res.Status != agent.StatusDenied || len(b.write.runs) != 1 {
		t.Errorf("result %+v, runs %v", res, b.write.runs)
	}
}

func TestLimits(t *testing.T) {
	endless := func(i int, r model.Request) modeltest.Reply {
		return modeltest.Call(call(fmt.Sprint("c", i), "read", strings.Repeat("x", i+1)))
	}
	tests := []struct {
		name   string
		limits agent.Limits
		limit  string
	}{
		{"steps", agent.Limits{Steps: 3}, "steps"},
		{"calls", agent.Limits{ToolCalls: 2}, "tool-calls"},
		{"bytes", agent.Limits{OutputBytes: 5}, "output-bytes"},
		{"default", agent.Limits{}, "steps"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, contextwindow.Off, 1_000_000, endless)
			b.request.Limits = test.limits
			if res := b.run("go"); res.Status != agent.StatusLimitReached || res.Limit != test.limit || res.Reason == "" {
				t.Errorf("result %+v", res)
			}
		})
	}
	t.Run("cost without prices", func(t *testing.T) {
		b := newBench(t, contextwindow.Off, 64000, endless)
		b.request.Prompt = []message.Block{message.Text{Text: "x"}}
		b.request.Limits.CostUSD = 1
		if _, err := b.agent.Run(t.Context(), b.request); !errors.Is(err, agent.ErrInvalid) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("cost", func(t *testing.T) {
		b := newBench(t, contextwindow.Off, 64000, func(i int, r model.Request) modeltest.Reply {
			reply := endless(i, r)
			for k, e := range reply.Events {
				if done, ok := e.(model.Completed); ok {
					done.Usage = &message.Usage{InputTokens: 100_000, OutputTokens: 10}
					reply.Events[k] = done
				}
			}
			return reply
		})
		m, ok := catalog.Default().Lookup("gpt-5")
		if !ok {
			t.Fatal("gpt-5 is not in the catalog")
		}
		b.options.Prices = m.Prices
		b.renew()
		b.request.Limits.CostUSD = 0.3
		res := b.run("go")
		if res.Limit != "cost" || res.Totals.CostUSD == nil || *res.Totals.CostUSD < 0.3 || *res.Totals.CostUSD > 0.45 {
			t.Errorf("result %+v", res)
		}
	})
	t.Run("negative", func(t *testing.T) {
		b := newBench(t, contextwindow.Off, 64000, endless)
		b.request.Prompt = []message.Block{message.Text{Text: "x"}}
		b.request.Limits.Steps = -1
		if _, err := b.agent.Run(t.Context(), b.request); !errors.Is(err, agent.ErrInvalid) {
			t.Errorf("error %v", err)
		}
	})
}

// A run that is cancelled in a tool or in an answer leaves a valid session,
// with what was done in it.
func TestCancel(t *testing.T) {
	t.Run("in a tool", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBench(t, contextwindow.Warn, 64000, func(i int, r model.Request) modeltest.Reply {
			return modeltest.Call(call("c1", "read", "a"), call("c2", "read", "b"))
		})
		b.read.run = func(context.Context, string) tool.Result { cancel(); return tool.Failure("stopped") }
		if res := b.runIn(ctx, "go"); res.Status != agent.StatusCancelled || len(b.read.runs) != 1 {
			t.Errorf("result %+v, runs %v", res, b.read.runs)
		}
		if s := b.session.Header().Info.LastRun; s != session.Cancelled {
			t.Errorf("last run is %s", s)
		}
	})
	t.Run("in an answer", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBench(t, contextwindow.Warn, 64000, func(i int, r model.Request) modeltest.Reply {
			return modeltest.Reply{Events: []model.Event{model.TextDelta{Text: "half an an"}, model.TextDelta{Text: "swer"}}}
		})
		b.options.Observer = func(e agent.Event) {
			if _, ok := e.(agent.TextDelta); ok {
				cancel()
			}
		}
		b.renew()
		if res := b.runIn(ctx, "go"); res.Status != agent.StatusCancelled {
			t.Errorf("result %+v", res)
		}
		t2 := b.session.Transcript()
		if got := t2.At(t2.Len() - 1).Text(); got != "half an an" {
			t.Errorf("the session ends with %q", got)
		}
	})
	t.Run("time", func(t *testing.T) {
		b := newBench(t, contextwindow.Warn, 64000, func(i int, r model.Request) modeltest.Reply {
			return modeltest.Call(call("c1", "read", "a"))
		})
		b.read.run = func(ctx context.Context, _ string) tool.Result { <-ctx.Done(); return tool.Failure("stopped") }
		b.request.Limits.Time = time.Millisecond
		if res := b.run("go"); res.Limit != "time" {
			t.Errorf("result %+v", res)
		}
	})
}

// B18: an empty answer is asked for once more, and never ends in silence.
func TestEmptyAnswer(t *testing.T) {
	empty := modeltest.Reply{Events: []model.Event{model.Completed{Stop: model.StopEnd}}}
	b := newBench(t, contextwindow.Warn, 64000, func(i int, r model.Request) modeltest.Reply {
		if i == 0 {
			return empty
		}
		return say("here I am")
	})
	if res := b.run("go"); res.Status != agent.StatusCompleted || res.Text != "here I am" {
		t.Errorf("result %+v", res)
	}
	b.model.reply = func(int, model.Request) modeltest.Reply { return empty }
	if res := b.run("go"); res.Status != agent.StatusFailed || !strings.Contains(res.Reason, "empty") {
		t.Errorf("result %+v", res)
	}
}

// A usage that cannot be read costs no answer. It is told once, and the money
// is not known.
func TestUnreadableUsage(t *testing.T) {
	b := newBench(t, contextwindow.Warn, 64000, func(i int, r model.Request) modeltest.Reply {
		reply := say("done")
		if i < 2 {
			reply = modeltest.Call(call(fmt.Sprintf("c%d", i), "read", "a"))
		}
		done := reply.Events[len(reply.Events)-1].(model.Completed)
		done.Usage, done.UsageProblem = nil, "a negative number"
		reply.Events[len(reply.Events)-1] = done
		return reply
	})
	res := b.run("go")
	if res.Status != agent.StatusCompleted || res.Totals.Unreported != 3 || res.Totals.CostUSD != nil {
		t.Errorf("result %+v", res)
	}
	told := 0
	for _, e := range b.events {
		if n, ok := e.(agent.Notice); ok && strings.Contains(n.Text, "a negative number") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// F-SEC-10: a stream that breaks off is asked for again, and no call runs
// twice.
func TestBrokenStream(t *testing.T) {
	cut := modeltest.Reply{Events: []model.Event{model.TextDelta{Text: "I will"}}, Err: &model.Error{Kind: model.ErrIncompleteStream, Evidence: true, Message: "cut"}}
	b := newBench(t, contextwindow.Warn, 64000, func(i int, r model.Request) modeltest.Reply {
		switch i {
		case 0, 2:
			return cut
		case 1:
			return modeltest.Call(call("c1", "read", "a"))
		}
		return say("done")
	})
	if res := b.run("go"); res.Status != agent.StatusCompleted || len(b.read.runs) != 1 || res.Totals.Requests != 4 {
		t.Errorf("result %+v, runs %v", res, b.read.runs)
	}
	b.model.reply = func(int, model.Request) modeltest.Reply { return cut }
	if res := b.run("go"); res.Status != agent.StatusFailed || res.Totals.Requests != 3 {
		t.Errorf("result %+v", res)
	}
	if tr := b.session.Transcript(); tr.At(tr.Len()-1).Text() != "I will" {
		t.Error("what the model had said is not kept")
	}
}

// The same call twice in one answer runs once.
func TestRepeatedCallInOneAnswer(t *testing.T) {
	b := newBench(t, contextwindow.Warn, 64000, func(i int, r model.Request) modeltest.Reply {
		if i == 0 {
			return modeltest.Call(call("c1", "read", "a"), call("c1-2", "read", "a"), call("c3", "read", "b"), message.ToolCall{ID: "c4", Name: "read", Arguments: "{broken"}, call("c5", "nothing", ""))
		}
		return say("done")
	})
	res := b.run("go")
	if res.Status != agent.StatusCompleted || fmt.Sprint(b.read.runs) != "[a b]" || res.Totals.Refused != 3 {
		t.Errorf("result %+v, runs %v", res, b.read.runs)
	}
}

// B21: a run that goes in circles is told and then stopped.
func TestRepetition(t *testing.T) {
	b := newBench(t, contextwindow.Warn, 200000, func(i int, r model.Request) modeltest.Reply {
		return modeltest.Call(call(fmt.Sprint("c", i), "read", "same"))
	})
	res := b.run("go")
	if res.Limit != "repetition" || len(b.read.runs) != 8 {
		t.Errorf("result %+v, %d runs", res, len(b.read.runs))
	}
	told := 0
	for _, m := range b.model.requests[len(b.model.requests)-1].Messages {
		if m.Origin == message.OriginInjected && strings.Contains(m.Text(), "4 times") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the model was told %d times", told)
	}
}

// Secrets are out of what is stored and of what is shown (F-SEC-07).
func TestSecretsAreTakenOut(t *testing.T) {
	secret := "ghp_" + strings.Repeat("A1b2", 9)
	b := newBench(t, contextwindow.Warn, 64000, func(i int, r model.Request) modeltest.Reply {
		if i == 0 {
			return modeltest.Call(call("c1", "read", secret))
		}
		return say("the key is " + secret)
	})
	res := b.run("the key is " + secret)
	if strings.Contains(res.Text, secret) {
		t.Error("the result shows the secret")
	}
	if data, _ := json.Marshal(b.model.requests[1].Messages); !strings.Contains(string(data), "was run with the mark, not with the secret") {
		t.Error("the model is not told that the call ran with a mark")
	}
	for i, r := range b.model.requests {
		for _, m := range r.Messages {
			if data, _ := json.Marshal(m); strings.Contains(string(data), secret) {
				t.Errorf("request %d holds the secret: %s", i, data)
			}
		}
	}
}
