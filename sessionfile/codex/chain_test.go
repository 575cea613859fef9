package codex_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/sessionfile"
)

// rollout writes a paginated rollout: a header, then one user message for
// each text, with ordinals from first on.
func rollout(thread, started string, first int, base string, texts ...string) *fstest.MapFile {
	var b strings.Builder
	fmt.Fprintf(&b, `{"ordinal":%d,"type":"session_meta","payload":{"id":%q,"timestamp":%q,"cli_version":"0.171.0"%s}}`+"\n",
		first, thread, started, base)
	for i, text := range texts {
		fmt.Fprintf(&b, `{"ordinal":%d,"type":"response_item","payload":{"type":"message","id":"%s-%d","role":"user","content":[{"type":"input_text","text":%q}]}}`+"\n",
			first+1+i, thread, first+1+i, text)
	}
	return &fstest.MapFile{Data: []byte(b.String())}
}

func base(thread string, end int) string {
	return fmt.Sprintf(`,"history_base":{"thread_id":%q,"end_ordinal_exclusive":%d,"end_byte_offset":1}`, thread, end)
}

func open(t *testing.T, fsys fstest.MapFS, name string) *sessionfile.Session {
	t.Helper()
	s, err := sessionfile.OpenFS(fsys, name, formats, nil)
	if err != nil {
		t.Fatal(err)
	}
	importertest.Check(t, s)
	return s
}

func texts(s *sessionfile.Session) string {
	var out []string
	for _, m := range s.Transcript.All() {
		out = append(out, m.Text())
	}
	return strings.Join(out, " ")
}

const (
	day1 = "2026-01-01T00:00:00Z"
	day2 = "2026-01-02T00:00:00Z"
	day3 = "2026-01-03T00:00:00Z"
	day4 = "2026-01-04T00:00:00Z"
)

// A fork names its parent, and a reverted thread has several files: each
// parent gives its lines below the ordinal at which the child begins.
func TestChain(t *testing.T) {
	fsys := fstest.MapFS{
		"a.jsonl":    rollout("A", day1, 0, "", "a1", "a2", "a3"),
		"b.jsonl":    rollout("B", day2, 3, base("A", 3), "b4", "b5", "b6"),
		"c.jsonl":    rollout("B", day3, 5, base("B", 5), "c6", "c7"),
		"d.jsonl":    rollout("B", day4, 7, base("B", 7), "d8"),
		"e.jsonl":    rollout("E", day4, 9, base("B", 7), "e10"),
		"notes.txt":  {Data: []byte("not a rollout")},
		"empty.json": {},
	}
	for name, want := range map[string]string{
		"a.jsonl": "a1 a2 a3",
		"b.jsonl": "a1 a2 b4 b5 b6",
		"c.jsonl": "a1 a2 b4 c6 c7",
		"d.jsonl": "a1 a2 b4 c6 d8",
		"e.jsonl": "a1 a2 b4 c6 e10",
	} {
		s := open(t, fsys, name)
		if got := texts(s); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if len(s.Losses) != 0 {
			t.Errorf("%s: losses %v", name, s.Losses)
		}
	}
}

// Requests and losses of a parent stand on no line of the file.
func TestChainLines(t *testing.T) {
	parent := rollout("A", day1, 0, "", "a1")
	parent.Data = append(parent.Data, []byte(
		`{"ordinal":2,"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"r2"}]}}
{"ordinal":3,"type":"riddle","payload":{}}
{"ordinal":4,"type":"riddle","payload":{}} ?
`)...)
	s := open(t, fstest.MapFS{"a.jsonl": parent, "b.jsonl": rollout("B", day2, 5, base("A", 5), "b6")}, "b.jsonl")
	if got := texts(s); got != "a1 r2 b6" {
		t.Errorf("messages: %s", got)
	}
	if len(s.Requests) != 1 || s.Requests[0].Line != 0 {
		t.Errorf("requests: %+v", s.Requests)
	}
	var losses []string
	for _, l := range s.Losses {
		if l.Line != 0 {
			t.Errorf("loss of the parent on line %d", l.Line)
		}
		losses = append(losses, l.What)
	}
	all := strings.Join(losses, "\n")
	if !strings.Contains(all, `a.jsonl: lines of the unknown type "riddle"`) ||
		!strings.Contains(all, "a.jsonl, line 5: text that is no JSON object") {
		t.Errorf("losses:\n%s", all)
	}
}

// The dated folders of the program are searched, whatever the files are
// called, and nothing outside them.
func TestChainInDatedFolders(t *testing.T) {
	fsys := fstest.MapFS{
		"sessions/2025/12/31/rollout-x-A.jsonl": rollout("A", day1, 0, "", "a1"),
		"sessions/2026/01/02/b.jsonl":           rollout("B", day2, 2, base("A", 2), "b3"),
		"sessions/2026/01/02/c.jsonl":           rollout("C", day3, 4, base("B", 4), "c5"),
		"sessions/2026/01/04/d.jsonl":           rollout("D", day4, 6, base("C", 6), "d7"),
	}
	if got := texts(open(t, fsys, "sessions/2026/01/04/d.jsonl")); got != "a1 b3 c5 d7" {
		t.Errorf("messages: %s", got)
	}
}

// Archived files and live ones continue each other.
func TestChainThroughTheArchive(t *testing.T) {
	fsys := fstest.MapFS{
		"home/archived_sessions/a.jsonl":        rollout("A", day1, 0, "", "a1"),
		"home/sessions/2026/01/02/b.jsonl":      rollout("B", day2, 2, base("A", 2), "b3"),
		"home/archived_sessions/c.jsonl":        rollout("C", day3, 4, base("B", 4), "c5"),
		"elsewhere/sessions/2026/01/02/b.jsonl": rollout("B", day3, 2, "", "wrong"),
	}
	if got := texts(open(t, fsys, "home/archived_sessions/c.jsonl")); got != "a1 b3 c5" {
		t.Errorf("messages: %s", got)
	}
	if got := texts(open(t, fsys, "home/sessions/2026/01/02/b.jsonl")); got != "a1 b3" {
		t.Errorf("messages: %s", got)
	}
}

func TestMissingParent(t *testing.T) {
	b := rollout("B", day2, 2, base("A", 2), "b3")
	for name, fsys := range map[string]fstest.MapFS{
		"alone":                   {"b.jsonl": b},
		"only a younger one":      {"b.jsonl": b, "a.jsonl": rollout("A", day3, 0, "", "a1")},
		"only one that is beyond": {"b.jsonl": b, "a.jsonl": rollout("A", day1, 2, "", "a3")},
		"it names itself":         {"b.jsonl": rollout("B", day2, 2, base("B", 9), "b3")},
		"a circle": {
			"b.jsonl": rollout("B", day2, 2, base("C", 9), "b3"),
			"c.jsonl": rollout("C", day2, 2, base("B", 9)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, fsys, "b.jsonl")
			if got := texts(s); got != "b3" {
				t.Errorf("messages: %s", got)
			}
			if len(s.Losses) != 1 || !strings.Contains(s.Losses[0].What, "what came before is missing") {
				t.Errorf("losses: %v", s.Losses)
			}
		})
	}
	s, err := sessionfile.Read("b", b.Data, formats, nil)
	if err != nil || len(s.Losses) != 1 {
		t.Errorf("from memory: %v, %v", s, err)
	}
}
