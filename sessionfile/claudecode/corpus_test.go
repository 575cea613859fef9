package claudecode_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// raw is what the corpus test reads without the importer.
type raw struct {
	Type             string
	Subtype          string
	UUID             string
	IsCompactSummary bool
	Message          struct {
		ID      string
		Content json.RawMessage
		Usage   *struct {
			Input      int `json:"input_tokens"`
			CacheWrite int `json:"cache_creation_input_tokens"`
			CacheRead  int `json:"cache_read_input_tokens"`
			Output     int `json:"output_tokens"`
			Creation   struct {
				Long int `json:"ephemeral_1h_input_tokens"`
			} `json:"cache_creation"`
		}
	}
	CompactMetadata struct{ PreTokens int }
}

type rawBlock struct {
	Type, Text, Thinking, ID, Name string
	Input, Content                 json.RawMessage
	ToolUseID                      string `json:"tool_use_id"`
}

// Over the shared files: everything that people, the model and tools said is
// there once, every call has its result, and each response is one request
// with its last usage.
func TestCorpus(t *testing.T) {
	for _, path := range importertest.Corpus(t, "claude-code") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s, err := sessionfile.Open(path, formats, nil)
			if err != nil {
				t.Fatal(err)
			}
			importertest.Check(t, s)
			lines := readRaw(t, path)
			if diff := missing(spokenInFile(t, lines), spoken(s)); len(diff) > 0 {
				t.Errorf("%d texts of the file are missing or come too often, for example %.80q", len(diff), diff[0])
			}
			if p := s.Transcript.Pending(); len(p) != 0 {
				t.Errorf("%d calls without a result", len(p))
			}
			checkUsage(t, s, lines)
			checkCompactions(t, s, lines)
			if s.UsageSynthetic != "" {
				t.Errorf("real usage is taken for synthetic: %s", s.UsageSynthetic)
			}
		})
	}
}

// readRaw reads all objects, glued ones too, without lines that come again.
func readRaw(t *testing.T, path string) []raw {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []raw
	seen := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var r raw
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.UUID == "" || !seen[r.UUID] {
			out = append(out, r)
		}
		seen[r.UUID] = true
	}
	return out
}

// spokenInFile returns what the lines of a session without branches say.
func spokenInFile(t *testing.T, lines []raw) []string {
	t.Helper()
	var out []string
	add := func(s string) {
		if s != "" {
			out = append(out, s)
		}
	}
	for _, l := range lines {
		if l.Type != "user" && l.Type != "assistant" {
			continue
		}
		var text string
		if json.Unmarshal(l.Message.Content, &text) == nil {
			add(text)
			continue
		}
		var blocks []rawBlock
		if err := json.Unmarshal(l.Message.Content, &blocks); err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			add(b.Text)
			add(b.Thinking)
			if b.Type == "tool_use" {
				add(b.ID + b.Name + string(b.Input))
			}
			if b.Type == "tool_result" {
				add(b.ToolUseID + rawText(t, b.Content))
			}
		}
	}
	return out
}

// rawText returns content that is a string or a list of texts.
func rawText(t *testing.T, content json.RawMessage) string {
	t.Helper()
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []rawBlock
	if err := json.Unmarshal(content, &parts); err != nil {
		t.Fatal(err)
	}
	for i, p := range parts {
		if i > 0 {
			text += "\n"
		}
		text += p.Text
	}
	return text
}

// spoken returns the same of a session.
func spoken(s *sessionfile.Session) []string {
	var out []string
	read := func(m message.Message) {
		for _, block := range m.Blocks {
			switch b := block.(type) {
			case message.Text:
				out = append(out, b.Text)
			case message.Reasoning:
				if b.Text != "" {
					out = append(out, b.Text)
				}
			case message.ToolCall:
				out = append(out, b.ID+b.Name+b.Arguments)
			case message.ToolResult:
				out = append(out, b.CallID+b.Text())
			}
		}
	}
	for _, m := range s.Transcript.All() {
		read(m)
	}
	for _, mark := range s.Marks {
		if mark.Change != nil {
			for _, m := range mark.Change.Replacement {
				read(m)
			}
		}
	}
	return out
}

// missing returns what is in only one of the two lists.
func missing(a, b []string) []string {
	count := map[string]int{}
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		count[s]--
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n == 0 })
	return slices.Collect(maps.Keys(count))
}

func checkUsage(t *testing.T, s *sessionfile.Session, lines []raw) {
	t.Helper()
	type usage struct{ input, cached, written, long, output int }
	var order []string
	last := map[string]usage{}
	for _, l := range lines {
		if l.Type != "assistant" {
			continue
		}
		if _, known := last[l.Message.ID]; !known {
			order = append(order, l.Message.ID)
		}
		if u := l.Message.Usage; u != nil {
			last[l.Message.ID] = usage{u.Input + u.CacheWrite + u.CacheRead, u.CacheRead, u.CacheWrite, u.Creation.Long, u.Output}
		}
	}
	if len(order) != len(s.Requests) {
		t.Fatalf("%d requests for %d responses", len(s.Requests), len(order))
	}
	for i, r := range s.Requests {
		got := usage{}
		if u := r.Usage; u != nil {
			got = usage{u.InputTokens, u.CachedInputTokens, u.CacheWriteInputTokens, r.LongCacheWriteTokens, u.OutputTokens}
		}
		if got != last[order[i]] {
			t.Errorf("request %d: usage %v, want %v", i, got, last[order[i]])
		}
	}
}

// checkCompactions proves marks against what was measured over 546 files:
// preTokens is 32 to 3,187 above the last context before a compaction, the
// next context is 35 to 67 thousand, and a microcompaction lets it fall.
func checkCompactions(t *testing.T, s *sessionfile.Session, lines []raw) {
	t.Helper()
	boundaries := 0
	for _, l := range lines {
		if l.Subtype == "compact_boundary" || l.Subtype == "microcompact_boundary" {
			boundaries++
		}
	}
	for _, m := range s.Marks {
		if m.Kind != sessionfile.MarkCompaction && m.Kind != sessionfile.MarkProjection {
			continue
		}
		boundaries--
		before, after := contextAround(s, m.At)
		if m.Change == nil {
			t.Errorf("mark on line %d changes nothing", m.Line)
			continue
		}
		switch m.Kind {
		case sessionfile.MarkCompaction:
			if d := m.TokensBefore - before; d < 32 || d > 3187 {
				t.Errorf("line %d: %d tokens before, last context %d", m.Line, m.TokensBefore, before)
			}
			if after < 30_000 || after > 70_000 {
				t.Errorf("line %d: next context %d", m.Line, after)
			}
		case sessionfile.MarkProjection:
			if saved := m.TokensBefore - m.TokensAfter; before-after < saved/2 {
				t.Errorf("line %d: context went from %d to %d, the agent says it saved %d", m.Line, before, after, saved)
			}
		}
	}
	if boundaries != 0 {
		t.Errorf("%d more boundaries than marks", boundaries)
	}
}

// contextAround returns the input of the last request before a mark and of
// the first after it.
func contextAround(s *sessionfile.Session, at int) (before, after int) {
	for _, r := range s.Requests {
		if r.Usage == nil {
			continue
		}
		if r.At < at {
			before = r.Usage.InputTokens
		} else if after == 0 {
			after = r.Usage.InputTokens
		}
	}
	return before, after
}
