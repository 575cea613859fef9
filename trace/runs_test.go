package trace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/trace"
)

func emitAll(t *testing.T, w *trace.RunFile, n int) {
	t.Helper()
	for range n {
		if err := w.Emit(&trace.RunCompleted{Status: trace.StatusCompleted}); err != nil {
			t.Fatal(err)
		}
	}
}

func readRun(t *testing.T, root *os.Root, run string) (seqs []int64, problems []string) {
	t.Helper()
	f, err := trace.OpenRun(root, run)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := trace.NewReader(f)
	for e, err := range r.Events() {
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, e.Seq)
	}
	for _, p := range r.Problems() {
		problems = append(problems, p.What)
	}
	return seqs, problems
}

// F-EVT-01, F-CLS-09, weak spot 16: a run is a file of its own that only its
// owner can read; it is never overwritten, and can be gone on with.
func TestRunFiles(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	clock := func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
	if runs, err := trace.Runs(root, ""); err != nil || len(runs) != 0 {
		t.Fatalf("%v, %v", runs, err)
	}
	w, err := trace.CreateRun(root, "run-1", clock)
	if err != nil {
		t.Fatal(err)
	}
	emitAll(t, w, 2)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := trace.CreateRun(root, "run-1", clock); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the same run again: %v", err)
	}
	if w, err = trace.ResumeRun(root, "run-1", clock); err != nil {
		t.Fatal(err)
	}
	emitAll(t, w, 1)
	w.Close()
	if seqs, problems := readRun(t, root, "run-1"); !cmp.Equal(seqs, []int64{1, 2, 3}) || len(problems) != 0 {
		t.Errorf("%v, %v", seqs, problems)
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]fs.FileMode{"runs": 0o700, "runs/run-1.jsonl": 0o600} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s has mode %v, want %v", name, info.Mode().Perm(), want)
			}
		}
	}
	for _, bad := range []string{"", "../x", "a/b", ".x", "a b", strings.Repeat("x", 129)} {
		if _, err := trace.CreateRun(root, bad, clock); err == nil {
			t.Errorf("a run named %q was made", bad)
		}
	}
	if _, err := trace.ResumeRun(root, "none", clock); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("resume what is not there: %v", err)
	}
	if runs, err := trace.Runs(root, "run"); err != nil || !cmp.Equal(runs, []string{"run-1"}) {
		t.Errorf("%v, %v", runs, err)
	}
}

// A crash at any byte of the last event loses that event at most, is reported,
// and the run goes on after it without using a number twice.
func TestTornRunGoesOn(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	w, err := trace.CreateRun(root, "whole", nil)
	if err != nil {
		t.Fatal(err)
	}
	emitAll(t, w, 3)
	w.Close()
	data, err := os.ReadFile(filepath.Join(dir, "runs", "whole.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	second := strings.Index(string(data), "\n") + 1
	second += strings.Index(string(data[second:]), "\n") + 1
	for cut := second; cut <= len(data); cut++ {
		if err := os.WriteFile(filepath.Join(dir, "runs", "torn.jsonl"), data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := trace.ResumeRun(root, "torn", nil)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		emitAll(t, w, 1)
		w.Close()
		want, torn := []int64{1, 2, 3}, cut > second && cut < len(data)-1
		if cut >= len(data)-1 {
			want = []int64{1, 2, 3, 4}
		}
		seqs, problems := readRun(t, root, "torn")
		if !cmp.Equal(seqs, want) || (len(problems) > 0) != torn {
			t.Fatalf("cut at %d of %d: events %v, problems %q", cut, len(data), seqs, problems)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "runs", "other.jsonl"), []byte("not a trace\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := trace.ResumeRun(root, "other", nil); !errors.Is(err, trace.ErrMalformed) {
		t.Errorf("resume of another file: %v", err)
	}
}
