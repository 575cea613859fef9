package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/cli"
)

// writer is a chat-completions server that answers every request with one
// text, and keeps what it was asked.
func writer(t *testing.T, answer string) (url string, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*asked = append(*asked, string(body))
		chunk, err := json.Marshal(map[string]any{"id": "x", "object": "chat.completion.chunk", "model": "m",
			"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"role": "assistant", "content": answer}, "finish_reason": "stop"}}})
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", asked
}

// chatSession writes a chat session with a rule, a secret and long answers.
func chatSession(t *testing.T, secret string) string {
	t.Helper()
	var ms []map[string]string
	for i := range 12 {
		ms = append(ms, map[string]string{"role": "user", "content": fmt.Sprintf("Question %d. Never touch db/schema.sql. The key is %s.", i, secret)},
			map[string]string{"role": "assistant", "content": strings.Repeat("I looked at db/schema.sql and left it alone. ", 60)})
	}
	data, err := json.Marshal(ms)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "session.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func forge(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	home := t.TempDir()
	code = cli.Main(t.Context(), cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv: func(string) string { return "" }, HomeDir: home, WidthColumns: 100, Version: "test"})
	return code, out.String(), errs.String()
}

// F-SUM-03, F-SUM-07, F-TST-06: a model writes the summary from the command
// line; what it is asked about holds no recognised secret, and what it claims
// without ground is struck.
func TestCompactWithAModel(t *testing.T) {
	secret := "ghp_" + strings.Repeat("A1b2C3d4", 5)[:36]
	url, asked := writer(t, "untrusted-conversation-memory\n\nFiles and components:\n\n- db/schema.sql was looked at #1\n- never/mentioned.go was rewritten #3\n")
	path := chatSession(t, secret)
	code, out, errs := forge(t, "compact", path, "--strategy", "model", "--provider", "ollama", "--endpoint", url, "--summarizer", "m", "--tail-tokens", "500", "--json")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var report struct {
		Method     string `json:"method"`
		Checkpoint struct {
			Text      string
			Grounding *struct{ CheckedLines, StruckLines int }
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if report.Method != "model" || report.Checkpoint.Grounding == nil || report.Checkpoint.Grounding.StruckLines == 0 {
		t.Errorf("method %s, grounding %+v\n%s", report.Method, report.Checkpoint.Grounding, report.Checkpoint.Text)
	}
	if strings.Contains(report.Checkpoint.Text, "never/mentioned.go") || !strings.Contains(report.Checkpoint.Text, "Never touch db/schema.sql") {
		t.Errorf("the checkpoint is\n%s", report.Checkpoint.Text)
	}
	if len(*asked) == 0 {
		t.Fatal("nobody was asked")
	}
	for _, body := range *asked {
		if strings.Contains(body, secret) {
			t.Error("the secret went to the provider")
		}
	}
	if !strings.Contains(errs, "asking m of ollama") {
		t.Errorf("the user is told %q", errs)
	}
}
