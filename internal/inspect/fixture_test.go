package inspect_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/internal/inspect"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/trace"
)

var (
	update = flag.Bool("update", false, "rewrite the golden files")
	record = flag.Bool("record", false, "make testdata/session.jsonl again from the present engine; then -update")
)

// eventful plays a short session in which everything happens.
func eventful(t testing.TB) *conversation {
	c := newConversation(t, 16_000)
	c.in.Tools[3].Name = "検索ツール"
	c.start("session.jsonl")
	c.user(120)
	for range 4 {
		c.request(700)
	}
	c.user(40)
	for range 3 {
		c.request(1_100)
	}
	c.clear()
	c.request(900)
	c.in.Instructions = []message.Message{c.message("system", c.text(460))}
	c.request(800)
	c.in.Tools = c.in.Tools[:4]
	c.request(200)
	c.request(1_500)
	c.emit(&trace.ContextMark{Request: 12, Kind: "overflow", Line: 81, TokensBefore: 16_420})
	c.compact(900)
	c.priced = false
	c.request(500)
	c.request(5_000)
	c.request(400)
	c.emit(&trace.CompactionStarted{Compaction: "c1", Request: 15, Trigger: trace.TriggerBudget, Strategy: "forge-summary", Method: "extractive"})
	c.emit(&trace.CompactionFailed{Compaction: "c1", Request: 15, Code: "no-progress"})
	c.request(100)
	c.emit(&trace.ContextMark{Request: 16, Kind: "interrupted", Line: 99})
	c.emit(&trace.RunCompleted{Status: trace.StatusCompleted, Requests: 15})
	return c
}

// fixture reads the recorded trace: goldens stand on it, not on the engine of
// the day.
func fixture(t testing.TB) *inspect.Run {
	t.Helper()
	name := filepath.Join("testdata", "session.jsonl")
	if *record {
		var out bytes.Buffer
		for _, e := range eventful(t).list.Events {
			line, err := e.AppendJSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(line, '\n'))
		}
		if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader := trace.NewReader(file)
	r, err := inspect.Load(reader.Events())
	if err != nil {
		t.Fatal(err)
	}
	if p := reader.Problems(); len(p) > 0 {
		t.Fatalf("problems in the fixture: %v", p)
	}
	return r
}

// golden compares a text with a part of a golden file.
func golden(t *testing.T, file, part, comment string, got []byte) {
	t.Helper()
	name := filepath.Join("testdata", file)
	a, err := txtar.ParseFile(name)
	if err != nil {
		a = &txtar.Archive{Comment: []byte(comment + "\n")}
	}
	if len(got) > 0 && got[len(got)-1] != '\n' {
		got = append(got, '\n')
	}
	at := -1
	for i := range a.Files {
		if a.Files[i].Name == part {
			at = i
		}
	}
	if *update {
		if at < 0 {
			at = len(a.Files)
			a.Files = append(a.Files, txtar.File{Name: part})
		}
		a.Files[at].Data = got
		if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if at < 0 {
		t.Fatalf("%s has no part %s: run with -update", name, part)
	}
	if diff := cmp.Diff(strings.Split(string(a.Files[at].Data), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s, %s (-want +got):\n%s", name, part, diff)
	}
}
