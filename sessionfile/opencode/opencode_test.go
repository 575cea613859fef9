package opencode_test

import (
	"errors"
	"flag"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/opencode"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var formats = []sessionfile.Format{opencode.Format()}

func TestGolden(t *testing.T) {
	importertest.Golden(t, "testdata/*.txtar", formats, *update)
}

func input(t testing.TB, name string) []byte {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return archive.Files[0].Data
}

func TestSanitizedExportIsRefused(t *testing.T) {
	_, err := sessionfile.Read("in", input(t, "sanitized.txtar"), formats, nil)
	if !errors.Is(err, sessionfile.ErrRedacted) {
		t.Errorf("error is %v, want ErrRedacted", err)
	}
}

// A document that is cut keeps the messages that stand whole before the cut.
func TestCutAnywhere(t *testing.T) {
	importertest.CutDocument(t, input(t, "old-summary.txtar"), formats)
}

func TestEmptySession(t *testing.T) {
	s, err := sessionfile.Read("in", []byte(`{"info":{"id":"s"},"messages":[]}`), formats, nil)
	if err != nil || s.Transcript.Len() != 0 {
		t.Errorf("an empty session: %v", err)
	}
}

func FuzzImport(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		f.Add(input(f, filepath.Base(path)))
	}
	f.Fuzz(func(t *testing.T, data []byte) { importertest.Read(t, data, formats) })
}
