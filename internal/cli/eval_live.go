package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/credential"
	"github.com/forge-agent/forge/internal/eval/live"
	"github.com/forge-agent/forge/internal/eval/live/queue"
	"github.com/forge-agent/forge/internal/eval/page"
	"github.com/forge-agent/forge/model/catalog"
)

// liveFlags are those of live trials.
type liveFlags struct {
	evalFlags
	to                    endpoint
	model, dir            string
	tasks, modes, rates   string
	trials, window, steps int
	seconds, workers      int
	maxUSD, trialUSD      float64
	queue, schema         string
	work                  bool
}

// variableLive says that live trials are wanted, since they cost money.
const variableLive = "FORGE_LIVE"

// defaultMaxUSD is the bound of all trials where the prices are known.
const defaultMaxUSD = 5

func newEvalLive(env *Env) *cobra.Command {
	var f liveFlags
	cmd := &cobra.Command{
		Use: "live", Short: "Try coding tasks with a real model in the modes off, warn and compact (costs money)",
		Long: "Let a real model work on small repositories with planted faults, in each mode several times, and let hidden checks say whether it did the task. " +
			"This asks a provider and costs money: it needs FORGE_LIVE=1 and the provider's key in its variable. A trial begins only when the most that it may cost is left of --max-cost-usd. " +
			"Every trial is noted in --dir; the same command goes on where an earlier one was ended.\n\n" +
			"With FORGE_POSTGRES_DSN (or --queue) and --workers the trials are jobs in that database, and \"forge eval live --work\" on any machine makes them, with a key of its own. " +
			"Without a database, --workers trials are made here at a time.\n\n" +
			"Exit codes: 0 all trials made, 1 fault, 2 wrong use, 3 money has run out, 130 interrupted.",
		Example: "  FORGE_LIVE=1 forge eval live --provider anthropic --model claude-sonnet-4-5 --dir trials --max-cost-usd 10\n" +
			"  FORGE_LIVE=1 forge eval live --provider openai --model gpt-5 --dir trials --workers 8 --queue postgres://user@host/database\n" +
			"  FORGE_LIVE=1 forge eval live --work --provider openai --queue postgres://user@host/database --workers 2",
		Args: arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c, env) },
	}
	f.addOutput(cmd)
	f.to.flags(cmd, "who answers")
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", "", "model to try")
	flags.StringVar(&f.dir, "dir", "", "folder that keeps the trials")
	flags.StringVar(&f.tasks, "tasks", "", "tasks to try, such as go-lru,py-fields (default: all)")
	flags.StringVar(&f.modes, "modes", "off,warn,compact", "modes to try")
	flags.IntVar(&f.trials, "trials", 3, "trials of each task in each mode")
	flags.IntVar(&f.window, "window-tokens", 16_000, "window that the program is told: small, so that the tasks outgrow it")
	flags.IntVar(&f.steps, "max-steps", 60, "most requests of a trial")
	flags.IntVar(&f.seconds, "max-trial-seconds", 900, "longest that a trial takes")
	flags.Float64Var(&f.maxUSD, "max-cost-usd", 0, fmt.Sprintf("most that all trials of the folder may cost (default %d where the model's prices are known)", defaultMaxUSD))
	flags.Float64Var(&f.trialUSD, "max-trial-usd", 0.25, "where a trial is ended")
	flags.StringVar(&f.rates, "prices", "", "INPUT,OUTPUT in US dollars for a million tokens, where the catalog has none")
	flags.IntVar(&f.workers, "workers", 1, "trials at a time")
	flags.StringVar(&f.queue, "queue", "", "PostgreSQL database that shares the trials (default: FORGE_POSTGRES_DSN, when --workers or --work is given)")
	flags.StringVar(&f.schema, "queue-schema", "", "schema of the tables in it")
	flags.BoolVar(&f.work, "work", false, "make trials out of the queue until interrupted")
	return cmd
}

