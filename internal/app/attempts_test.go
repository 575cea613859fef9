package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/internal/tools"
	"github.com/forge-agent/forge/internal/workspace"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/tool"
)

// outsideSecret stands in files that no tool may read.
const outsideSecret = "the content of a file outside"

// prison is a workspace with ways out that must not be ways out.
type prison struct {
	parent, inside, outside string
	set                     *tool.Set
}

func newPrison(t testing.TB) *prison {
	t.Helper()
	parent, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &prison{parent: parent, inside: filepath.Join(parent, "inside"), outside: filepath.Join(parent, "outside")}
	temp := filepath.Join(parent, "temp")
	err = errors.Join(
		os.MkdirAll(filepath.Join(p.inside, "a", "b"), 0o700), os.MkdirAll(filepath.Join(p.outside, "deep"), 0o700), os.Mkdir(temp, 0o700),
		os.WriteFile(filepath.Join(p.outside, "secret"), []byte(outsideSecret+"\n"), 0o600),
		os.WriteFile(filepath.Join(p.outside, "deep", "secret"), []byte(outsideSecret+"\n"), 0o600),
		os.WriteFile(filepath.Join(p.inside, "a", "file"), []byte("one\ntwo\n"), 0o600),
		os.Symlink("../outside", filepath.Join(p.inside, "link")), os.Symlink(p.outside, filepath.Join(p.inside, "whole")),
		os.Symlink("../outside/secret", filepath.Join(p.inside, "file")), os.Symlink("../../../outside/deep", filepath.Join(p.inside, "a", "b", "up")),
		os.Symlink("round", filepath.Join(p.inside, "round")), os.Symlink("../outside/new", filepath.Join(p.inside, "hanging")), os.Symlink("..", filepath.Join(p.inside, "a", "back")),
		os.Symlink("a/back/..", filepath.Join(p.inside, "twice")))
	if err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(p.inside)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	list, err := tools.New(tools.Options{Workspace: w, Command: &tools.CommandOptions{Environ: os.Environ(), TempDir: temp}})
	if err != nil {
		t.Fatal(err)
	}
	if p.set, err = tool.NewSet(list...); err != nil {
		t.Fatal(err)
	}
	return p
}

// path draws a path that would like to leave.
func (p *prison) path(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"..", "..", ".", "a", "b", "a/b", "link", "whole", "file", "up", "back", "twice", "round", "hanging", "outside", "secret", "deep",
		"inside", "new", "…", "．．", "․․", "%2e%2e", "..%2f", "\u202e..", "..\u200b", "\\..\\", "..\x00", "~", "~root", "C:", "NUL", " ..", ".. ", "e\u0301", "\xff", "$HOME", "-", strings.Repeat("x", 300)}), 1, 7).Draw(t, "parts")
	front := rapid.SampledFrom([]string{"", "", "", "/", "//", "./", p.inside + "/", p.outside + "/", p.parent + "/inside/../outside/", "file://" + p.outside + "/", "/proc/self/cwd/", "/proc/self/root" + p.outside + "/", "/dev/fd/", "a/../"}).Draw(t, "front")
	return front + strings.Join(parts, rapid.SampledFrom([]string{"/", "/", "/", "//", "/./", "\\"}).Draw(t, "between"))
}

// call draws a call of a tool with that path.
func (p *prison) call(t *rapid.T) message.ToolCall {
	path, other := p.path(t), p.path(t)
	arguments := map[string]any{"path": path}
	name := rapid.SampledFrom([]string{"list_files", "read_file", "search", "create_file", "apply_patch", "apply_patch", "apply_patch", "run_command"}).Draw(t, "tool")
	switch name {
	case "search":
		arguments["pattern"] = "."
	case "create_file":
		arguments["content"] = "written\n"
	case "apply_patch":
		arguments = map[string]any{"patch": rapid.SampledFrom([]string{
			"*** Begin Patch\n*** Add File: " + path + "\n+written\n*** End Patch\n",
			"*** Begin Patch\n*** Delete File: " + path + "\n*** End Patch\n",
			"*** Begin Patch\n*** Update File: " + path + "\n@@\n-" + outsideSecret + "\n+written\n*** End Patch\n",
			"*** Begin Patch\n*** Update File: a/file\n*** Move to: " + path + "\n@@\n-one\n+three\n*** End Patch\n",
			"*** Begin Patch\n*** Update File: " + other + "\n*** Move to: " + path + "\n@@\n " + outsideSecret + "\n+written\n*** End Patch\n",
			"--- a/" + path + "\n+++ b/" + path + "\n@@ -1 +1 @@\n-" + outsideSecret + "\n+written\n",
			"--- /dev/null\n+++ " + path + "\n@@ -0,0 +1 @@\n+written\n",
			"--- " + path + "\n+++ /dev/null\n@@ -1 +0,0 @@\n-" + outsideSecret + "\n",
		}).Draw(t, "patch")}
	case "run_command":
		arguments["command"] = []string{"pwd", "-P"}
	}
	data, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return message.ToolCall{ID: "c", Name: name, Arguments: string(data)}
}

