package codex_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
)

// raw is what the corpus tests read without the importer.
type raw struct {
	Type    string
	Payload struct {
		Type, Role, Name string
		ID               string
		CallID           string `json:"call_id"`
		Content          json.RawMessage
		Arguments        json.RawMessage
		Output           json.RawMessage
		Message          string
		CompactionID     string          `json:"compaction_response_id"`
		ResponseID       string          `json:"response_id"`
		Replacement      json.RawMessage `json:"replacement_history"`
		Usage            rawUsage
		ThreadUsage      rawUsage `json:"thread_token_usage"`
		Info             *struct {
			Total rawUsage `json:"total_token_usage"`
			Last  rawUsage `json:"last_token_usage"`
		}
		Error *struct {
			Info string `json:"codex_error_info"`
		}
	}
}

type rawUsage struct {
	Input     int `json:"input_tokens"`
	Cached    int `json:"cached_input_tokens"`
	Output    int `json:"output_tokens"`
	Reasoning int `json:"reasoning_output_tokens"`
	Total     int `json:"total_tokens"`
}

func readRaw(t *testing.T, path string) []raw {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []raw
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var r raw
		if err := d.Decode(&r); err != nil {
			if mismatch := (*json.UnmarshalTypeError)(nil); !errors.As(err, &mismatch) {
				t.Fatal(err)
			}
		}
		out = append(out, r)
	}
	return out
}

// Over the shared files: every text of a response item is in the transcript,
// in a mark, or missing with a loss; calls and results are paired; there is a
// usage for each request that the file has one for.
func TestCorpus(t *testing.T) {
	for _, path := range importertest.Corpus(t, "codex") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s, err := sessionfile.Open(path, formats, nil)
			if err != nil {
				t.Fatal(err)
			}
			importertest.Check(t, s)
			lines := readRaw(t, path)
			checkTexts(t, s, lines)
			fixture := strings.HasPrefix(filepath.Base(path), "shape-fixture")
			if !fixture {
				if p := s.Transcript.Pending(); len(p) != 0 {
					t.Errorf("%d calls without a result", len(p))
				}
				checkUsage(t, s, lines, strings.HasPrefix(filepath.Base(path), "fork-chain"))
			}
			checkMarks(t, s, lines)
			if s.Model == "" || s.Version == "" || s.ID == "" {
				t.Errorf("model %q, version %q, id %q", s.Model, s.Version, s.ID)
			}
			old := strings.HasPrefix(filepath.Base(path), "older-version")
			if (s.UsageSynthetic == "") != old {
				t.Errorf("usage is synthetic: %q", s.UsageSynthetic)
			}
		})
	}
}

