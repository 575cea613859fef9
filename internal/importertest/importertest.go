// Package importertest is the suite that the importers below sessionfile
// pass: golden files, what must hold for every session, and what must hold
// for every cut of a file. It is used by tests only.
package importertest

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// Input returns the file that is imported in a golden archive of testdata.
func Input(t testing.TB, name string) []byte {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return archive.Files[0].Data
}

// AddInputs seeds a fuzz target with the inputs of all golden archives.
func AddInputs(f *testing.F) {
	f.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no golden files: %v", err)
	}
	for _, path := range paths {
		f.Add(Input(f, filepath.Base(path)))
	}
}

// Golden imports the first file of each archive that the pattern names, and
// compares the rendered session, or the error, with the file "want" in it.
// With update it writes that file instead.
func Golden(t *testing.T, pattern string, formats []sessionfile.Format, update bool) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files match %s: %v", pattern, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			in := archive.Files[0]
			got := ""
			s, err := sessionfile.Read(in.Name, in.Data, formats, nil)
			if err != nil {
				got = "error: " + err.Error() + "\n"
			} else {
				Check(t, s)
				got = Render(s)
			}
			if update {
				archive.Files = []txtar.File{in, {Name: "want", Data: []byte(got)}}
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(archive.Files) != 2 || archive.Files[1].Name != "want" {
				t.Fatal("the archive must hold an input and the file want; run the test with -update")
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
				t.Errorf("the session differs (-want +got):\n%s", diff)
			}
		})
	}
}

// Check reports whatever cannot be in a session, whatever the file was.
func Check(t testing.TB, s *sessionfile.Session) {
	t.Helper()
	if s.Transcript == nil {
		t.Fatal("the session has no transcript")
	}
	n, at := s.Transcript.Len(), 0
	for i, r := range s.Requests {
		if r.At < at || r.End < r.At || r.End > n {
			t.Errorf("request %d [%d,%d) after one at %d in %d messages", i, r.At, r.End, at, n)
		}
		at = r.At
		if r.Failed != "" && r.End != r.At {
			t.Errorf("request %d failed (%s) and has a reply", i, r.Failed)
		}
		if u := r.Usage; u != nil {
			if min(u.InputTokens, u.CachedInputTokens, u.CacheWriteInputTokens, u.OutputTokens, u.ReasoningTokens) < 0 ||
				u.CachedInputTokens+u.CacheWriteInputTokens > u.InputTokens || u.ReasoningTokens > u.OutputTokens {
				t.Errorf("request %d: parts are not contained in the whole: %+v", i, *u)
			}
		}
	}
	at = 0
	for i, m := range s.Marks {
		if m.At < at || m.At > n {
			t.Errorf("mark %d at %d after one at %d in %d messages", i, m.At, at, n)
		}
		at = m.At
		checkChange(t, s, m)
	}
	line := 0
	for _, l := range s.Losses {
		if l.Line < line || l.What == "" {
			t.Errorf("loss out of order or empty: %+v after line %d", l, line)
		}
		line = l.Line
	}
	for i, m := range s.Instructions {
		if m.ID == "" || m.Role != message.RoleSystem || len(m.Blocks) == 0 {
			t.Errorf("instruction %d is no system message: %+v", i, m)
		}
	}
}

func checkChange(t testing.TB, s *sessionfile.Session, m sessionfile.Mark) {
	t.Helper()
	c := m.Change
	if c == nil {
		return
	}
	if c.At != m.At || c.KeepFrom < 0 || c.KeepFrom > c.At {
		t.Errorf("mark on line %d: change at %d keeps from %d, mark at %d", m.Line, c.At, c.KeepFrom, m.At)
	}
	for _, r := range c.Replacement {
		if r.ID == "" || r.Role == "" || len(r.Blocks) == 0 {
			t.Errorf("mark on line %d: replacement is no message: %+v", m.Line, r)
		}
	}
	for _, ref := range c.Results {
		if ref.Message >= c.At {
			t.Errorf("mark on line %d clears a result that comes later", m.Line)
			continue
		}
		if _, ok := s.Transcript.At(ref.Message).Blocks[ref.Block].(message.ToolResult); !ok {
			t.Errorf("mark on line %d clears what is no result", m.Line)
		}
	}
}

// Fuzz is a fuzz target that reads whatever it is given, beginning with the
// golden inputs.
func Fuzz(f *testing.F, formats []sessionfile.Format) {
	AddInputs(f)
	f.Fuzz(func(t *testing.T, data []byte) { Read(t, data, formats) })
}

