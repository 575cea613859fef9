package cli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/cli"
)

// F-SEC-07: what a provider says in a refusal neither steers the terminal nor
// shows a key, in the last line too.
func TestRefusalDoesNotSteerTheTerminal(t *testing.T) {
	secret := "ghp_" + strings.Repeat("A1b2", 9)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": "red \x1b[31m \x1b]0;title\a \u202egnp " + secret}})
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		w.Write(body)
	}))
	t.Cleanup(server.Close)
	home := t.TempDir()
	var out, errs bytes.Buffer
	code := cli.Main(t.Context(), cli.Env{
		Args:  []string{"run", "--provider", "ollama", "--endpoint", server.URL + "/v1", "--model", "m", "hello"},
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, HomeDir: home, WidthColumns: 80,
		Getenv: func(name string) string { return map[string]string{"FORGE_HOME": home}[name] },
	})
	if code != cli.ExitFault || !strings.Contains(errs.String(), "gnp") {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if strings.ContainsAny(out.String()+errs.String(), "\x1b\a\u202e") || strings.Contains(errs.String(), secret) {
		t.Errorf("%q", errs.String())
	}
}

// The list leaves room for titles, and what it shows of an id names
// that session and no other.
func TestSessionListShowsShortIDs(t *testing.T) {
	home := t.TempDir()
	env := map[string]string{"FORGE_HOME": home}
	run(t, env, "sessions", "import", "../../examples/long-session.jsonl")
	run(t, env, "sessions", "import", "../../examples/long-session.jsonl")
	list := strings.Split(strings.TrimSpace(run(t, env, "sessions", "list")), "\n")
	if len(list) < 2 {
		t.Fatalf("%q", list)
	}
	for _, line := range list {
		id, _, _ := strings.Cut(line, " ")
		if len(id) < 8 || len(id) >= 36 {
			t.Errorf("id %q", id)
		}
		run(t, env, "sessions", "show", id)
	}
}
