package codex_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/codex"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var formats = []sessionfile.Format{codex.Format()}

func TestGolden(t *testing.T) {
	importertest.Golden(t, "testdata/*.txtar", formats, *update)
}

func input(t testing.TB, path string) []byte {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return archive.Files[0].Data
}

func goldenPaths(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	return paths
}

// A file that is cut keeps the messages that stand whole before the cut.
func TestCutAnywhere(t *testing.T) {
	for _, name := range []string{"count-before", "records", "compaction"} {
		importertest.CutLines(t, input(t, filepath.Join("testdata", name+".txtar")), formats)
	}
}

// Objects of other kinds are not taken for rollouts.
func TestMatchIsNarrow(t *testing.T) {
	for _, text := range []string{
		`{"type":"event_msg"}`,
		`{"type":"session_meta","payload":"x"}`,
		`{"type":"user","uuid":"x","parentUuid":null,"payload":{}}`,
		`{"type":"message","role":"user","content":[]}`,
		`[{"type":"session_meta","payload":{}}]`,
	} {
		if _, err := sessionfile.Read("in", []byte(text), formats, nil); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

func FuzzImport(f *testing.F) {
	for _, path := range goldenPaths(f) {
		f.Add(input(f, path))
	}
	f.Fuzz(func(t *testing.T, data []byte) { importertest.Read(t, data, formats) })
}

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
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sessionfile.Read("in", data, formats, nil); err != nil {
			b.Fatal(err)
		}
	}
}
