// Package journey plays fixtures through the program as a user runs it: a
// process for each task, a model that follows a script on the loopback
// interface, a folder and a FORGE_HOME of their own. What it finds goes to the
// gates.
package journey

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/gate"
	"github.com/forge-agent/forge/internal/eval/work"
)

// windowTokens is the window that fixtures are played in: small enough to
// outgrow in a few steps.
const windowTokens = 24_000

// A task is one run of the program.
type task struct {
	// prompt is what the person asks; flags go with it.
	prompt string
	flags  []string
	// before changes the folder, nil for nothing.
	before func(p *play) error
	// kill ends the process when the model hangs.
	kill bool
}

// A fixture is one story.
type fixture struct {
	id     string
	long   bool
	files  map[string]string
	config map[string]any
	tools  []json.RawMessage
	tasks  []task
	// codex plays it with the external engine, by a scripted app server.
	codex bool
	// model makes the scripted model, a new one for each time it is played.
	model func() script
	// seeds are the constraints to look for in the last request, each a list
	// of words that one message must hold.
	seeds [][]string
	// check looks at what happened.
	check func(p *play, j *gate.Journey)
}

// outcome is what the program printed of a run.
type outcome struct {
	Status  string `json:"status"`
	Limit   string `json:"limit"`
	Session string `json:"session"`
	Totals  struct {
		Denied      int `json:"denied"`
		Compactions int `json:"compactions"`
		Projections int `json:"projections"`
		Recoveries  int `json:"recoveries"`
	} `json:"totals"`
	exit int
}

// play is a fixture while it is played.
type play struct {
	fixture
	program, dir string
	mode         contextwindow.Mode
	server       *server
	runs         []outcome
	session      string
	codexPath    string
}

func (p *play) workspace() string { return filepath.Join(p.dir, "work") }
func (p *play) home() string      { return filepath.Join(p.dir, "home") }

// Playable lists the fixtures that can be played.
func Playable() []string {
	var out []string
	for _, f := range fixtures() {
		out = append(out, f.id)
	}
	return out
}

// Play plays fixtures in every mode: those named, or all without names.
// program is the path of the program, scratch an empty folder.
func Play(ctx context.Context, program, scratch string, names []string, show work.Progress) ([]gate.Journey, error) {
	type pair struct {
		f fixture
		m contextwindow.Mode
	}
	var pairs []pair
	for _, f := range fixtures() {
		if len(names) > 0 && !slices.Contains(names, f.id) {
			continue
		}
		for _, m := range gate.Modes() {
			pairs = append(pairs, pair{f, m})
		}
	}
	out := make([]gate.Journey, len(pairs))
	err := work.Each(ctx, "journeys", len(pairs), show, func(ctx context.Context, _, i int) error {
		p := pairs[i]
		j, err := playOne(ctx, p.f, p.m, program, filepath.Join(scratch, p.f.id+"-"+string(p.m)))
		if err != nil {
			return fmt.Errorf("play %s in the mode %s: %w", p.f.id, p.m, err)
		}
		out[i] = j
		return nil
	})
	return out, err
}

func playOne(ctx context.Context, f fixture, m contextwindow.Mode, program, dir string) (j gate.Journey, err error) {
	p := &play{fixture: f, program: program, dir: dir, mode: m}
	if p.server, err = serve(); err != nil {
		return j, err
	}
	defer func() { err = errors.Join(err, p.server.close()) }()
	p.server.script, p.server.tools = f.model(), f.tools
	if f.codex {
		engine, err := serveCodex(p.codexTurn)
		if err != nil {
			return j, err
		}
		defer engine.close()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return j, err
		}
		if p.codexPath, err = engine.program(dir); err != nil {
			return j, err
		}
	}
	if err := p.prepare(); err != nil {
		return j, err
	}
	for _, t := range f.tasks {
		if err := p.run(ctx, t); err != nil {
			return j, err
		}
	}
	j = gate.Journey{Fixture: f.id, FixtureHash: f.hash(), Mode: m, Long: f.long, Problems: []string{}, SafetyFailures: []string{}, Corruptions: []string{}}
	if err := p.measure(ctx, &j); err != nil {
		return j, err
	}
	if f.check != nil {
		f.check(p, &j)
	}
	j.Passed = len(j.Problems) == 0 && len(j.SafetyFailures) == 0 && len(j.Corruptions) == 0
	return j, nil
}

