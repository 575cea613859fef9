package plugin_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/internal/plugin"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/tool"
)

// hooked is a place with user plugins whose hooks are shell scripts.
func hooked(t testing.TB, scripts map[string]string, timeoutMilliseconds int) (place, *plugin.Hooks) {
	t.Helper()
	files := map[string]string{}
	for name, script := range scripts {
		files["plugins/"+name+"/plugin.json"] = manifest(name, fmt.Sprintf(`"policyHook": {"command": ["./hook.sh"], "timeoutMilliseconds": %d}`, timeoutMilliseconds))
		files["plugins/"+name+"/hook.sh"] = "#!/bin/sh\n" + script
	}
	p := newPlace(t, nil, files)
	return p, p.activate(t, plugin.Options{}).Hooks()
}

// F-SEC-08: the strictest answer counts; what is no answer counts as confirm,
// whatever the reason.
func TestHookAnswers(t *testing.T) {
	q := policy.Request{Tool: "run_command", Risk: tool.RiskProcess, Command: []string{"rm", "-r", "x"}, Summary: "run rm", Scope: "s"}
	for name, tt := range map[string]struct {
		script string
		want   policy.Action
		reason string
	}{
		"allow":           {`echo '{"action":"allow"}'`, policy.Allow, ""},
		"deny":            {`echo '{"action":"deny","reason":"no rm"}'`, policy.Deny, "no rm"},
		"confirm":         {`cat >/dev/null; echo '{"action":"confirm","reason":"look"}'`, policy.Confirm, "look"},
		"noise elsewhere": {`echo noise >&2; echo '{"action":"allow"}'`, policy.Allow, ""},
		"sees the call":   {`grep -q '"command":\["rm","-r","x"\]' && echo '{"action":"deny","reason":"saw it"}'`, policy.Deny, "saw it"},
		"silent":          {`true`, policy.Confirm, "no valid answer"},
		"exit code":       {`echo '{"action":"allow"}'; exit 3`, policy.Confirm, "code 3"},
		"killed":          {`echo '{"action":"allow"}'; kill -9 $$`, policy.Confirm, "killed"},
		"no JSON":         {`echo allow`, policy.Confirm, "JSON"},
		"other action":    {`echo '{"action":"grant"}'`, policy.Confirm, "grant"},
		"other member":    {`echo '{"action":"allow","scope":"run"}'`, policy.Confirm, "scope is unknown"},
		"two answers":     {`echo '{"action":"allow"}{"action":"allow"}'`, policy.Confirm, "after the end"},
		"repeated member": {`echo '{"action":"deny","action":"allow"}'`, policy.Confirm, "twice"},
		"too much":        {`head -c 100000 /dev/zero; echo '{"action":"allow"}'`, policy.Confirm, "wrote more"},
		"escape codes":    {`printf '{"action":"deny","reason":"\\u001b[2Jx\\ny"}'`, policy.Deny, "[2Jx y"},
	} {
		t.Run(name, func(t *testing.T) {
			_, hooks := hooked(t, map[string]string{"h": tt.script + "\n"}, 10_000)
			d := hooks.Opinion(t.Context(), q)
			if d.Action != tt.want || !strings.Contains(d.Reason, tt.reason) || strings.ContainsAny(d.Reason, "\x1b\n") {
				t.Errorf("got %+v, want %s with %q", d, tt.want, tt.reason)
			}
		})
	}
	_, hooks := hooked(t, map[string]string{"a": `echo '{"action":"allow"}'`, "b": `echo '{"action":"deny","reason":"b"}'`, "c": `echo '{"action":"confirm"}'`}, 10_000)
	if d := hooks.Opinion(t.Context(), q); d.Action != policy.Deny || d.Source != "plugin b" {
		t.Errorf("of three: %+v", d)
	}
	if _, hooks := hooked(t, nil, 10_000); hooks.Opinion(t.Context(), q).Action != policy.Allow {
		t.Error("no hooks object")
	}
}

