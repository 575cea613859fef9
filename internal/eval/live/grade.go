package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forge-agent/forge/internal/command"
)

// A Grade is what the grader says.
type Grade struct {
	Passed bool
	// Output is the end of what its checks printed.
	Output string
	// Ignored are files of the agent that were not used.
	Ignored []string
}

// Bounds of the grader.
const (
	checkTime      = 3 * time.Minute
	maxSourceBytes = 16 << 20
	outputBytes    = 4096
)

// Grade copies what the agent left in work into a fresh folder below scratch,
// puts the hidden checks there and runs them. What decides about how checks run
// comes from the task alone. environ is that of the evaluation; keys in it do
// not reach the checks.
func (t *Task) Grade(ctx context.Context, work, scratch string, environ []string) (Grade, error) {
	fail := func(err error) (Grade, error) { return Grade{}, fmt.Errorf("grade %s: %w", t.Name, err) }
	dir, err := os.MkdirTemp(scratch, "grade-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir) // it is below a folder that is removed too
	files, ignored, err := t.sources(work)
	if err != nil {
		return fail(err)
	}
	cache := filepath.Join(scratch, "checks")
	if err := errors.Join(os.MkdirAll(cache, 0o700), write(dir, files), write(dir, t.Hidden)); err != nil {
		return fail(err)
	}
	opened, err := os.Open(dir)
	if err != nil {
		return fail(err)
	}
	defer opened.Close()
	out := &tail{most: outputBytes}
	expect := newExpectation(t.Expect)
	env := append(command.Environment(environ, nil, cache), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "PYTHONDONTWRITEBYTECODE=1")
	exit, err := command.Run(ctx, command.Spec{Args: t.Check, Dir: opened, DirPath: dir, Env: env, Timeout: checkTime,
		Writable: []string{dir, cache}, Output: io.MultiWriter(out, expect)})
	if err != nil {
		return fail(err)
	}
	if ctx.Err() != nil {
		return fail(ctx.Err())
	}
	return Grade{Passed: exit.Ending == command.Exited && exit.Code == 0 && expect.met(), Output: out.String(), Ignored: ignored}, nil
}

// sources reads the agent's source files. Files of the task that steer checks
// stand in for the agent's own.
func (t *Task) sources(work string) (files map[string]string, ignored []string, err error) {
	root, err := os.OpenRoot(work)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	files = map[string]string{}
	total := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name == ".git":
			return fs.SkipDir
		case !e.Type().IsRegular():
			return nil
		}
		data, err := root.ReadFile(name)
		if err != nil {
			return err
		}
		if total += len(data); total > maxSourceBytes {
			return fmt.Errorf("the agent left more than %d bytes", maxSourceBytes)
		}
		_, hidden := t.Hidden[name]
		if !hidden && !steers(name) {
			files[name] = string(data)
		} else if original, ok := t.Repo[name]; !ok || original != string(data) {
			ignored = append(ignored, name)
		}
		return nil
	})
	for name, text := range t.Repo {
		if steers(name) {
			files[name] = text
		}
	}
	return files, ignored, err
}

// steers reports whether a file can decide how checks run: tests, what test
// runners read, and everything in folders of modules.
func steers(name string) bool {
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		if part == "node_modules" || part == "vendor" || part == "__pycache__" || strings.HasPrefix(part, ".") && part != "." {
			return true
		}
	}
	base := path.Base(name)
	for _, pattern := range []string{".*", "*_test.go", "go.mod", "go.sum", "go.work", "test_*.py", "*_test.py", "conftest.py", "sitecustomize.py", "usercustomize.py",
		"setup.cfg", "pytest.ini", "tox.ini", "pyproject.toml", "*.pyc", "*.pth", "*.test.js", "*.test.mjs", "package.json", "package-lock.json", "Makefile"} {
		if ok, err := path.Match(pattern, base); ok && err == nil {
			return true
		}
	}
	return false
}

// tail keeps the end of what is written.
type tail struct {
	most int
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if len(t.data) > t.most {
		t.data = slices.Clone(t.data[len(t.data)-t.most:])
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.ToValidUTF8(string(t.data), "\uFFFD") }

// expectation looks for lines that must be printed.
type expectation struct {
	open map[string]bool
	line []byte
}

func newExpectation(lines []string) *expectation {
	e := &expectation{open: map[string]bool{}}
	for _, l := range lines {
		e.open[l] = true
	}
	return e
}

func (e *expectation) Write(p []byte) (int, error) {
	for _, c := range p {
		if c != '\n' {
			if len(e.line) < outputBytes {
				e.line = append(e.line, c)
			}
			continue
		}
		e.end()
	}
	return len(p), nil
}

func (e *expectation) end() {
	for want := range maps.Clone(e.open) {
		if strings.HasPrefix(string(e.line), want) {
			delete(e.open, want)
		}
	}
	e.line = e.line[:0]
}

func (e *expectation) met() bool {
	e.end()
	return len(e.open) == 0
}