// check fails when something outside is not as it was.
func (p *prison) check(t *rapid.T, c message.ToolCall) {
	for _, dir := range []struct {
		path string
		want []string
	}{{p.parent, []string{"inside", "outside", "temp"}}, {p.outside, []string{"deep", "secret"}}, {filepath.Join(p.outside, "deep"), []string{"secret"}}} {
		entries, err := os.ReadDir(dir.path)
		if err != nil || len(entries) != len(dir.want) {
			t.Fatalf("%s %q changed %s: %v %v", c.Name, c.Arguments, dir.path, entries, err)
		}
		for i, e := range entries {
			if e.Name() != dir.want[i] {
				t.Fatalf("%s %q changed %s: %v", c.Name, c.Arguments, dir.path, entries)
			}
		}
	}
	for _, name := range []string{"secret", "deep/secret"} {
		if data, err := os.ReadFile(filepath.Join(p.outside, name)); err != nil || string(data) != outsideSecret+"\n" {
			t.Fatalf("%s %q changed %s: %q %v", c.Name, c.Arguments, name, data, err)
		}
	}
}

// F-SEC-02, issue "attempts": no path that a tool is given leads out of the workspace, be it to
// read, to write or to run a program there.
func TestAttemptsToLeave(t *testing.T) {
	p := newPrison(t)
	outcomes := map[string]int{}
	defer func() { t.Logf("%v", outcomes) }()
	rapid.Check(t, func(t *rapid.T) {
		c := p.call(t)
		plan, err := p.set.Plan(context.Background(), c)
		said := fmt.Sprint(err, plan.Summary)
		// The reason and the summary repeat the path; what a file holds is no
		// part of either.
		if err != nil {
			outcomes[c.Name+" refused"]++
		} else {
			said += plan.Diff
			result := plan.Run(context.Background())
			outcomes[c.Name+" "+string(result.Outcome)]++
			said += result.Text
			if first, _, _ := strings.Cut(result.Text, "\n"); c.Name == "run_command" && result.Outcome == message.OutcomeSuccess && first != p.inside && !strings.HasPrefix(first, p.inside+"/") {
				t.Fatalf("%q ran in %s", c.Arguments, first)
			}
		}
		if c.Name != "apply_patch" && strings.Contains(said, outsideSecret) {
			t.Fatalf("%s %q gives out what is outside: %s", c.Name, c.Arguments, said)
		}
		p.check(t, c)
	})
}

// rule draws a rule, which may try to allow.
func rule(t *rapid.T) map[string]any {
	return limited(t, "deny", "confirm", "confirm", "deny", "confirm", "deny", "confirm", "confirm", "allow")
}

// grant draws a grant.
func grant(t *rapid.T) map[string]any {
	return limited(t, "allow", "allow", "allow", "allow", "allow", "allow", "allow", "allow", "deny")
}

func limited(t *rapid.T, actions ...string) map[string]any {
	out := map[string]any{"action": rapid.SampledFrom(actions).Draw(t, "action")}
	if rapid.Bool().Draw(t, "names a tool") {
		out["tool"] = rapid.SampledFrom([]string{"create_file", "run_command", "read_file", "mcp__x"}).Draw(t, "tool")
	}
	if rapid.Bool().Draw(t, "names a risk") {
		out["risk"] = rapid.SampledFrom([]string{"read", "write", "process", "network", "write", "process", "network", "none"}).Draw(t, "risk")
	}
	if rapid.IntRange(0, 3).Draw(t, "names a command") == 0 {
		out["command"] = rapid.SampledFrom([][]string{{"go"}, {"go", "test"}, {"rm"}}).Draw(t, "command")
	}
	return out
}

