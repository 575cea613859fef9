package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/forge-agent/forge/internal/excerpt"
)

// Local makes trials on this machine.
type Local struct {
	// Program is the path of the program, Scratch a folder for trials.
	Program string
	Scratch string
	// Environ is the environment of the evaluation. Of it the program gets
	// what it needs to reach the provider: the key, proxies, certificates.
	Environ []string
	// KeyVariables are the names of the variables that may hold the key.
	KeyVariables []string
	// Now is the clock.
	Now func() time.Time
}

// printed is what the program prints with --json.
type printed struct {
	Status string `json:"status"`
	Reason string `json:"reason"`
	Limit  string `json:"limit"`
	Totals struct {
		Steps             int      `json:"steps"`
		Requests          int      `json:"requests"`
		ToolCalls         int      `json:"toolCalls"`
		InputTokens       int      `json:"inputTokens"`
		CachedInputTokens int      `json:"cachedInputTokens"`
		OutputTokens      int      `json:"outputTokens"`
		Unreported        int      `json:"unreported"`
		Compactions       int      `json:"compactions"`
		Projections       int      `json:"projections"`
		CostUSD           *float64 `json:"costUSD"`
	} `json:"totals"`
}

// maxReason bounds what an outcome quotes of a provider, in bytes.
const maxReason = 500

// Run makes one trial: a folder, the program, the grader.
func (l *Local) Run(ctx context.Context, j Job) (o Outcome, err error) {
	t, err := Find(j.Trial.Task)
	if err != nil {
		return o, err
	}
	if err := os.MkdirAll(l.Scratch, 0o700); err != nil {
		return o, fmt.Errorf("make folder for a trial: %w", err)
	}
	dir, err := os.MkdirTemp(l.Scratch, "trial-")
	if err != nil {
		return o, fmt.Errorf("make folder for a trial: %w", err)
	}
	defer func() { err = errors.Join(err, removeAll(dir)) }()
	work := filepath.Join(dir, "work")
	if err := l.prepare(t, dir, work); err != nil {
		return o, err
	}
	began := l.Now()
	p, err := l.play(ctx, t, j, dir, work)
	if err != nil {
		return o, err
	}
	o = Outcome{Trial: j.Trial, Status: p.Status, Reason: excerpt.Make([]byte(p.Reason), int64(len(p.Reason)), maxReason, nil).Text, Requests: p.Totals.Requests, ToolCalls: p.Totals.ToolCalls,
		InputTokens: p.Totals.InputTokens, CachedInputTokens: p.Totals.CachedInputTokens, OutputTokens: p.Totals.OutputTokens,
		Compactions: p.Totals.Compactions, Projections: p.Totals.Projections, CostUSD: p.Totals.CostUSD, Seconds: l.Now().Sub(began).Seconds()}
	if p.Totals.Unreported > 0 {
		o.CostUSD = nil
	}
	// The grader's folder is not below the agent's.
	g, err := t.Grade(ctx, work, l.Scratch, l.Environ)
	if err != nil {
		return o, err
	}
	o.Passed, o.Grade, o.Ignored = g.Passed, g.Output, g.Ignored
	return o, nil
}

// removeAll removes a folder in which programs may have made files that only
// they could change.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error { // what stays is an error below
		if err == nil && e.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// prepare writes the repository and the program's configuration.
func (l *Local) prepare(t *Task, dir, work string) error {
	home := filepath.Join(dir, "home")
	for _, d := range []string{home, filepath.Join(work, ".git"), filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("make folder for a trial: %w", err)
		}
	}
	if err := write(work, t.Repo); err != nil {
		return fmt.Errorf("write the repository of a trial: %w", err)
	}
	grants := []map[string]any{}
	for _, a := range t.Allowed {
		grants = append(grants, map[string]any{"command": a})
	}
	data, err := json.Marshal(map[string]any{"version": 1, "policy": map[string]any{"grants": grants}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "config.json"), data, 0o600)
}

// arguments are those of the program.
func arguments(t *Task, j Job) []string {
	s := j.Setting
	args := []string{"run", "--json", "--provider", s.Provider, "--model", s.Model, "--context-mode", string(j.Trial.Mode), "--permission-profile", "workspace-write",
		"--window-tokens", strconv.Itoa(s.WindowTokens), "--max-steps", strconv.Itoa(s.Steps), "--max-run-seconds", strconv.Itoa(s.Seconds)}
	if s.Endpoint != "" {
		args = append(args, "--endpoint", s.Endpoint)
	}
	if s.Rates == nil {
		args = append(args, "--max-cost-usd", strconv.FormatFloat(s.TrialUSD, 'f', -1, 64))
	}
	return append(args, "--", t.Prompt)
}

// play lets the program work on the task.
func (l *Local) play(ctx context.Context, t *Task, j Job, dir, work string) (printed, error) {
	var p printed
	// The program ends by itself; this is for one that does not.
	ctx, cancel := context.WithTimeout(ctx, time.Duration(j.Setting.Seconds)*time.Second+time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, l.Program, arguments(t, j)...)
	c.Dir, c.Env = work, l.environ(dir)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 20 * time.Second
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	// The program ends with this thread, so the thread must stay.
	endWithParent(c)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := c.Run()
	if ctx.Err() != nil {
		return p, fmt.Errorf("%w: %w", ErrLost, ctx.Err())
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return p, fmt.Errorf("start the program: %w", err)
	}
	said := strings.TrimSpace(stderr.String())
	if c.ProcessState.ExitCode() == 2 {
		return p, fmt.Errorf("the program refused the trial: %.400s", said)
	}
	if err := json.Unmarshal(stdout.Bytes(), &p); err != nil {
		return p, fmt.Errorf("%w: the program ended with %d and no result: %.400s", ErrLost, c.ProcessState.ExitCode(), said)
	}
	if p.Totals.Steps == 0 && p.Status == "failed" {
		return p, fmt.Errorf("the provider answered nothing: %.400s", p.Reason)
	}
	return p, nil
}

// environ is the environment of the program.
func (l *Local) environ(dir string) []string {
	out := []string{"HOME=" + dir, "FORGE_HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + filepath.Join(dir, "tmp"), "LANG=C.UTF-8",
		"GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local"}
	keep := map[string]bool{}
	for _, name := range append([]string{"PATH", "PYENV_ROOT", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"SYSTEMROOT", "COMSPEC", "PATHEXT"}, l.KeyVariables...) {
		keep[name] = true
	}
	for _, e := range l.Environ {
		if name, _, ok := strings.Cut(e, "="); ok && keep[name] {
			out = append(out, e)
		}
	}
	return out
}
