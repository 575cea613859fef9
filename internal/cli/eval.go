package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/internal/eval/corpus"
	"github.com/forge-agent/forge/internal/eval/page"
	"github.com/forge-agent/forge/internal/eval/recall"
	"github.com/forge-agent/forge/internal/eval/verdict"
	"github.com/forge-agent/forge/internal/eval/work"
)

// evalFlags are the flags of all evaluations.
type evalFlags struct {
	corpus, out, commit string
	seed                uint64
	json, quiet         bool
}

func newEval(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure Forge against other agents' ways, on session files",
		Long: "Measure what Forge keeps and costs, and how far its estimates are off, with the mechanisms of other agents beside. " +
			"Everything but live runs offline on session files that you name, is seeded, and gives the same figures each time. " +
			"Reports hold figures only: no text of a session, and no name of a file.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown evaluation %q; see \"forge eval --help\"", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(newEvalRecall(env), newEvalCost(env), newEvalEstimate(env), newEvalContext(env), newEvalLive(env), newEvalAll(env))
	return cmd
}

func (f *evalFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.corpus, "corpus", "", "folder with session files (default: FORGE_CORPUS)")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the first range or session that is made")
	f.addOutput(cmd)
}

func (f *evalFlags) addOutput(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print the report as JSON")
	cmd.Flags().StringVar(&f.out, "out", "", "write the report and its pictures into this folder")
	cmd.Flags().StringVar(&f.commit, "commit", "", "commit to name in the report (default: the one that the program was built from)")
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "show no progress")
}

// of is the commit that a report names.
func (f *evalFlags) of() string { return cmp.Or(f.commit, buildCommit()) }

// buildCommit is the commit that the program was built from, as far as the
// build recorded it.
func buildCommit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	commit, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with changes"
		}
	}
	return commit + changed
}

// load reads the corpus.
func (f *evalFlags) load(env *Env) (*corpus.Corpus, error) {
	f.corpus = cmp.Or(f.corpus, env.Getenv("FORGE_CORPUS"))
	if f.corpus == "" {
		return nil, usagef("name a folder with session files: --corpus DIR, or set FORGE_CORPUS")
	}
	c, err := corpus.Load(f.corpus, 1)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// header describes a run; the corpus's folder is left out.
func (f *evalFlags) header(c *cobra.Command, sessions *corpus.Corpus) page.Header {
	h := page.Header{Commit: f.of(), Command: c.CommandPath()}
	for _, name := range []string{"seed", "seeds", "budgets", "sets", "attacks", "growing", "long"} {
		if c.Flags().Changed(name) {
			h.Command += " --" + name + " " + c.Flags().Lookup(name).Value.String()
		}
	}
	if sessions != nil {
		h.Sessions, h.Skipped = len(sessions.Sessions), sessions.Skipped
	}
	return h
}

// finish writes the report where it was asked for.
func (f *evalFlags) finish(env *Env, b *page.Bundle, verdicts []verdict.Verdict, err error) error {
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := b.Write(f.out); err != nil {
			return usageError{err}
		}
	}
	if f.json {
		_, err := env.Stdout.Write(b.File(b.Names[0]))
		return err
	}
	if f.out == "" {
		_, err := env.Stdout.Write(b.File(b.Names[len(b.Names)-1]))
		return err
	}
	return writeVerdicts(env.Stdout, verdicts, f.out, b.Names)
}

func writeVerdicts(w io.Writer, verdicts []verdict.Verdict, dir string, names []string) error {
	for _, v := range verdicts {
		if _, err := fmt.Fprintf(w, "%-13s %s\n              %s\n", v.State, v.Asked, v.Measured); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "wrote %s into %s\n", strings.Join(names, ", "), dir)
	return err
}

// progress shows how far it is on a terminal, and nothing elsewhere.
func (f *evalFlags) progress(env *Env) (show work.Progress, done func()) {
	file, ok := env.Stderr.(*os.File)
	if f.quiet || !ok || !term.IsTerminal(file.Fd()) {
		return nil, func() {}
	}
	return func(what string, done, total int) {
			fmt.Fprintf(env.Stderr, "\r\x1b[K%s: %d of %d", what, done, total)
		}, func() {
			fmt.Fprint(env.Stderr, "\r\x1b[K")
		}
}

// one loads the sessions, makes one kind of report of them and writes it.
func (f *evalFlags) one(c *cobra.Command, env *Env,
	evaluate func(context.Context, *corpus.Corpus, page.Header, work.Progress) (*page.Bundle, []verdict.Verdict, error)) error {
	sessions, err := f.load(env)
	if err != nil {
		return err
	}
	return f.evaluated(c, env, func(ctx context.Context, show work.Progress) error {
		b, verdicts, err := evaluate(ctx, sessions, f.header(c, sessions), show)
		return f.finish(env, b, verdicts, err)
	})
}

// evaluated runs an evaluation with progress.
func (f *evalFlags) evaluated(c *cobra.Command, env *Env, run func(ctx context.Context, show work.Progress) error) error {
	show, done := f.progress(env)
	defer done()
	return run(c.Context(), show)
}

// budgets reads a list of percentages.
func budgets(text string) ([]float64, error) {
	var out []float64
	for part := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(v > 0 && v <= 100) {
			return nil, usagef("--budgets has %q; give percentages above 0 and up to 100, such as 0.5,1,2", part)
		}
		out = append(out, v)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// ruleSets checks the names of sets; empty means the held-out set, the newest
// blind one, and the one that only the evaluation uses.
func ruleSets(text string) ([]string, error) {
	known := recall.Sets()
	if text == "" {
		out := []string{"heldout"}
		newest := 0
		for _, name := range known {
			if n, err := strconv.Atoi(strings.TrimPrefix(name, "blind")); err == nil {
				newest = max(newest, n)
			}
		}
		if newest > 0 {
			out = append(out, fmt.Sprint("blind", newest))
		}
		return append(out, recall.Unseen), nil
	}
	sets := strings.Split(text, ",")
	for _, s := range sets {
		if !slices.Contains(known, s) {
			return nil, usagef("--sets names %q; there are %s", s, strings.Join(known, ", "))
		}
	}
	return sets, nil
}
