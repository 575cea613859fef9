package replay

import (
	"context"
	"errors"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/trace"
)

// A CompactReport is what the mode compact adds to a report.
type CompactReport struct {
	// Compactions is how many checkpoints were made, Projections how many
	// tool results were cleared, ReclaimedTokens what both freed, as counted.
	Compactions     int `json:"compactions"`
	Projections     int `json:"projections"`
	ReclaimedTokens int `json:"reclaimedTokens"`
	// Recoveries is how many provider overflows were recovered from: none in
	// a replay, where nothing is sent.
	Recoveries int `json:"recoveries"`
	// LimitStops is how many requests were stopped: nothing that may be left
	// out would have made them fit.
	LimitStops int `json:"limitStops"`
	// Checkpoints are the checkpoints in order. Never null.
	Checkpoints []CheckpointReport `json:"checkpoints"`
	// CostAppendOnlyUSD is what the same requests would cost with the whole
	// transcript in each, never cleared, at the same prices; null when a
	// price is unknown. CostUSD of the report is simulated alike.
	CostAppendOnlyUSD *float64 `json:"costAppendOnlyUSD"`
}

// A CheckpointReport describes one checkpoint without its text.
type CheckpointReport struct {
	ID               string `json:"id"`
	Request          int    `json:"request"`
	Generation       int    `json:"generation"`
	Method           string `json:"method"`
	Shape            string `json:"shape"`
	Summarized       int    `json:"summarizedMessages"`
	RangeTokens      int    `json:"rangeTokens"`
	CheckpointTokens int    `json:"checkpointTokens"`
	TokensBefore     int    `json:"tokensBefore"`
	TokensAfter      int    `json:"tokensAfter"`
	Pins             int    `json:"pins"`
	RetainedUsers    int    `json:"retainedUserMessages"`
}

// compactor plays the views besides the compacted one: what the source agent
// sent, which real usage belongs to, and the whole transcript, which the cost
// is compared with.
type compactor struct {
	source *contextwindow.Manager
	whole  *contextwindow.Manager
	report *CompactReport
	cost   simulation
	append simulation
}

// simulation sums up what requests would cost.
type simulation struct {
	usd     float64
	unknown bool
	model   string // of the last request
}

func newCompactor(setup Setup, o Options, calibrations map[string]*tokencount.Calibration) (*compactor, error) {
	c := &compactor{report: &CompactReport{Checkpoints: []CheckpointReport{}}}
	for _, m := range []**contextwindow.Manager{&c.source, &c.whole} {
		var err error
		*m, err = contextwindow.New(setup.Capabilities, setup.Counter, &contextwindow.Options{Mode: contextwindow.Off, Budget: o.Budget, Calibrations: calibrations})
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// observe weighs the other two views of the same request and learns from the
// usage that the source's view was billed for.
func (p *player) observe(ctx context.Context, in contextwindow.Input, st step) error {
	whole := in
	whole.Changes = nil
	f, err := p.compactor.whole.Fit(ctx, whole)
	var limit *contextwindow.LimitError
	if err != nil && !errors.As(err, &limit) {
		return err
	}
	p.compactor.append.add(p, st, f)
	p.compactor.cost.add(p, st, st.fit)
	if _, err := p.compactor.source.Fit(ctx, in); err != nil && !errors.As(err, &limit) {
		return err
	}
	if !st.billed || st.request.Compaction {
		return nil
	}
	_, err = p.compactor.source.Reconcile(*st.usage)
	return err
}

// add prices one request: what a cache can cover is read from it, the rest is
// written.
func (s *simulation) add(p *player, st step, f *contextwindow.Fit) {
	m, ok := p.priced(st.request.Model)
	if !ok || f.Action == contextwindow.Stop {
		s.unknown = s.unknown || !ok
		return
	}
	fresh := f.FreshTokens
	if ttl, known := m.Cache.TTL.Get(); s.model != f.Model || known && p.idle > ttl {
		fresh = f.Estimate.Tokens // another model's cache, or an expired one
	}
	s.model = f.Model
	u := message.Usage{InputTokens: f.Estimate.Tokens, CachedInputTokens: f.Estimate.Tokens - fresh, OutputTokens: p.replyTokens(st)}
	if m.Prices.RatesFor(u.InputTokens).CacheWriteUSDPerMillion.Known {
		u.CacheWriteInputTokens = fresh
	}
	usd, ok := m.Cost(u, nil)
	s.usd += usd
	s.unknown = s.unknown || !ok
}

func (s *simulation) total() *float64 {
	if s.unknown {
		return nil
	}
	return &s.usd
}

// replyTokens is what the model wrote: as reported, else as counted.
func (p *player) replyTokens(st step) int {
	if st.billed {
		return st.usage.OutputTokens
	}
	n := 0
	for i := st.request.At; i < st.request.End; i++ {
		n += p.setup.Counter.Message(p.session.Transcript.At(i)).Total()
	}
	return n
}

// addFit takes in what the mode compact did for one request.
func (r *CompactReport) addFit(f *contextwindow.Fit) {
	r.Projections += len(f.Projections)
	for _, x := range f.Projections {
		r.ReclaimedTokens += x.TokensBefore - x.TokensAfter
	}
	for _, c := range f.Compactions {
		r.Compactions++
		r.ReclaimedTokens += c.ReclaimedTokens()
		r.Checkpoints = append(r.Checkpoints, CheckpointReport{
			ID: c.Checkpoint.ID, Request: f.Step, Generation: c.Checkpoint.Generation, Method: string(c.Checkpoint.Method), Shape: string(c.Shape),
			Summarized: c.Checkpoint.SummarizedThroughMessageIndex, RangeTokens: c.Checkpoint.TokensBefore,
			CheckpointTokens: c.Checkpoint.EstimatedCheckpointTokens, TokensBefore: c.TokensBefore, TokensAfter: c.TokensAfter,
			Pins: len(c.Checkpoint.Pins), RetainedUsers: c.RetainedUsers,
		})
	}
	if f.Action == contextwindow.Stop {
		r.LimitStops++
	}
}

// emitCompactions traces the checkpoints of a request.
func (p *player) emitCompactions(f *contextwindow.Fit) error {
	for _, e := range trace.Compactions(f, trace.TriggerBudget) {
		if err := p.emit(e); err != nil {
			return err
		}
	}
	return nil
}
