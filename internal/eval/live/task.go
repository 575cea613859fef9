package live

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

//go:embed tasks/*.txtar
var archives embed.FS

// A Task is a small repository with a planted fault.
type Task struct {
	Name string
	// Prompt is what the agent is asked. Allowed are the commands that it may
	// run without asking.
	Prompt  string
	Allowed [][]string
	// Repo are the files that it works on, Hidden those of the grader, by
	// path. Check is what the grader runs, Expect what it must print besides
	// ending well.
	Repo, Hidden map[string]string
	Check        []string
	Expect       []string
}

// Tasks lists the tasks by name.
func Tasks() ([]*Task, error) {
	entries, err := archives.ReadDir("tasks")
	if err != nil {
		return nil, err
	}
	var out []*Task
	for _, e := range entries {
		data, err := archives.ReadFile(path.Join("tasks", e.Name()))
		if err != nil {
			return nil, err
		}
		t, err := parseTask(strings.TrimSuffix(e.Name(), ".txtar"), data)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// Find returns a task.
func Find(name string) (*Task, error) {
	all, err := Tasks()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range all {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return nil, fmt.Errorf("there is no task %q; there are %s", name, strings.Join(names, ", "))
}

// Digest stands for the content of all tasks.
func Digest() (string, error) {
	entries, err := archives.ReadDir("tasks")
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, e := range entries {
		data, err := archives.ReadFile(path.Join("tasks", e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", e.Name(), len(data))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// parseTask reads an archive. Before its files stand lines of the form
// "name: value": prompt (joined when repeated), allow, check, expect, and
// journal, which makes a long file of prose with one sentence of its own in
// the middle: "journal: PATH LINES SENTENCE".
func parseTask(name string, data []byte) (*Task, error) {
	a := txtar.Parse(data)
	t := &Task{Name: name, Repo: map[string]string{}, Hidden: map[string]string{}}
	fail := func(format string, args ...any) (*Task, error) {
		return nil, fmt.Errorf("read task %s: %s", name, fmt.Sprintf(format, args...))
	}
	var prompt []string
	for line := range strings.Lines(string(a.Comment)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if !ok {
			return fail("the line %q has no value", line)
		}
		switch key {
		case "prompt":
			prompt = append(prompt, value)
		case "allow":
			t.Allowed = append(t.Allowed, strings.Fields(value))
		case "check":
			t.Check = strings.Fields(value)
		case "expect":
			t.Expect = append(t.Expect, value)
		case "journal":
			f := strings.SplitN(value, " ", 3)
			lines := 0
			if len(f) == 3 {
				_, _ = fmt.Sscan(f[1], &lines) // a wrong number stays 0
			}
			if lines < 1 {
				return fail("a journal needs a path, a number of lines and a sentence")
			}
			t.Repo[f[0]] = journal(f[0], lines, f[2])
		default:
			return fail("unknown line %q", key)
		}
	}
	t.Prompt = strings.Join(prompt, "\n")
	for _, f := range a.Files {
		switch dir, rest, _ := strings.Cut(f.Name, "/"); dir {
		case "repo":
			t.Repo[rest] = string(f.Data)
		case "hidden":
			t.Hidden[rest] = string(f.Data)
		default:
			return fail("the file %q is neither below repo nor below hidden", f.Name)
		}
	}
	if t.Prompt == "" || len(t.Check) == 0 || len(t.Expect) == 0 || len(t.Repo) == 0 || len(t.Hidden) == 0 {
		return fail("prompt, check, expect, repo and hidden must be there")
	}
	return t, nil
}

const journalWords = "we moved the nightly job to the second machine because the first one ran out of room and nobody saw it before noon the export " +
	"was late again but the numbers agree with what finance has so it stays as it is until the next quarter and the old dashboard goes away then"

// journal makes notes of a team: prose, and one sentence that matters.
func journal(name string, lines int, sentence string) string {
	seed := sha256.Sum256([]byte(name + sentence))
	r := rand.New(rand.NewChaCha8(seed))
	words := strings.Fields(journalWords)
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%03d ", i+1)
		if i == lines/2 {
			b.WriteString(sentence + "\n")
			continue
		}
		for range 10 + r.IntN(8) {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		b.WriteString(".\n")
	}
	return b.String()
}

// write puts files below a folder.
func write(dir string, files map[string]string) error {
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Programs lists what tasks need on the PATH, sorted.
func Programs(tasks []*Task) []string {
	var out []string
	for _, t := range tasks {
		out = append(out, t.Check[0])
		for _, a := range t.Allowed {
			out = append(out, a[0])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
