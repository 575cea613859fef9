package pi_test

import (
	"encoding/json"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/pi"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var formats = []sessionfile.Format{pi.Format()}

func TestGolden(t *testing.T) {
	importertest.Golden(t, "testdata/*.txtar", formats, *update)
}

// A crash can cut the file anywhere: what stood whole before stays.
func TestCutAnywhere(t *testing.T) {
	for _, name := range []string{"v1.txtar", "v3-tree.txtar"} {
		// The glued line is taken apart: with it, half a line can be whole.
		data := strings.ReplaceAll(string(importertest.Input(t, name)), "}{", "}\n{")
		importertest.CutLines(t, []byte(data), formats)
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(`{"type":"message","id":"a","parentId":"a","timestamp":"x","message":{"role":"user","content":"x"}}`))
	importertest.Fuzz(f, formats)
}

// rawEntry is one entry as encoding/json reads it, without the importer.
type rawEntry struct {
	Type    string
	Summary string
	Tokens  int `json:"tokensBefore"`
	Message struct {
		Role, StopReason, Command, Output string
		Content                           any
		Usage                             struct{ Input, Output, CacheRead, CacheWrite, TotalTokens int }
	}
}

// Over the shared files: every text is there or named, every call has its
// result, usage adds up, and the figure that a compaction records is the
// total of the reply before it.
func TestCorpus(t *testing.T) {
	for _, path := range importertest.Corpus(t, "pi") {
		s, err := sessionfile.Open(path, formats, nil)
		if err != nil {
			t.Fatal(err)
		}
		importertest.Check(t, s)
		held := heldTexts(s)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		replies, total, sum := 0, 0, 0
		for d := json.NewDecoder(f); ; {
			var e rawEntry
			if err := d.Decode(&e); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if e.Message.Role == "assistant" {
				u := e.Message.Usage
				total = u.Input + u.Output + u.CacheRead + u.CacheWrite
				sum += total
				replies++
			}
			for _, text := range texts(e.Message.Content) {
				if text != "" && !held[text] {
					t.Errorf("%s: a %s text is not in the session: %.60q", path, e.Message.Role, text)
				}
			}
			if e.Type == "compaction" {
				if e.Tokens != total {
					t.Errorf("%s: %d tokens before the compaction, the last reply had %d", path, e.Tokens, total)
				}
				last := s.Marks[len(s.Marks)-1]
				if last.TokensBefore != e.Tokens || !strings.Contains(last.Change.Replacement[0].Text(), e.Summary) {
					t.Errorf("%s: the mark does not hold what the compaction says", path)
				}
			}
		}
		if replies != len(s.Requests) {
			t.Errorf("%s: %d replies and %d requests", path, replies, len(s.Requests))
		}
		for _, r := range s.Requests {
			if r.Usage != nil {
				sum -= r.Usage.InputTokens + r.Usage.OutputTokens
			}
		}
		if sum != 0 {
			t.Errorf("%s: %d tokens of the recorded totals are not in the usages", path, sum)
		}
		if pending := s.Transcript.Pending(); len(pending) > 0 {
			t.Errorf("%s: %d calls without a result", path, len(pending))
		}
	}
}

func texts(content any) []string {
	switch c := content.(type) {
	case string:
		return []string{c}
	case []any:
		var out []string
		for _, part := range c {
			p := part.(map[string]any)
			for _, key := range []string{"text", "thinking"} {
				if s, ok := p[key].(string); ok {
					out = append(out, s)
				}
			}
		}
		return out
	}
	return nil
}

func heldTexts(s *sessionfile.Session) map[string]bool {
	held := map[string]bool{}
	var add func(message.Block)
	add = func(block message.Block) {
		switch b := block.(type) {
		case message.Text:
			held[b.Text] = true
		case message.Reasoning:
			held[b.Text] = true
		case message.ToolResult:
			for _, c := range b.Content {
				add(c)
			}
		}
	}
	for _, m := range s.Transcript.All() {
		for _, block := range m.Blocks {
			add(block)
		}
	}
	return held
}
