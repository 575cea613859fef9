package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/forge-agent/forge/internal/command"
)

// spec runs a shell script in a new folder. The scripts are POSIX; the package
// itself uses no shell.
func spec(t *testing.T, script string) (command.Spec, *bytes.Buffer) {
	t.Helper()
	path := t.TempDir()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	out := &bytes.Buffer{}
	return command.Spec{
		Args: []string{"sh", "-c", script}, Dir: dir, DirPath: path, Output: out,
		Env: command.Environment(os.Environ(), nil, path), Writable: []string{path},
	}, out
}

func run(t *testing.T, s command.Spec) command.Exit {
	t.Helper()
	exit, err := command.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name, script, want string
		code               int
		signal             string
	}{
		{"output of both in order", "echo one; echo two >&2; echo three", "one\ntwo\nthree\n", 0, ""},
		{"exit code", "exit 7", "", 7, ""},
		{"signal", "kill -9 $$", "", -1, "killed"},
		{"no input", "cat; echo end", "end\n", 0, ""},
		{"no terminal", "(: </dev/tty) 2>/dev/null || echo none", "none\n", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, out := spec(t, tt.script)
			exit := run(t, s)
			if out.String() != tt.want || exit.Code != tt.code || exit.Signal != tt.signal || exit.Ending != command.Exited {
				t.Errorf("got %q and %+v, want %q, code %d, signal %q", out, exit, tt.want, tt.code, tt.signal)
			}
		})
	}
}

