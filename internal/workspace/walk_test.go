package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/internal/workspace"
)

var update = flag.Bool("update", false, "ask git again for the expected lists in testdata")

func walk(t testing.TB, w *workspace.Workspace, dir string, opts *workspace.WalkOptions) []string {
	t.Helper()
	var out []string
	for e, err := range w.Walk(t.Context(), dir, opts) {
		must(t, err)
		name := e.Path
		if e.Type&fs.ModeDir != 0 {
			name += "/"
		}
		out = append(out, name)
	}
	return out
}

// Each archive is a tree with ignore files and, in want.txt, the files that
// "git ls-files --others --exclude-standard" lists in it. The walk lists the
// same. -update asks git.
func TestIgnoreLikeGit(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	must(t, err)
	if len(paths) == 0 {
		t.Fatal("no archives")
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			must(t, err)
			files := map[string]string{}
			at := -1
			for i, f := range archive.Files {
				if f.Name == "want.txt" {
					at = i
					continue
				}
				files[f.Name] = string(f.Data)
			}
			w, dir, _ := open(t, files)
			if *update {
				archive.Files[at].Data = gitList(t, dir)
				must(t, os.WriteFile(path, txtar.Format(archive), 0o644))
			}
			var got strings.Builder
			for _, name := range walk(t, w, ".", nil) {
				if !strings.HasSuffix(name, "/") {
					got.WriteString(name + "\n")
				}
			}
			if diff := cmp.Diff(lines(string(archive.Files[at].Data)), lines(got.String())); diff != "" {
				t.Errorf("git lists otherwise (-git +walk):\n%s", diff)
			}
		})
	}
}

func lines(s string) []string {
	out := strings.Split(strings.TrimSpace(s), "\n")
	slices.Sort(out)
	return out
}

func gitList(t *testing.T, dir string) []byte {
	for _, args := range [][]string{{"init", "-q"}, {"-c", "core.excludesFile=", "-c", "core.quotePath=false", "ls-files", "--others", "--exclude-standard"}} {
		var out bytes.Buffer
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }) // of the caller
		must(t, cmd.Run())
		if args[0] != "init" {
			return out.Bytes()
		}
	}
	return nil
}

func TestWalk(t *testing.T) {
	w, dir, outside := open(t, map[string]string{
		".git/config": "x", ".gitignore": "*.log\n/build/\n", "a.log": "", "b": "", "sub/c": "", "sub/d.log": "",
		"sub/.gitignore": "!d.log\n", "build/out": "", "sub/deep/e.log": "", "sub/deep/f": "",
	})
	must(t, os.Symlink(outside, filepath.Join(dir, "link")))
	for _, tt := range []struct {
		name string
		dir  string
		opts *workspace.WalkOptions
		want string
	}{
		{"all", ".", nil, ".gitignore b link sub/ sub/.gitignore sub/c sub/d.log sub/deep/ sub/deep/f"},
		{"one level", ".", &workspace.WalkOptions{Depth: 1}, ".gitignore b link sub/"},
		{"two levels", ".", &workspace.WalkOptions{Depth: 2}, ".gitignore b link sub/ sub/.gitignore sub/c sub/d.log sub/deep/"},
		{"a folder, by the rules above it", "sub/deep", nil, "sub/deep/f"},
		{"an ignored folder that is named", "build", nil, "build/out"},
		{"ignored too", "sub", &workspace.WalkOptions{Ignored: true}, "sub/.gitignore sub/c sub/d.log sub/deep/ sub/deep/e.log sub/deep/f"},
	} {
		if got := strings.Join(walk(t, w, tt.dir, tt.opts), " "); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
	for name, want := range map[string]string{"missing": "no file or folder", "b": "is a file", "..": "leads out"} {
		for _, err := range w.Walk(t.Context(), name, nil) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestWalkEnds(t *testing.T) {
	w, _, _ := open(t, map[string]string{"a/b/c": "", "d": "", "e/f": ""})
	n := 0
	for range w.Walk(t.Context(), ".", nil) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d entries after the break", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range w.Walk(ctx, ".", nil) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("the end of a canceled walk: %v", last)
	}
}

// A tree deeper than what is entered is an error at its place, not a crash.
func TestWalkTooDeep(t *testing.T) {
	w, _, _ := open(t, map[string]string{strings.Repeat("d/", 200) + "f": "", "z": ""})
	var problems, last string
	for e, err := range w.Walk(t.Context(), ".", nil) {
		if err != nil {
			problems += err.Error()
		}
		last = e.Path
	}
	if !strings.Contains(problems, "too deep") || last != "z" {
		t.Errorf("got %.100q, and last %q", problems, last)
	}
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct{ pattern, yes, no string }{
		{"*.go", "a.go b/c.go", "a.goo b.go.txt"},
		{"/a.go", "a.go", "b/a.go"},
		{"cmd/*.go", "cmd/a.go", "cmd/b/a.go x/cmd/a.go"},
		{"cmd/**", "cmd/a cmd/b/c", "cmd x/cmd/a"},
		{"cmd/", "cmd/a x/cmd/a", "cmd"},
		{"**/test/*_x", "test/a_x a/b/test/c_x", "a/test/b/c_x"},
		{"[!a-c]?", "d1 ]]", "a1 d d12"},
	} {
		match, err := workspace.Glob(tt.pattern)
		must(t, err)
		for name := range strings.FieldsSeq(tt.yes) {
			if !match(name) {
				t.Errorf("%s does not match %s", tt.pattern, name)
			}
		}
		for name := range strings.FieldsSeq(tt.no) {
			if match(name) {
				t.Errorf("%s matches %s", tt.pattern, name)
			}
		}
	}
	for _, pattern := range []string{"", "#x", "!x", "/", "a\nb"} {
		if _, err := workspace.Glob(pattern); err == nil {
			t.Errorf("%q is taken", pattern)
		}
	}
}

// Patterns of a hostile repository neither panic nor take long.
func FuzzGlob(f *testing.F) {
	for _, seed := range []string{"*a*a*a*a*b", "**/**/**/x", "[[:alpha:]-z]", "[", "\\", "a/**/b/**/c", "[]-a]", "!x\\ "} {
		f.Add(seed, "aaaaaaaaaaaaaaaaaaaaaaaa/b/c")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 1000 || len(name) > 1000 || name == "" {
			return
		}
		if match, err := workspace.Glob(pattern); err == nil {
			match(name)
		}
	})
}
