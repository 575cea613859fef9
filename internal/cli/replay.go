package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/inspect"
	"github.com/forge-agent/forge/internal/replay"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/trace"
)

// replayFlags are the flags of the commands that play a session back.
type replayFlags struct {
	model     string
	tokenizer string
	window    int
	mode      string
}

func (f *replayFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.model, "model", "", "count for this model (default: the one the file names)")
	cmd.Flags().StringVar(&f.tokenizer, "tokenizer", "", tokenizerUsage)
	cmd.Flags().IntVar(&f.window, "window", 0, "context window in tokens (default: the file's, else the model's)")
	cmd.Flags().StringVar(&f.mode, "mode", string(contextwindow.Warn), "what is done about a request over budget: off, warn or compact")
}

// options checks the flags.
func (f *replayFlags) options(cmd *cobra.Command, env *Env) (replay.Options, error) {
	if cmd.Flags().Changed("window") && f.window <= 0 {
		return replay.Options{}, usagef("--window is %d; give a positive number of tokens", f.window)
	}
	c, err := loadCatalog(env)
	if err != nil {
		return replay.Options{}, err
	}
	source, err := openTokenizer(f.tokenizer)
	if err != nil {
		return replay.Options{}, err
	}
	return replay.Options{Model: f.model, WindowTokens: f.window, Mode: contextwindow.Mode(f.mode), Catalog: c,
		Counter: source.Counter, Forge: env.Version}, nil
}

const tokenizerUsage = "count text with this tokenizer.json instead of the model's vocabulary"

// openTokenizer returns the source of counters that the flag names.
func openTokenizer(path string) (vocabulary.Source, error) {
	if path == "" {
		return vocabulary.Source{}, nil
	}
	source, err := vocabulary.Open(path)
	if err != nil {
		return source, usageError{err}
	}
	return source, nil
}

func newReplay(env *Env) *cobra.Command {
	var flags replayFlags
	var asJSON bool
	var traceDir string
	cmd := &cobra.Command{
		Use:   "replay FILE|ID...",
		Short: "Play sessions back: the budget before every request the agent made",
		Long: "Play session files of coding agents back through the gate that a live run uses, and show what filled the window " +
			"before each request, how full it was, and how far the estimate is from what the provider reported. " +
			"The view that is counted is the one the agent really sent: its own compactions and cleared tool output are applied. " +
			"Nothing is sent anywhere, and no file is changed.",
		Args: arguments(1, -1, "session files"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := given(c, "trace"); err != nil {
				return err
			}
			o, err := flags.options(c, env)
			if err != nil {
				return err
			}
			return replayFiles(c, env, args, o, asJSON, traceDir)
		},
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a file")
	cmd.Flags().StringVar(&traceDir, "trace", "", "write a trace of each replay into this folder")
	return cmd
}

// replayFiles plays each file; one that cannot be read does not stop the
// others.
func replayFiles(c *cobra.Command, env *Env, files []string, o replay.Options, asJSON bool, traceDir string) error {
	failed, worst := 0, ExitUsage // a fault of ours outweighs one of the caller's
	for i, file := range files {
		err := replayFile(c, env, file, o, asJSON, traceDir, i)
		if err == nil {
			continue
		}
		if len(files) == 1 || c.Context().Err() != nil {
			return err
		}
		fmt.Fprintf(env.Stderr, "forge: %s\n", oneLine(err))
		failed++
		worst = min(worst, exitCode(err))
	}
	switch {
	case failed == 0:
		return nil
	case worst == ExitUsage:
		return usagef("%d of %d files could not be replayed", failed, len(files))
	}
	return fmt.Errorf("%d of %d files could not be replayed", failed, len(files))
}

func replayFile(c *cobra.Command, env *Env, file string, o replay.Options, asJSON bool, traceDir string, index int) (err error) {
	s, err := openSession(c.Context(), env, file)
	if err != nil {
		return err
	}
	o.Clock = &replay.Clock{}
	var list *trace.List
	if !asJSON {
		list = &trace.List{Clock: o.Clock.Now}
		o.Trace = list
	}
	if traceDir != "" {
		w, closeTrace, failed := createTrace(traceDir, file, index, o.Clock.Now)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, closeTrace()) }()
		o.Trace = sinks{w, o.Trace}
	}
	report, err := replay.Run(c.Context(), file, s, o)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(env.Stdout, report)
	}
	if index > 0 {
		fmt.Fprintln(env.Stdout)
	}
	if report.Requests == 0 {
		fmt.Fprintf(env.Stdout, "%s: %s, %d messages, no model request; \"forge context\" shows what is in it\n", inspect.Clean(file), report.Format, report.Messages)
		return writeLosses(env.Stdout, report.Losses)
	}
	run, err := inspect.Load(list.All())
	if err != nil {
		return err
	}
	if err := run.WriteText(env.Stdout, style(env), inspect.TextOptions{}); err != nil {
		return err
	}
	if err := writeRelief(env.Stdout, report); err != nil {
		return err
	}
	return writeLosses(env.Stdout, report.Losses)
}

// writeRelief sums up what the mode compact did, and what it is worth.
func writeRelief(w io.Writer, r *replay.Report) error {
	c := r.CompactReport
	if c == nil {
		return nil
	}
	cost := "no price is known for this model"
	if r.CostUSD != nil && c.CostAppendOnlyUSD != nil {
		cost = fmt.Sprintf("$%.4f at list prices; $%.4f with the whole transcript in every request", *r.CostUSD, *c.CostAppendOnlyUSD)
	}
	_, err := fmt.Fprintf(w, "\nWhat the mode compact did\n\n  relief  %s tokens, by checkpoints: %d, and by clearing tool results: %d\n  stops   %d requests that nothing could make fit\n  cost    %s\n",
		inspect.Tokens(c.ReclaimedTokens), c.Compactions, c.Projections, c.LimitStops, cost)
	return err
}

// sinks hands each event to several sinks; nil ones are left out.
type sinks []trace.Sink

func (s sinks) Emit(p trace.Payload) error {
	for _, sink := range s {
		if sink == nil {
			continue
		}
		if err := sink.Emit(p); err != nil {
			return err
		}
	}
	return nil
}

// createTrace makes a trace file for a session file in dir. Files after the
// first get their number into the name: two folders may hold the same name.
func createTrace(dir, file string, index int, clock func() time.Time) (trace.Sink, func() error, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, usagef("create trace folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, usagef("open trace folder: %w", err)
	}
	defer root.Close()
	name := filepath.Base(file)
	if index > 0 {
		name = fmt.Sprintf("%d-%s", index+1, name)
	}
	w, closer, err := trace.Create(root, name+".trace.jsonl", clock)
	if err != nil {
		return nil, nil, usagef("%w; remove it or choose another folder", err)
	}
	return w, closer.Close, nil
}
