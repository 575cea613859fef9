package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The beginning of a file, its whole length, and no device, pipe, folder or
// link that leads out.
func TestReadStart(t *testing.T) {
	w, inside, outside := open(t, map[string]string{"long": strings.Repeat("x", 1000), "short": "abc", "empty": "", "dir/": ""})
	must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(inside, "link")))
	pipe(t, filepath.Join(inside, "pipe"))
	for name, want := range map[string]struct{ read, total int }{"long": {10, 1000}, "short": {3, 3}, "empty": {0, 0}} {
		f, total, err := w.ReadStart(name, 10)
		if err != nil || len(f.Data) != want.read || total != int64(want.total) || f.Path != name {
			t.Errorf("%s: %d bytes of %d, %v", name, len(f.Data), total, err)
		}
	}
	for _, name := range []string{"dir", "link", "pipe", "missing", "../outside/secret", ""} {
		if f, _, err := w.ReadStart(name, 100); err == nil {
			t.Errorf("%s was read: %q", name, f.Data)
		}
	}
}

// A folder opened by itself holds its own files and no others of the
// workspace.
func TestOpenSub(t *testing.T) {
	w, inside, _ := open(t, map[string]string{"sub/a": "inner", "other": "outer"})
	must(t, os.Symlink("../other", filepath.Join(inside, "sub", "link")))
	if _, err := w.Read("sub/link", 100); err != nil {
		t.Errorf("the workspace holds the target: %v", err)
	}
	sub, err := w.OpenSub("sub")
	must(t, err)
	defer sub.Close()
	if f, err := sub.Read("a", 100); err != nil || string(f.Data) != "inner" {
		t.Errorf("%q, %v", f.Data, err)
	}
	for _, name := range []string{"link", "../other", "other"} {
		if f, err := sub.Read(name, 100); err == nil {
			t.Errorf("%s was read: %q", name, f.Data)
		}
	}
	for _, name := range []string{"missing", "other", "..", ""} {
		if _, err := w.OpenSub(name); err == nil {
			t.Errorf("%q was opened", name)
		}
	}
}
