package codexapp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/forge-agent/forge/codexapp"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/sqlitestore"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/trace"
)

// rig is an engine with what it works on.
type rig struct {
	t      testing.TB
	store  session.Store
	s      *session.Session
	engine *codexapp.Engine
	trace  trace.List
	events []codexapp.Event
	policy *policy.Policy
	ask    policy.Confirmer
	opts   codexapp.Options
}

func newStore(t testing.TB) session.Store {
	t.Helper()
	store, err := sqlitestore.Open(context.Background(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func newRig(t testing.TB, o codexapp.Options) *rig {
	t.Helper()
	r := &rig{t: t, store: newStore(t)}
	s, err := session.Create(context.Background(), r.store, "", session.Info{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.use(s, o)
	return r
}

// use makes an engine for a session.
func (r *rig) use(s *session.Session, o codexapp.Options) {
	r.t.Helper()
	var err error
	if r.policy == nil {
		if r.policy, err = policy.New(policy.WorkspaceWrite, nil); err != nil {
			r.t.Fatal(err)
		}
	}
	r.s = s
	if o.Dir == "" {
		o.Dir = r.t.TempDir()
	}
	o.Session = s
	o.Counter = tokencount.New(o200k.New(), tokencount.Profile{})
	if o.Capabilities.WindowTokens == 0 {
		o.Capabilities = model.Capabilities{Provider: "codex", Model: "fake-model", WindowTokens: 100_000, WindowSource: model.WindowFromUser}
	}
	o.Trace = &r.trace
	o.Observer = func(e codexapp.Event) { r.events = append(r.events, e) }
	r.opts = o
	if r.engine, err = codexapp.New(context.Background(), o); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { r.engine.Close(); r.s.Close() })
}

func text(s string) []message.Block { return []message.Block{message.Text{Text: s}} }

func (r *rig) run(prompt string) *codexapp.Result {
	r.t.Helper()
	return r.runCtx(context.Background(), prompt)
}

func (r *rig) runCtx(ctx context.Context, prompt string) *codexapp.Result {
	r.t.Helper()
	res, err := r.engine.Run(ctx, codexapp.Request{Prompt: text(prompt), Policy: r.policy, Confirm: r.ask})
	if err != nil {
		r.t.Fatal(err)
	}
	r.valid()
	return res
}

// good runs an ordinary turn, which must succeed: nothing is stuck.
func (r *rig) good(prompt string) *codexapp.Result {
	r.t.Helper()
	res := r.run(prompt)
	if res.Status != codexapp.StatusCompleted || res.Text == "" {
		r.t.Fatalf("%q ended %s: %s", prompt, res.Status, res.Reason)
	}
	return res
}

// valid checks that the session is whole and every call has its result.
func (r *rig) valid() {
	r.t.Helper()
	rep, err := session.Verify(context.Background(), r.store, r.s.ID())
	if err != nil || len(rep.Findings) > 0 {
		r.t.Errorf("session: %v %+v", err, rep.Findings)
	}
	if p := r.s.Transcript().Pending(); len(p) > 0 {
		r.t.Errorf("calls without a result: %+v", p)
	}
	for i := range r.s.Transcript().Len() {
		if st := r.s.Status(i); st == session.Admitted {
			r.t.Errorf("message %d has no status", i)
		}
	}
}

// texts are the session's texts of one role.
func (r *rig) texts(role message.Role) string {
	var out []string
	for _, m := range r.s.Transcript().All() {
		if m.Role == role && m.Text() != "" {
			out = append(out, m.Text())
		}
	}
	return strings.Join(out, "|")
}

// result is that of the newest run.
func (r *rig) result() codexapp.Result {
	for i := len(r.events) - 1; i >= 0; i-- {
		if e, ok := r.events[i].(codexapp.Ended); ok {
			return e.Result
		}
	}
	return codexapp.Result{}
}

// payloads of one type, in order.
func payloads[T trace.Payload](r *rig) []T {
	var out []T
	for _, e := range r.trace.Events {
		if p, ok := e.Payload.(T); ok {
			out = append(out, p)
		}
	}
	return out
}

// F-PKG-07, F-TST-18, weak spot 19: each prompt goes into a fresh thread behind
// the view, the choice is in the result and in the trace.
func TestWrapperCarriesTheView(t *testing.T) {
	f := newFake(t, func(f *fake, c call) { f.answer(c, "answer to "+c.prompt) })
	r := newRig(t, f.options(codexapp.Options{}))
	first := r.good("remember the word tapir")
	if first.Carry != codexapp.Wrapper || first.Origin != codexapp.OriginFresh || first.WrapperBytes != 0 {
		t.Errorf("first: %+v", first)
	}
	second := r.good("which word?")
	if f.called("thread/start") != 2 || f.prompts[1] != "which word?" {
		t.Errorf("%d threads, prompts %q", f.called("thread/start"), f.prompts)
	}
	w := f.lastInjected()
	if !strings.Contains(w, "[[user]]\nremember the word tapir\n") || !strings.Contains(w, "[[assistant]]\nanswer to remember") || strings.Contains(w, "which word?") {
		t.Errorf("wrapper: %s", w)
	}
	if second.WrapperBytes != len(w) || second.WrapperTokens == 0 {
		t.Errorf("second: %+v, wrapper of %d bytes", second, len(w))
	}
	turns := payloads[*trace.EngineTurn](r)
	if len(turns) != 2 || turns[1].Carry != "wrapper" || turns[1].WrapperBytes != len(w) || turns[1].Version != "0.171.0" || turns[1].Thread != "thread-3" {
		t.Errorf("trace: %+v", turns)
	}
	budgets := payloads[*trace.ContextBudgeted](r)
	if len(budgets) != 2 || budgets[1].Categories[10] == 0 || budgets[1].Categories.Total() != budgets[1].Estimate.Tokens {
		t.Errorf("budget: %+v", budgets[1].Categories)
	}
	if n := len(payloads[*trace.EngineUsage](r)); n != 2 {
		t.Errorf("%d usage events", n)
	}
	if done := payloads[*trace.RunCompleted](r); len(done) != 2 || done[1].Status != trace.StatusCompleted {
		t.Errorf("%+v", done)
	}
}

// Only what is new goes to a thread that Codex keeps.
func TestThreadSendsOnlyTheNewTurn(t *testing.T) {
	f := newFake(t, func(f *fake, c call) { f.answer(c, "answer to "+c.prompt) })
	r := newRig(t, f.options(codexapp.Options{Carry: codexapp.Thread}))
	if res := r.good("one"); res.Origin != codexapp.OriginFresh {
		t.Errorf("%+v", res)
	}
	res := r.good("two")
	if res.Origin != codexapp.OriginKept || res.WrapperBytes != 0 || f.called("thread/start") != 1 || len(f.injected) != 0 {
		t.Errorf("%+v, calls %q", res, f.calls)
	}
	if res.OccupancyTokens != 1010 || res.WindowTokens != 100_000 {
		t.Errorf("occupancy %d of %d", res.OccupancyTokens, res.WindowTokens)
	}
	budgets := payloads[*trace.ContextBudgeted](r)
	if len(budgets) != 2 || budgets[1].Mode != string(contextwindow.Warn) || budgets[1].Action != contextwindow.Send {
		t.Errorf("%+v", budgets[1])
	}
}
