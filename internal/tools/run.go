package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/forge-agent/forge/internal/command"
	"github.com/forge-agent/forge/internal/workspace"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tool"
)

// Defaults of CommandOptions. A minute is the seed's time.
const (
	defaultTimeout    = time.Minute
	defaultMaxTimeout = 10 * time.Minute
	defaultGrace      = 2 * time.Second
)

type commandArguments struct {
	Command        []string `json:"command"`
	Path           *string  `json:"path"`
	TimeoutSeconds *int     `json:"timeout_seconds"`
}

type commandRunner struct {
	w        *workspace.Workspace
	o        CommandOptions
	env      []string
	writable []string
}

func newCommandRunner(w *workspace.Workspace, o CommandOptions) (*commandRunner, error) {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = max(defaultMaxTimeout, o.Timeout)
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	for _, dir := range append([]string{o.TempDir}, o.Writable...) {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("make run_command: %q is no existing folder with an absolute path: correct the temporary or writable folder", dir)
		}
	}
	r := &commandRunner{w: w, o: o, env: command.Environment(o.Environ, o.Pass, o.TempDir)}
	if !o.Unconfined {
		r.writable = append([]string{w.Dir(), o.TempDir}, o.Writable...)
	}
	return r, nil
}

func (r *commandRunner) plan(_ context.Context, a commandArguments) (tool.Plan, error) {
	if len(a.Command) == 0 || a.Command[0] == "" {
		return tool.Plan{}, tool.Argumentf("%q must be a list of the program and its arguments, such as %s.", "command", `["go", "test", "./..."]`)
	}
	dir, err := folder(r.w, a.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	most := int(r.o.MaxTimeout / time.Second)
	seconds, err := tool.Whole("timeout_seconds", a.TimeoutSeconds, 0, 1, max(most, 1))
	if err != nil {
		return tool.Plan{}, err
	}
	timeout := r.o.Timeout
	if seconds > 0 {
		timeout = time.Duration(seconds) * time.Second
	}
	scope, err := json.Marshal(append([]string{dir}, a.Command...))
	if err != nil {
		return tool.Plan{}, fmt.Errorf("plan command: %w", err)
	}
	summary := "run " + quoteCommand(a.Command)
	if dir != "." {
		summary += " in " + strconv.Quote(dir)
	}
	if c := command.Expect(r.writable); !c.Enforced {
		summary += " (" + strings.TrimSuffix(c.Text, ".") + ")"
	}
	return tool.Plan{
		Summary: summary,
		Scope:   string(scope),
		Command: slices.Clone(a.Command),
		Run:     func(ctx context.Context) tool.Result { return r.run(ctx, slices.Clone(a.Command), dir, timeout) },
	}, nil
}

func (r *commandRunner) run(ctx context.Context, args []string, dir string, timeout time.Duration) tool.Result {
	opened, err := r.w.OpenDir(dir)
	if err != nil {
		return failure(ctx, err)
	}
	defer opened.Close()
	out := tool.NewOutput(tool.MaxOutputBytes - 4096) // room for what is said at the end
	end := &lastByte{out: out}
	exit, err := command.Run(ctx, command.Spec{
		Args: args, Dir: opened, DirPath: filepath.Join(r.w.Dir(), filepath.FromSlash(dir)), Env: r.env,
		Timeout: timeout, Grace: r.o.Grace, Writable: r.writable, Output: end,
	})
	switch {
	case ctx.Err() != nil && errors.Is(err, command.ErrNotStarted):
		return failure(ctx, err)
	case err != nil:
		return tool.Failure(strings.TrimPrefix(err.Error(), command.ErrNotStarted.Error()+": ") + ".")
	}
	result := out.Result(outcome(exit))
	if result.Text != "" && end.last != '\n' {
		result.Text += "\n"
	}
	note := ending(exit, timeout)
	if exit.Confinement.Enforced && result.Outcome != message.OutcomeSuccess && refused(result.Text) {
		note += "; a permission may be missing because programs can write only in the workspace and in the folder that TMPDIR names"
	}
	result.Text += "[" + note + "]\n"
	return result
}

// refused reports whether the end of a program's output speaks of a missing
// permission, which confinement may be the reason for.
func refused(text string) bool {
	text = text[max(0, len(text)-8192):]
	return strings.Contains(text, "ermission denied") || strings.Contains(text, "peration not permitted") || strings.Contains(text, "EACCES")
}

func outcome(exit command.Exit) message.Outcome {
	if exit.Ending == command.Exited && exit.Code == 0 {
		return message.OutcomeSuccess
	}
	return message.OutcomeFailure
}

func ending(exit command.Exit, timeout time.Duration) string {
	text := fmt.Sprintf("exit code %d", exit.Code)
	switch {
	case exit.Ending == command.TimedOut:
		text = fmt.Sprintf("ended after %s, its time was up; the output may be incomplete", timeout)
	case exit.Ending == command.Canceled:
		text = "interrupted; the output may be incomplete"
	case exit.Signal != "":
		text = "ended by signal: " + exit.Signal
	}
	if exit.Stray > 0 {
		text += "; " + plural(exit.Stray, "process that it left running was ended", "processes that it left running were ended")
	}
	if !exit.Confinement.Enforced {
		text += "; " + strings.TrimSuffix(exit.Confinement.Text, ".")
	}
	return text
}

// A lastByte remembers how the output ended.
type lastByte struct {
	out  *tool.Output
	last byte
}

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.last = p[len(p)-1]
	}
	return l.out.Write(p)
}

// quoteCommand shows an argument vector so that its entries can be told apart.
func quoteCommand(args []string) string {
	var out []string
	for _, a := range args {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool { return !plain(r) }) {
			a = strconv.Quote(a)
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}

func plain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./=:,+@%", r)
}
