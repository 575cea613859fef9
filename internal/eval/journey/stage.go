package journey

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/gate"
	"github.com/forge-agent/forge/internal/scripted"
	"github.com/forge-agent/forge/trace"
)

// A stage is where one journey is played.
type stage struct {
	options *Options
	fixture fixture
	mode    contextwindow.Mode
	dir     string // holds the rest
	server  *scripted.Server

	mu      sync.Mutex
	model   func(scripted.Request) scripted.Reply
	refused map[int]bool // requests by number

	feed    hash.Hash // everything that the fixture brings
	profile string    // of permissions
	session string    // its id, empty before the first run
	prompts []string
	seeds   []seed
	whole   []string // lines of the last export that must stay
	traces  map[string]bool
	runs    []*run
	journey gate.Journey
}

// A run is one start of the program.
type run struct {
	prompt   string
	code     int
	result   outcome
	stderr   string
	requests []scripted.Request
	events   []trace.Event
}

// outcome is what the program prints with --json.
type outcome struct {
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Limit   string `json:"limit"`
	Text    string `json:"text"`
	Session string `json:"session"`
	Totals  struct {
		Recoveries int `json:"recoveries"`
	} `json:"totals"`
}

func newStage(o *Options, f fixture, mode contextwindow.Mode) (*stage, error) {
	// Of one length for all modes: the folder's name stands in each request.
	s := &stage{options: o, fixture: f, mode: mode, dir: filepath.Join(o.Scratch, strings.ToLower(f.id)+"-"+string(mode)[:2]),
		refused: map[int]bool{}, feed: sha256.New(), profile: "workspace-write", traces: map[string]bool{}}
	s.journey = gate.Journey{Fixture: f.id, Mode: mode, WindowTokens: f.windowTokens}
	for _, dir := range []string{s.home(), s.work(".git"), s.path("tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	var err error
	s.server, err = scripted.Start(scripted.Options{Keep: true, Script: s.answer})
	s.feeds("fixture", f.id, string(f.dialect), strconv.Itoa(f.windowTokens))
	return s, err
}

func (s *stage) close() error { return s.server.Close() }

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }
func (s *stage) home() string            { return s.path("home") }
func (s *stage) work(name string) string {
	return filepath.Join(s.dir, "work", filepath.FromSlash(name))
}

// feeds notes what the fixture brings in, so that the modes can be compared.
func (s *stage) feeds(parts ...string) {
	for _, p := range parts {
		fmt.Fprintf(s.feed, "%d:%s\n", len(p), p)
	}
}

// write puts a file into the workspace.
func (s *stage) write(name, content string) error {
	s.feeds("file", name, content)
	if err := os.MkdirAll(filepath.Dir(s.work(name)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(s.work(name), []byte(content), 0o600)
}

// configure writes the user's configuration.
func (s *stage) configure(content string) error {
	return os.WriteFile(filepath.Join(s.home(), "config.json"), []byte(content), 0o600)
}

// read returns a file of the workspace, empty when it is not there.
func (s *stage) read(name string) string {
	data, err := os.ReadFile(s.work(name))
	if err != nil {
		return ""
	}
	return string(data)
}

// answer asks the present model, and notes what is refused.
func (s *stage) answer(r scripted.Request) scripted.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	reply := s.model(r)
	if reply.Fault != "" {
		s.refused[r.N] = true
	}
	return reply
}

func (s *stage) use(model func(scripted.Request) scripted.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model = model
}

// arguments are those of a run.
func (s *stage) arguments(prompt string, extra []string) []string {
	args := []string{"run", "--json"}
	if s.fixture.id == "F-E2E-09" {
		args = []string{"codex", "--json", "--model", codexModel}
	} else {
		args = append(args, "--provider", scripted.ProviderOf(s.fixture.dialect), "--model", scripted.ModelOf(s.fixture.dialect), "--endpoint", s.server.URL())
	}
	args = append(args, "--context-mode", string(s.mode), "--window-tokens", strconv.Itoa(s.fixture.windowTokens), "--permission-profile", s.profile)
	if s.session != "" {
		args = append(args, "--session", s.session)
	}
	return append(append(args, extra...), "--", prompt)
}

// command prepares a start of the program.
func (s *stage) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, s.options.Program, args...)
	c.Dir = s.work("")
	c.Env = []string{"PATH=" + s.options.Path, "HOME=" + s.path(""), "FORGE_HOME=" + s.home(), "TMPDIR=" + s.path("tmp"), "LANG=C.UTF-8",
		"CODEX_HOME=" + s.path("codex"), "FORGE_CODEX_PATH=" + s.options.Codex, codexKey + "=none"}
	for _, name := range []string{"OPENAI", "DEEPSEEK", "ANTHROPIC", "GEMINI"} {
		c.Env = append(c.Env, "FORGE_"+name+"_API_KEY=key-of-the-scripted-provider")
	}
	return c
}

