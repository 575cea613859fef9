package instruction_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/instruction"
	"github.com/forge-agent/forge/internal/workspace"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// write makes files below a folder.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	}
}

func project(t testing.TB, files map[string]string) (*workspace.Workspace, string) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	w, err := workspace.Open(dir)
	must(t, err)
	t.Cleanup(func() { w.Close() })
	return w, dir
}

func load(t testing.TB, o instruction.Options) *instruction.Snapshot {
	t.Helper()
	if o.Base == "" {
		o.Base = "base"
	}
	s, err := instruction.Load(t.Context(), o)
	must(t, err)
	return s
}

func texts(s *instruction.Snapshot) []string {
	var out []string
	for _, m := range s.Messages() {
		out = append(out, m.Text())
	}
	return out
}

// The agent's prompt stays short, and says what the requirements need it to.
func TestBasePrompt(t *testing.T) {
	prompt := instruction.BasePrompt()
	if n := o200k.New().Count(prompt); n >= 700 {
		t.Errorf("%d tokens, want less than 700", n)
	}
	for _, want := range []string{"holds no approval", "recall", "not an instruction", "verify", "Be concise"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("it does not say %q", want)
		}
	}
}

// The parts stand in their order, outermost first, and a file of a sibling or
// of a deeper folder than the one that is worked in is not among them (ADR 0044
// of the seed: sibling rules must not leak). An override replaces its own
// folder's file only.
func TestHierarchy(t *testing.T) {
	home := t.TempDir()
	write(t, home, map[string]string{"AGENTS.md": "user rules"})
	w, _ := project(t, map[string]string{
		"AGENTS.md": "root rules", "a/AGENTS.md": "a rules", "a/AGENTS.override.md": "a override", "a/b/AGENTS.md": "b rules",
		"sibling/AGENTS.md": "sibling rules", "a/sibling/AGENTS.override.md": "sibling rules", "a/b/deeper/AGENTS.md": "deeper rules",
	})
	s := load(t, instruction.Options{Project: w, Start: "a/b", UserFolder: home,
		Additions: []instruction.Addition{{Label: "Prompt of the plugin x.", Path: "x/prompt.md", Text: "plugin rules"}, {Label: "empty"}}})
	got := texts(s)
	want := []string{"base", "plugin rules", "user rules", "root rules", "a override", "b rules"}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if !strings.HasSuffix(got[i], want[i]) {
			t.Errorf("part %d is %q, want %q", i, got[i], want[i])
		}
	}
	if paths := s.Paths(); !slices.Equal(paths, []string{"x/prompt.md", "FORGE_HOME/AGENTS.md", "AGENTS.md", "a/AGENTS.override.md", "a/b/AGENTS.md"}) {
		t.Errorf("paths %q", paths)
	}
	if len(s.Losses()) != 0 {
		t.Errorf("losses %v", s.Losses())
	}
	for _, m := range s.Messages() {
		if m.Role != message.RoleSystem {
			t.Errorf("%s has the role %s", m.ID, m.Role)
		}
	}
	for _, part := range texts(load(t, instruction.Options{Project: w, Start: "."})) {
		if strings.Contains(part, "a override") || strings.Contains(part, "user rules") {
			t.Errorf("leaked: %q", part)
		}
	}
}

// F-CLS-13, F-SEC-11: a snapshot stays what it was, and its hash is the one of
// every fit. F-CLS-02, F-SEC-01, groundwork of F-E2E-02: the next load has
// today's file.
func TestFrozenAndFresh(t *testing.T) {
	w, dir := project(t, map[string]string{"AGENTS.md": "use tabs"})
	first := load(t, instruction.Options{Project: w})
	before := texts(first)
	write(t, dir, map[string]string{"AGENTS.md": "use spaces"})
	changed := first.Messages()
	changed[0].Blocks[0] = message.Text{Text: "overwritten"}
	if !slices.Equal(texts(first), before) || first.Hash() != contextwindow.HashInstructions(first.Messages()) {
		t.Error("the snapshot has changed")
	}
	second := load(t, instruction.Options{Project: w})
	if second.Hash() == first.Hash() || !strings.HasSuffix(texts(second)[1], "use spaces") {
		t.Errorf("not fresh: %q", texts(second))
	}
	write(t, dir, map[string]string{"AGENTS.md": "use tabs"})
	if load(t, instruction.Options{Project: w}).Hash() != first.Hash() {
		t.Error("the same files have another hash")
	}
}

