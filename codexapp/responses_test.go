package codexapp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/forge-agent/forge/codexapp"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/model"
)

// responses is a scripted Responses server on loopback: what the real binary
// talks to instead of a provider.
type responses struct {
	server *httptest.Server
	mu     sync.Mutex
	script []reply
	bodies []string
	count  int
}

// reply plays one response.
type reply func(s *responses, w http.ResponseWriter, r *http.Request)

func newResponses(t testing.TB) *responses {
	s := &responses{}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	return s
}

func (s *responses) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.bodies = append(s.bodies, string(body))
	next := says("fine", 1500)
	if len(s.script) > 0 {
		next, s.script = s.script[0], s.script[1:]
	}
	s.mu.Unlock()
	next(s, w, r)
}

// plan puts the next responses in order. What is not planned is an ordinary
// answer.
func (s *responses) plan(replies ...reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = replies
}

func (s *responses) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.script)
}

func (s *responses) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// last is the body of the newest request.
func (s *responses) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[len(s.bodies)-1]
}

func (s *responses) id() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	return fmt.Sprintf("resp_%d", s.count)
}

func events(w http.ResponseWriter, list ...map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range list {
		data, _ := json.Marshal(e)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], data)
	}
}

// item is a response with one output item and a usage of so many input tokens.
func item(input int, it func(id string) map[string]any) reply {
	return func(s *responses, w http.ResponseWriter, _ *http.Request) {
		id := s.id()
		events(w, map[string]any{"type": "response.created", "response": map[string]any{"id": id}},
			map[string]any{"type": "response.output_item.done", "output_index": 0, "item": it(id)},
			map[string]any{"type": "response.completed", "response": map[string]any{"id": id, "usage": map[string]any{
				"input_tokens": input, "input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens": 10,
				"output_tokens_details": map[string]any{"reasoning_tokens": 0}, "total_tokens": input + 10}}})
	}
}

func says(text string, input int) reply {
	return item(input, func(id string) map[string]any {
		return map[string]any{"type": "message", "role": "assistant", "id": "msg_" + id, "content": []map[string]any{{"type": "output_text", "text": text}}}
	})
}

// weighs is an answer whose usage is that of the request, at four bytes a
// token.
func weighs(text string) reply {
	return func(s *responses, w http.ResponseWriter, r *http.Request) {
		says(text, len(s.last())/4)(s, w, r)
	}
}

// runs is a response that calls for a command.
func runs(cmd string, input int, more ...any) reply {
	return item(input, func(id string) map[string]any {
		arguments := map[string]any{"cmd": cmd}
		for i := 0; i+1 < len(more); i += 2 {
			arguments[more[i].(string)] = more[i+1]
		}
		data, _ := json.Marshal(arguments)
		return map[string]any{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": "exec_command", "arguments": string(data)}
	})
}

// sealed is the answer of a provider that compacts by itself.
func sealed(input int) reply {
	return item(input, func(id string) map[string]any {
		return map[string]any{"type": "compaction", "id": "cmp_" + id, "encrypted_content": "c2VhbGVk"}
	})
}

// tooLong refuses as a provider does in the stream, tooLong400 before it.
func tooLong(s *responses, w http.ResponseWriter, _ *http.Request) {
	id := s.id()
	events(w, map[string]any{"type": "response.created", "response": map[string]any{"id": id}},
		map[string]any{"type": "response.failed", "response": map[string]any{"id": id, "error": map[string]any{
			"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}}})
}

func tooLong400(_ *responses, w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	io.WriteString(w, `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}`)
}

func broken(_ *responses, w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "it does not work", http.StatusInternalServerError)
}

// repeat plans the same responses n times over.
func repeat(n int, list ...reply) []reply {
	var out []reply
	for range n {
		out = append(out, list...)
	}
	return out
}

// real is the real program with a scripted provider behind it.
type real struct {
	*rig
	provider *responses
	program  string
	home     string
	work     string
}

// codexProgram names the real program.
func codexProgram(t testing.TB) string {
	t.Helper()
	program := os.Getenv("FORGE_CODEX_PATH")
	if program == "" {
		t.Skip("FORGE_CODEX_PATH names no Codex: .ci/codex installs it with npm and prints the path")
	}
	if testing.Short() {
		t.Skip("with -short the tests with FORGE_CODEX_PATH are left out: they start many programs")
	}
	return program
}

// setting changes the configuration of Codex or the options of the engine.
type setting struct {
	window   int    // model_context_window
	limit    int    // model_auto_compact_token_limit
	provider string // its name
	config   string // further lines
	options  codexapp.Options
}

func newReal(t *testing.T, set setting) *real {
	t.Helper()
	program := codexProgram(t)
	r := &real{provider: newResponses(t), program: program, home: t.TempDir(), work: t.TempDir()}
	if set.window == 0 {
		set.window = 20000
	}
	if set.limit == 0 {
		set.limit = set.window * 3 / 4
	}
	if set.provider == "" {
		set.provider = "fake"
	}
	config := fmt.Sprintf(`model = "fake-model"
model_provider = "fake"
model_context_window = %d
model_auto_compact_token_limit = %d
%s
[model_providers.fake]
name = %q
base_url = "%s/v1"
wire_api = "responses"
env_key = "FORGE_TEST_KEY"
request_max_retries = 0
stream_max_retries = 0
`, set.window, set.limit, set.config, set.provider, r.provider.server.URL)
	if err := os.WriteFile(filepath.Join(r.home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	o := set.options
	o.Path, o.Dir, o.Environ = program, r.work, r.environ()
	if o.Capabilities.WindowTokens == 0 {
		o.Capabilities = model.Capabilities{Provider: "codex", Model: "fake-model", WindowTokens: 20000, WindowSource: model.WindowFromUser}
	}
	if o.Carry == "" {
		o.Carry = codexapp.Thread
	}
	if o.Window.Mode == "" {
		o.Window.Mode = contextwindow.Warn
	}
	r.rig = newRig(t, o)
	return r
}

// environ is the environment of Codex: nothing of the user's own but PATH.
func (r *real) environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "CODEX_HOME=" + r.home, "FORGE_TEST_KEY=none", "LANG=C.UTF-8"}
}

// restart closes the engine and makes another one for the same session.
func (r *real) restart() {
	r.t.Helper()
	if err := r.engine.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.use(r.s, r.opts)
}

// rollouts are the files that Codex wrote, oldest first.
func (r *real) rollouts() []string {
	found, err := filepath.Glob(filepath.Join(r.home, "sessions", "*", "*", "*", "*.jsonl"))
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// limited runs a prompt that must end at the context limit.
func (r *real) limited(prompt string) *codexapp.Result {
	r.t.Helper()
	res := r.run(prompt)
	if res.Status != codexapp.StatusLimitReached || res.Limit != "context" || res.Reason == "" {
		r.t.Fatalf("%.40q ended %s (%s): %s", prompt, res.Status, res.Limit, res.Reason)
	}
	return res
}

func (r *real) completedCompactions(res *codexapp.Result, want int) {
	r.t.Helper()
	n := 0
	for _, c := range res.Compactions {
		if c.Completed {
			n++
		}
	}
	if n != want {
		r.t.Errorf("%d completed compactions, want %d: %+v", n, want, res.Compactions)
	}
}

func withTimeout(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
