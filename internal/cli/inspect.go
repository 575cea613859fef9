package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/internal/inspect"
	"github.com/forge-agent/forge/internal/replay"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/trace"
)

// inspectFlags are the flags of inspect.
type inspectFlags struct {
	replayFlags
	html    string
	diff    string
	request int
	rows    int
	json    bool
}

func newInspect(env *Env) *cobra.Command {
	var flags inspectFlags
	cmd := &cobra.Command{
		Use:   "inspect TRACE|FILE|ID",
		Short: "Show a run: timeline, budget table, estimates against usage, ledger",
		Long: "Show what a trace or a session file tells about the context window: the window request by request, the budget table, " +
			"how far estimates were from reported usage, and what stood in each request and why. " +
			"With --html it becomes one page that needs no network.",
		Example: `  forge inspect session.jsonl --html window.html
  forge inspect session.jsonl --request 40
  forge inspect session.jsonl --diff 39 40`,
		Args: arguments(1, 2, "one trace or session file"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := errors.Join(requestFlag(c, flags.request), given(c, "html", "diff")); err != nil {
				return err
			}
			file, pair, err := diffArgs(flags.diff, args)
			if err != nil {
				return err
			}
			run, losses, err := flags.load(c, env, file)
			if err != nil {
				return err
			}
			return flags.show(env, run, losses, pair)
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.html, "html", "", "write one self-contained page to this file")
	cmd.Flags().StringVar(&flags.diff, "diff", "", "compare two requests: --diff N M")
	cmd.Flags().IntVar(&flags.request, "request", 0, "show the ledger of this request")
	cmd.Flags().IntVar(&flags.rows, "rows", 0, "rows of the budget table (default: 30, chosen; -1: all)")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print JSON")
	return cmd
}

// diffArgs takes the second number of "--diff N M" out of the arguments.
func diffArgs(diff string, args []string) (file string, pair []int, err error) {
	numbers := strings.FieldsFunc(diff, func(r rune) bool { return r == ',' || r == ':' || r == ' ' })
	rest := args
	if len(numbers) == 1 && len(args) == 2 {
		at := 1
		if _, err := strconv.Atoi(args[1]); err != nil {
			at = 0
		}
		numbers, rest = append(numbers, args[at]), []string{args[1-at]}
	}
	if len(rest) != 1 {
		return "", nil, usagef("name one trace or session file, not %d", len(rest))
	}
	if diff == "" {
		return rest[0], nil, nil
	}
	if len(numbers) != 2 {
		return "", nil, usagef("--diff takes two request numbers: --diff 3 7")
	}
	for _, text := range numbers {
		n, err := strconv.Atoi(text)
		if err != nil {
			return "", nil, usagef("--diff: %q is not a request number", text)
		}
		pair = append(pair, n)
	}
	return rest[0], pair, nil
}

// load reads a trace, or plays a session back.
func (f *inspectFlags) load(c *cobra.Command, env *Env, file string) (*inspect.Run, []sessionfile.Loss, error) {
	if run, err := loadTrace(tracePath(env, file)); run != nil || err != nil {
		return run, nil, err
	}
	o, err := f.options(c, env)
	if err != nil {
		return nil, nil, err
	}
	return playFile(c.Context(), env, file, o)
}

// playFile replays a session into a run.
func playFile(ctx context.Context, env *Env, file string, o replay.Options) (*inspect.Run, []sessionfile.Loss, error) {
	s, err := openSession(ctx, env, file)
	if err != nil {
		return nil, nil, err
	}
	o.Clock = &replay.Clock{}
	list := &trace.List{Clock: o.Clock.Now}
	o.Trace = list
	if _, err := replay.Run(ctx, file, s, o); err != nil {
		return nil, nil, err
	}
	run, err := inspect.Load(list.All())
	if errors.Is(err, inspect.ErrEmpty) {
		return nil, nil, usagef("%q holds no model request; \"forge context\" shows what is in it", file)
	}
	return run, s.Losses, err
}

// loadTrace reads file as a trace; nil when it is none.
func loadTrace(file string) (*inspect.Run, error) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil // the session reader says what is wrong
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	head, _ := in.Peek(4 << 10)
	if !trace.Sniff(head) {
		return nil, nil
	}
	r := trace.NewReader(in)
	run, err := inspect.Load(r.Events())
	if err != nil {
		return nil, usagef("read trace %q: %w", file, err)
	}
	for _, p := range r.Problems() {
		run.Problems = append(run.Problems, fmt.Sprintf("line %d: %s", p.Line, p.What))
	}
	return run, nil
}

func (f *inspectFlags) show(env *Env, run *inspect.Run, losses []sessionfile.Loss, pair []int) error {
	if f.html != "" {
		if err := writeHTML(f.html, run); err != nil {
			return err
		}
		fmt.Fprintf(env.Stdout, "wrote %s\n", inspect.Clean(f.html))
		if !f.json && pair == nil && f.request == 0 {
			return nil
		}
	}
	index := run.Last()
	var err error
	if f.request != 0 {
		if index, err = run.Find(f.request); err != nil {
			return usageError{err}
		}
	}
	switch {
	case pair != nil:
		return f.showDiff(env, run, pair)
	case f.request != 0 && f.json:
		return inspect.WriteJSON(env.Stdout, run.LedgerDocument(index))
	case f.request != 0:
		if err := run.WriteContext(env.Stdout, index, style(env)); err != nil {
			return err
		}
		return run.WriteLedger(env.Stdout, index, inspect.LedgerFilter{}, style(env))
	case f.json:
		return inspect.WriteJSON(env.Stdout, run.Document())
	}
	if err := run.WriteText(env.Stdout, style(env), inspect.TextOptions{Rows: f.rows}); err != nil {
		return err
	}
	return writeLosses(env.Stdout, losses)
}

func (f *inspectFlags) showDiff(env *Env, run *inspect.Run, pair []int) error {
	before, err := run.Find(pair[0])
	if err != nil {
		return usageError{err}
	}
	after, err := run.Find(pair[1])
	if err != nil {
		return usageError{err}
	}
	if f.json {
		return inspect.WriteJSON(env.Stdout, run.DiffDocument(before, after))
	}
	return run.WriteDiff(env.Stdout, before, after, style(env))
}

// writeHTML writes the page; it may quote file names, so only its owner reads
// it.
func writeHTML(path string, run *inspect.Run) error {
	f, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return usagef("write page: %w", err)
	}
	w := bufio.NewWriter(f)
	err = run.WriteHTML(w)
	err = cmp.Or(err, w.Flush()) // the writer repeats its first error
	if err = cmp.Or(err, f.Close()); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

func style(env *Env) inspect.Style {
	s := inspect.Style{Colour: env.Color, Width: env.WidthColumns}
	s.Dark = s.Colour && env.Dark != nil && env.Dark()
	return s
}

// maxLosses is how many losses a text report lists; JSON has all.
const maxLosses = 8

func writeLosses(w io.Writer, losses []sessionfile.Loss) error {
	if len(losses) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nnot kept as it stood in the file (%d):\n", len(losses))
	for i, l := range losses {
		if i == maxLosses {
			fmt.Fprintf(&b, "  … and %d more; replay --json lists all\n", len(losses)-i)
			break
		}
		if l.Line > 0 {
			fmt.Fprintf(&b, "  line %d: %s\n", l.Line, inspect.Clean(l.What))
		} else {
			fmt.Fprintf(&b, "  %s\n", inspect.Clean(l.What))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
