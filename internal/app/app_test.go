package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/internal/credential"
	"github.com/forge-agent/forge/internal/tools"
	"github.com/forge-agent/forge/internal/tui"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/model/modeltest"
	"github.com/forge-agent/forge/session/sqlitestore"
)

// fixture is an App on a scripted model in a fresh workspace.
type fixture struct {
	app   *App
	model *modeltest.Scripted
	dir   string
	home  string
	store *sqlitestore.Store
}

func settings(t *testing.T, home string) *config.Values {
	t.Helper()
	c, err := config.Load(config.Options{Home: home, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return &c.Values
}

func newFixture(t *testing.T, replies ...modeltest.Reply) *fixture {
	t.Helper()
	f := &fixture{dir: t.TempDir(), home: t.TempDir()}
	if err := os.Mkdir(filepath.Join(f.dir, ".git"), 0o700); err != nil { // the root of a project
		t.Fatal(err)
	}
	var err error
	if f.store, err = sqlitestore.Open(t.Context(), f.home, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.store.Close() })
	f.open(t, replies...)
	return f
}

func (f *fixture) open(t *testing.T, replies ...modeltest.Reply) {
	t.Helper()
	f.model = modeltest.NewScripted(model.Capabilities{Provider: "test", Model: "m", WindowTokens: 64000, MaxOutputTokens: 4096, WindowSource: model.WindowFromUser}, replies...)
	v := settings(t, f.home)
	a, err := Open(t.Context(), Options{Values: v, Home: f.home, Directory: f.dir, Getenv: func(string) string { return "" },
		Choice: Choice{Route: credential.Route{Name: "test"}, Model: "m", Entry: catalog.Fallback("m")}, Model: f.model,
		Counter: vocabulary.Counter, Store: f.store, Now: time.Now, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	f.app = a
	t.Cleanup(func() { a.Close() })
}

func (f *fixture) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) run(t *testing.T, text string) *agent.Result {
	t.Helper()
	res, err := f.app.Run(t.Context(), Prompt{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func instructionsOf(r model.Request) string {
	var b strings.Builder
	for _, m := range r.Instructions {
		b.WriteString(m.Text())
		b.WriteByte('\n')
	}
	return b.String()
}

// F-CLS-02, F-TST-17, F-E2E-02: instructions are read afresh for each run and
// are the newest after a change, also in the same session.
func TestInstructionsAreFresh(t *testing.T) {
	f := newFixture(t, modeltest.Text("one"), modeltest.Text("two"))
	f.write(t, "AGENTS.md", "Use tabs.")
	f.run(t, "first")
	f.write(t, "AGENTS.md", "Use spaces.")
	f.run(t, "second")
	rs := f.model.Requests()
	if got := instructionsOf(rs[0]); !strings.Contains(got, "Use tabs.") {
		t.Error("the first run has no instructions")
	}
	if got := instructionsOf(rs[1]); !strings.Contains(got, "Use spaces.") || strings.Contains(got, "Use tabs.") {
		t.Error("the second run has the old instructions")
	}
}

// F-CLS-07, P-TOOL-04, C10: new_context is there in the mode compact only, and
// a prompt brings the files and skills that it names as notes without
// authority.
func TestWhatARunMayUse(t *testing.T) {
	f := newFixture(t, modeltest.Text("one"))
	f.write(t, "notes.txt", "the content of notes")
	f.write(t, ".agents/skills/greet/SKILL.md", "---\nname: greet\ndescription: How to greet.\n---\nSay hello in verse.\n")
	f.run(t, "look at @notes.txt. and use $greet")
	r := f.model.Requests()[0]
	names := map[string]bool{}
	for _, d := range r.Tools {
		names[d.Name] = true
	}
	if names["new_context"] || !names["recall"] || !names["use_skill"] || !names["run_command"] {
		t.Errorf("tools %v", names)
	}
	var notes []string
	for _, m := range r.Messages {
		if m.Origin == message.OriginInjected {
			notes = append(notes, m.Text())
		}
	}
	all := strings.Join(notes, "\n")
	if !strings.Contains(all, "the content of notes") || !strings.Contains(all, "Say hello in verse.") {
		t.Errorf("notes %q", notes)
	}
	f.app.opts.Values.Context.Mode = contextwindow.Compact
	next, err := f.app.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(next.Tools.Names(), "new_context") {
		t.Errorf("tools in the mode compact: %v", next.Tools.Names())
	}
}

// F-MAN-03 and pins: a pin stands in every later request, through a rewind and
// a restart, until it is taken back.
func TestPins(t *testing.T) {
	f := newFixture(t, modeltest.Text("one"), modeltest.Text("two"))
	term := NewTerminal(catalog.Default(), credential.Open(f.home))
	if err := term.Begin(t.Context(), f.app); err != nil {
		t.Fatal(err)
	}
	if err := term.Pin(t.Context(), "Never edit go.sum."); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Run(t.Context(), tui.Prompt{Text: "first"}); err != nil {
		t.Fatal(err)
	}
	if err := term.Rewind(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	id := term.Info().Session
	f.app.Close()
	f.open(t, modeltest.Text("two"), modeltest.Text("three"))
	if err := term.Begin(t.Context(), f.app); err != nil {
		t.Fatal(err)
	}
	if err := term.Resume(t.Context(), id[:8]); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Run(t.Context(), tui.Prompt{Text: "second"}); err != nil {
		t.Fatal(err)
	}
	r := f.model.Requests()[0]
	if !strings.Contains(instructionsOf(r), "Never edit go.sum.") || len(r.Messages) != 1 {
		t.Errorf("%d messages, instructions %q", len(r.Messages), instructionsOf(r))
	}
	if err := term.Unpin(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Run(t.Context(), tui.Prompt{Text: "third"}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(instructionsOf(f.model.Requests()[1]), "go.sum") {
		t.Error("the pin is still there")
	}
	if err := term.Unpin(t.Context(), 1); err == nil {
		t.Error("a pin that is not there was taken back")
	}
}

// The recall tool finds originals by reference and by words.
func TestRecall(t *testing.T) {
	f := newFixture(t, modeltest.Call(message.ToolCall{ID: "c", Name: "list_files", Arguments: "{}"}), modeltest.Text("the answer is zebra"))
	f.write(t, "giraffe.txt", "x")
	f.run(t, "which animal?")
	r := recaller{f.app}
	for _, test := range []struct{ query, want string }{{"#0", "which animal?"}, {"#2", "giraffe.txt"}, {"#3", "zebra"}, {"#99", ""}, {"nothing", ""}} {
		found, err := r.Recall(t.Context(), tools.Query{Reference: test.query, MaxResults: 1})
		if err != nil || (len(found) == 0) != (test.want == "") || len(found) > 0 && !strings.Contains(found[0].Text, test.want) {
			t.Errorf("%s: %v %v", test.query, found, err)
		}
	}
	found, err := r.Recall(t.Context(), tools.Query{Words: "zebra", MaxResults: 3})
	if err != nil || len(found) != 1 || found[0].Reference != "#3" {
		t.Errorf("words: %v %v", found, err)
	}
}

// A session of another workspace is not taken up here.
func TestResumeElsewhere(t *testing.T) {
	f := newFixture(t, modeltest.Text("one"))
	f.run(t, "first")
	id := f.app.Session().ID()
	f.app.Close()
	f.dir = t.TempDir()
	f.open(t)
	if err := f.app.Resume(t.Context(), id); err == nil || !strings.Contains(err.Error(), "it works in") {
		t.Errorf("error %v", err)
	}
}

func TestComplete(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"main.go", "src/parse.go", "src/print.go", "docs/page.md"} {
		f.write(t, name, "x")
	}
	for prefix, want := range map[string]string{"": "docs/ main.go src/", "src/": "src/parse.go src/print.go", "src/pa": "src/parse.go", "pri": "src/print.go", "none": ""} {
		if got := strings.Join(f.app.complete(prefix), " "); got != want {
			t.Errorf("%q completes to %q, want %q", prefix, got, want)
		}
	}
}

// What to ask, by what is set.
func TestChoose(t *testing.T) {
	keys := credential.Open(t.TempDir())
	tests := []struct {
		name string
		set  func(*config.Values)
		env  map[string]string
		want string
	}{
		{"nothing", func(*config.Values) {}, nil, "no key"},
		{"first key", func(*config.Values) {}, map[string]string{"OPENAI_API_KEY": "sk-x"}, "openai gpt-5.6-terra"},
		{"maker of the model", func(v *config.Values) { v.Model = "deepseek-v4-pro" }, map[string]string{"DEEPSEEK_API_KEY": "k", "OPENAI_API_KEY": "k"}, "deepseek deepseek-v4-pro"},
		{"no key of the maker", func(v *config.Values) { v.Model = "deepseek-v4-pro" }, map[string]string{"OPENAI_API_KEY": "k"}, "no key is set for a provider of deepseek-v4-pro"},
		{"local", func(v *config.Values) { v.Provider, v.Model = "ollama", "x" }, nil, "ollama x"},
		{"local without model", func(v *config.Values) { v.Provider = "ollama" }, nil, "no usual model"},
		{"unknown provider", func(v *config.Values) { v.Provider, v.Model = "nobody", "x" }, nil, "unknown provider"},
		{"own", func(v *config.Values) {
			v.Provider, v.Model = "mine", "x"
			v.Providers = map[string]config.Provider{"mine": {Endpoint: "http://localhost:9/v1", Dialect: "chat", WindowTokens: 9000}}
		}, nil, "mine x"},
		{"endpoint alone", func(v *config.Values) { v.Endpoint = "http://localhost:9/v1" }, nil, "name the provider"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := settings(t, t.TempDir())
			test.set(v)
			c, err := Choose(v, catalog.Default(), keys, func(name string) string { return test.env[name] })
			got := c.Route.Name + " " + c.Model
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
			if err == nil {
				if m, err := Connect(c, v); err != nil || m.Capabilities().WindowTokens <= 0 {
					t.Errorf("connect: %v", err)
				}
			}
		})
	}
	for _, p := range preferred() {
		if _, known := catalog.Default().Lookup(p[1]); !known {
			t.Errorf("the catalog does not have %s", p[1])
		}
	}
}

// A run that is cancelled still closes its trace and keeps the session.
func TestCancelledRunKeepsItsTrace(t *testing.T) {
	f := newFixture(t, modeltest.Text("one"))
	ctx, cancel := context.WithCancel(t.Context())
	f.app.opts.Observer = nil
	cancel()
	res, err := f.app.Run(ctx, Prompt{Text: "x"})
	if err == nil && res.Status != agent.StatusCancelled {
		t.Errorf("result %+v, %v", res, err)
	}
}

// What a project offers and Forge does not use is told, once.
func TestUnusedOffersAreTold(t *testing.T) {
	f := newFixture(t)
	f.write(t, ".forge/plugins/lint/plugin.json", `{"name": "lint", "version": "1", "description": "Checks.", "capabilities": {"prompt": {"file": "p.md"}}}`)
	f.write(t, ".forge/plugins/lint/p.md", "Be strict.")
	f.write(t, "AGENTS.md", strings.Repeat("Use tabs.\n", 8000))
	f.app.Close()
	f.open(t, modeltest.Text("one"), modeltest.Text("two"))
	f.run(t, "first")
	f.run(t, "second")
	told := strings.Join(f.app.Problems(), "\n")
	if strings.Count(told, "forge plugins trust lint") != 1 || strings.Count(told, "AGENTS.md") != 1 {
		t.Errorf("told:\n%s", told)
	}
}
