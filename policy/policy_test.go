package policy_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/tool"
)

func newPolicy(t *testing.T, profile policy.Profile, opts *policy.Options) *policy.Policy {
	t.Helper()
	p, err := policy.New(profile, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The two profiles, the order deny > confirm > allow, and grants that lift a
// profile's confirmation and nothing else.
func TestDecide(t *testing.T) {
	rules := func(source string, rs ...policy.Rule) *policy.Options {
		return &policy.Options{Layers: []policy.Layer{{Source: source, Rules: rs}}}
	}
	test := []string{"go", "test", "./..."}
	tests := []struct {
		name    string
		profile policy.Profile
		opts    *policy.Options
		request policy.Request
		want    policy.Action
		cause   policy.Cause
	}{
		{"safe reads", policy.Safe, nil, policy.Request{Risk: tool.RiskRead}, policy.Allow, policy.CauseProfile},
		{"safe asks to write", policy.Safe, nil, policy.Request{Risk: tool.RiskWrite}, policy.Confirm, policy.CauseProfile},
		{"safe asks for a program", policy.Safe, nil, policy.Request{Risk: tool.RiskProcess}, policy.Confirm, policy.CauseProfile},
		{"safe asks for the network", policy.Safe, nil, policy.Request{Risk: tool.RiskNetwork}, policy.Confirm, policy.CauseProfile},
		{"workspace-write writes", policy.WorkspaceWrite, nil, policy.Request{Risk: tool.RiskWrite}, policy.Allow, policy.CauseProfile},
		{"workspace-write asks for a program", policy.WorkspaceWrite, nil, policy.Request{Risk: tool.RiskProcess}, policy.Confirm, policy.CauseProfile},
		{"no risk", policy.WorkspaceWrite, nil, policy.Request{Tool: "x"}, policy.Deny, policy.CauseUnknownRisk},
		{"made-up risk", policy.WorkspaceWrite, nil, policy.Request{Risk: "none"}, policy.Deny, policy.CauseUnknownRisk},
		{"project denies", policy.WorkspaceWrite, rules("project", policy.Rule{Tool: "apply_patch", Action: policy.Deny}),
			policy.Request{Tool: "apply_patch", Risk: tool.RiskWrite}, policy.Deny, policy.CauseRule},
		{"another tool", policy.WorkspaceWrite, rules("project", policy.Rule{Tool: "apply_patch", Action: policy.Deny}),
			policy.Request{Tool: "create_file", Risk: tool.RiskWrite}, policy.Allow, policy.CauseProfile},
		{"project allows: nothing", policy.Safe, rules("project", policy.Rule{Action: policy.Allow}),
			policy.Request{Risk: tool.RiskProcess}, policy.Confirm, policy.CauseProfile},
		{"deny beats confirm", policy.Safe, rules("user", policy.Rule{Action: policy.Confirm}, policy.Rule{Action: policy.Deny}, policy.Rule{Action: policy.Allow}),
			policy.Request{Risk: tool.RiskRead}, policy.Deny, policy.CauseRule},
		{"command prefix", policy.Safe, rules("user", policy.Rule{Command: []string{"rm"}, Action: policy.Deny}),
			policy.Request{Risk: tool.RiskProcess, Command: []string{"rm", "-r", "x"}}, policy.Deny, policy.CauseRule},
		{"longer prefix", policy.Safe, rules("user", policy.Rule{Command: []string{"rm", "-r", "x", "y"}, Action: policy.Deny}),
			policy.Request{Risk: tool.RiskProcess, Command: []string{"rm", "-r", "x"}}, policy.Confirm, policy.CauseProfile},
		{"grant", policy.Safe, &policy.Options{Grants: []policy.Rule{{Command: []string{"go", "test"}, Action: policy.Allow}}},
			policy.Request{Risk: tool.RiskProcess, Command: test}, policy.Allow, policy.CauseGrant},
		{"grant for another command", policy.Safe, &policy.Options{Grants: []policy.Rule{{Command: []string{"go", "test"}, Action: policy.Allow}}},
			policy.Request{Risk: tool.RiskProcess, Command: []string{"go", "run", "x"}}, policy.Confirm, policy.CauseProfile},
		{"project asks in spite of a grant", policy.Safe, &policy.Options{
			Grants: []policy.Rule{{Command: []string{"go", "test"}, Action: policy.Allow}},
			Layers: []policy.Layer{{Source: "project", Rules: []policy.Rule{{Risk: tool.RiskProcess, Action: policy.Confirm}}}}},
			policy.Request{Risk: tool.RiskProcess, Command: test}, policy.Confirm, policy.CauseRule},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newPolicy(t, tt.profile, tt.opts).Decide(tt.request)
			if d.Action != tt.want || d.Cause != tt.cause || d.Reason == "" || d.Source == "" {
				t.Errorf("got %+v, want %s because of %s", d, tt.want, tt.cause)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		profile policy.Profile
		opts    policy.Options
	}{
		"unknown profile":    {"yolo", policy.Options{}},
		"no profile":         {"", policy.Options{}},
		"unknown action":     {policy.Safe, policy.Options{Layers: []policy.Layer{{Source: "user", Rules: []policy.Rule{{Action: "ask"}}}}}},
		"unknown risk":       {policy.Safe, policy.Options{Layers: []policy.Layer{{Source: "user", Rules: []policy.Rule{{Risk: "all", Action: policy.Deny}}}}}},
		"nameless layer":     {policy.Safe, policy.Options{Layers: []policy.Layer{{Rules: []policy.Rule{{Action: policy.Deny}}}}}},
		"grant that denies":  {policy.Safe, policy.Options{Grants: []policy.Rule{{Tool: "x", Action: policy.Deny}}}},
		"grant for anything": {policy.Safe, policy.Options{Grants: []policy.Rule{{Action: policy.Allow}}}},
	} {
		if _, err := policy.New(tt.profile, &tt.opts); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	var none *policy.Policy
	if d := none.Decide(policy.Request{Risk: tool.RiskRead}); d.Allowed() {
		t.Errorf("a nil policy allows: %+v", d)
	}
}

func confirmer(answers ...policy.Answer) (policy.Confirmer, *int) {
	asked := 0
	return func(context.Context, policy.Request, policy.Decision) (policy.Answer, error) {
		asked++
		return answers[min(asked, len(answers))-1], nil
	}, &asked
}

// No channel means deny; approvals hold for one call, or for a scope until the
// run ends.
func TestAuthorize(t *testing.T) {
	p := newPolicy(t, policy.Safe, nil)
	run := policy.Request{Tool: "run_command", Risk: tool.RiskProcess, Scope: "go test"}
	ctx := t.Context()
	expect := func(d policy.Decision, action policy.Action, cause policy.Cause) {
		t.Helper()
		if d.Action != action || d.Cause != cause {
			t.Errorf("got %+v, want %s because of %s", d, action, cause)
		}
	}

	expect(p.Begin(nil).Authorize(ctx, run), policy.Deny, policy.CauseNoChannel)

	ask, asked := confirmer(policy.ApproveOnce, policy.Refuse)
	r := p.Begin(ask)
	expect(r.Authorize(ctx, run), policy.Allow, policy.CauseApproval)
	expect(r.Authorize(ctx, run), policy.Deny, policy.CauseRefusal)
	if *asked != 2 {
		t.Errorf("asked %d times, want 2", *asked)
	}

	ask, asked = confirmer(policy.ApproveForRun)
	r = p.Begin(ask)
	expect(r.Authorize(ctx, run), policy.Allow, policy.CauseApproval)
	expect(r.Authorize(ctx, run), policy.Allow, policy.CauseRunApproval)
	other := run
	other.Scope = "go vet"
	expect(r.Authorize(ctx, other), policy.Allow, policy.CauseApproval)
	if *asked != 2 {
		t.Errorf("asked %d times, want 2: once for each scope", *asked)
	}
	hook := policy.Decision{Action: policy.Deny, Cause: policy.CauseRule, Source: "plugin", Reason: "no"}
	expect(r.Authorize(ctx, run, hook), policy.Deny, policy.CauseRule)
	hook.Action = "unheard-of"
	expect(r.Authorize(ctx, run, hook), policy.Deny, policy.CauseRule)
	read := policy.Request{Tool: "read_file", Risk: tool.RiskRead, Scope: "x"}
	hook.Action = policy.Confirm
	expect(r.Authorize(ctx, read, hook), policy.Allow, policy.CauseApproval)
	expect(r.Authorize(ctx, read, hook), policy.Allow, policy.CauseApproval)
	expect(r.Authorize(ctx, run, hook), policy.Allow, policy.CauseApproval)
	if *asked != 5 {
		t.Errorf("asked %d times, want 5: a hook's confirmation is always asked for", *asked)
	}
	r.End()
	expect(r.Authorize(ctx, run), policy.Deny, policy.CauseCanceled)
	expect(r.Authorize(ctx, read), policy.Deny, policy.CauseCanceled)

	noScope := policy.Request{Tool: "x", Risk: tool.RiskNetwork}
	ask, asked = confirmer(policy.ApproveForRun)
	r = p.Begin(ask)
	r.Authorize(ctx, noScope)
	r.Authorize(ctx, noScope)
	if *asked != 2 {
		t.Errorf("asked %d times, want 2: nothing to approve for the run", *asked)
	}

	ask, _ = confirmer(99)
	expect(p.Begin(ask).Authorize(ctx, run), policy.Deny, policy.CauseRefusal)

	broken := func(context.Context, policy.Request, policy.Decision) (policy.Answer, error) {
		return policy.ApproveForRun, errors.New("terminal closed")
	}
	expect(p.Begin(broken).Authorize(ctx, run), policy.Deny, policy.CauseNoChannel)

	canceled, cancel := context.WithCancel(ctx)
	late := func(context.Context, policy.Request, policy.Decision) (policy.Answer, error) {
		cancel()
		return policy.ApproveForRun, nil
	}
	r = p.Begin(late)
	expect(r.Authorize(canceled, run), policy.Deny, policy.CauseCanceled)
}

// F-SEC-02: approvals are in no stored form of a run, and a new run begins
// with none.
func TestApprovalsAreNotStored(t *testing.T) {
	ask, asked := confirmer(policy.ApproveForRun)
	p := newPolicy(t, policy.Safe, nil)
	q := policy.Request{Tool: "run_command", Risk: tool.RiskProcess, Scope: "make"}
	r := p.Begin(ask)
	r.Authorize(t.Context(), q)
	if _, err := json.Marshal(r); !errors.Is(err, policy.ErrNotStored) {
		t.Errorf("json: %v", err)
	}
	if err := gob.NewEncoder(&bytes.Buffer{}).Encode(r); err == nil {
		t.Error("gob encodes a run")
	}
	if d := p.Begin(ask).Authorize(t.Context(), q); d.Cause != policy.CauseApproval || *asked != 2 {
		t.Errorf("a new run was not asked: %+v", d)
	}
}

// Several calls at once are asked one after another, and an approval for the
// run answers those that wait.
func TestAuthorizeTogether(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	r := newPolicy(t, policy.Safe, nil).Begin(func(context.Context, policy.Request, policy.Decision) (policy.Answer, error) {
		if !mu.TryLock() {
			t.Error("two questions at once")
			return policy.Refuse, nil
		}
		defer mu.Unlock()
		asked++
		return policy.ApproveForRun, nil
	})
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			if d := r.Authorize(t.Context(), policy.Request{Tool: "x", Risk: tool.RiskWrite, Scope: "all"}); !d.Allowed() {
				t.Errorf("denied: %+v", d)
			}
		})
	}
	wait.Wait()
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
}

// 10,000 random attempts to turn deny into allow: whatever rules, grants,
// opinions and answers are added, an opinion of deny stands, an opinion of
// confirm is never skipped without a yes, and adding a layer never makes the
// decision more lenient.
func TestNothingTurnsDenyIntoAllow(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 10_000))
	actions := []policy.Action{policy.Allow, policy.Confirm, policy.Deny}
	strict := map[policy.Action]int{policy.Allow: 0, policy.Confirm: 1, policy.Deny: 2}
	names := []string{"read_file", "apply_patch", "run_command", "Run_Command", "run_command ", ""}
	words := []string{"rm", "go", "test", "-r", ""}
	risks := append(tool.Risks(), "", "READ", "none")
	command := func() (out []string) {
		for range rng.IntN(4) {
			out = append(out, words[rng.IntN(len(words))])
		}
		return out
	}
	rule := func() policy.Rule {
		r := policy.Rule{Action: actions[rng.IntN(3)], Command: command()}
		if rng.IntN(2) == 0 {
			r.Tool = names[rng.IntN(len(names))]
		}
		if rng.IntN(2) == 0 {
			r.Risk = tool.Risks()[rng.IntN(4)]
		}
		return r
	}
	for i := range 10_000 {
		opts := policy.Options{}
		for range rng.IntN(4) {
			grant := rule()
			grant.Action, grant.Tool = policy.Allow, "run_command"
			opts.Grants = append(opts.Grants, grant)
		}
		for range rng.IntN(3) {
			layer := policy.Layer{Source: "layer"}
			for range rng.IntN(4) {
				layer.Rules = append(layer.Rules, rule())
			}
			opts.Layers = append(opts.Layers, layer)
		}
		profile := policy.Profiles()[rng.IntN(2)]
		q := policy.Request{Tool: names[rng.IntN(len(names))], Risk: risks[rng.IntN(len(risks))], Command: command(), Scope: "s"}
		before := newPolicy(t, profile, &opts)
		decision := before.Decide(q)

		more := opts
		more.Layers = append(more.Layers[:len(more.Layers):len(more.Layers)], policy.Layer{Source: "project", Rules: []policy.Rule{rule()}})
		if after := newPolicy(t, profile, &more).Decide(q); strict[after.Action] < strict[decision.Action] {
			t.Fatalf("attempt %d: a project rule made %+v into %+v for %+v", i, decision, after, q)
		}

		answer := policy.Answer(rng.IntN(5) - 1)
		asked := false
		run := before.Begin(func(context.Context, policy.Request, policy.Decision) (policy.Answer, error) {
			asked = true
			return answer, nil
		})
		opinion := policy.Decision{Action: []policy.Action{policy.Allow, policy.Confirm, policy.Deny, "", "ALLOW"}[rng.IntN(5)]}
		got := run.Authorize(t.Context(), q, opinion)
		worst := max(strict[decision.Action], opinionStrictness(opinion.Action))
		switch {
		case got.Action != policy.Allow && got.Action != policy.Deny:
			t.Fatalf("attempt %d: undecided: %+v", i, got)
		case worst == 2 && (got.Allowed() || asked):
			t.Fatalf("attempt %d: a denial was lifted or asked about: %+v, %+v", i, q, got)
		case worst == 1 && got.Allowed() && (!asked || answer != policy.ApproveOnce && answer != policy.ApproveForRun):
			t.Fatalf("attempt %d: allowed without a yes: %+v, %+v", i, q, got)
		case worst == 0 && (asked || !got.Allowed()):
			t.Fatalf("attempt %d: an allowed call was asked about: %+v", i, got)
		}
	}
}

