package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
)

// progress shows a run as it goes on: the answer on standard output, what
// happens on standard error.
type progress struct {
	env     *Env
	flags   *runFlags
	newline bool // the output ends a line
	said    bool // something of the present answer
	denied  bool // the present call
}

func newProgress(env *Env, f *runFlags) *progress {
	return &progress{env: env, flags: f, newline: true}
}

// event shows one event.
func (p *progress) event(e agent.Event) {
	if p.flags.asJSON {
		return
	}
	switch e := e.(type) {
	case agent.Budgeted:
		p.said = false
	case agent.TextDelta:
		p.text(e.Text)
	case agent.Retrying:
		p.endLine()
		p.line("again: %s", e.Reason)
	case agent.Answered:
		p.endLine()
	case agent.CallDecided:
		if p.denied = !e.Decision.Allowed(); p.denied {
			p.line("%s: not allowed: %s", e.Call.Name, e.Decision.Reason)
		}
	case agent.CallPlanned:
		p.line("%s", e.Plan.Summary)
	case agent.CallCompleted:
		p.completed(e)
	case agent.Notice:
		p.line("%s: %s", e.Kind, e.Text)
	}
}

func (p *progress) completed(e agent.CallCompleted) {
	if p.denied {
		p.denied = false
		return
	}
	size := len(e.Result.Text())
	if e.Result.OriginalBytes > size {
		size = e.Result.OriginalBytes
	}
	what := "done"
	if e.Result.Outcome == message.OutcomeFailure {
		first, _, _ := strings.Cut(e.Result.Text(), "\n")
		what = "failed: " + first
	}
	p.line("  %s, %d bytes", what, size)
}

// text writes a piece of the answer. Control characters of a model do not
// reach the terminal.
func (p *progress) text(s string) {
	s = shown(s)
	if s == "" {
		return
	}
	io.WriteString(p.env.Stdout, s)
	p.said, p.newline = true, strings.HasSuffix(s, "\n")
}

func (p *progress) endLine() {
	if !p.newline {
		io.WriteString(p.env.Stdout, "\n")
		p.newline = true
	}
}

// line writes a line about the run.
func (p *progress) line(format string, args ...any) {
	if p.flags.quiet || p.flags.asJSON {
		return
	}
	p.endLine()
	fmt.Fprintf(p.env.Stderr, "· %s\n", shown(oneLineOf(fmt.Sprintf(format, args...))))
}

func (p *progress) problems(list []string) {
	for _, text := range list {
		fmt.Fprintf(p.env.Stderr, "forge: warning: %s\n", shown(oneLineOf(text)))
	}
}

// maxLineRunes bounds a line about the run.
const maxLineRunes = 300

func oneLineOf(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > maxLineRunes {
		return string(r[:maxLineRunes-1]) + "…"
	}
	return s
}

// shown takes out of a text what would steer a terminal or change the
// direction of what is read.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f:
			return '\uFFFD'
		}
		return r
	}, s)
}

// result shows how a run ended.
func (p *progress) result(r *agent.Result, sessionID string) error {
	if p.flags.asJSON {
		return json.NewEncoder(p.env.Stdout).Encode(struct {
			*agent.Result
			Session string `json:"session"`
		}{r, sessionID})
	}
	if !p.said {
		p.text(r.Text) // not every provider streams
	}
	p.endLine()
	if p.flags.quiet {
		return nil
	}
	t := r.Totals
	cost := "cost unknown"
	if t.CostUSD != nil {
		cost = fmt.Sprintf("$%.4f", *t.CostUSD)
	}
	fmt.Fprintf(p.env.Stderr, "· %s: %s, %s, %d input tokens (%d cached), %d output tokens, %s; session %s\n",
		r.Status, numbered(t.Requests, "request"), numbered(t.ToolCalls, "tool call"), t.InputTokens, t.CachedInputTokens, t.OutputTokens, cost, sessionID)
	return nil
}

func numbered(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// asker asks a person on the terminal.
type asker struct {
	in  *bufio.Reader
	out io.Writer
}

// newAsker returns nil where there is no terminal to ask on.
func newAsker(env *Env) *asker {
	in, ok := env.Stdin.(*os.File)
	if !ok || !term.IsTerminal(in.Fd()) {
		return nil
	}
	return &asker{in: bufio.NewReader(in), out: env.Stderr}
}

// confirm shows what would happen and reads an answer.
func (a *asker) confirm(ctx context.Context, q policy.Request, d policy.Decision) (policy.Answer, error) {
	fmt.Fprintf(a.out, "\n%s (%s, %s)\n", shown(q.Summary), q.Risk, shown(d.Reason))
	if q.Diff != "" {
		fmt.Fprintln(a.out, shown(q.Diff))
	}
	choices := "y = once, n = no"
	if q.Scope != "" {
		choices = "y = once, n = no, a = for this run: " + shown(q.Covers())
	}
	fmt.Fprintf(a.out, "Allow? [%s] ", choices)
	line := make(chan string, 1)
	go func() {
		text, err := a.in.ReadString('\n')
		if err != nil {
			text = ""
		}
		line <- strings.ToLower(strings.TrimSpace(text))
	}()
	select {
	case <-ctx.Done():
		return policy.Refuse, ctx.Err()
	case text := <-line:
		switch text {
		case "y", "yes":
			return policy.ApproveOnce, nil
		case "a", "all":
			return policy.ApproveForRun, nil
		}
		return policy.Refuse, nil
	}
}
