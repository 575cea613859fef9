package cli_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/cli"
)

// The list comes from the endpoint, with the key of that endpoint and no
// other, and with what it states.
func TestModelsFromTheEndpoint(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.Path+" "+r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(`{"data":[{"id":"big\u001b[2J-model","max_model_len":65536},{"id":"small-model"}]}`))
	}))
	t.Cleanup(server.Close)
	home := t.TempDir()
	run := func(stdin string, args ...string) (string, string, int) {
		var out, errs bytes.Buffer
		code := cli.Main(context.Background(), cli.Env{Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
			HomeDir: home, Getenv: func(name string) string {
				if name == "FORGE_HOME" {
					return home
				}
				return ""
			}})
		return out.String(), errs.String(), code
	}
	if _, errs, code := run("not-a-real-key\n", "auth", "login", "vllm", "--endpoint", server.URL); code != 0 {
		t.Fatal(errs)
	}
	out, errs, code := run("", "models", "list", "--refresh", "--provider", "vllm", "--endpoint", server.URL)
	if code != 0 || !strings.Contains(out, "big?[2J-model  65536") || !strings.Contains(out, "small-model") || strings.Contains(out, "\x1b[2J") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if len(seen) != 1 || seen[0] != "/models Bearer not-a-real-key" {
		t.Errorf("asked with %q", seen)
	}
	out, errs, code = run("", "models", "list", "SMALL", "--json", "--refresh", "--provider", "vllm", "--endpoint", server.URL)
	if want := `{"id":"small-model","source":"` + server.URL + `"}` + "\n"; code != 0 || out != want {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if _, errs, code = run("", "models", "list", "absent", "--refresh", "--provider", "vllm", "--endpoint", server.URL); code != cli.ExitUsage || !strings.Contains(errs, "none with") {
		t.Errorf("%d: %s", code, errs)
	}
	server.Close()
	if _, errs, code = run("", "models", "list", "--refresh", "--provider", "vllm", "--endpoint", server.URL); code != cli.ExitFault || strings.Contains(errs, "real-key") {
		t.Errorf("%d: %s", code, errs)
	}
}
