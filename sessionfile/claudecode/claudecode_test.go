package claudecode_test

import (
	"flag"
	"os"
	"testing"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/claudecode"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var formats = []sessionfile.Format{claudecode.Format()}

func TestGolden(t *testing.T) {
	importertest.Golden(t, "testdata/*.txtar", formats, *update)
}

// A file that is cut keeps the messages that stand whole before the cut.
func TestCutAnywhere(t *testing.T) {
	for _, name := range []string{"plain", "parallel", "compaction"} {
		importertest.CutLines(t, importertest.Input(t, name+".txtar"), formats)
	}
}

// Objects of other kinds are not taken for sessions.
func TestMatchIsNarrow(t *testing.T) {
	importertest.CheckRefused(t, formats,
		`{"type":"user","message":{"role":"user","content":"x"}}`,
		`{"type":"session","id":"x","timestamp":"y"}`,
		`{"sessionId":"x","projectHash":"y","messages":[]}`,
		`[{"type":"user","uuid":"x","parentUuid":null}]`,
		`{"type":"summary","summary":"x"}`)
}

func FuzzImport(f *testing.F) { importertest.Fuzz(f, formats) }

// BenchmarkImport reports the speed on a real session.
func BenchmarkImport(b *testing.B) {
	var data []byte
	for _, path := range importertest.Corpus(b, "claude-code") {
		file, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		if len(file) > len(data) {
			data = file
		}
	}
	importertest.Benchmark(b, data, formats)
}
