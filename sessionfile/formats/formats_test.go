package formats_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/formats"
)

// matching returns the names of the formats that take a file for theirs.
func matching(t *testing.T, name string, data []byte) []string {
	t.Helper()
	var out []string
	for _, f := range formats.All() {
		spy := &spy{Format: f}
		_, _ = sessionfile.Read(name, data, []sessionfile.Format{spy}, nil) // only the match counts
		if spy.matched {
			out = append(out, f.Name())
		}
	}
	return out
}

// spy notes whether a format matched, and imports nothing.
type spy struct {
	sessionfile.Format
	matched bool
}

func (s *spy) Match(h sessionfile.Head) bool {
	s.matched = s.Format.Match(h)
	return false
}

// A file is found by its content, so no two formats may claim the same one:
// the examples of every importer are claimed by that importer alone.
func TestFormatsExcludeEachOther(t *testing.T) {
	paths, err := filepath.Glob("../*/testdata/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d examples of importers: %v", len(paths), err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		in := archive.Files[0]
		if got := matching(t, in.Name, in.Data); len(got) != 1 {
			t.Errorf("%s is claimed by %q, want one format", path, got)
		}
	}
}

// Every shared session file is claimed by the importer of its folder, and
// passes the checks that hold for all.
func TestCorpus(t *testing.T) {
	importertest.Corpus(t, "pi") // skips without the files
	want := map[string]string{"claude-code": "claude-code", "codex": "codex", "pi": "pi", "gemini-cli": "gemini-cli", "openai-chat": "chat"}
	root := os.Getenv("FORGE_CORPUS")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		folder := filepath.Base(filepath.Dir(path))
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if got := strings.Join(matching(t, path, data), ","); got != want[folder] {
			t.Errorf("%s/%s is claimed by %q, want %q", folder, filepath.Base(path), got, want[folder])
		}
		if want[folder] == "" {
			return nil
		}
		s, err := sessionfile.Open(path, formats.All(), nil)
		if err != nil {
			t.Error(err)
			return nil
		}
		importertest.Check(t, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
