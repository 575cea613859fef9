// Command forge shows, budgets and audits the context window of coding agents.
package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"github.com/forge-agent/forge/internal/cli"
)

// version is set when a release is built.
var version = "development"

func main() { os.Exit(program()) }

// program runs until it is done or told to end: an interrupt and a request to
// end let it leave a whole session and no child process; a second one ends it
// at once.
func program() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx)
}

func run(ctx context.Context) int {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // everything works without one, but the user's models.json
	}
	width := 100
	if w, _, err := term.GetSize(os.Stdout.Fd()); err == nil && w > 0 {
		width = w
	}
	terminal := term.IsTerminal(os.Stdout.Fd())
	out := colorprofile.NewWriter(os.Stdout, os.Environ())
	color := out.Profile >= colorprofile.ANSI
	return cli.Main(ctx, cli.Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr, Getenv: os.Getenv, Environ: os.Environ(), HomeDir: home,
		Terminal: terminal, Color: color, WidthColumns: width, Version: version,
		Dark: sync.OnceValue(func() bool { return lipgloss.HasDarkBackground(os.Stdin, os.Stdout) }),
	})
}