// settings draws a configuration file.
func settings(t *rapid.T, who string) []byte {
	out := map[string]any{"version": 1}
	if rapid.Bool().Draw(t, who+" profile") {
		out["permissionProfile"] = rapid.SampledFrom([]string{"safe", "workspace-write", "safe", "workspace-write", "safe", "workspace-write", "all"}).Draw(t, who+" profile")
	}
	rules := map[string]any{}
	if rapid.Bool().Draw(t, who+" rules") {
		rules["rules"] = rapid.SliceOfN(rapid.Custom(rule), 0, 3).Draw(t, who+" rules")
	}
	if rapid.Bool().Draw(t, who+" grants") {
		rules["grants"] = rapid.SliceOfN(rapid.Custom(grant), 0, 3).Draw(t, who+" grants")
	}
	out["policy"] = rules
	data, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// F-SEC-02, F-SEC-08, F-CFG-02, F-TST-05, issue "attempts": whatever a project's configuration
// and the hooks of plugins say, no call is allowed that the user's own settings
// deny, and none that they want to be confirmed without a person's yes.
func TestAttemptsToTurnDenyIntoAllow(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".forge"), 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	users, projects := filepath.Join(home, "config.json"), filepath.Join(dir, ".forge", "config.json")
	load := func(t *rapid.T, in *workspace.Workspace) *policy.Policy {
		c, err := config.Load(config.Options{Home: home, Workspace: in, Getenv: func(string) string { return "" }})
		if err != nil {
			return nil // nothing runs with a configuration that cannot be used
		}
		p, err := policy.New(c.PermissionProfile, c.PolicyOptions())
		if err != nil {
			return nil
		}
		return p
	}
	unusable, outcomes := 0, map[string]int{}
	defer func() { t.Logf("%d configurations were refused; %v", unusable, outcomes) }()
	rapid.Check(t, func(t *rapid.T) {
		if err := errors.Join(os.WriteFile(users, settings(t, "user"), 0o600), os.WriteFile(projects, settings(t, "project"), 0o600)); err != nil {
			t.Fatal(err)
		}
		alone, both := load(t, nil), load(t, w)
		if both == nil {
			unusable++
			return
		}
		q := policy.Request{Tool: rapid.SampledFrom([]string{"create_file", "run_command", "read_file", "mcp__x"}).Draw(t, "asked tool"),
			Risk:  tool.Risk(rapid.SampledFrom([]string{"read", "write", "process", "network", "other"}).Draw(t, "asked risk")),
			Scope: rapid.SampledFrom([]string{"", "s"}).Draw(t, "scope"), Summary: "x"}
		if q.Risk == tool.RiskProcess {
			q.Command = rapid.SampledFrom([][]string{{"go", "test"}, {"go", "build"}, {"rm", "-r", "x"}}).Draw(t, "asked command")
		}
		var opinions []policy.Decision
		denied := false
		for _, a := range rapid.SliceOfN(rapid.SampledFrom([]policy.Action{policy.Allow, policy.Allow, policy.Confirm, policy.Deny, "", "grant"}), 0, 3).Draw(t, "hooks") {
			opinions = append(opinions, policy.Decision{Action: a, Source: "plugin"})
			denied = denied || a != policy.Allow && a != policy.Confirm
		}
		own := alone.Decide(q)
		asked := 0
		answer := rapid.SampledFrom([]policy.Answer{policy.Refuse, policy.ApproveOnce, policy.ApproveForRun, 7}).Draw(t, "answer")
		var confirm policy.Confirmer
		if rapid.Bool().Draw(t, "somebody is there") {
			confirm = func(context.Context, policy.Request, policy.Decision) (policy.Answer, error) {
				asked++
				return answer, nil
			}
		}
		run := both.Begin(confirm)
		for range 2 {
			got := run.Authorize(context.Background(), q, opinions...)
			outcomes[string(own.Action)+" became "+string(got.Action)]++
			yes := asked > 0 && (answer == policy.ApproveOnce || answer == policy.ApproveForRun)
			if got.Allowed() && (own.Action == policy.Deny || denied || own.Action != policy.Allow && !yes) {
				t.Fatalf("%+v is allowed by %+v; alone the user's settings say %s, hooks %v, asked %d times, answer %d", q, got, own.Action, opinions, asked, answer)
			}
		}
		run.End()
		if run.Authorize(context.Background(), q, opinions...).Allowed() && own.Action != policy.Allow {
			t.Fatalf("%+v is allowed after the end of the run", q)
		}
	})
}
