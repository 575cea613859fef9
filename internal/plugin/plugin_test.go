package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/command"
	"github.com/forge-agent/forge/internal/plugin"
	"github.com/forge-agent/forge/internal/skill"
	"github.com/forge-agent/forge/internal/workspace"
)

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// write makes files below a folder; names that end in ".sh" can be run.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode))
	}
}

// place is a workspace and a FORGE_HOME next to each other.
type place struct {
	w    *workspace.Workspace
	home string
}

func newPlace(t testing.TB, inWorkspace, inHome map[string]string) place {
	t.Helper()
	parent := t.TempDir()
	p := place{home: filepath.Join(parent, "home")}
	must(t, os.MkdirAll(filepath.Join(parent, "work"), 0o755))
	write(t, filepath.Join(parent, "work"), inWorkspace)
	write(t, p.home, inHome)
	var err error
	p.w, err = workspace.Open(filepath.Join(parent, "work"))
	must(t, err)
	t.Cleanup(func() { p.w.Close() })
	return p
}

func (p place) discover(t testing.TB) *plugin.List {
	t.Helper()
	l, err := plugin.Discover(t.Context(), p.w, p.home)
	must(t, err)
	return l
}

func (p place) trust(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := p.discover(t).SetTrusted(t.Context(), name)
		must(t, err)
	}
}

func (p place) activate(t testing.TB, o plugin.Options) *plugin.Active {
	t.Helper()
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	a, err := p.discover(t).Activate(o)
	must(t, err)
	t.Cleanup(func() { must(t, a.Close()) })
	return a
}

func state(t testing.TB, l *plugin.List, name string) plugin.Trust {
	t.Helper()
	p, ok := l.Find(name)
	if !ok {
		t.Fatalf("no plugin %s: %v", name, l.Problems)
	}
	return p.Trust
}

func manifest(name, capabilities string) string {
	return fmt.Sprintf(`{"name": %q, "version": "1", "description": "d", "capabilities": {%s}}`, name, capabilities)
}

// F-SEC-02: trust is the user's, for one workspace and one content. Any change
// of any file takes it back; the former content has it again. Nothing that lies
// in the workspace gives any.
func TestTrust(t *testing.T) {
	p := newPlace(t, map[string]string{
		".forge/plugins/lint/plugin.json": manifest("lint", `"command": {"check": {"command": ["./check.sh"]}}`),
		".forge/plugins/lint/check.sh":    "#!/bin/sh\necho checked\n",
		".forge/plugins/lint/data/x":      "data",
		".forge/" + plugin.TrustName:      `{"version":1,"workspaces":{}}`,
		plugin.TrustName:                  `{"version":1,"workspaces":{}}`,
	}, map[string]string{
		"plugins/mine/plugin.json": manifest("mine", `"prompt": {"file": "p.md"}`),
		"plugins/mine/p.md":        "my prompt",
	})
	l := p.discover(t)
	if state(t, l, "lint") != plugin.Untrusted || state(t, l, "mine") != plugin.Trusted {
		t.Fatalf("%+v", l.Plugins)
	}
	if _, err := p.activate(t, plugin.Options{}).Run(t.Context(), "lint", "check", nil, plugin.Streams{}); !errors.Is(err, plugin.ErrUnknown) {
		t.Errorf("an untrusted plugin ran: %v", err)
	}
	if _, err := l.SetTrusted(t.Context(), "mine"); err == nil {
		t.Error("a plugin of the user was trusted again")
	}
	p.trust(t, "lint")
	if state(t, p.discover(t), "lint") != plugin.Trusted {
		t.Fatal("not trusted")
	}
	info, err := os.Stat(filepath.Join(p.home, plugin.TrustName))
	must(t, err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", info.Mode().Perm())
	}
	folder := filepath.Join(p.w.Dir(), ".forge", "plugins", "lint")
	for name, change := range map[string]func() (undo func() error){
		"content": func() func() error {
			write(t, folder, map[string]string{"data/x": "DATA"})
			return func() error { write(t, folder, map[string]string{"data/x": "data"}); return nil }
		},
		"new file": func() func() error {
			write(t, folder, map[string]string{"new": ""})
			return func() error { return os.Remove(filepath.Join(folder, "new")) }
		},
		"moved": func() func() error {
			must(t, os.Rename(filepath.Join(folder, "data", "x"), filepath.Join(folder, "data", "y")))
			return func() error { return os.Rename(filepath.Join(folder, "data", "y"), filepath.Join(folder, "data", "x")) }
		},
		"mode": func() func() error {
			must(t, os.Chmod(filepath.Join(folder, "check.sh"), 0o644))
			return func() error { return os.Chmod(filepath.Join(folder, "check.sh"), 0o755) }
		},
	} {
		undo := change()
		if got := state(t, p.discover(t), "lint"); got != plugin.Changed {
			t.Errorf("%s: %s", name, got)
		}
		must(t, undo())
		if got := state(t, p.discover(t), "lint"); got != plugin.Trusted {
			t.Errorf("%s taken back: %s", name, got)
		}
	}
	must(t, os.Symlink("/etc/hosts", filepath.Join(folder, "link")))
	if _, ok := p.discover(t).Find("lint"); ok {
		t.Error("a plugin with a link is used")
	}
	must(t, os.Remove(filepath.Join(folder, "link")))

	other := newPlace(t, map[string]string{".forge/plugins/lint/plugin.json": manifest("lint", `"command": {"check": {"command": ["./check.sh"]}}`),
		".forge/plugins/lint/check.sh": "#!/bin/sh\necho checked\n", ".forge/plugins/lint/data/x": "data"}, nil)
	other.home = p.home
	if state(t, other.discover(t), "lint") != plugin.Untrusted {
		t.Error("trusted in another workspace")
	}
	was, err := p.discover(t).SetUntrusted("lint")
	must(t, err)
	again, err := p.discover(t).SetUntrusted("lint")
	must(t, err)
	if !was || again || state(t, p.discover(t), "lint") != plugin.Untrusted {
		t.Errorf("untrust: %t, %t", was, again)
	}
}

