package workspace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/forge-agent/forge/internal/workspace"
)

const secret = "content of a file outside"

// open makes a workspace next to a folder with a secret, with the given files
// in it; a name with a slash at the end is a folder.
func open(t testing.TB, files map[string]string) (w *workspace.Workspace, inside, outside string) {
	t.Helper()
	parent := t.TempDir()
	inside, outside = filepath.Join(parent, "inside"), filepath.Join(parent, "outside")
	must(t, os.Mkdir(inside, 0o755), os.Mkdir(outside, 0o755), os.WriteFile(filepath.Join(outside, "secret"), []byte(secret), 0o644))
	for name, text := range files {
		path := filepath.Join(inside, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	}
	w, err := workspace.Open(inside)
	must(t, err)
	t.Cleanup(func() { w.Close() })
	return w, inside, outside
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestClean(t *testing.T) {
	w, inside, _ := open(t, nil)
	for _, tt := range []struct{ name, want, problem string }{
		{"a.go", "a.go", ""}, {"./a//b/../c", "a/c", ""}, {".", ".", ""}, {"a/", "a", ""}, {"..a", "..a", ""}, {"a/..", ".", ""},
		{"", "", "empty"},
		{"..", "", "leads out"}, {"../a", "", "leads out"}, {"a/../../b", "", "leads out"}, {"a/b/../../..", "", "leads out"},
		{"/etc/passwd", "", "outside the workspace"},
		{filepath.Join(inside, "a", "b.go"), "", `use "a/b.go"`},
		{inside, "", `use "."`},
		{inside + "/../outside/secret", "", "outside the workspace"},
		{"~/x", "", "not expanded"},
		{"a\x00b", "", "NUL"},
		{strings.Repeat("a/", 4096), "", "the most is"},
	} {
		got, err := w.Clean(tt.name)
		if got != tt.want || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("Clean(%.40q) = %q, %v; want %q, %q", tt.name, got, err, tt.want, tt.problem)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	for _, dir := range []string{file, filepath.Join(file, "x"), filepath.Join(t.TempDir(), "missing")} {
		if _, err := workspace.Open(dir); err == nil {
			t.Errorf("opened %s", dir)
		}
	}
}

// links makes symbolic links in the workspace that lead out of it, or try to.
func links(t testing.TB, inside, outside string) []string {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(inside, "sub"), 0o755))
	for name, target := range map[string]string{
		"file-link": filepath.Join(outside, "secret"), "dir-link": outside, "up": "..", "up-file": "../outside/secret",
		"sub/up": "../../outside", "chain": "chain2", "chain2": "sub/up", "loop": "loop", "root": "/", "proc": "/proc/self/root",
	} {
		must(t, os.Symlink(target, filepath.Join(inside, filepath.FromSlash(name))))
	}
	return []string{
		"file-link", "dir-link/secret", "up/outside/secret", "up-file", "sub/up/secret", "chain/secret", "loop", "root/etc/passwd",
		"proc/etc/passwd", "root" + outside + "/secret", "dir-link", "up", "sub/../up/outside/secret", "dir-link/../outside/secret",
	}
}

// No link leads out: nothing is read, listed, made, changed, moved or removed
// there, and every error says so in words.
func TestLinksDoNotLeadOut(t *testing.T) {
	w, inside, outside := open(t, map[string]string{"mine": "x"})
	for _, name := range links(t, inside, outside) {
		if f, err := w.Read(name, 1<<20); err == nil {
			t.Errorf("read %s: %q", name, f.Data)
		}
		if f, err := w.OpenDir(name); err == nil {
			f.Close()
			t.Errorf("opened %s", name)
		}
		for e, err := range w.Walk(t.Context(), name, nil) {
			if err == nil {
				t.Errorf("listed %s: %s", name, e.Path)
			}
		}
		before := workspace.File{Path: name, Data: []byte(secret), Mode: 0o644}
		mine := workspace.File{Path: "mine", Data: []byte("x"), Mode: 0o644}
		for what, c := range map[string]workspace.Change{
			"create":   {After: &workspace.File{Path: name, Data: []byte("new")}},
			"below":    {After: &workspace.File{Path: name + "/new", Data: []byte("new")}},
			"beside":   {After: &workspace.File{Path: filepath.ToSlash(filepath.Join(filepath.Dir(name), "new-"+filepath.Base(name))), Data: []byte("new")}},
			"change":   {Before: &before, After: &workspace.File{Path: name, Data: []byte("new")}},
			"remove":   {Before: &before},
			"move in":  {Before: &before, After: &workspace.File{Path: "stolen", Data: []byte(secret)}},
			"move out": {Before: &mine, After: &workspace.File{Path: name + "/mine", Data: []byte("x")}},
		} {
			if what == "beside" && (!strings.Contains(name, "/") || strings.Contains(name, "..")) {
				continue // what is beside a link in the workspace is in the workspace
			}
			if err := w.Apply([]workspace.Change{c}); err == nil {
				t.Errorf("%s %s worked", what, name)
			}
		}
	}
	entries, err := os.ReadDir(outside)
	must(t, err)
	data, err := os.ReadFile(filepath.Join(outside, "secret"))
	must(t, err)
	if len(entries) != 1 || string(data) != secret {
		t.Errorf("outside changed: %v, %q", entries, data)
	}
	if _, err := os.Stat(filepath.Join(inside, "mine")); err != nil {
		t.Errorf("a refused move removed its file: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(inside, "*.tmp")); len(left) > 0 {
		t.Errorf("temporary files left: %v", left)
	}
}

// A folder that is swapped for a link and back, as fast as it goes, while files
// are read, listed and changed: nothing outside is seen or touched.
func TestSwappedFolder(t *testing.T) {
	w, inside, outside := open(t, map[string]string{"dir/secret": "inside"})
	dir, aside := filepath.Join(inside, "dir"), filepath.Join(inside, "aside")
	var stop atomic.Bool
	var wait sync.WaitGroup
	wait.Go(func() {
		for !stop.Load() {
			os.Rename(dir, aside)
			os.Symlink(outside, dir)
			os.Remove(dir)
			if os.Rename(aside, dir) != nil { // a new file has brought a folder of its own
				os.RemoveAll(dir)
				os.Rename(aside, dir)
			}
		}
	})
	seen := 0
	for i := 0; i < 400 || seen == 0 && i < 100_000; i++ { // the folder may be away for as long as the other goroutine does not run
		if f, err := w.Read("dir/secret", 1<<20); err == nil {
			seen++
			if string(f.Data) == secret {
				t.Fatal("read the file outside")
			}
		}
		for e, err := range w.Walk(t.Context(), "dir", nil) {
			if err != nil {
				continue
			}
			if data, err := e.Read(1 << 20); err == nil && string(data) == secret {
				t.Fatal("read the file outside in a walk")
			}
		}
		w.Apply([]workspace.Change{{After: &workspace.File{Path: fmt.Sprintf("dir/new%d", i%8), Data: []byte("x")}}})
	}
	stop.Store(true)
	wait.Wait()
	entries, err := os.ReadDir(outside)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("outside holds %v", entries)
	}
	if seen == 0 {
		t.Error("the file inside was never read, so nothing was tried")
	}
}

// 10,000 random paths, made of what leads out: none is read or written outside,
// and none makes anything panic.
func TestRandomPaths(t *testing.T) {
	w, inside, outside := open(t, map[string]string{"sub/deep/file": "x"})
	links(t, inside, outside)
	parts := []string{"..", ".", "", "sub", "deep", "up", "dir-link", "file-link", "chain", "root", "proc", "outside", "secret",
		"loop", "file", "~", "a\x00", "\\", "..\\..", "C:", "\xff", "...", ".. ", "inside", outside[1:], "new"}
	rng := rand.New(rand.NewPCG(4, 10_000))
	for range 10_000 {
		var name string
		for range 1 + rng.IntN(6) {
			name += parts[rng.IntN(len(parts))]
			if rng.IntN(8) > 0 {
				name += "/"
			}
		}
		if rng.IntN(4) == 0 {
			name = outside + "/" + name
		}
		if f, err := w.Read(name, 1<<20); err == nil && string(f.Data) == secret {
			t.Fatalf("read outside by %q", name)
		}
		err := w.Apply([]workspace.Change{{After: &workspace.File{Path: name, Data: []byte("y")}}})
		if clean, cleanErr := w.Clean(name); err == nil && (cleanErr != nil || clean != name) {
			t.Fatalf("wrote to %q, which is not in its shortest form", name)
		}
	}
	entries, err := os.ReadDir(outside)
	must(t, err)
	if data, _ := os.ReadFile(filepath.Join(outside, "secret")); len(entries) != 1 || string(data) != secret {
		t.Errorf("outside changed: %v", entries)
	}
	for _, name := range []string{filepath.Dir(inside)} {
		if entries, _ := os.ReadDir(name); len(entries) != 2 {
			t.Errorf("%s holds %v", name, entries)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	w, inside, _ := open(t, map[string]string{"big": strings.Repeat("x", 100), "dir/": ""})
	pipe(t, filepath.Join(inside, "pipe"))
	for name, want := range map[string]string{
		"missing": "no file or folder", "dir": "is a folder", "big": "too large: 100 bytes, the most is 99", "big/x": "", "pipe": "",
	} {
		_, err := w.Read(name, 99)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if f, err := w.Read("big", 100); err != nil || len(f.Data) != 100 {
		t.Errorf("a file of exactly the most: %v", err)
	}
	if _, err := w.Read("missing", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
	if runtime.GOOS == "linux" {
		must(t, os.Symlink("/proc/self/environ", filepath.Join(inside, "environ")))
		if _, err := w.Read("environ", 1<<20); err == nil {
			t.Error("read /proc")
		}
	}
}
