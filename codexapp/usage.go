package codexapp

import (
	"fmt"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/trace"
)

// maxTokens is the most that a report is believed.
const maxTokens = 1_000_000_000

// An Occupancy is how full a thread is, as Codex tells it with every usage.
type Occupancy struct {
	// Tokens is what the thread holds.
	Tokens int
	// Estimated: Codex reckoned it after a compaction; no provider said so.
	Estimated bool
	// WindowTokens is the window that Codex goes by, zero for unknown.
	WindowTokens int
}

// occupancyOf reads a usage event. The newest request says how full the thread
// is ("last"); "total" is a sum over the life of the thread, which Codex
// overwrites after an overflow, and is never used. A report whose parts are all
// zero is Codex's own estimate. False means that the numbers are none.
func occupancyOf(u tokenUsage) (Occupancy, bool) {
	for _, n := range []int{u.Last.Total, u.Last.Input, u.Last.CachedInput, u.Last.CacheWrite, u.Last.Output, u.Last.Reasoning, u.Window} {
		if n < 0 || n > maxTokens {
			return Occupancy{}, false
		}
	}
	return Occupancy{Tokens: u.Last.Total, Estimated: !u.Last.reported(), WindowTokens: u.Window}, true
}

// reported says that the numbers are a provider's.
func (t tokens) reported() bool {
	return t.Input > 0 || t.CachedInput > 0 || t.CacheWrite > 0 || t.Output > 0 || t.Reasoning > 0
}

func (t tokens) usage() message.Usage {
	return message.Usage{InputTokens: t.Input, CachedInputTokens: t.CachedInput, CacheWriteInputTokens: t.CacheWrite, OutputTokens: t.Output, ReasoningTokens: t.Reasoning}
}

// noteUsage takes in how full the thread is. It says whether the event tells
// anything new: Codex repeats itself.
func (e *Engine) noteUsage(u tokenUsage) (Occupancy, bool) {
	o, ok := occupancyOf(u)
	if !ok {
		return o, false
	}
	if o.WindowTokens > 0 {
		e.window, e.state.WindowTokens = o.WindowTokens, o.WindowTokens
	}
	if e.lastUsage != nil && *e.lastUsage == u {
		return o, false
	}
	e.lastUsage = &u
	if !e.state.Full || u.Last.reported() {
		e.state.OccupancyTokens, e.state.Estimated = o.Tokens, o.Estimated
	}
	return o, true
}

// usage takes a usage event of the running turn.
func (r *turnRun) usage(n usageNote) {
	o, fresh := r.e.noteUsage(n.TokenUsage)
	if !fresh {
		return
	}
	compacting := len(r.compacting) > 0
	event := &trace.EngineUsage{Request: max(1, r.number), OccupancyTokens: o.Tokens, Estimated: o.Estimated, Unknown: r.e.state.Full, WindowTokens: o.WindowTokens}
	if n.TokenUsage.Last.reported() {
		u := n.TokenUsage.Last.usage()
		event.Usage, event.Compaction = trace.UsageOf(&u), compacting
		r.account(u, compacting)
	}
	r.check(r.e.emit(event))
	r.e.show(UsageReported{OccupancyTokens: o.Tokens, Estimated: o.Estimated, Unknown: r.e.state.Full, WindowTokens: o.WindowTokens})
}

// account adds a provider's report: it is a model request that was made.
func (r *turnRun) account(u message.Usage, compaction bool) {
	t := &r.result.Totals
	t.Steps++
	t.InputTokens += u.InputTokens
	t.CachedInputTokens += u.CachedInputTokens
	t.OutputTokens += u.OutputTokens
	if !compaction && r.first == nil {
		r.first = &u
	}
	if r.storeFailed {
		return
	}
	end := max(r.at, r.replied)
	if compaction {
		end = r.at
	}
	err := r.e.opts.Session.AddRequest(r.keep, session.Request{At: r.at, End: end, Model: r.model, Compaction: compaction, Time: r.e.opts.Now(),
		Usage: &session.Usage{InputTokens: u.InputTokens, CachedInputTokens: u.CachedInputTokens, CacheWriteInputTokens: u.CacheWriteInputTokens,
			OutputTokens: u.OutputTokens, ReasoningTokens: u.ReasoningTokens}})
	if err != nil {
		r.check(fmt.Errorf("record usage: %w", err))
	}
	r.at = r.e.opts.Session.Transcript().Len()
}