func (f *liveFlags) run(c *cobra.Command, env *Env) error {
	if env.Getenv(variableLive) != "1" {
		return usagef("live trials ask a provider and cost money: set %s=1 and the provider's key, and bound them with --max-cost-usd", variableLive)
	}
	route, err := f.route(env)
	if err != nil {
		return err
	}
	if f.queue == "" && (f.work || c.Flags().Changed("workers")) {
		f.queue = env.Getenv("FORGE_POSTGRES_DSN")
	}
	if f.trials < 1 || f.workers < 1 || f.window < 1024 || f.steps < 1 || f.seconds < 1 || !(f.trialUSD > 0) || f.maxUSD < 0 {
		return usagef("--trials, --workers, --max-steps, --max-trial-seconds and --max-trial-usd must be positive, --window-tokens at least 1024")
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	local := &live.Local{Program: program, Environ: env.Environ, KeyVariables: route.Variables(), Now: time.Now}
	if f.work {
		return f.serve(c.Context(), env, local)
	}
	o, err := f.options(env, route)
	if err != nil {
		return err
	}
	return f.try(c, env, o, local)
}

// route finds the provider. Its key must be in a variable: that is how a trial
// gets it.
func (f *liveFlags) route(env *Env) (credential.Route, error) {
	if f.to.provider == "" {
		return credential.Route{}, usagef("name who answers: --provider anthropic, openai, …")
	}
	route, err := findRoute(f.to.provider, f.to.url)
	if err != nil {
		return route, err
	}
	held := slices.ContainsFunc(route.Variables(), func(name string) bool { return env.Getenv(name) != "" })
	if !held && !route.Keyless() {
		return route, usagef("there is no key for %s: live trials take it from %s", route.Endpoint, route.Variables()[0])
	}
	return route, nil
}

// options reads the flags.
func (f *liveFlags) options(env *Env, route credential.Route) (live.Options, error) {
	o := live.Options{Trials: f.trials, Workers: f.workers, MaxUSD: f.maxUSD}
	if f.model == "" || f.dir == "" {
		return o, usagef("name the model and the folder that keeps the trials: --model NAME --dir DIR")
	}
	var err error
	if o.Tasks, err = taskNames(f.tasks); err != nil {
		return o, err
	}
	for name := range strings.SplitSeq(f.modes, ",") {
		m := contextwindow.Mode(name)
		if m != contextwindow.Off && m != contextwindow.Warn && m != contextwindow.Compact {
			return o, usagef("--modes names %q; there are off, warn and compact", name)
		}
		o.Modes = append(o.Modes, m)
	}
	digest, err := live.Digest()
	if err != nil {
		return o, err
	}
	o.Setting = live.Setting{Commit: f.of(), Tasks: digest, Provider: route.Name, Model: f.model, Endpoint: f.to.url, WindowTokens: f.window,
		TrialUSD: f.trialUSD, Steps: f.steps, Seconds: f.seconds}
	return o, f.money(env, &o)
}

// money settles the bounds.
func (f *liveFlags) money(env *Env, o *live.Options) error {
	known, err := loadCatalog(env)
	if err != nil {
		return err
	}
	entry, ok := known.Lookup(f.model)
	usd, priced := 0.0, false
	if ok && f.rates == "" {
		usd, priced = dearest(entry)
	}
	switch {
	case f.rates != "":
		in, out, _ := strings.Cut(f.rates, ",")
		a, errA := strconv.ParseFloat(in, 64)
		b, errB := strconv.ParseFloat(out, 64)
		if errA != nil || errB != nil || !(a >= 0) || !(b >= 0) || a+b == 0 {
			return usagef("--prices is %q; give INPUT,OUTPUT in US dollars for a million tokens, for example 0.3,1.2", f.rates)
		}
		o.Setting.Rates = &live.Rates{InputUSD: a, OutputUSD: b}
	case !priced:
		return usagef("the prices of %s are not known: give them with --prices INPUT,OUTPUT, and bound the trials with --max-cost-usd", f.model)
	default:
		o.Setting.OverrunUSD = usd
	}
	if o.MaxUSD == 0 {
		if !priced {
			return usagef("bound what the trials may cost with --max-cost-usd")
		}
		o.MaxUSD = defaultMaxUSD
	}
	return nil
}

// dearest is the most that one request to a model can cost: a full window of
// input that nothing caches, and the longest answer. A trial is ended after
// the request that reaches its bound.
func dearest(m catalog.Model) (usd float64, known bool) {
	c := m.Capabilities()
	rates := m.Prices.RatesFor(c.WindowTokens)
	if !rates.InputUSDPerMillion.Known || !rates.OutputUSDPerMillion.Known {
		return 0, false
	}
	// An answer whose bound is unknown is taken for a quarter of the window.
	answer := c.MaxOutputTokens
	if answer == 0 {
		answer = c.WindowTokens / 4
	}
	in := max(rates.InputUSDPerMillion.V, rates.CacheWriteUSDPerMillion.V)
	return (float64(c.WindowTokens)*in + float64(answer)*rates.OutputUSDPerMillion.V) / 1e6, true
}

// taskNames checks names of tasks and that what they need is installed.
func taskNames(text string) ([]string, error) {
	all, err := live.Tasks()
	if err != nil {
		return nil, err
	}
	var names []string
	if text != "" {
		names = strings.Split(text, ",")
		all = nil
	} else {
		for _, t := range all {
			names = append(names, t.Name)
		}
	}
	for _, name := range names {
		t, err := live.Find(name)
		if err != nil {
			return nil, usageError{fmt.Errorf("--tasks: %w", err)}
		}
		for _, program := range live.Programs([]*live.Task{t}) {
			if _, err := exec.LookPath(program); err != nil {
				return nil, usagef("the task %s needs %s, which is not installed: name other tasks with --tasks", name, program)
			}
		}
	}
	return names, nil
}

// try makes the trials and writes the report.
func (f *liveFlags) try(c *cobra.Command, env *Env, o live.Options, local *live.Local) (err error) {
	l, err := live.OpenLedger(f.dir, o.Setting)
	if err != nil {
		return usageError{err}
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	folder, err := filepath.Abs(f.dir)
	if err != nil {
		return err
	}
	if f.queue != "" {
		host, _ := os.Hostname() // it only tells folders of the same name apart
		d, err := queue.Dispatch(c.Context(), queue.Options{DSN: f.queue, Schema: f.schema}, host+" "+folder)
		if err != nil {
			return usageError{err}
		}
		defer d.Close()
		o.Runner = d
	} else {
		if local.Scratch, err = os.MkdirTemp("", "forge-live-"); err != nil {
			return fmt.Errorf("make folder for trials: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(local.Scratch)) }()
		o.Runner = local
	}
	if !f.quiet {
		o.Progress = func(done, total int, usd float64, x live.Outcome) {
			fmt.Fprintf(env.Stderr, "%d of %d trials, $%.4f spent or set aside: %s\n", done, total, usd, verdictLine(x))
		}
	}
	r, runErr := live.Run(c.Context(), o, l)
	if r == nil {
		return runErr
	}
	h := f.header(c, nil)
	b, err := page.Live(h, r)
	if err := f.finish(env, b, nil, err); err != nil {
		return errors.Join(runErr, err)
	}
	if runErr == nil && len(r.Open) > 0 {
		return &moneyError{fmt.Sprintf("%d trials were not made: %s; give more with --max-cost-usd and the same --dir", len(r.Open), r.Why)}
	}
	return runErr
}

// moneyError says that money has run out.
type moneyError struct{ text string }

func (e *moneyError) Error() string { return e.text }

func verdictLine(o live.Outcome) string {
	word := "failed"
	if o.Passed {
		word = "passed"
	}
	return fmt.Sprintf("%s %s (%s, %d input tokens, %.0f s)", o.Trial, word, cmp.Or(o.Status, "no status"), o.InputTokens, o.Seconds)
}

// serve makes trials out of the queue.
func (f *liveFlags) serve(ctx context.Context, env *Env, local *live.Local) (err error) {
	if f.queue == "" {
		return usagef("--work needs a database with trials: set FORGE_POSTGRES_DSN or give --queue")
	}
	if local.Scratch, err = os.MkdirTemp("", "forge-live-"); err != nil {
		return fmt.Errorf("make folder for trials: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(local.Scratch)) }()
	heard := func(j live.Job, o live.Outcome, err error) {
		if err != nil {
			fmt.Fprintf(env.Stderr, "%s was not made: %s\n", j.Trial, oneLineOf(err.Error()))
			return
		}
		fmt.Fprintln(env.Stderr, verdictLine(o))
	}
	if err := queue.Work(ctx, queue.Options{DSN: f.queue, Schema: f.schema}, f.of(), f.workers, f.seconds, local, heard); err != nil {
		return usageError{err}
	}
	return nil
}
