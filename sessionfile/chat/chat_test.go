package chat_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/chat"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var formats = []sessionfile.Format{chat.Format()}

func TestGolden(t *testing.T) {
	importertest.Golden(t, "testdata/*.txtar", formats, *update)
}

// A file that is cut keeps the messages that stand whole before the cut.
func TestCutAnywhere(t *testing.T) {
	importertest.CutLines(t, importertest.Input(t, "lines.txtar"), formats)
	for _, name := range []string{"mini-text.txtar", "mini-bare.txtar", "taubench.txtar"} {
		importertest.CutDocument(t, importertest.Input(t, name), formats)
	}
}

// Objects of other kinds that have messages are not taken for chats.
func TestMatchIsNarrow(t *testing.T) {
	importertest.CheckRefused(t, formats,
		`[]`, `[1,2]`, `[{"a":1}]`, `{"messages":[]}`, `{"messages":[{"info":{},"parts":[]}]}`,
		`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}]}],"model":"m"}`,
		`{"type":"message","role":"user","content":"x"}`,
		`{"schemaVersion":1,"runIds":[],"messages":[{"role":"user","content":"x"}]}`)
}

func FuzzImport(f *testing.F) { importertest.Fuzz(f, formats) }

// trajectory is what the corpus tests read without the importer.
type trajectory struct {
	Messages, History []struct {
		Role, Content    string
		ReasoningContent string `json:"reasoning_content"`
		ToolCalls        []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
		Extra struct {
			Response struct {
				Usage struct {
					PromptTokens     int `json:"prompt_tokens"`
					CompletionTokens int `json:"completion_tokens"`
					CacheHits        int `json:"prompt_cache_hit_tokens"`
				}
			}
		}
	}
}

// Over the shared files: all texts, calls and usages are there, one request
// for each reply, and the sizes of the requests grow as the messages do.
func TestCorpus(t *testing.T) {
	for _, path := range importertest.Corpus(t, "openai-chat") {
		s, err := sessionfile.Open(path, formats, nil)
		if err != nil {
			t.Fatal(err)
		}
		importertest.Check(t, s)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var raw trajectory
		if err := json.Unmarshal(data, &raw); err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		at, replies := 0, 0
		for _, m := range append(raw.Messages, raw.History...) {
			if m.Role == "exit" {
				continue
			}
			got := s.Transcript.At(at)
			at++
			if string(got.Role) != m.Role {
				t.Fatalf("%s: message %d is a %s message, want %s", name, at-1, got.Role, m.Role)
			}
			text, reasoning, calls := flat(got)
			if text != m.Content || reasoning != m.ReasoningContent || len(calls) != len(m.ToolCalls) {
				t.Errorf("%s: message %d differs from the file", name, at-1)
			}
			for i, c := range m.ToolCalls {
				if calls[i].Name != c.Function.Name || calls[i].Arguments != c.Function.Arguments || calls[i].ID != c.ID {
					t.Errorf("%s: call %d of message %d differs from the file", name, i, at-1)
				}
			}
			if m.Role != "assistant" {
				continue
			}
			r := s.Requests[replies]
			replies++
			if r.At != at-1 || r.End != at {
				t.Errorf("%s: request %d is [%d,%d), want [%d,%d)", name, replies-1, r.At, r.End, at-1, at)
			}
			u := m.Extra.Response.Usage
			if u.PromptTokens == 0 {
				continue
			}
			if r.Usage.InputTokens != u.PromptTokens || r.Usage.OutputTokens != u.CompletionTokens || r.Usage.CachedInputTokens != u.CacheHits {
				t.Errorf("%s: usage of request %d differs: %+v", name, replies-1, *r.Usage)
			}
		}
		if at != s.Transcript.Len() {
			t.Errorf("%s: %d messages in the file, %d in the transcript", name, at, s.Transcript.Len())
		}
		if strings.Contains(name, "miniswe") && s.Complete {
			t.Errorf("%s: complete, but its bash tool is not in the file: the first request is 450 tokens above the text", name)
		}
	}
}

// flat returns the text of a message or of its only tool result, the
// reasoning, and the calls.
func flat(m message.Message) (text, reasoning string, calls []message.ToolCall) {
	text = m.Text()
	for _, block := range m.Blocks {
		switch b := block.(type) {
		case message.Reasoning:
			reasoning += b.Text
		case message.ToolCall:
			calls = append(calls, b)
		case message.ToolResult:
			text = b.Text()
		}
	}
	return text, reasoning, calls
}
