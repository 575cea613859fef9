package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/inspect"
	"github.com/forge-agent/forge/internal/replay"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/sessionfile"
)

// compactFlags are the flags of compact.
type compactFlags struct {
	replayFlags
	dryRun    bool
	strategy  string
	target    int
	reduction float64
	tail      int
	request   string
	json      bool
	out       string
	// summarizer is the model that writes a summary, endpoint where it is.
	summarizer string
	endpoint   endpoint
}

func newCompact(env *Env) *cobra.Command {
	var flags compactFlags
	cmd := &cobra.Command{
		Use:   "compact FILE|ID",
		Short: "Show what Forge would keep of a session, and write that view out",
		Long: "Make a checkpoint of the older part of a session: what is kept, summarized and pinned, with tokens and money before and after. " +
			"The session file is never changed. With --out, the resulting view is written as chat messages that another agent can be started with. " +
			"With --dry-run only the plan is shown.",
		Example: `  forge compact session.jsonl --dry-run
  forge compact session.jsonl --reduction 0.98 --out view.json`,
		Args: arguments(1, 1, "one session file"),
		RunE: func(c *cobra.Command, args []string) error { return flags.run(c, env, args[0]) },
	}
	cmd.Flags().StringVar(&flags.model, "model", "", "count for this model (default: the one the file names)")
	cmd.Flags().StringVar(&flags.tokenizer, "tokenizer", "", tokenizerUsage)
	cmd.Flags().IntVar(&flags.window, "window", 0, "context window in tokens (default: the file's, else the model's)")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "show the plan only")
	cmd.Flags().StringVar(&flags.strategy, "strategy", "extractive", "how the checkpoint is made: extractive; model and native need a provider")
	cmd.Flags().StringVar(&flags.summarizer, "summarizer", "", "model that writes the summary, for --strategy model and native (default: the session's)")
	flags.endpoint.flags(cmd, "whom to ask, for --strategy model and native")
	cmd.Flags().IntVar(&flags.target, "target-tokens", 0, fmt.Sprintf("most that the checkpoint may weigh (default %d)", compaction.DefaultSummaryTargetTokens))
	cmd.Flags().Float64Var(&flags.reduction, "reduction", 0, "share of the range to take away, for example 0.98")
	cmd.Flags().IntVar(&flags.tail, "tail-tokens", 0, fmt.Sprintf("how much of the newest messages stays verbatim (default %d)", contextwindow.DefaultRecentTailTokens))
	cmd.Flags().StringVar(&flags.request, "request", "", "lift what has to do with this request (default: the session's last)")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print JSON")
	cmd.Flags().StringVar(&flags.out, "out", "", "write the resulting view as chat messages to this file")
	return cmd
}

func (f *compactFlags) check(cmd *cobra.Command) error {
	switch f.strategy {
	case "extractive", "model", "native":
	default:
		return usagef("unknown strategy %q, use extractive, model or native", f.strategy)
	}
	if cmd.Flags().Changed("target-tokens") && f.target <= 0 {
		return usagef("--target-tokens is %d; give a positive number", f.target)
	}
	if cmd.Flags().Changed("reduction") && !(f.reduction > 0 && f.reduction < 1) {
		return usagef("--reduction is %g; give a share between 0 and 1, for example 0.98", f.reduction)
	}
	if cmd.Flags().Changed("tail-tokens") {
		if f.tail < 0 {
			return usagef("--tail-tokens is %d; give 0 or more", f.tail)
		}
		if f.tail == 0 {
			f.tail = -1
		}
	}
	return nil
}

func (f *compactFlags) run(cmd *cobra.Command, env *Env, file string) error {
	if err := errors.Join(f.check(cmd), given(cmd, "out")); err != nil {
		return err
	}
	f.mode = string(contextwindow.Compact)
	o, err := f.options(cmd, env)
	if err != nil {
		return err
	}
	s, err := openSession(cmd.Context(), env, file)
	if err != nil {
		return err
	}
	report, view, err := f.compact(cmd.Context(), env, file, s, o)
	if err != nil {
		if errors.Is(err, compaction.ErrNoGain) || errors.Is(err, compaction.ErrInvalid) {
			return usageError{err}
		}
		return err
	}
	if f.out != "" && !f.dryRun {
		if err := writeView(f.out, s, view); err != nil {
			return err
		}
	}
	if f.json {
		return writeJSON(env.Stdout, report)
	}
	if err := report.print(env.Stdout, f); err != nil {
		return err
	}
	return writeLosses(env.Stdout, s.Losses)
}