// A program gets the input that it is given, and its standard error can be
// kept apart.
func TestInputAndErrOutput(t *testing.T) {
	s, out := spec(t, "echo noise >&2; cat; echo end")
	input, err := os.Open("command_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	s.Input, s.Errors = input, null
	if exit := run(t, s); exit.Code != 0 || !strings.HasPrefix(out.String(), "package command_test\n") || !strings.HasSuffix(out.String(), "}\nend\n") || strings.HasPrefix(out.String(), "noise") {
		t.Errorf("got %+v and %d bytes", exit, out.Len())
	}
}

// No shell stands between: what the argument vector holds arrives as it is.
func TestNoShell(t *testing.T) {
	s, out := spec(t, "")
	s.Args = []string{"printf", "%s|", "$HOME", "*", "a b", "; exit 3", "`id`", ""}
	if exit := run(t, s); exit.Code != 0 || out.String() != "$HOME|*|a b|; exit 3|`id`||" {
		t.Errorf("got %q, %+v", out, exit)
	}
}

func TestNotStarted(t *testing.T) {
	for name, args := range map[string][]string{
		"none": {}, "empty": {""}, "unknown": {"no-such-program-anywhere"}, "a shell's": {"cd", ".."},
		"a folder": {"./"}, "missing file": {"./missing"}, "NUL": {"echo", "a\x00b"},
	} {
		s, _ := spec(t, "")
		s.Args = args
		if name == "a shell's" {
			s.Env = []string{"PATH=" + t.TempDir()}
		}
		if exit, err := command.Run(t.Context(), s); !errors.Is(err, command.ErrNotStarted) {
			t.Errorf("%s: got %+v, %v", name, exit, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, _ := spec(t, "echo x")
	if _, err := command.Run(ctx, s); !errors.Is(err, command.ErrNotStarted) || !errors.Is(err, context.Canceled) {
		t.Errorf("done context: %v", err)
	}
}

// A program in the workspace is not found by its name, whatever the PATH says.
func TestLookPathIgnoresTheWorkspace(t *testing.T) {
	s, _ := spec(t, "")
	if err := os.WriteFile(filepath.Join(s.DirPath, "mine"), []byte("#!/bin/sh\necho mine\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.Env = []string{"PATH=.::" + os.Getenv("PATH")}
	s.Args = []string{"mine"}
	if _, err := command.Run(t.Context(), s); !errors.Is(err, command.ErrNotStarted) {
		t.Errorf("found: %v", err)
	}
	out := &bytes.Buffer{}
	s.Args, s.Output = []string{"./mine"}, out
	if exit := run(t, s); exit.Code != 0 || out.String() != "mine\n" {
		t.Errorf("./mine: %q, %+v", out, exit)
	}
}

// families are programs that leave processes behind, each holding the write
// end of a pipe of the test: the pipe ends when the last of them is dead.
var families = map[string]string{
	"child":              `sleep 1000`,
	"background":         `sleep 1000 & sleep 1000 & wait`,
	"ignores the signal": `trap '' TERM; sleep 1000 & wait; sleep 1000`,
	"nohup":              `nohup sleep 1000 >/dev/null 2>&1 & wait`,
	"deep":               `sh -c 'sh -c "sleep 1000 & wait" & wait' & wait`,
}

// ready makes the script say when its processes run, and the test hold a pipe
// that they have inherited. The pipe goes in as a file of the folder (a FIFO
// would need a reader), so the inherited output is used: it is the same pipe.
func endsWith(t *testing.T, s command.Spec, end func(cancel context.CancelFunc)) command.Exit {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.Output = writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("ready")) {
			end(cancel)
		}
		return len(p), nil
	})
	exit, err := command.Run(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// survivors returns the processes whose environment names the folder of the
// spec, which no other process knows.
func survivors(t *testing.T, s command.Spec) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err == nil && bytes.Contains(data, []byte("TMPDIR="+s.DirPath+"\x00")) {
			pid := filepath.Base(filepath.Dir(name))
			if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !bytes.Contains(stat, []byte(") Z ")) {
				out = append(out, pid)
			}
		}
	}
	return out
}

// When the time is up or the run is canceled, nothing of the program lives on:
// not children, not those that ignore signals, not those of children.
func TestNothingSurvives(t *testing.T) {
	for name, script := range families {
		t.Run("canceled, "+name, func(t *testing.T) {
			s, _ := spec(t, "echo ready; "+script)
			s.Grace = 10 * time.Millisecond
			if exit := endsWith(t, s, func(cancel context.CancelFunc) { cancel() }); exit.Ending != command.Canceled {
				t.Errorf("got %+v", exit)
			}
			if left := survivors(t, s); len(left) > 0 {
				t.Errorf("alive: %v", left)
			}
		})
		t.Run("timed out, "+name, func(t *testing.T) {
			s, _ := spec(t, "echo ready; "+script)
			s.Timeout = 50 * time.Millisecond
			if exit := run(t, s); exit.Ending != command.TimedOut {
				t.Errorf("got %+v", exit)
			}
			if left := survivors(t, s); len(left) > 0 {
				t.Errorf("alive: %v", left)
			}
		})
	}
}

// What a program leaves behind when it ends by itself dies too, even in a
// session of its own (Linux), and does not hold up the result.
func TestStrays(t *testing.T) {
	scripts := map[string]string{"background": `sleep 1000 & echo done`}
	if runtime.GOOS == "linux" {
		scripts["own session"] = `setsid sleep 1000 & setsid sh -c 'setsid sleep 1000 & sleep 1000' & echo done`
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			s, out := spec(t, script)
			if exit := run(t, s); exit.Ending != command.Exited || exit.Code != 0 || !strings.Contains(out.String(), "done") {
				t.Errorf("got %+v, %q", exit, out)
			}
			if left := survivors(t, s); len(left) > 0 {
				t.Errorf("alive: %v", left)
			}
		})
	}
}

// A program that writes without end is read to its end, and a writer that
// fails does not block it.
func TestOutputThatFails(t *testing.T) {
	s, _ := spec(t, "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done; exit 4")
	s.Output = writerFunc(func([]byte) (int, error) { return 0, errors.New("full") })
	if exit := run(t, s); exit.Code != 4 {
		t.Errorf("got %+v", exit)
	}
}

// Keys and tokens of the user are not in the environment.
func TestEnvironment(t *testing.T) {
	got := command.Environment([]string{
		"PATH=/bin", "HOME=/home/x", "LC_ALL=C", "OPENAI_API_KEY=a", "AWS_SECRET_ACCESS_KEY=b", "GITHUB_TOKEN=c",
		"SSH_AUTH_SOCK=d", "LD_PRELOAD=e", "TMPDIR=/elsewhere", "MINE=f", "TERM=xterm", "broken", "=odd",
	}, []string{"MINE", "TERM"}, "/scratch")
	want := "PATH=/bin HOME=/home/x LC_ALL=C MINE=f TERM=xterm TMPDIR=/scratch TMP=/scratch TEMP=/scratch " +
		filepath.FromSlash("XDG_CACHE_HOME=/scratch/cache GOCACHE=/scratch/cache/go-build") + " NO_COLOR=1 PAGER=cat GIT_PAGER=cat GIT_TERMINAL_PROMPT=0"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// Where the kernel can confine, files elsewhere are neither made, changed,
// emptied, renamed nor removed; where it cannot, the result says so. The folder
// itself and the devices that keep nothing can be written either way.
func TestConfinement(t *testing.T) {
	attempts := map[string]string{
		"make":     `echo x >"$OUT/new"`,
		"change":   `echo x >>"$OUT/file"`,
		"empty":    `true >"$OUT/file"`,
		"truncate": `truncate -s 1 "$OUT/file"`,
		"remove":   `rm -f "$OUT/file"`,
		"rename":   `mv "$OUT/file" "$OUT/other"`,
		"move in":  `mv "$OUT/file" here`,
		"move out": `echo x >inside; mv inside "$OUT/moved"`,
		"link":     `ln "$OUT/file" hard && echo x >>hard`,
		"symlink":  `ln -s "$OUT" way && echo x >way/new`,
		"folder":   `mkdir "$OUT/folder"`,
		"child":    `sh -c 'sh -c "echo x >\"$OUT/new\""'`,
	}
	for name, script := range attempts {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			file := filepath.Join(outside, "file")
			if err := os.WriteFile(file, []byte("as it was"), 0o644); err != nil {
				t.Fatal(err)
			}
			s, out := spec(t, script+" 2>/dev/null; echo in >mine && cat mine && echo gone >/dev/null")
			s.Env = append(s.Env, "OUT="+outside)
			exit := run(t, s)
			if exit.Code != 0 || !strings.HasSuffix(out.String(), "in\n") {
				t.Errorf("cannot write in its own folder: %q, %+v", out, exit)
			}
			if got, want := exit.Confinement, command.Expect(s.Writable); got != want {
				t.Errorf("was %+v, but %+v was expected", got, want)
			}
			data, _ := os.ReadFile(file)
			entries, _ := os.ReadDir(outside)
			untouched := string(data) == "as it was" && len(entries) == 1
			switch {
			case exit.Confinement.Enforced && !untouched:
				t.Errorf("confined, but %q is in the file and %v in the folder", data, entries)
			case !exit.Confinement.Enforced && !strings.HasPrefix(exit.Confinement.Text, "Not confined: "):
				t.Errorf("it does not say why: %+v", exit.Confinement)
			}
		})
	}
}

