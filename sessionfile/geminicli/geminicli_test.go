package geminicli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/forge-agent/forge/internal/importertest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/geminicli"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var formats = []sessionfile.Format{geminicli.Format()}

func TestGolden(t *testing.T) {
	importertest.Golden(t, "testdata/*.txtar", formats, *update)
}

// A crash can cut the file anywhere: what stood whole before stays.
func TestCutAnywhere(t *testing.T) {
	importertest.CutLines(t, importertest.Input(t, "lines.txtar"), formats)
	importertest.CutLines(t, importertest.Input(t, "compressed.txtar"), formats)
	importertest.CutDocument(t, importertest.Input(t, "document.txtar"), formats)
}

func FuzzImport(f *testing.F) { importertest.Fuzz(f, formats) }

// rawRecord is one record as encoding/json reads it, without the importer.
type rawRecord struct {
	ID, Type, Model string
	Content         json.RawMessage
	Tokens          *struct{ Input, Output, Cached, Thoughts, Tool, Total int }
	ToolCalls       []struct {
		ID, Name string
		Args     json.RawMessage
		Result   []struct {
			FunctionResponse struct {
				Response struct{ Output string }
			}
		}
	}
}

// records returns the newest form of each record of a file, in order.
func records(t *testing.T, data []byte) []rawRecord {
	t.Helper()
	var doc struct{ Messages []rawRecord }
	if json.Unmarshal(data, &doc) == nil {
		return doc.Messages
	}
	var out []rawRecord
	at := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r rawRecord
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if r.Type == "" {
			continue
		}
		if i, known := at[r.ID]; known {
			out[i] = r
			continue
		}
		at[r.ID] = len(out)
		out = append(out, r)
	}
	return out
}

// Over the shared files: every record that the model reads is there once, in
// its newest form; calls have their results; input and output together are
// the recorded total.
func TestCorpus(t *testing.T) {
	for _, path := range importertest.Corpus(t, "gemini-cli") {
		s, err := sessionfile.Open(path, formats, nil)
		if err != nil {
			t.Fatal(err)
		}
		importertest.Check(t, s)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, requests, at := filepath.Base(path), 0, 0
		for _, r := range records(t, data) {
			if r.Type != "user" && r.Type != "gemini" {
				continue
			}
			m := s.Transcript.At(at)
			at++
			if m.ID != r.ID || m.Text() != contentText(t, r.Content) {
				t.Errorf("%s: message %s differs from record %s", name, m.ID, r.ID)
			}
			if r.Type == "user" {
				continue
			}
			request := s.Requests[requests]
			requests++
			if r.Tokens.Total == 0 != (request.Usage == nil) || request.Usage != nil && request.Usage.InputTokens+request.Usage.OutputTokens != r.Tokens.Total {
				t.Errorf("%s: usage of record %s is %+v, recorded %+v", name, r.ID, request.Usage, r.Tokens)
			}
			if len(r.ToolCalls) == 0 {
				continue
			}
			results := s.Transcript.At(at)
			at++
			for i, c := range r.ToolCalls {
				got := results.Blocks[i].(message.ToolResult)
				if got.CallID != c.ID || got.Text() != c.Result[0].FunctionResponse.Response.Output {
					t.Errorf("%s: result of call %s differs", name, c.ID)
				}
			}
		}
		if at != s.Transcript.Len() || requests != len(s.Requests) || len(s.Transcript.Pending()) > 0 {
			t.Errorf("%s: %d of %d messages, %d of %d requests are in the file, %d calls wait", name,
				at, s.Transcript.Len(), requests, len(s.Requests), len(s.Transcript.Pending()))
		}
	}
}

func contentText(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	if err := json.Unmarshal(raw, &parts); err != nil || len(parts) != 1 {
		t.Fatalf("content with %d parts: %v", len(parts), err)
	}
	return parts[0].Text
}