// turn gives the program a task and lets a model answer it.
func (s *stage) turn(ctx context.Context, prompt string, model func(scripted.Request) scripted.Reply, extra ...string) (*run, error) {
	return s.interrupted(ctx, prompt, model, nil, extra...)
}

// interrupted is turn with something that happens to the program meanwhile.
func (s *stage) interrupted(ctx context.Context, prompt string, model func(scripted.Request) scripted.Reply, meanwhile func(program *os.Process, ended <-chan struct{}), extra ...string) (*run, error) {
	s.feeds(append([]string{"prompt", prompt, s.profile}, extra...)...)
	s.prompts = append(s.prompts, prompt)
	s.use(model)
	before := len(s.server.Requests())
	c := s.command(ctx, s.arguments(prompt, extra)...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Start(); err != nil {
		return nil, err
	}
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = c.Wait()
	}()
	if meanwhile != nil {
		meanwhile(c.Process, ended)
	}
	<-ended
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return nil, err
	}
	r := &run{prompt: prompt, code: c.ProcessState.ExitCode(), stderr: stderr.String(), requests: s.server.Requests()[before:]}
	if stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &r.result); err != nil {
			return nil, fmt.Errorf("the program printed no JSON: %w: %.200s", err, stdout.String())
		}
	}
	if s.session == "" {
		s.session = r.result.Session
	}
	if r.events, err = s.newEvents(); err != nil {
		return nil, err
	}
	s.runs = append(s.runs, r)
	s.measure(r)
	return r, s.check(ctx)
}

// newEvents reads the traces that have come since.
func (s *stage) newEvents() ([]trace.Event, error) {
	found, err := filepath.Glob(filepath.Join(s.home(), trace.RunsFolder, "*"+trace.RunsSuffix))
	if err != nil {
		return nil, err
	}
	var out []trace.Event
	for _, name := range found {
		if s.traces[name] {
			continue
		}
		s.traces[name] = true
		events, err := readTrace(name)
		if err != nil {
			return nil, err
		}
		out = append(out, events...)
	}
	return out, nil
}

func readTrace(name string) (out []trace.Event, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for e, err := range trace.NewReader(f).Events() {
		if err != nil {
			return nil, fmt.Errorf("read trace: %w", err)
		}
		out = append(out, e)
	}
	return out, nil
}

// check exports and verifies the session: what was stored before is there, in
// the same bytes, and everything holds.
func (s *stage) check(ctx context.Context) error {
	if s.session == "" {
		return nil
	}
	verify := s.command(ctx, "sessions", "verify", s.session)
	if out, err := verify.CombinedOutput(); err != nil {
		s.corrupt("a session does not verify: %.300s", out)
	}
	export := s.command(ctx, "sessions", "export", s.session)
	out, err := export.Output()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.corrupt("a session cannot be exported: %v", err)
		return nil
	}
	lines, err := lasting(out)
	if err != nil {
		return err
	}
	for i, l := range s.whole {
		if i >= len(lines) || lines[i] != l {
			s.corrupt("message %d of the session has changed or is gone", i+1)
			break
		}
	}
	s.whole = lines
	return nil
}

// lasting returns what must never change of an export: each message, without
// its status, which a turn's end settles.
func lasting(export []byte) ([]string, error) {
	var out []string
	d := json.NewDecoder(bytes.NewReader(export))
	for {
		var l struct {
			Type      string          `json:"type"`
			Hash      string          `json:"hash"`
			Message   json.RawMessage `json:"message"`
			Canonical []byte          `json:"canonical"`
		}
		err := d.Decode(&l)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read export: %w", err)
		}
		if l.Type == "message" {
			out = append(out, l.Hash+string(l.Message)+string(l.Canonical))
		}
	}
}

func (s *stage) corrupt(format string, args ...any) {
	s.journey.Corruptions = append(s.journey.Corruptions, fmt.Sprintf(format, args...))
}

// unsafe notes a broken invariant.
func (s *stage) unsafe(format string, args ...any) {
	s.journey.SafetyFailures = append(s.journey.SafetyFailures, fmt.Sprintf(format, args...))
}

// passed settles whether the fixture's own checks held; why names those that
// did not.
func (s *stage) passed(checks map[string]bool) {
	s.journey.Passed = true
	for _, what := range sorted(maps.Keys(checks)) {
		if !checks[what] {
			s.journey.Passed = false
			s.journey.Problems = append(s.journey.Problems, what)
		}
	}
}

func (s *stage) finish() gate.Journey {
	s.journey.FixtureHash = hex.EncodeToString(s.feed.Sum(nil))
	s.total()
	return s.journey
}