// A Compaction is one that Codex made, or began.
type Compaction struct {
	// Manual: Forge asked for it. Otherwise Codex did so of its own accord.
	Manual bool `json:"manual,omitempty"`
	// Completed is false for one that Codex never reported the end of.
	Completed bool `json:"completed"`
	// TokensBefore and TokensAfter are what the thread held by Codex's word;
	// the second is Codex's estimate. Zero for unknown.
	TokensBefore int `json:"tokensBefore,omitempty"`
	TokensAfter  int `json:"tokensAfter,omitempty"`
}

// compactionStarted counts, and ends a turn that goes in circles: Codex has no
// limit of its own.
func (r *turnRun) compactionStarted(id string) {
	if _, again := r.compacting[id]; again {
		return
	}
	r.compacting[id] = len(r.result.Compactions)
	r.result.Compactions = append(r.result.Compactions, Compaction{Manual: r.manual, TokensBefore: r.e.state.OccupancyTokens})
	r.compactions++
	if limit := r.e.opts.CompactionsPerTurn; !r.manual && r.compactions > limit {
		o, w := r.e.state.OccupancyTokens, r.e.state.WindowTokens
		r.interrupt(StatusLimitReached, "context", fmt.Sprintf("Codex began to compact for the %d. time in one turn (the thread held %d tokens, its window is %d): "+
			"what the turn reads fills the window faster than compaction frees it. The turn was interrupted; ask for less at a time, or for narrower output",
			r.compactions, o, w))
	}
}

func (r *turnRun) compactionCompleted(id string) {
	r.compactionStarted(id) // where its beginning was not told
	i := r.compacting[id]
	delete(r.compacting, id)
	c := &r.result.Compactions[i]
	c.Completed = true
	if last := r.e.lastUsage; last != nil {
		o, _ := occupancyOf(*last)
		r.e.state.OccupancyTokens, r.e.state.Estimated = o.Tokens, o.Estimated
		c.TokensAfter = o.Tokens
	}
	r.e.state.Full = false // what it holds now is known again
	r.mark("compaction", *c)
	r.e.show(Notice{Kind: "compaction", Text: fmt.Sprintf("Codex compacted its thread: %d tokens became about %d. The session keeps everything", c.TokensBefore, c.TokensAfter)})
}

// closeCompactions marks compactions whose end was never told: they were
// interrupted or failed, and the thread is as it was before.
func (r *turnRun) closeCompactions() {
	for id, i := range r.compacting {
		delete(r.compacting, id)
		r.mark("interrupted", r.result.Compactions[i])
	}
}

// mark records something that happened to Codex's context.
func (r *turnRun) mark(kind string, c Compaction) {
	trigger := "auto"
	if c.Manual {
		trigger = "manual"
	}
	at := r.e.opts.Session.Transcript().Len()
	r.check(r.e.emit(&trace.ContextMark{Request: r.number + 1, Kind: kind, Trigger: trigger, TokensBefore: c.TokensBefore, TokensAfter: c.TokensAfter}))
	if r.storeFailed {
		return
	}
	if err := r.e.opts.Session.AddMark(r.keep, session.Mark{At: at, Kind: kind, Trigger: trigger, TokensBefore: c.TokensBefore, TokensAfter: c.TokensAfter}); err != nil {
		r.check(fmt.Errorf("record compaction: %w", err))
	}
}
