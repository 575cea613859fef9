package codex_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/codex"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var formats = []sessionfile.Format{codex.Format()}

func TestGolden(t *testing.T) {
	importertest.Golden(t, "testdata/*.txtar", formats, *update)
}

// A file that is cut keeps the messages that stand whole before the cut.
func TestCutAnywhere(t *testing.T) {
	for _, name := range []string{"count-before", "records", "compaction"} {
		importertest.CutLines(t, importertest.Input(t, name+".txtar"), formats)
	}
}

// Objects of other kinds are not taken for rollouts.
func TestMatchIsNarrow(t *testing.T) {
	importertest.CheckRefused(t, formats,
		`{"type":"event_msg"}`,
		`{"type":"session_meta","payload":"x"}`,
		`{"type":"user","uuid":"x","parentUuid":null,"payload":{}}`,
		`{"type":"message","role":"user","content":[]}`,
		`[{"type":"session_meta","payload":{}}]`)
}

func FuzzImport(f *testing.F) { importertest.Fuzz(f, formats) }

// BenchmarkImport reports the speed on a real session.
func BenchmarkImport(b *testing.B) {
	var data []byte
	for _, path := range importertest.Corpus(b, "codex") {
		if strings.HasPrefix(filepath.Base(path), "older-version") {
			file, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			data = file
		}
	}
	importertest.Benchmark(b, data, formats)
}