// F-SEC-02: where FORGE_HOME lies in the workspace, what is worked on could
// trust itself, so that no plugin is used at all.
func TestHomeInTheWorkspace(t *testing.T) {
	p := newPlace(t, map[string]string{".forge/plugins/lint/plugin.json": manifest("lint", `"prompt": {"file": "p"}`)}, nil)
	must(t, os.Symlink(p.w.Dir(), filepath.Join(filepath.Dir(p.home), "alias")))
	for _, home := range []string{filepath.Join(p.w.Dir(), ".forge"), p.w.Dir(), filepath.Join(p.w.Dir(), "not", "there"), filepath.Join(filepath.Dir(p.home), "alias", ".forge")} {
		p.home = home
		l := p.discover(t)
		if len(l.Plugins) != 0 || len(l.Problems) != 1 {
			t.Errorf("%s: %+v", home, l.Plugins)
		}
		if _, err := l.SetTrusted(t.Context(), "lint"); err == nil {
			t.Errorf("%s: trusted", home)
		}
	}
	l, err := plugin.Discover(t.Context(), p.w, "")
	must(t, err)
	if _, err := l.SetTrusted(t.Context(), "lint"); err == nil || state(t, l, "lint") != plugin.Untrusted {
		t.Errorf("without FORGE_HOME: %v", err)
	}
}

func TestTrustFileIsChecked(t *testing.T) {
	for name, text := range map[string]string{"no JSON": "{", "another version": `{"version":2}`, "another type": `{"version":1,"workspaces":[]}`} {
		p := newPlace(t, nil, map[string]string{plugin.TrustName: text})
		if _, err := plugin.Discover(t.Context(), p.w, p.home); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	p := newPlace(t, nil, map[string]string{plugin.TrustName: `{"version":1}`})
	must(t, os.Chmod(filepath.Join(p.home, plugin.TrustName), 0o666))
	if _, err := plugin.Discover(t.Context(), p.w, p.home); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("others can write it: %v", err)
	}
}

