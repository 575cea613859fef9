package forgejsonl_test

import (
	"bytes"
	"flag"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/sessiontest"
	"github.com/forge-agent/forge/session/sqlitestore"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/forgejsonl"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var formats = []sessionfile.Format{forgejsonl.Format()}

func TestGolden(t *testing.T) {
	importertest.Golden(t, "testdata/*.txtar", formats, *update)
}

// A stored session, its export, and the export stored again are the same
// session file: messages, requests, marks with their effect on the view, own
// checkpoints as marks (P-ROW-02).
func TestStoreAndExportAgree(t *testing.T) {
	store, err := sqlitestore.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	s, err := session.Create(t.Context(), store, "s", session.Info{Model: "m"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, m := range []message.Message{sessiontest.User("u", "bytes \xff"), sessiontest.Call("c", "k"), sessiontest.Result("r", "k", "out"), sessiontest.Assistant("a", "ok")} {
		if _, err := s.Append(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AddCheckpoint(t.Context(), sessiontest.Checkpoint(t, s, 3), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.AddRequest(t.Context(), session.Request{At: 3, End: 4, Usage: &session.Usage{InputTokens: 9}}); err != nil {
		t.Fatal(err)
	}
	stored, err := forgejsonl.FromStore(t.Context(), store, "s")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.Export(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	read, err := sessionfile.Read("s.jsonl", out.Bytes(), formats, nil)
	if err != nil {
		t.Fatal(err)
	}
	importertest.Check(t, read)
	if stored.Transcript.RangeHash(0, 4) != read.Transcript.RangeHash(0, 4) || len(read.Losses) != 0 {
		t.Errorf("hashes differ, losses %v", read.Losses)
	}
	if len(stored.Marks) != 1 || stored.Marks[0].Change.KeepFrom != 3 {
		t.Errorf("marks %+v", stored.Marks)
	}
	for i := range read.Requests {
		read.Requests[i].Line = 0
	}
	for i := range read.Marks {
		read.Marks[i].Line = 0
	}
	if diff := cmp.Diff(stored.Requests, read.Requests); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(stored.Marks, read.Marks); diff != "" {
		t.Error(diff)
	}
}

func FuzzImport(f *testing.F) { importertest.Fuzz(f, formats) }