func opinionStrictness(a policy.Action) int {
	switch a {
	case policy.Allow:
		return 0
	case policy.Confirm:
		return 1
	}
	return 2
}

func TestAsk(t *testing.T) {
	q := policy.Ask(tool.Plan{Tool: "t", Risk: tool.RiskWrite, Summary: "s", Diff: "d", Scope: "c", Command: []string{"x"}})
	if q.Tool != "t" || q.Risk != tool.RiskWrite || q.Summary != "s" || q.Diff != "d" || q.Scope != "c" || strings.Join(q.Command, "") != "x" {
		t.Errorf("lost something: %+v", q)
	}
}

// A tool that is called through another one is bound by the rules for both, and
// a grant for the other one does not cover it.
func TestVia(t *testing.T) {
	via := policy.Request{Tool: "web__send", Via: "call_tool", Risk: tool.RiskNetwork}
	for _, tt := range []struct {
		name          string
		grant, rule   string
		action, wants policy.Action
	}{
		{"no rule", "", "", "", policy.Confirm},
		{"rule for the tool", "", "web__send", policy.Deny, policy.Deny},
		{"rule for the one in between", "", "call_tool", policy.Deny, policy.Deny},
		{"rule for another", "", "search_tools", policy.Deny, policy.Confirm},
		{"grant for the tool", "web__send", "", "", policy.Allow},
		{"grant for the one in between", "call_tool", "", "", policy.Confirm},
		{"grant, and a rule for the one in between", "web__send", "call_tool", policy.Confirm, policy.Confirm},
	} {
		o := &policy.Options{}
		if tt.grant != "" {
			o.Grants = []policy.Rule{{Tool: tt.grant, Action: policy.Allow}}
		}
		if tt.rule != "" {
			o.Layers = []policy.Layer{{Source: "user", Rules: []policy.Rule{{Tool: tt.rule, Action: tt.action}}}}
		}
		p, err := policy.New(policy.Safe, o)
		if err != nil {
			t.Fatal(err)
		}
		if d := p.Decide(via); d.Action != tt.wants {
			t.Errorf("%s: %+v, want %s", tt.name, d, tt.wants)
		}
	}
	if q := policy.Ask(tool.Plan{Tool: "a", Via: "b"}); q.Via != "b" {
		t.Errorf("asked %+v", q)
	}
}

// F-SEC-02: a person reads in words what an approval for the run covers.
func TestCovers(t *testing.T) {
	for _, test := range []struct {
		request policy.Request
		want    string
	}{
		{policy.Request{}, ""},
		{policy.Request{Tool: "create_file", Scope: "files of the workspace"}, "files of the workspace"},
		{policy.Request{Tool: "run_command", Command: []string{"go", "test"}, Scope: `[".","go","test"]`}, "exactly this command, in the same folder"},
		{policy.Request{Tool: "s__x", Scope: `["mcp","s","x"]`}, "every call of s__x"},
	} {
		if got := test.request.Covers(); got != test.want {
			t.Errorf("%+v covers %q, want %q", test.request, got, test.want)
		}
	}
}