// compact plans and, in memory, applies a compaction of the whole session.
func (f *compactFlags) compact(ctx context.Context, env *Env, file string, s *sessionfile.Session, o replay.Options) (*compactReport, []message.Message, error) {
	setup, err := replay.Prepare(s, o)
	if err != nil {
		return nil, nil, err
	}
	strategy, err := f.chosen(env, s.Model)
	if err != nil {
		return nil, nil, err
	}
	t := s.Transcript
	if f.strategy != "extractive" {
		f.announce(env, s.Model)
		if t, err = redacted(t); err != nil {
			return nil, nil, err
		}
	}
	if native, ok := strategy.(compaction.Native); ok {
		c := native.Model.Capabilities() // the item is bound to them
		setup.Capabilities.Provider, setup.Capabilities.Model = c.Provider, c.Model
	}
	m, err := contextwindow.New(setup.Capabilities, setup.Counter, &contextwindow.Options{Mode: contextwindow.Compact,
		Compaction: contextwindow.Compaction{Strategy: strategy}})
	if err != nil {
		return nil, nil, err
	}
	in := contextwindow.Input{Instructions: s.Instructions, Tools: s.Tools, Transcript: t, Complete: s.Complete}
	plan, err := m.Plan(ctx, in, contextwindow.ManualOptions{TailTokens: f.tail, TargetTokens: f.target, Reduction: f.reduction, Request: f.request})
	if errors.Is(err, contextwindow.ErrNothing) {
		return nil, nil, usagef("compact %q: %w (--tail-tokens)", file, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("compact %q: %w", file, err)
	}
	report := newCompactReport(file, s, plan, setup.Model)
	if err := m.Apply(in, plan); err != nil {
		return nil, nil, fmt.Errorf("compact %q: %w", file, err)
	}
	return report, readableView(m.View(), plan), nil
}

// readableView puts the readable half of a pair in the place of an opaque
// item, which only its provider can read.
func readableView(ms []message.Message, p *contextwindow.Plan) []message.Message {
	if p.Checkpoint.Summary != "" || len(p.Records) < 2 || len(ms) == 0 {
		return ms
	}
	out := append([]message.Message(nil), ms...)
	for i, m := range out {
		if m.Origin == message.OriginSummary {
			out[i].Blocks = []message.Block{message.Text{Text: p.Records[0].Summary}}
			break
		}
	}
	return out
}

// compactReport is what compact prints.
type compactReport struct {
	File             string                   `json:"file"`
	Format           string                   `json:"format"`
	Model            string                   `json:"model"`
	TokensBefore     int                      `json:"tokensBefore"`
	TokensAfter      int                      `json:"tokensAfter"`
	RangeTokens      int                      `json:"rangeTokens"`
	CheckpointTokens int                      `json:"checkpointTokens"`
	Strategy         checkpoint.Strategy      `json:"strategy"`
	Method           checkpoint.Method        `json:"method"`
	Shape            contextwindow.Shape      `json:"shape"`
	Checkpoint       checkpointJSON           `json:"checkpoint"`
	Plan             []contextwindow.PlanItem `json:"plan"`
	Money            *moneyReport             `json:"money"`
	Losses           []sessionfile.Loss       `json:"losses"`
}

// checkpointJSON is a checkpoint as people read it.
type checkpointJSON struct {
	ID        string                        `json:"id"`
	Text      string                        `json:"text"`
	Pins      []checkpoint.Pin              `json:"pins"`
	Ledgers   map[string][]checkpoint.Entry `json:"ledgers"`
	Range     rangeJSON                     `json:"range"`
	Hashes    hashesJSON                    `json:"hashes"`
	Grounding *checkpoint.Grounding         `json:"grounding"`
}

type rangeJSON struct {
	FromMessage    string `json:"fromMessageId"`
	ThroughMessage string `json:"throughMessageId"`
	Messages       int    `json:"messages"`
}

type hashesJSON struct {
	Source  message.Hash `json:"source"`
	Tail    message.Hash `json:"tail"`
	Payload message.Hash `json:"payload"`
}

// moneyReport prices a view with a warm cache, at list prices.
type moneyReport struct {
	// BeforeUSD and AfterUSD are what reading the view from the cache costs
	// in every further request; RewriteUSD is what changing it costs once.
	BeforeUSD  float64 `json:"beforeUSD"`
	AfterUSD   float64 `json:"afterUSD"`
	RewriteUSD float64 `json:"rewriteUSD"`
	// PaysBackAfterRequests is when the saving has paid for the rewrite.
	PaysBackAfterRequests float64 `json:"paysBackAfterRequests"`
}

func newCompactReport(file string, s *sessionfile.Session, p *contextwindow.Plan, m catalog.Model) *compactReport {
	c, readable := p.Checkpoint, p.Records[0]
	r := &compactReport{
		File: file, Format: s.Format, Model: s.Model, TokensBefore: p.TokensBefore, TokensAfter: p.TokensAfter, RangeTokens: c.TokensBefore,
		CheckpointTokens: c.EstimatedCheckpointTokens, Strategy: c.Strategy, Method: c.Method, Shape: p.Cut.Shape, Plan: p.Items, Losses: s.Losses,
		Checkpoint: checkpointJSON{ID: c.ID, Text: readable.Summary, Pins: readable.Pins, Ledgers: readable.Ledgers, Grounding: c.Grounding,
			Range:  rangeJSON{FromMessage: c.Anchors.First, ThroughMessage: c.Anchors.Last, Messages: c.SummarizedThroughMessageIndex},
			Hashes: hashesJSON{Source: c.SourceHash, Tail: c.RetainedTailHash, Payload: c.PayloadHash()}},
	}
	if r.Checkpoint.Pins == nil {
		r.Checkpoint.Pins = []checkpoint.Pin{}
	}
	if r.Checkpoint.Ledgers == nil {
		r.Checkpoint.Ledgers = map[string][]checkpoint.Entry{}
	}
	if r.Losses == nil {
		r.Losses = []sessionfile.Loss{}
	}
	r.Money = moneyOf(m, p)
	return r
}

// moneyOf prices a plan; nil when a price is unknown.
func moneyOf(m catalog.Model, p *contextwindow.Plan) *moneyReport {
	price := func(u message.Usage) (float64, bool) { return m.Cost(u, nil) }
	before, ok1 := price(message.Usage{InputTokens: p.TokensBefore, CachedInputTokens: p.TokensBefore})
	after, ok2 := price(message.Usage{InputTokens: p.TokensAfter, CachedInputTokens: p.TokensAfter})
	write := message.Usage{InputTokens: p.TokensAfter, CacheWriteInputTokens: p.TokensAfter}
	if !m.Prices.RatesFor(p.TokensAfter).CacheWriteUSDPerMillion.Known {
		write.CacheWriteInputTokens = 0
	}
	written, ok3 := price(write)
	if !ok1 || !ok2 || !ok3 {
		return nil
	}
	r := &moneyReport{BeforeUSD: before, AfterUSD: after, RewriteUSD: written - after}
	if saved := before - after; saved > 0 {
		r.PaysBackAfterRequests = r.RewriteUSD / saved
	}
	return r
}

func (r *compactReport) print(w io.Writer, f *compactFlags) error {
	var b strings.Builder
	verb := "compacted"
	if f.dryRun {
		verb = "would be compacted"
	}
	facts := r.Format
	if r.Model != "" {
		facts += ", " + r.Model
	}
	count := inspect.Tokens
	fmt.Fprintf(&b, "%s: %s, %s\n\n", inspect.Clean(r.File), inspect.Clean(facts), verb)
	fmt.Fprintf(&b, "  window      %s → %s tokens, %.1f %% less\n", count(r.TokensBefore), count(r.TokensAfter), 100-100*float64(r.TokensAfter)/float64(max(r.TokensBefore, 1)))
	fmt.Fprintf(&b, "  summarized  messages 1 to %d, %s → %s tokens, by %s (%s)\n", r.Checkpoint.Range.Messages, count(r.RangeTokens), count(r.CheckpointTokens), r.Strategy, r.Method)
	fmt.Fprintf(&b, "  pinned      statements of the user, verbatim: %d\n", len(r.Checkpoint.Pins))
	if r.Money == nil {
		fmt.Fprintf(&b, "  money       no price is known for this model\n")
	} else {
		fmt.Fprintf(&b, "  money       $%.4f → $%.4f a request from a warm cache; changing it costs $%.4f once, paid back after %.1f requests\n",
			r.Money.BeforeUSD, r.Money.AfterUSD, r.Money.RewriteUSD, r.Money.PaysBackAfterRequests)
	}
	fmt.Fprintf(&b, "  transcript  the file is unchanged\n\n")
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "  messages\tdecision\treason\ttokens before\tafter")
	for _, i := range r.Plan {
		fmt.Fprintf(t, "  %d to %d\t%s\t%s\t%s\t%s\n", i.From+1, i.Through+1, i.Decision, i.Reason, count(i.TokensBefore), count(i.TokensAfter))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\ncheckpoint %s\n\n", r.Checkpoint.ID)
	for line := range strings.Lines(r.Checkpoint.Text) {
		fmt.Fprintln(&b, inspect.Clean(strings.TrimSuffix(line, "\n")))
	}
	if f.out != "" && !f.dryRun {
		fmt.Fprintf(&b, "\nwrote %s\n", inspect.Clean(f.out))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
