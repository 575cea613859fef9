package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/forge-agent/forge/internal/command"
	"github.com/forge-agent/forge/internal/excerpt"
	"github.com/forge-agent/forge/policy"
)

// Bounds of what hooks get and give.
const (
	maxQuestionBytes = 256 << 10
	maxAnswerBytes   = 16 << 10
	maxReasonBytes   = 300
)

// Hooks ask the policy hooks of a run. They may be used by several goroutines.
type Hooks struct {
	active *Active
	hooks  []running
}

// Hooks returns the policy hooks of the plugins. They work until Close.
func (a *Active) Hooks() *Hooks {
	h := &Hooks{active: a}
	for _, r := range a.running {
		if r.plugin.Manifest.Capabilities.PolicyHook != nil {
			h.hooks = append(h.hooks, r)
		}
	}
	return h
}

// question is what a hook reads on its standard input, as one line of JSON.
// Secrets are taken out of all texts.
type question struct {
	Version int      `json:"v"`
	Tool    string   `json:"tool"`
	Risk    string   `json:"risk"`
	Command []string `json:"command"`
	Summary string   `json:"summary"`
	Scope   string   `json:"scope"`
}

// Opinion asks all hooks about a request, at the same time, and returns the
// strictest answer, to be given to policy.Run.Authorize. Allow means that no
// hook objects; it lifts nothing. A hook that gives no valid answer in its time
// counts as Confirm: the person decides, and where nobody can be asked the call
// is denied. When ctx is done the opinion is Deny.
func (h *Hooks) Opinion(ctx context.Context, q policy.Request) policy.Decision {
	out := policy.Decision{Action: policy.Allow, Cause: policy.CauseRule, Source: "plugins", Reason: "no plugin objects"}
	if len(h.hooks) == 0 {
		return out
	}
	line, err := h.encode(q)
	opinions := make([]policy.Decision, len(h.hooks))
	var wait sync.WaitGroup
	for i, r := range h.hooks {
		if err != nil {
			opinions[i] = undecided(r, err)
			continue
		}
		wait.Go(func() { opinions[i] = h.ask(ctx, r, line) })
	}
	wait.Wait()
	if ctx.Err() != nil {
		return policy.Decision{Action: policy.Deny, Cause: policy.CauseCanceled, Source: "plugins", Reason: "the run ended before the plugins answered"}
	}
	for _, opinion := range opinions {
		out = policy.Stricter(out, opinion)
	}
	return out
}

// encode makes the line. Nothing is cut: a hook that judged a part of a
// command would judge another command.
func (h *Hooks) encode(q policy.Request) ([]byte, error) {
	clean := func(s string) string {
		s, _ = h.active.options.Redactor.Text(s)
		return s
	}
	out := question{Version: 1, Tool: q.Tool, Risk: string(q.Risk), Command: []string{}, Summary: clean(q.Summary), Scope: clean(q.Scope)}
	for _, argument := range q.Command {
		out.Command = append(out.Command, clean(argument))
	}
	line, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("the question cannot be written: %w", err)
	}
	if len(line) > maxQuestionBytes {
		return nil, fmt.Errorf("the call is too long to ask about (%d bytes)", len(line))
	}
	return append(line, '\n'), nil
}

func undecided(r running, err error) policy.Decision {
	return policy.Decision{Action: policy.Confirm, Cause: policy.CauseRule, Source: "plugin " + r.plugin.Manifest.Name,
		Reason: "its policy hook gave no valid answer: " + excerpt.Line(err.Error(), maxReasonBytes)}
}

// ask runs one hook for one request.
func (h *Hooks) ask(ctx context.Context, r running, line []byte) policy.Decision {
	hook := r.plugin.Manifest.Capabilities.PolicyHook
	spec, err := h.active.spec(r, hook.Command)
	if err != nil {
		return undecided(r, err)
	}
	defer spec.Dir.Close()
	spec.Timeout = time.Duration(hook.TimeoutMilliseconds) * time.Millisecond
	if spec.Timeout <= 0 {
		spec.Timeout = DefaultHookTimeout
	}
	answer := &limited{limit: maxAnswerBytes}
	spec.Output = answer
	exit, err := runWith(ctx, spec, line)
	switch {
	case err != nil:
		return undecided(r, err)
	case exit.Ending == command.TimedOut:
		return undecided(r, fmt.Errorf("it took longer than %v", spec.Timeout))
	case exit.Ending != command.Exited || exit.Code != 0:
		return undecided(r, fmt.Errorf("it ended with code %d%s", exit.Code, signal(exit)))
	case answer.over:
		return undecided(r, fmt.Errorf("it wrote more than %d bytes", maxAnswerBytes))
	}
	action, reason, err := readAnswer(answer.data.Bytes())
	if err != nil {
		return undecided(r, err)
	}
	reason, _ = h.active.options.Redactor.Text(reason)
	d := policy.Decision{Action: action, Cause: policy.CauseRule, Source: "plugin " + r.plugin.Manifest.Name,
		Reason: fmt.Sprintf("the plugin %s says %s", r.plugin.Manifest.Name, action)}
	if reason = excerpt.Line(reason, maxReasonBytes); reason != "" {
		d.Reason += ": " + reason
	}
	return d
}

func signal(exit command.Exit) string {
	if exit.Signal == "" {
		return ""
	}
	return " (" + exit.Signal + ")"
}

// readAnswer reads {"action": …, "reason": …}, strictly.
func readAnswer(data []byte) (policy.Action, string, error) {
	var action, reason string
	if err := object("", bytes.TrimSpace(data), []member{{"action", true, into(&action)}, {"reason", false, into(&reason)}}); err != nil {
		return "", "", err
	}
	switch a := policy.Action(action); a {
	case policy.Allow, policy.Confirm, policy.Deny:
		return a, reason, nil
	}
	return "", "", fmt.Errorf("its action is %q: use allow, confirm or deny", clip(action))
}

// runWith runs a program that gets input on its standard input. Its standard
// error goes nowhere.
func runWith(ctx context.Context, spec command.Spec, input []byte) (command.Exit, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return command.Exit{}, err
	}
	defer reader.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		writer.Close()
		return command.Exit{}, err
	}
	defer null.Close()
	spec.Input, spec.Errors = reader, null
	written := make(chan struct{})
	go func() {
		defer close(written)
		writer.Write(input) // a program may end without reading all of it
		writer.Close()
	}()
	exit, err := command.Run(ctx, spec)
	writer.Close() // ends a write that nobody reads
	<-written
	return exit, err
}

// limited keeps so many bytes and notes when there are more.
type limited struct {
	limit int
	data  bytes.Buffer
	over  bool
}

// Write never fails: the program is not to block or to end.
func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.limit-l.data.Len())
	l.over = l.over || n < len(p)
	l.data.Write(p[:n])
	return len(p), nil
}