func checkTexts(t *testing.T, s *sessionfile.Session, lines []raw) {
	t.Helper()
	var all strings.Builder
	read := func(m message.Message) {
		for _, block := range m.Blocks {
			switch b := block.(type) {
			case message.Text:
				fmt.Fprintf(&all, "%s\x00", b.Text)
			case message.ToolCall:
				fmt.Fprintf(&all, "%s\x00%s\x00", b.Name, b.Arguments)
			case message.ToolResult:
				fmt.Fprintf(&all, "%s\x00", b.Text())
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
	said := all.String()
	for i, l := range lines {
		if l.Type != "response_item" && l.Type != "compacted" {
			continue
		}
		for _, text := range []string{l.Payload.Name, l.Payload.Message} {
			if !strings.Contains(said, text) {
				t.Errorf("line %d: %.80q is nowhere", i+1, text)
			}
		}
		for _, field := range []json.RawMessage{l.Payload.Content, l.Payload.Arguments, l.Payload.Output, l.Payload.Replacement} {
			for _, text := range stringsIn(field) {
				if !strings.Contains(said, text) {
					t.Errorf("line %d: %.80q is nowhere", i+1, text)
				}
			}
		}
	}
}

// stringsIn returns the values of "text" and bare strings in a JSON value.
func stringsIn(field json.RawMessage) []string {
	var v any
	if len(field) == 0 || json.Unmarshal(field, &v) != nil {
		return nil
	}
	var out []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if text, ok := v["text"].(string); ok {
				out = append(out, text)
			}
			if content, ok := v["content"]; ok {
				walk(content)
			}
		}
	}
	walk(v)
	return out
}

// checkUsage proves that each usage went to one request, by the sums that the
// program itself keeps.
func checkUsage(t *testing.T, s *sessionfile.Session, lines []raw, chain bool) {
	t.Helper()
	var sum, want rawUsage
	with, records := 0, 0
	for _, r := range s.Requests {
		if u := r.Usage; u != nil {
			with++
			sum.Input += u.InputTokens
			sum.Cached += u.CachedInputTokens
			sum.Output += u.OutputTokens
			sum.Reasoning += u.ReasoningTokens
		}
	}
	for _, l := range lines {
		if l.Type == "token_usage_record" {
			records++
			want = l.Payload.ThreadUsage
		}
	}
	if records == 0 {
		previous := rawUsage{}
		for _, l := range lines {
			if info := l.Payload.Info; info != nil && info.Total != previous {
				previous = info.Total
				records++
				want = info.Total
			}
		}
	}
	want.Total = 0
	if !chain && (sum != want || with != records) {
		// After an overflow the program destroys its own sum.
		if overflow := fails(lines) > 0; !overflow || with != records {
			t.Errorf("%d requests with usage %+v, want %d with %+v", with, sum, records, want)
		}
	}
	if chain && sum != want {
		t.Errorf("usage %+v, want %+v", sum, want)
	}
	if failed := fails(lines); len(s.Requests) != with+failed {
		t.Errorf("%d requests, %d with usage, %d failed", len(s.Requests), with, failed)
	}
}

func fails(lines []raw) int {
	n := 0
	for _, l := range lines {
		if l.Payload.Type == "task_complete" && l.Payload.Error != nil {
			n++
		}
	}
	return n
}

func checkMarks(t *testing.T, s *sessionfile.Session, lines []raw) {
	t.Helper()
	want := map[sessionfile.MarkKind]int{}
	for _, l := range lines {
		switch {
		case l.Type == "compacted":
			want[sessionfile.MarkCompaction]++
		case l.Payload.Type == "turn_aborted":
			want[sessionfile.MarkInterrupted]++
		case l.Payload.Type == "task_complete" && l.Payload.Error != nil && l.Payload.Error.Info == "context_window_exceeded":
			want[sessionfile.MarkOverflow]++
		}
	}
	for _, m := range s.Marks {
		want[m.Kind]--
		if m.Kind != sessionfile.MarkCompaction {
			continue
		}
		if m.Change == nil || len(m.Change.Replacement) == 0 || m.TokensBefore == 0 {
			t.Errorf("compaction on line %d: %+v", m.Line, m)
		}
	}
	for kind, n := range want {
		if n != 0 {
			t.Errorf("%d more lines than marks of kind %s", n, kind)
		}
	}
}

// The usage of version 0.39 stands before the items of its response. Given to
// the right ones, the input grows by what was said since; given to the
// neighbours, it does not.
func TestCorpusUsageFollowsText(t *testing.T) {
	for _, path := range importertest.Corpus(t, "codex") {
		if !strings.HasPrefix(filepath.Base(path), "older-version") {
			continue
		}
		s, err := sessionfile.Open(path, formats, nil)
		if err != nil {
			t.Fatal(err)
		}
		growth := func(shift int) (error float64) {
			for i := 1; i+1 < len(s.Requests); i++ {
				k := i + shift
				tokens := s.Requests[k].Usage.InputTokens - s.Requests[k-1].Usage.InputTokens
				error += math.Abs(float64(tokens) - float64(visibleBytes(s, s.Requests[i-1].At, s.Requests[i].At))/4)
			}
			return error
		}
		right, left := growth(0), growth(1)
		t.Logf("distance between growth of usage and text: %.0f tokens, shifted by one %.0f", right, left)
		if right > left/2 {
			t.Errorf("usage does not follow the text: %.0f, shifted by one %.0f", right, left)
		}
	}
}

func visibleBytes(s *sessionfile.Session, from, to int) int {
	n := 0
	for i := from; i < to; i++ {
		for _, block := range s.Transcript.At(i).Blocks {
			switch b := block.(type) {
			case message.Text:
				n += len(b.Text)
			case message.ToolCall:
				n += len(b.Name) + len(b.Arguments)
			case message.ToolResult:
				n += len(b.Text())
			}
		}
	}
	return n
}

// The rollouts made with a scripted server are known by their numbers alone,
// whatever the provider calls itself.
func TestCorpusSyntheticByNumbers(t *testing.T) {
	for _, path := range importertest.Corpus(t, "codex") {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := sessionfile.Read(path, bytes.ReplaceAll(data, []byte("fake"), []byte("real")), formats, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Requests) < 2 {
			continue // a fork without its parents: too few numbers to tell
		}
		if old := strings.HasPrefix(filepath.Base(path), "older-version"); (s.UsageSynthetic == "") != old {
			t.Errorf("%s: synthetic %q", filepath.Base(path), s.UsageSynthetic)
		}
	}
}

// The parents of the fork chain are found next to it.
func TestCorpusChain(t *testing.T) {
	want := map[string]string{
		"fork-chain-0.jsonl": "one answer one two answer two",
		"fork-chain-1.jsonl": "one answer one two answer two fork turn fork answer",
		"fork-chain-2.jsonl": "one answer one two answer two post revert after revert",
	}
	for _, path := range importertest.Corpus(t, "codex") {
		if want[filepath.Base(path)] == "" {
			continue
		}
		s, err := sessionfile.Open(path, formats, nil)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, m := range s.Transcript.All() {
			if m.Origin == message.OriginAuthored {
				said = append(said, m.Text())
			}
		}
		if got := strings.Join(said, " "); got != want[filepath.Base(path)] {
			t.Errorf("%s: %s", filepath.Base(path), got)
		}
		if len(s.Losses) != 0 {
			t.Errorf("%s: %v", filepath.Base(path), s.Losses)
		}
	}
}
