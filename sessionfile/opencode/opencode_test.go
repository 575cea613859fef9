package opencode_test

import (
	"errors"
	"flag"
	"testing"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/opencode"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var formats = []sessionfile.Format{opencode.Format()}

func TestGolden(t *testing.T) {
	importertest.Golden(t, "testdata/*.txtar", formats, *update)
}

func TestSanitizedExportIsRefused(t *testing.T) {
	_, err := sessionfile.Read("in", importertest.Input(t, "sanitized.txtar"), formats, nil)
	if !errors.Is(err, sessionfile.ErrRedacted) {
		t.Errorf("error is %v, want ErrRedacted", err)
	}
}

// A document that is cut keeps the messages that stand whole before the cut.
func TestCutAnywhere(t *testing.T) {
	importertest.CutDocument(t, importertest.Input(t, "old-summary.txtar"), formats)
}

func TestEmptySession(t *testing.T) {
	s, err := sessionfile.Read("in", []byte(`{"info":{"id":"s"},"messages":[]}`), formats, nil)
	if err != nil || s.Transcript.Len() != 0 {
		t.Errorf("an empty session: %v", err)
	}
}

func FuzzImport(f *testing.F) { importertest.Fuzz(f, formats) }
