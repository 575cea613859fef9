// Package cli is the command line: flags, output and exit codes. It holds no
// context logic; each command calls one package and shows what it says.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/app"
	"github.com/forge-agent/forge/sessionfile"
)

// Exit codes of the program.
const (
	ExitOK    = 0 // done
	ExitFault = 1 // something went wrong that is not the caller's
	ExitUsage = 2 // bad flags, or a file that cannot be used
	ExitStop  = 130
)

// Env is what the program takes from outside.
type Env struct {
	// Args are the arguments without the program's name.
	Args []string
	// Stdin, Stdout and Stderr are the streams.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv looks an environment variable up.
	Getenv func(string) string
	// Environ is the whole environment, as os.Environ returns it, for programs
	// that are started.
	Environ []string
	// HomeDir is the user's home directory, empty when there is none.
	HomeDir string
	// Terminal says that Stdout is a terminal.
	Terminal bool
	// Color says whether output may hold colours, WidthColumns how wide a
	// line may be.
	Color        bool
	WidthColumns int
	// Dark tells whether the background is dark; nil means light. It is asked
	// only for output in colours: a terminal may take seconds not to answer.
	Dark func() bool
	// Version is the program's version.
	Version string
}

// errUsage marks faults of the caller.
var errUsage = errors.New("usage")

// usageError is a fault of the caller: exit code 2.
type usageError struct{ error }

func (usageError) Is(target error) bool { return target == errUsage }
func (e usageError) Unwrap() error      { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Main runs the program and returns its exit code.
func Main(ctx context.Context, env Env) int {
	root := newRoot(&env)
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := fang.Execute(ctx, root, fang.WithVersion(env.Version), fang.WithErrorHandler(func(io.Writer, fang.Styles, error) {}))
	if err == nil {
		return ExitOK
	}
	text := oneLine(err)
	if errors.Is(err, app.ErrNoModel) {
		text = err.Error() // what would serve, one to a line
	}
	fmt.Fprintf(env.Stderr, "forge: %s\n", shown(text))
	return exitCode(err)
}

func exitCode(err error) int {
	var file *sessionfile.Error
	var run *runError
	var money *moneyError
	if errors.As(err, &run) {
		return run.exitCode()
	}
	if errors.As(err, &money) {
		return ExitLimit
	}
	switch {
	case errors.Is(err, context.Canceled):
		return ExitStop
	case errors.Is(err, errUsage), errors.As(err, &file), errors.Is(err, budget.ErrInvalid), errors.Is(err, contextwindow.ErrInvalid),
		errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return ExitUsage
	}
	if strings.HasPrefix(err.Error(), "unknown command") || strings.HasPrefix(err.Error(), "accepts ") || strings.HasPrefix(err.Error(), "requires ") {
		return ExitUsage // cobra's own, which have no type
	}
	return ExitFault
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// arguments checks how many there are, and says what they should be.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usagef("%s takes %s, not %d arguments; see \"%s --help\"", c.Name(), what, len(args), c.CommandPath())
		}
		return nil
	}
}

// given refuses flags that were set to nothing.
func given(c *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if f := c.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return usagef("--%s is empty; give a name, or leave the flag out", name)
		}
	}
	return nil
}

// requestFlag checks the number of a request, counted from 1.
func requestFlag(c *cobra.Command, number int) error {
	if c.Flags().Changed("request") && number < 1 {
		return usagef("--request is %d; requests are numbered from 1", number)
	}
	return nil
}

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "forge",
		Short: "A coding agent that knows, shows and proves what is in its context window",
		Long: "Forge is a coding agent for the terminal that budgets its context window before every model request, shows what is in it, " +
			"and keeps what you forbade. Without a command it starts the terminal interface.\n\n" +
			"It also shows what fills the window of other agents, request by request, and proves it against what the provider reported: it reads " +
			"session files of Claude Code, Codex, pi, OpenCode, Gemini CLI and plain message arrays. That needs no key and no network.",
		Example: `  forge                                     # the terminal interface
  forge run "why does TestParse fail?"      # one task, then end
  forge resume --last                       # go on with the last session of this folder
  forge replay session.jsonl                # the budget before every request
  forge context session.jsonl               # what is in the window at the end
  forge inspect session.jsonl --html out.html
  forge compact session.jsonl --dry-run     # what Forge would keep of it
  forge count notes.md --model gpt-5
  forge models show claude-sonnet-4-5`,
	}
	var interactive runFlags
	interactive.config = addConfigFlags(root)
	root.RunE = func(c *cobra.Command, _ []string) error {
		if !env.Terminal {
			return c.Help()
		}
		return interactive.interactive(c.Context(), env)
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		text, _, isNumber := strings.Cut(err.Error(), ": strconv.")
		if isNumber {
			return usagef("%s; give a number", text)
		}
		return usageError{err}
	})
	root.AddCommand(newRun(env), newAsk(env), newResume(env), newCodex(env), newDoctor(env), newReference(env), newReplay(env), newContext(env), newCount(env), newInspect(env), newCompact(env), newModels(env), newAuth(env), newSessions(env), newTraces(env), newPlugins(env), newSkills(env), newConfig(env), newEval(env))
	return root
}
