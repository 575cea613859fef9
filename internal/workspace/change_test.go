package workspace_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/internal/workspace"
)

func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(name)] = string(data)
		return err
	}))
	return out
}

func read(t testing.TB, w *workspace.Workspace, name string) *workspace.File {
	t.Helper()
	f, err := w.Read(name, 1<<20)
	must(t, err)
	return &f
}

func after(name, text string) *workspace.File { return &workspace.File{Path: name, Data: []byte(text)} }

// Changes, new files in new folders, moves and removals together; modes are
// kept and no temporary file stays.
func TestApply(t *testing.T) {
	w, dir, _ := open(t, map[string]string{"edit.sh": "old", "move.txt": "moved", "gone": "x", "other": "y"})
	must(t, os.Chmod(filepath.Join(dir, "edit.sh"), 0o751))
	must(t, w.Apply([]workspace.Change{
		{Before: read(t, w, "edit.sh"), After: after("edit.sh", "new")},
		{Before: read(t, w, "move.txt"), After: after("a/b/moved.txt", "moved, too")},
		{Before: read(t, w, "gone")},
		{After: after("c/d/new", "created")},
	}))
	want := map[string]string{"edit.sh": "new", "a/b/moved.txt": "moved, too", "c/d/new": "created", "other": "y"}
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(filepath.Join(dir, "edit.sh"))
	must(t, err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o751 {
		t.Errorf("mode %o", info.Mode())
	}
}

// All or nothing: whatever stands against one change, none is made, and what
// was made for it (folders, temporary files) is gone.
func TestApplyAllOrNothing(t *testing.T) {
	files := map[string]string{"a": "a", "b": "b", "dir/x": "x", "ro": "r"}
	for name, bad := range map[string]func(w *workspace.Workspace, dir string) workspace.Change{
		"exists":       func(*workspace.Workspace, string) workspace.Change { return workspace.Change{After: after("b", "")} },
		"a folder":     func(*workspace.Workspace, string) workspace.Change { return workspace.Change{After: after("dir", "")} },
		"below a file": func(*workspace.Workspace, string) workspace.Change { return workspace.Change{After: after("b/c", "")} },
		"leads out":    func(*workspace.Workspace, string) workspace.Change { return workspace.Change{After: after("../c", "")} },
		"Git's folder": func(*workspace.Workspace, string) workspace.Change {
			return workspace.Change{After: after(".git/hooks/x", "")}
		},
		"Git, in caps": func(*workspace.Workspace, string) workspace.Change {
			return workspace.Change{After: after("sub/.GIT/x", "")}
		},
		"control chars": func(*workspace.Workspace, string) workspace.Change { return workspace.Change{After: after("x\ny", "")} },
		"same twice": func(*workspace.Workspace, string) workspace.Change {
			return workspace.Change{After: after("new/y", "")}
		},
		"long name": func(*workspace.Workspace, string) workspace.Change {
			return workspace.Change{After: after(strings.Repeat("n", 300), "")}
		},
		"changed meanwhile": func(w *workspace.Workspace, dir string) workspace.Change {
			f := read(t, w, "b")
			must(t, os.WriteFile(filepath.Join(dir, "b"), []byte("B"), 0o644))
			return workspace.Change{Before: f, After: after("b", "mine")}
		},
		"longer meanwhile": func(w *workspace.Workspace, dir string) workspace.Change {
			f := read(t, w, "b")
			must(t, os.WriteFile(filepath.Join(dir, "b"), []byte("bb"), 0o644))
			return workspace.Change{Before: f}
		},
		"removed meanwhile": func(w *workspace.Workspace, dir string) workspace.Change {
			f := read(t, w, "b")
			must(t, os.Remove(filepath.Join(dir, "b")))
			return workspace.Change{Before: f, After: after("b", "mine")}
		},
		"a link meanwhile": func(w *workspace.Workspace, dir string) workspace.Change {
			f := read(t, w, "b")
			must(t, os.Remove(filepath.Join(dir, "b")), os.Symlink("a", filepath.Join(dir, "b")))
			return workspace.Change{Before: f, After: after("b", "mine")}
		},
		"not writable": func(w *workspace.Workspace, dir string) workspace.Change {
			must(t, os.Chmod(filepath.Join(dir, "ro"), 0o444))
			return workspace.Change{Before: read(t, w, "ro"), After: after("ro", "mine")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, dir, _ := open(t, files)
			changes := []workspace.Change{
				{Before: read(t, w, "a"), After: after("a", "A")},
				{After: after("new/y", "y")},
				{Before: read(t, w, "dir/x")},
				bad(w, dir),
			}
			before := tree(t, dir)
			if err := w.Apply(changes); err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("something changed:\n%s", diff)
			}
			if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
				t.Error("a folder was left behind")
			}
		})
	}
}

// When moving into place does not work half way, what was done is taken back.
// The fault: a file that another one of the same patch makes into a folder.
func TestApplyTakesBack(t *testing.T) {
	w, dir, _ := open(t, map[string]string{"a": "a", "b": "b"})
	before := tree(t, dir)
	err := w.Apply([]workspace.Change{
		{Before: read(t, w, "a"), After: after("a", "A")},
		{Before: read(t, w, "b")},
		{After: after("new", "file")},
		{After: after("new/x", "in a folder of that name")},
	})
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("not taken back:\n%s", diff)
	}
}

// A file is never seen half written: a reader sees the old or the new content.
func TestApplyIsAtomic(t *testing.T) {
	old, changed := strings.Repeat("old ", 50_000), strings.Repeat("new! ", 50_000)
	w, dir, _ := open(t, map[string]string{"f": old})
	var wait sync.WaitGroup
	done := make(chan struct{})
	wait.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if data, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(data) != old && string(data) != changed {
				t.Errorf("saw %d bytes, %v", len(data), err)
				return
			}
		}
	})
	texts := []string{changed, old}
	for i := range 50 {
		must(t, w.Apply([]workspace.Change{{Before: read(t, w, "f"), After: after("f", texts[i%2])}}))
	}
	close(done)
	wait.Wait()
}

// Of many that create the same file at once, one wins, and nobody overwrites.
func TestCreateNeverOverwrites(t *testing.T) {
	w, dir, _ := open(t, nil)
	var wait sync.WaitGroup
	won := make([]bool, 32)
	for i := range won {
		wait.Go(func() {
			won[i] = w.Apply([]workspace.Change{{After: after("new", fmt.Sprint(i))}}) == nil
		})
	}
	wait.Wait()
	winner := ""
	for i, ok := range won {
		if ok {
			winner += fmt.Sprint(i)
		}
	}
	if got := tree(t, dir); len(got) != 1 || got["new"] != winner {
		t.Errorf("winner %q, tree %v", winner, got)
	}
}