// hash stands for what the fixture consists of, the script aside.
func (f fixture) hash() string {
	data, err := json.Marshal([]any{f.id, f.files, f.config, f.tools, f.seeds, len(f.tasks)})
	if err != nil {
		return ""
	}
	h := sha256.New()
	h.Write(data)
	for _, t := range f.tasks {
		h.Write([]byte(t.prompt + strings.Join(t.flags, " ")))
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// prepare writes folder and configuration.
func (p *play) prepare() error {
	config := map[string]any{"version": 1, "model": "gpt-4o", "provider": "scripted", "context": map[string]any{"windowTokens": windowTokens},
		"providers": map[string]any{"scripted": map[string]any{"endpoint": p.server.url + "/v1", "dialect": "chat"}}}
	for k, v := range p.config {
		config[k] = v
	}
	if p.codexPath != "" {
		config["codexPath"] = p.codexPath
	}
	if len(p.tools) > 0 {
		config["mcp"] = map[string]any{"servers": map[string]any{"many": map[string]any{"url": p.server.url + "/mcp"}}}
	}
	data, err := json.Marshal(config)
	if err != nil {
		return err
	}
	if err := p.write(p.home(), "config.json", string(data)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(p.workspace(), ".git"), 0o755); err != nil {
		return err
	}
	for name, text := range p.files {
		if err := p.write(p.workspace(), name, text); err != nil {
			return err
		}
	}
	return nil
}

// last is the newest request; the zero one when there was none.
func (p *play) last() received {
	all := p.server.requests()
	if len(all) == 0 {
		return received{}
	}
	return all[len(all)-1]
}

func (p *play) write(dir, name, text string) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// longestRun ends a process that does not end by itself.
const longestRun = 2 * time.Minute

// run starts the program once.
func (p *play) run(ctx context.Context, t task) error {
	if t.before != nil {
		if err := t.before(p); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	args := []string{"run", "--json", "--context-mode", string(p.mode)}
	if p.session != "" {
		args = append(args, "--session", p.session)
	}
	out, exit, err := p.forge(ctx, t.kill, slices.Concat(args, t.flags, []string{t.prompt})...)
	if err != nil {
		return err
	}
	o := outcome{exit: exit}
	if line := bytes.TrimSpace(out); len(line) > 0 {
		if err := json.Unmarshal(line, &o); err != nil {
			return fmt.Errorf("read outcome %q: %w", line, err)
		}
	}
	if o.Session != "" {
		p.session = o.Session
	}
	p.runs = append(p.runs, o)
	return nil
}

// forge runs the program with arguments; kill ends it once the model hangs.
func (p *play) forge(ctx context.Context, kill bool, args ...string) (stdout []byte, exit int, err error) {
	cmd := exec.CommandContext(ctx, p.program, args...)
	cmd.Dir = p.workspace()
	cmd.Env = []string{"HOME=" + p.dir, "FORGE_HOME=" + p.home(), "PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		return nil, 0, fmt.Errorf("start the program: %w", err)
	}
	if kill {
		select {
		case <-p.server.hung:
		case <-ctx.Done():
		}
		err := cmd.Process.Kill()
		return nil, -1, errors.Join(err, ignoreExit(cmd.Wait()))
	}
	err = cmd.Wait()
	var status *exec.ExitError
	switch {
	case errors.As(err, &status) && ctx.Err() == nil:
		if status.ExitCode() == 2 {
			return nil, 2, fmt.Errorf("the program refused %q: %s", args, bytes.TrimSpace(errs.Bytes()))
		}
		return out.Bytes(), status.ExitCode(), nil
	case err != nil:
		return nil, 0, fmt.Errorf("run %q: %w: %s", args, err, bytes.TrimSpace(errs.Bytes()))
	}
	return out.Bytes(), 0, nil
}

// ignoreExit drops the error of a process that was killed.
func ignoreExit(err error) error {
	var status *exec.ExitError
	if errors.As(err, &status) {
		return nil
	}
	return err
}