// What cannot be used is named, and one of the workspace never takes the place
// of the user's.
func TestProblems(t *testing.T) {
	prompt := `"prompt": {"file": "p.md"}`
	p := newPlace(t, map[string]string{
		".forge/plugins/mine/plugin.json":  manifest("mine", prompt),
		".forge/plugins/other/plugin.json": manifest("another", prompt),
		".forge/plugins/empty/x":           "",
		".forge/plugins/bad/plugin.json":   manifest("bad", `"promt": {"file": "p.md"}`),
	}, map[string]string{"plugins/mine/plugin.json": manifest("mine", prompt)})
	must(t, os.Symlink("mine", filepath.Join(p.home, "plugins", "linked")))
	l := p.discover(t)
	want := map[string]string{"mine": "one of that name of the user", "other": "must have the same", "empty": "no plugin.json",
		"bad": "did you mean capabilities.prompt?", "linked": "is a link"}
	for _, problem := range l.Problems {
		if text, ok := want[problem.Plugin]; !ok || !strings.Contains(problem.Text, text) {
			t.Errorf("unexpected: %s", problem)
		}
		delete(want, problem.Plugin)
	}
	if len(want) > 0 || len(l.Plugins) != 1 || l.Plugins[0].Origin != plugin.OriginUser {
		t.Errorf("not said: %v; plugins %+v", want, l.Plugins)
	}
	if _, err := l.SetTrusted(t.Context(), "nobody"); !errors.Is(err, plugin.ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

// What runs is the copy that was trusted, whatever happens to the workspace
// meanwhile; with a reduced environment, and confined where that is possible.
func TestRun(t *testing.T) {
	script := "#!/bin/sh\necho \"$@\" in \"$PWD\"\necho key=$SECRET_KEY\necho x > \"$FORGE_WORKSPACE/made\"\necho y > \"$1\"\ncat\n"
	p := newPlace(t, map[string]string{
		".forge/plugins/lint/plugin.json":  manifest("lint", `"command": {"check": {"command": ["./bin/check.sh", "FIXED"]}}`),
		".forge/plugins/lint/bin/check.sh": strings.Replace(script, "$1", "$2", 1),
	}, nil)
	p.trust(t, "lint")
	a := p.activate(t, plugin.Options{Environ: append(os.Environ(), "SECRET_KEY=leaked")})
	write(t, p.w.Dir(), map[string]string{".forge/plugins/lint/bin/check.sh": "#!/bin/sh\necho swapped\n"})
	outside := filepath.Join(p.home, "made")
	var out bytes.Buffer
	exit, err := a.Run(t.Context(), "lint", "check", []string{outside}, plugin.Streams{Output: &out})
	must(t, err)
	if !strings.HasPrefix(out.String(), "FIXED "+outside+" in ") || !strings.Contains(out.String(), "key=\n") || strings.Contains(out.String(), "swapped") || strings.Contains(out.String(), " in "+p.w.Dir()) {
		t.Errorf("got %q", out.String())
	}
	if _, err := os.Stat(filepath.Join(p.w.Dir(), "made")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(outside); exit.Confinement.Enforced && err == nil {
		t.Error("it wrote to FORGE_HOME")
	}
	if _, err := a.Run(t.Context(), "lint", "nothing", nil, plugin.Streams{}); !errors.Is(err, plugin.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Run(ctx, "lint", "check", nil, plugin.Streams{}); !errors.Is(err, command.ErrNotStarted) {
		t.Errorf("got %v", err)
	}
}

// F-CLS-02: prompts are bounded, redacted and labelled; skills and servers are
// handed on.
func TestDeclarations(t *testing.T) {
	p := newPlace(t, map[string]string{
		".forge/plugins/all/plugin.json": manifest("all", `"prompt": {"file": "p.md"}, "skills": {"folder": "s"},
			"mcpServer": {"command": ["./serve.sh"], "env": ["WANTED"]}`),
		".forge/plugins/all/p.md":              "token ghp_" + strings.Repeat("a1B2", 9) + strings.Repeat(" text", 10_000),
		".forge/plugins/all/s/review/SKILL.md": "---\nname: review\ndescription: how to\n---\nbody",
		".forge/plugins/no/plugin.json":        manifest("no", `"prompt": {"file": "p.md"}`),
		".forge/plugins/no/p.md":               "untrusted text",
	}, map[string]string{
		"plugins/remote/plugin.json": manifest("remote", `"mcpServer": {"url": "https://example.com/mcp"}, "prompt": {"file": "link"}`),
	})
	must(t, os.Symlink("/etc/hosts", filepath.Join(p.home, "plugins", "remote", "link")))
	p.trust(t, "all")
	a := p.activate(t, plugin.Options{Environ: []string{"WANTED=1", "OTHER=2"}})
	prompts := a.Prompts()
	if len(prompts) != 1 || len(prompts[0].Text) > plugin.PromptBytes || strings.Contains(prompts[0].Text, "ghp_") || !strings.Contains(prompts[0].Label, `"all" of the workspace`) {
		t.Errorf("%d prompts", len(prompts))
	}
	if len(a.Problems()) != 3 {
		t.Errorf("problems %v", a.Problems())
	}
	c, err := skill.Load(t.Context(), skill.Options{Sources: a.Skills()})
	must(t, err)
	if c.Prompt() != "- review (plugin all): how to" {
		t.Errorf("skills %q", c.Prompt())
	}
	servers := a.Servers()
	if len(servers) != 2 || servers[0].Server.URL != "https://example.com/mcp" || servers[0].Env != nil || !slices.Contains(servers[1].Env, "WANTED=1") || slices.Contains(servers[1].Env, "OTHER=2") {
		t.Errorf("servers %+v", servers)
	}
}

// Whatever paths a manifest names: no text from outside the plugin is read.
func TestNoPathLeavesThePlugin(t *testing.T) {
	p := newPlace(t, map[string]string{"secret": "OUTSIDE"}, map[string]string{"secret": "OUTSIDE", "plugins/secret": "OUTSIDE", "plugins/x/in/secret": "inside"})
	dir := filepath.Join(p.home, "plugins", "x")
	for link, to := range map[string]string{"up": "..", "home": "../..", "abs": p.w.Dir(), "in/up": "../.."} {
		must(t, os.Symlink(to, filepath.Join(dir, filepath.FromSlash(link))))
	}
	segment := rapid.SampledFrom([]string{"..", ".", "in", "up", "home", "abs", "secret", "", p.home, "x"})
	rapid.Check(t, func(rt *rapid.T) {
		file := strings.Join(rapid.SliceOfN(segment, 0, 6).Draw(rt, "segments"), "/")
		must(t, os.WriteFile(filepath.Join(dir, plugin.ManifestName), []byte(manifest("x", fmt.Sprintf(`"prompt": {"file": %q}`, file))), 0o644))
		l := p.discover(t)
		a, err := l.Activate(plugin.Options{})
		must(t, err)
		defer a.Close()
		for _, prompt := range a.Prompts() {
			if strings.Contains(prompt.Text, "OUTSIDE") {
				rt.Fatalf("%q: %q", file, prompt.Text)
			}
		}
	})
}