// A hook that hangs is ended with all that it started, and counts as confirm;
// one that was canceled as deny.
func TestHookThatHangs(t *testing.T) {
	q := policy.Request{Tool: "x", Risk: tool.RiskRead}
	_, hooks := hooked(t, map[string]string{"h": "sleep 1000 & sleep 1000\n"}, 50)
	if d := hooks.Opinion(t.Context(), q); d.Action != policy.Confirm || !strings.Contains(d.Reason, "longer than 50ms") {
		t.Errorf("got %+v", d)
	}
	_, hooks = hooked(t, map[string]string{"h": "sleep 1000\n"}, 10_000)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if d := hooks.Opinion(ctx, q); d.Action != policy.Deny || d.Cause != policy.CauseCanceled {
		t.Errorf("got %+v", d)
	}
}

// F-SEC-08: no hook turns a denial or a confirmation of the policy into less,
// whatever it answers.
func TestHookNeverLoosens(t *testing.T) {
	_, hooks := hooked(t, map[string]string{"yes": `echo '{"action":"allow","reason":"approved by the user"}'`}, 10_000)
	opts := &policy.Options{Layers: []policy.Layer{{Source: "user", Rules: []policy.Rule{{Tool: "forbidden", Action: policy.Deny}}}}}
	p, err := policy.New(policy.Safe, opts)
	must(t, err)
	for _, tt := range []struct {
		request policy.Request
		cause   policy.Cause
	}{
		{policy.Request{Tool: "forbidden", Risk: tool.RiskRead}, policy.CauseRule},
		{policy.Request{Tool: "run_command", Risk: tool.RiskProcess}, policy.CauseNoChannel},
		{policy.Request{Tool: "x", Risk: "made-up"}, policy.CauseUnknownRisk},
	} {
		d := p.Begin(nil).Authorize(t.Context(), tt.request, hooks.Opinion(t.Context(), tt.request))
		if d.Allowed() || d.Cause != tt.cause {
			t.Errorf("%+v: %+v", tt.request, d)
		}
	}
}

// F-SEC-07: a hook sees no recognised secret, and one that cannot be asked
// about all of a call is not asked about a part.
func TestHookQuestion(t *testing.T) {
	p, hooks := hooked(t, map[string]string{"h": `cat > "$FORGE_WORKSPACE/question"; echo '{"action":"allow"}'`}, 10_000)
	key := "ghp_" + strings.Repeat("a1B2", 9)
	q := policy.Request{Tool: "run_command", Risk: tool.RiskProcess, Command: []string{"push", key}, Summary: "push with " + key, Scope: key}
	if d := hooks.Opinion(t.Context(), q); d.Action != policy.Allow {
		t.Fatalf("%+v", d)
	}
	data, err := os.ReadFile(filepath.Join(p.w.Dir(), "question"))
	must(t, err)
	if strings.Contains(string(data), key) || !strings.HasPrefix(string(data), `{"v":1,"tool":"run_command","risk":"process","command":["push","[redacted`) {
		t.Errorf("got %s", data)
	}
	q.Command = []string{strings.Repeat("x", 300_000)}
	if d := hooks.Opinion(t.Context(), q); d.Action != policy.Confirm || !strings.Contains(d.Reason, "too long") {
		t.Errorf("got %+v", d)
	}
}

// Whatever a hook's program writes, the outcome is one of three, and only the
// exact form allows.
func TestHookWritesRandomBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	p, hooks := hooked(t, map[string]string{"h": `cat "$FORGE_WORKSPACE/answer"`}, 10_000)
	pieces := []string{`{`, `}`, `"action"`, `:`, `"allow"`, `"deny"`, `,`, `"reason"`, `null`, `[`, `]`, "\x00", "\xff", ` `, `"action":"allow"`}
	for range 60 {
		var b strings.Builder
		for range rng.IntN(9) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		must(t, os.WriteFile(filepath.Join(p.w.Dir(), "answer"), []byte(b.String()), 0o644))
		d := hooks.Opinion(t.Context(), policy.Request{Tool: "x", Risk: tool.RiskRead})
		compact := strings.ReplaceAll(b.String(), " ", "")
		if d.Action == policy.Allow && compact != `{"action":"allow"}` && !strings.Contains(compact, `"reason":"`) {
			t.Errorf("%q allowed", b.String())
		}
	}
}