// Whether the table above tests Landlock is for the kernel to say: where it
// lists Landlock among its security modules' system calls, it must be enforced.
func TestExpect(t *testing.T) {
	dir := t.TempDir()
	c := command.Expect([]string{dir})
	if c.Enforced != (command.LandlockVersion() > 0) {
		t.Errorf("version %d, but %+v", command.LandlockVersion(), c)
	}
	if c := command.Expect(nil); c.Enforced || !strings.Contains(c.Text, "Not confined") {
		t.Errorf("switched off, but %+v", c)
	}
	for version, want := range command.TextsByVersion(dir) {
		if !strings.Contains(want, "onfined") || version < 3 && version > 0 && !strings.Contains(want, "emptying") {
			t.Errorf("version %d says %q", version, want)
		}
	}
}

// Confinement of one program does not confine the program that runs it.
func TestConfinementIsOfTheProgramOnly(t *testing.T) {
	s, _ := spec(t, "exit 0")
	for range 8 {
		run(t, s)
	}
	outside := t.TempDir()
	for i := range 64 {
		done := make(chan error)
		go func() {
			done <- os.WriteFile(filepath.Join(outside, strconv.Itoa(i)), nil, 0o644)
		}()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// Nothing is run with less confinement than was said.
func TestConfinementFailsClosed(t *testing.T) {
	s, out := spec(t, "echo ran")
	s.Writable = append(s.Writable, filepath.Join(s.DirPath, "missing"))
	if !command.Expect(s.Writable).Enforced {
		return
	}
	if _, err := command.Run(t.Context(), s); !errors.Is(err, command.ErrNotStarted) || out.Len() > 0 {
		t.Errorf("ran: %v, %q", err, out)
	}
}

// The folder is entered by its handle: swapping it for a link meanwhile leads
// nowhere else (Linux).
func TestFolderIsEnteredByHandle(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	s, out := spec(t, "cat file")
	elsewhere := t.TempDir()
	for dir, text := range map[string]string{s.DirPath: "right", elsewhere: "wrong"} {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	moved := s.DirPath + "-moved"
	t.Cleanup(func() { os.RemoveAll(moved) })
	if err := errors.Join(os.Rename(s.DirPath, moved), os.Symlink(elsewhere, s.DirPath)); err != nil {
		t.Fatal(err)
	}
	s.Writable = nil
	if exit := run(t, s); out.String() != "right" {
		t.Errorf("got %q, %+v", out, exit)
	}
}

func ExampleEnvironment() {
	env := command.Environment([]string{"PATH=/usr/bin", "OPENAI_API_KEY=secret"}, nil, "/tmp/run")
	fmt.Println(env[0], len(env))
	// Output: PATH=/usr/bin 11
}

// A program reads from the pipe that it is given, the writer learns of its end,
// and the error output can go elsewhere.
func TestInputAndErrors(t *testing.T) {
	s, out := spec(t, "read line; echo got $line; echo bad >&2; exec 0<&-; cat /dev/null")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	errs := &bytes.Buffer{}
	s.Input, s.Errors = reader, errs
	if _, err := writer.WriteString("one\n"); err != nil {
		t.Fatal(err)
	}
	if exit := run(t, s); exit.Code != 0 || out.String() != "got one\n" || errs.String() != "bad\n" {
		t.Errorf("got %q and %q, %+v", out, errs, exit)
	}
	if _, err := writer.WriteString("two\n"); err == nil {
		t.Error("the reading end is still open")
	}
	s.Args = nil
	reader, writer2, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer writer2.Close()
	s.Input = reader
	if _, err := command.Run(t.Context(), s); err == nil {
		t.Error("ran nothing")
	}
	if _, err := writer2.WriteString("x"); err == nil {
		t.Error("the reading end is open although nothing was started")
	}
}