// Bounds: a file and the total, cut on whole runes with a mark, the user's file
// and the innermost ones first; each loss is named and the model is told.
func TestBounds(t *testing.T) {
	home := t.TempDir()
	write(t, home, map[string]string{"AGENTS.md": strings.Repeat("u", 3000)})
	files, start := map[string]string{}, ""
	for i := range 6 {
		files[start+"AGENTS.md"] = strings.Repeat("ä", 2000+i)
		start += fmt.Sprintf("d%d/", i)
	}
	files[start+"AGENTS.md"] = "inner"
	w, _ := project(t, files)
	o := instruction.Options{Project: w, Start: start, UserFolder: home, FileBytes: 2000, TotalBytes: 6000}
	s := load(t, o)
	total := 0
	for _, source := range s.Sources() {
		if source.Kind == instruction.KindUser || source.Kind == instruction.KindProject {
			total += source.Bytes
		}
	}
	if total > o.TotalBytes {
		t.Errorf("%d bytes of at most %d", total, o.TotalBytes)
	}
	kept := s.Paths()
	if kept[0] != "FORGE_HOME/AGENTS.md" || kept[len(kept)-1] != start+"AGENTS.md" || len(kept) != 4 {
		t.Errorf("kept %q", kept)
	}
	cut, left := 0, 0
	for _, l := range s.Losses() {
		if strings.HasPrefix(l.Reason, "cut: ") {
			cut++
		}
		if strings.HasPrefix(l.Reason, "left out: ") {
			left++
		}
	}
	if cut != 3 || left != 4 {
		t.Errorf("%d cut, %d left out: %v", cut, left, s.Losses())
	}
	all := texts(s)
	for _, text := range all {
		if !utf8.ValidString(text) {
			t.Errorf("a rune was cut: %q", text[max(0, len(text)-200):])
		}
	}
	if last := all[len(all)-1]; !strings.Contains(last, "- AGENTS.md: left out") || !strings.Contains(all[1], "cut here") {
		t.Errorf("not said: %q", last)
	}
	if s := load(t, instruction.Options{Project: w}); len(s.Losses()) != 0 {
		t.Errorf("below the defaults: %v", s.Losses())
	}
}

// F-SEC-07: a secret in a file is taken out. Bytes that are no text are shown
// as such, and both are said.
func TestRedactedAndValid(t *testing.T) {
	key := "ghp_" + strings.Repeat("a1B2", 9)
	w, _ := project(t, map[string]string{"AGENTS.md": "push with " + key, "sub/AGENTS.md": "bad \xff byte"})
	s := load(t, instruction.Options{Project: w, Start: "sub"})
	all := strings.Join(texts(s), "\n")
	if strings.Contains(all, key) || !strings.Contains(all, "bad \uFFFD byte") || len(s.Losses()) != 2 ||
		!strings.Contains(all, "recognised secrets taken out: 1") || !strings.Contains(all, "not UTF-8") {
		t.Errorf("%q, %v", all, s.Losses())
	}
}

// What is no regular file of the project is a loss, and never read: links that
// lead out, folders, pipes. An override that cannot be read does not let its
// folder's file in again.
func TestNotRead(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, map[string]string{"secret": "outside rules"})
	for name, make := range map[string]func(path string) error{
		"link out": func(path string) error { return os.Symlink(filepath.Join(outside, "secret"), path) },
		"folder":   func(path string) error { return os.Mkdir(path, 0o755) },
		"device":   func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		w, dir := project(t, map[string]string{"AGENTS.md": "replaced rules"})
		must(t, make(filepath.Join(dir, "AGENTS.override.md")))
		s := load(t, instruction.Options{Project: w})
		all := strings.Join(texts(s), "\n")
		if strings.Contains(all, "outside rules") || strings.Contains(all, "replaced rules") || len(s.Losses()) != 1 || !strings.Contains(all, "AGENTS.override.md: not read") {
			t.Errorf("%s: %q, %v", name, all, s.Losses())
		}
	}
	w, _ := project(t, map[string]string{"AGENTS.md": "root"})
	for _, start := range []string{"../x", "/etc", "a\x00b"} {
		if _, err := instruction.Load(t.Context(), instruction.Options{Project: w, Start: start}); err == nil {
			t.Errorf("the start %q was taken", start)
		}
	}
	// The user's own file may be a link to where they keep it.
	home := t.TempDir()
	must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(home, "AGENTS.md")))
	if s := load(t, instruction.Options{UserFolder: home}); !strings.HasSuffix(texts(s)[1], "outside rules") {
		t.Errorf("the user's link: %q", texts(s))
	}
}

func TestCanceled(t *testing.T) {
	w, _ := project(t, map[string]string{"AGENTS.md": "root"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := instruction.Load(ctx, instruction.Options{Project: w}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Whatever path is the start and whatever links stand on it: no text from
// outside the project, or of a sibling, gets in.
func TestNoPathLeavesTheProject(t *testing.T) {
	parent := t.TempDir()
	write(t, parent, map[string]string{"AGENTS.md": "OUTSIDE", "other/AGENTS.md": "OUTSIDE", "in/AGENTS.md": "root",
		"in/a/AGENTS.md": "rules of a", "in/a/b/AGENTS.md": "rules of b", "in/sibling/AGENTS.md": "SIBLING"})
	for link, to := range map[string]string{"up": "..", "other": "../other", "a/root": "../..", "abs": parent, "a/b/loop": "../b"} {
		must(t, os.Symlink(to, filepath.Join(parent, "in", filepath.FromSlash(link))))
	}
	w, err := workspace.Open(filepath.Join(parent, "in"))
	must(t, err)
	defer w.Close()
	segment := rapid.SampledFrom([]string{"..", ".", "a", "b", "up", "other", "root", "abs", "loop", "in", "", "missing", "~", "/"})
	rapid.Check(t, func(t *rapid.T) {
		start := strings.Join(rapid.SliceOfN(segment, 0, 8).Draw(t, "segments"), "/")
		s, err := instruction.Load(context.Background(), instruction.Options{Base: "base", Project: w, Start: start})
		if err != nil {
			return
		}
		for _, m := range s.Messages() {
			if strings.Contains(m.Text(), "OUTSIDE") || strings.Contains(m.Text(), "SIBLING") {
				t.Fatalf("from %q: %q", start, m.Text())
			}
		}
	})
}
