package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/internal/eval/corpus"
	"github.com/forge-agent/forge/internal/eval/cost"
	"github.com/forge-agent/forge/internal/eval/dataset"
	"github.com/forge-agent/forge/internal/eval/estimate"
	"github.com/forge-agent/forge/internal/eval/page"
	"github.com/forge-agent/forge/internal/eval/recall"
	"github.com/forge-agent/forge/internal/eval/verdict"
	"github.com/forge-agent/forge/internal/eval/work"
)

// recallFlags are those of what a budget keeps.
type recallFlags struct {
	seeds, attacks, growing int
	budgets, sets, data     string
}

func (f *recallFlags) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.seeds, "seeds", 1000, "least number of rules to plant for each set")
	cmd.Flags().StringVar(&f.budgets, "budgets", "0.5,1,2,5,10,20", "budgets in percent of the conversation")
	cmd.Flags().StringVar(&f.sets, "sets", "", "sets of phrasings (default: the held-out one, the newest blind one and the unseen one)")
	cmd.Flags().StringVar(&f.data, "data", "", "folder with files of BEAM, LoCoMo, PrefEval or MultiChallenge")
	cmd.Flags().IntVar(&f.attacks, "attacks", 10_000, "mutated attacks to plant in tool output")
	cmd.Flags().IntVar(&f.growing, "growing", 4, "growing sessions to compact fifty times, for each set")
}

func (f *recallFlags) options(seed uint64, show work.Progress) (recall.Options, error) {
	o := recall.Options{Seeds: f.seeds, First: seed, RangeTokens: 100_000, Chatter: 3, Attacks: f.attacks, SurvivalRanges: f.growing, Horizons: []int{5, 20, 0}, Progress: show}
	if f.seeds < 1 || f.attacks < 0 || f.growing < 0 {
		return o, usagef("--seeds is %d, --attacks %d, --growing %d; give at least one seed and no negative number", f.seeds, f.attacks, f.growing)
	}
	var err error
	if o.BudgetsPercent, err = budgets(f.budgets); err != nil {
		return o, err
	}
	if o.Sets, err = ruleSets(f.sets); err != nil || f.data == "" {
		return o, err
	}
	if o.Data, err = dataset.Load(f.data); err != nil {
		return o, usageError{err}
	}
	return o, nil
}

func newEvalRecall(env *Env) *cobra.Command {
	var flags evalFlags
	var own recallFlags
	cmd := &cobra.Command{
		Use: "recall", Short: "What a budget keeps of rules, names and files, against every peer's way",
		Long: "Plant rules in recorded sessions, in several languages, among look-alikes, and measure how many are left within budgets; " +
			"follow them over fifty compactions; plant attacks in tool output; and measure what of the names that the agent used later was kept.",
		Args: arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return flags.one(c, env, func(ctx context.Context, sessions *corpus.Corpus, h page.Header, show work.Progress) (*page.Bundle, []verdict.Verdict, error) {
				return runRecall(ctx, sessions, h, own, flags.seed, show)
			})
		},
	}
	flags.add(cmd)
	own.add(cmd)
	return cmd
}

func runRecall(ctx context.Context, sessions *corpus.Corpus, h page.Header, f recallFlags, seed uint64, show work.Progress) (*page.Bundle, []verdict.Verdict, error) {
	o, err := f.options(seed, show)
	if err != nil {
		return nil, nil, err
	}
	r, err := recall.Evaluate(ctx, sessions, o)
	if err != nil {
		return nil, nil, err
	}
	b, err := page.Recall(h, r)
	return b, r.Verdicts(), err
}

// costFlags are those of what sessions cost.
type costFlags struct{ long int }

func (f *costFlags) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.long, "long", 24, "long sessions to join, of 140,000 to 210,000 tokens")
}

func newEvalCost(env *Env) *cobra.Command {
	var flags evalFlags
	var own costFlags
	cmd := &cobra.Command{
		Use: "cost", Short: "What sessions cost under Forge and under every peer's way",
		Long: "Play recorded sessions, and long ones joined from them, under Forge and under the mechanisms of other agents, at every price list of the catalog: " +
			"dollars, share read from the cache, how far from the best that is possible with the future known, and who exceeds the window.",
		Args: arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return flags.one(c, env, func(ctx context.Context, sessions *corpus.Corpus, h page.Header, show work.Progress) (*page.Bundle, []verdict.Verdict, error) {
				return runCost(ctx, sessions, h, own, flags.seed, show)
			})
		},
	}
	flags.add(cmd)
	own.add(cmd)
	return cmd
}

func runCost(ctx context.Context, sessions *corpus.Corpus, h page.Header, f costFlags, seed uint64, show work.Progress) (*page.Bundle, []verdict.Verdict, error) {
	if f.long < 0 {
		return nil, nil, usagef("--long is %d; give no negative number", f.long)
	}
	r, err := cost.Evaluate(ctx, sessions, cost.Options{Long: f.long, Seed: seed, LongLeastTokens: 140_000, LongMostTokens: 210_000, Progress: show})
	if err != nil {
		return nil, nil, err
	}
	b, err := page.Cost(h, r)
	return b, r.Verdicts(), err
}

func newEvalEstimate(env *Env) *cobra.Command {
	var flags evalFlags
	cmd := &cobra.Command{
		Use: "estimate", Short: "How far estimates are off from what providers reported",
		Long: "Compare estimates with the usage in session files, and with recorded requests where the folder holds token-usage/recorded-requests.jsonl, " +
			"beside a fourth and a third of the bytes, which other agents count.",
		Args: arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return flags.one(c, env, func(ctx context.Context, sessions *corpus.Corpus, h page.Header, show work.Progress) (*page.Bundle, []verdict.Verdict, error) {
				b, err := runEstimate(ctx, flags.corpus, sessions, h, show)
				return b, nil, err
			})
		},
	}
	flags.add(cmd)
	return cmd
}

func runEstimate(ctx context.Context, dir string, sessions *corpus.Corpus, h page.Header, show work.Progress) (*page.Bundle, error) {
	r, err := estimate.Evaluate(ctx, dir, sessions, show)
	if err != nil {
		return nil, err
	}
	return page.Estimate(h, r)
}

func newEvalAll(env *Env) *cobra.Command {
	var flags evalFlags
	var what recallFlags
	var price costFlags
	cmd := &cobra.Command{
		Use: "all", Short: "Every offline evaluation, one after the other, into a folder",
		Long: "Run the evaluations recall, cost, estimate and context one after the other, and write their reports into the folder that --out names.",
		Args: arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if flags.out == "" {
				return usagef("give a folder for the reports with --out DIR")
			}
			sessions, err := flags.load(env)
			if err != nil {
				return err
			}
			flags.json = false
			return flags.evaluated(c, env, func(ctx context.Context, show work.Progress) error {
				h := flags.header(c, sessions)
				b, verdicts, err := runRecall(ctx, sessions, h, what, flags.seed, show)
				if err := flags.finish(env, b, verdicts, err); err != nil {
					return err
				}
				b, verdicts, err = runCost(ctx, sessions, h, price, flags.seed, show)
				if err := flags.finish(env, b, verdicts, err); err != nil {
					return err
				}
				b, err = runEstimate(ctx, flags.corpus, sessions, h, show)
				if err := flags.finish(env, b, nil, err); err != nil {
					return err
				}
				return runContext(ctx, c, env, flags, contextFlags{}, show)
			})
		},
	}
	flags.add(cmd)
	what.add(cmd)
	price.add(cmd)
	return cmd
}