// Benchmark reports the speed of an import.
func Benchmark(b *testing.B, data []byte, formats []sessionfile.Format) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sessionfile.Read("in", data, formats, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// CheckRefused checks that files of other kinds are not taken for sessions.
func CheckRefused(t *testing.T, formats []sessionfile.Format, files ...string) {
	t.Helper()
	for _, text := range files {
		if _, err := sessionfile.Read("in", []byte(text), formats, nil); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

// Read imports bytes that can be anything: the result is a session that
// passes Check, or an error of one line that names the file. Use it as the
// body of a fuzz target.
func Read(t testing.TB, data []byte, formats []sessionfile.Format) *sessionfile.Session {
	t.Helper()
	limits := sessionfile.Limits{FileBytes: 1 << 20, ObjectBytes: 1 << 18, DocumentBytes: 1 << 20}
	s, err := sessionfile.Read("in", data, formats, &sessionfile.Options{Limits: limits})
	if err == nil {
		Check(t, s)
		return s
	}
	var e *sessionfile.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), `"in"`) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is not one line that names the file: %v", err)
	}
	return nil
}

// CutLines cuts a file of JSON lines anywhere: the messages are those
// of the whole lines before the cut, no matter where it is, since every
// object stands on a line of its own.
func CutLines(t *testing.T, data []byte, formats []sessionfile.Format) {
	t.Helper()
	imported, want := -1, ""
	for cut := range cuts(data) {
		whole := bytes.LastIndexByte(data[:cut], '\n') + 1
		if cut == len(data) || data[cut] == '\n' {
			whole = cut // the last line is whole without its break
		}
		if whole != imported {
			imported, want = whole, texts(data[:whole], formats)
		}
		if got := texts(data[:cut], formats); got != want {
			t.Fatalf("cut at byte %d:\n%s", cut, cmp.Diff(want, got))
		}
	}
}

// cuts yields where a file is cut: beside every byte that means something to
// JSON and at each seventh byte between, or everywhere when FORGE_SOAK is
// set.
func cuts(data []byte) iter.Seq[int] {
	everywhere := os.Getenv("FORGE_SOAK") != ""
	return func(yield func(int) bool) {
		for cut := range len(data) + 1 {
			beside := cut == len(data) || cut > 0 && bytes.IndexByte(meaning, data[cut-1]) >= 0
			if (everywhere || beside || cut%7 == 0 || data[cut] == '\n') && !yield(cut) {
				return
			}
		}
	}
}

var meaning = []byte("{}[]\\\n")

// CutDocument cuts a document anywhere: what the messages say is what
// the first ones of the whole document say, never fewer than with an earlier
// cut. Only the last one, in which the cut is, may differ.
func CutDocument(t *testing.T, data []byte, formats []sessionfile.Format) {
	t.Helper()
	said := func(data []byte) (out []string) {
		s, err := sessionfile.Read("in", data, formats, nil)
		if err != nil {
			return nil
		}
		for _, m := range s.Transcript.All() {
			var text strings.Builder
			for _, block := range m.Blocks {
				renderBlock(&text, "", block)
			}
			out = append(out, string(m.Role)+" "+text.String())
		}
		return out
	}
	want, longest := said(data), 0
	for cut := range cuts(data) {
		got := said(data[:cut])
		if whole := max(len(got)-1, 0); len(got) > len(want) || !slices.Equal(got[:whole], want[:whole]) {
			t.Fatalf("cut at byte %d:\n%s", cut, cmp.Diff(want, got))
		}
		if len(got) < longest {
			t.Fatalf("cut at byte %d: messages were there at an earlier cut, and are gone", cut)
		}
		longest = len(got)
	}
}

// texts imports a file and renders its messages; it is empty when the file is
// refused.
func texts(data []byte, formats []sessionfile.Format) string {
	s, err := sessionfile.Read("in", data, formats, nil)
	if err != nil {
		return ""
	}
	return renderMessages(s)
}

// Corpus returns the files of a folder of the shared session files, or skips
// the test.
func Corpus(t testing.TB, folder string) []string {
	t.Helper()
	root := os.Getenv("FORGE_CORPUS")
	if root == "" {
		t.Skip("FORGE_CORPUS is unset: needs the shared session files")
	}
	paths, err := filepath.Glob(filepath.Join(root, folder, "*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in %s of FORGE_CORPUS: %v", folder, err)
	}
	return paths
}
