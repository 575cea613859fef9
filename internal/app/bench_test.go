package app_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/internal/app"
	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/internal/credential"
	"github.com/forge-agent/forge/internal/scripted"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/internal/workspace"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/sqlitestore"
	"github.com/forge-agent/forge/sessionfile/wirebody"
)

// bench is the application in a workspace of its own, in front of a scripted
// provider.
type bench struct {
	t         testing.TB
	home, dir string
	server    *scripted.Server
	store     *sqlitestore.Store
	app       *app.App
	options   app.Options
}

// newBench opens the application. flags are settings by key.
func newBench(t testing.TB, d wirebody.Dialect, window int, flags map[string]string, o scripted.Options) *bench {
	t.Helper()
	b := &bench{t: t, home: t.TempDir(), dir: t.TempDir()}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	b.dir, err = filepath.EvalSymlinks(b.dir)
	must(err)
	must(os.Mkdir(filepath.Join(b.dir, ".git"), 0o700))
	b.server, err = scripted.Start(o)
	must(err)
	t.Cleanup(func() { b.server.Close() })
	w, err := workspace.Open(b.dir)
	must(err)
	defer w.Close()
	settings, err := config.Load(config.Options{Home: b.home, Workspace: w, Getenv: func(string) string { return "" }, Flags: flags})
	must(err)
	entry, _ := catalog.Default().Lookup(scripted.ModelOf(d))
	choice := app.Choice{Route: credential.Route{Name: scripted.ProviderOf(d), Endpoint: b.server.URL()}, Model: scripted.ModelOf(d), Entry: entry, Known: true, WindowTokens: window}
	m, err := b.server.Connect(d, choice.Capabilities(), 0)
	must(err)
	b.store, err = sqlitestore.Open(t.Context(), b.home, nil)
	must(err)
	t.Cleanup(func() { b.store.Close() })
	b.options = app.Options{Values: &settings.Values, Home: b.home, Directory: b.dir, Environ: os.Environ(), Getenv: func(string) string { return "" },
		Choice: choice, Model: m, Counter: vocabulary.Counter, Store: b.store, Version: "test"}
	b.open()
	return b
}

// open opens the application, as a program that starts.
func (b *bench) open() {
	b.t.Helper()
	var err error
	if b.app, err = app.Open(context.Background(), b.options); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { b.app.Close() })
}

// write makes a file of the workspace.
func (b *bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// run works on a task, and checks that the session holds together afterwards.
func (b *bench) run(text string) *agent.Result {
	b.t.Helper()
	res, err := b.app.Run(context.Background(), app.Prompt{Text: text})
	if err != nil {
		b.t.Fatal(err)
	}
	report, err := session.Verify(context.Background(), b.store, b.app.Session().ID())
	if err != nil || len(report.Findings) > 0 {
		b.t.Fatalf("the session is not whole: %v %v", report.Findings, err)
	}
	return res
}

// sources is the text of this repository's own Go files.
func sources(t testing.TB, atLeast int) string {
	t.Helper()
	var b strings.Builder
	for _, pattern := range []string{"../../*/*.go", "../../*/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(data)
			if b.Len() > atLeast {
				return b.String()
			}
		}
	}
	t.Fatalf("the sources are only %d bytes", b.Len())
	return ""
}
