package projection

import (
	"errors"
	"fmt"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/transcript"
)

// ErrInvalid is wrapped by errors about arguments.
var ErrInvalid = errors.New("invalid argument")

// DefaultKeepNewest is how many of the newest observations are never cleared:
// as many as Anthropic's clearing of tool results keeps (docs.claude.com,
// context editing, clear_tool_uses_20250919). Each clearing writes them to the
// cache again, so keeping more costs more; results of calls that the model has
// not answered stay in any case.
const DefaultKeepNewest = 3

// minSavedTokens is the least that clearing an observation must take off the
// view: less is not worth a gap in what the model sees.
const minSavedTokens = 16

// Options are the settings of a Scheduler. The zero value clears nothing of
// its own accord but what costs nothing, since it knows no prices.
type Options struct {
	// Prices and Cache are those of the model, from the catalog.
	Prices catalog.Prices
	Cache  catalog.CacheRules
	// KeepNewest is how many of the newest observations stay as they are,
	// zero for DefaultKeepNewest. At least one stays.
	KeepNewest int
	// MostOverspend bounds what clearing may cost, at every moment and
	// whatever comes after: no more than this fraction above a conversation
	// that is never cleared. It holds as long as the request that a clearing
	// was decided for is sent. Zero means DefaultMostOverspend.
	MostOverspend float64
}

// A Scheduler decides when old tool output is cleared. It follows one
// conversation: see the package comment for how it is driven.
//
// A step costs the same however long the conversation is. The scheduler is
// pure: no clock, and the same calls lead to the same decisions. It belongs to
// one goroutine. Make one with New.
type Scheduler struct {
	prices        catalog.Prices
	ttl           time.Duration
	keep          int
	mostOverspend float64

	observations []entry
	newest       map[message.Hash]int   // call → its newest observation
	newestSame   map[message.Hash]int   // content → its newest observation
	failures     map[message.Hash][]int // call → failures not resolved yet
	reads        map[string][]int       // path → reads that still hold
	index        map[transcript.Ref]int // where an observation is

	lengthTokens  int // the conversation as it is in the view
	clearedTokens int // taken off it since the last compaction
	aged          int // observations [0,aged) are older than the newest
	frontier      int // one more than the newest cleared observation
	groups        []group
	late          []int

	requests int
	// behindTokens is the sum over the decisions of what stood behind all that
	// may be cleared.
	behindTokens int
	decisions    int
	rateSum      float64 // sum over the requests of the cached rate: what one token cost so far
	cache        cacheState
	next         request // the request that is being prepared
	spent        Spending
	// reread is what was read again after it had been cleared, halved with
	// each clearing.
	rereadTokens int
	visited      int
}

// entry is an observation with what has become of it.
type entry struct {
	Observation
	at            int     // conversation tokens before it, as if nothing had been cleared
	born          float64 // rateSum when it became clearable
	cleared       bool
	clearedTokens int // what that took off the view
	grouped       bool
	resolved      bool
	superseded    bool
	original      int // the observation that this one points to, or none
	heldBy        int // the newest observation that points to this one, or none
}

// clearable reports whether the observation may be cleared once it is old: it
// is worth it, not an error that still stands, and none of the newest points
// to it.
func (e *entry) clearable() bool {
	return !e.cleared && e.savedTokens() >= minSavedTokens && !e.unresolved() && e.heldBy == none
}

// unresolved: the call failed, and the same call has not succeeded since.
func (e *entry) unresolved() bool { return e.Outcome == message.OutcomeFailure && !e.resolved }

// cacheState is what the provider has cached, as far as is known.
type cacheState struct {
	warm         bool
	lost         Reason // why it is not warm
	frontTokens  int    // the front that was sent
	tokens       int    // conversation tokens that are as they were sent
	appendTokens int    // the same had nothing been cleared
	observations int    // observations that the model has answered
}

// Spending is what the input of the requests has cost so far, in US dollars.
// Requests with unknown prices are left out of both.
type Spending struct {
	// USD is the cost as it was, AppendOnlyUSD what it would have been had
	// nothing been cleared.
	USD, AppendOnlyUSD float64
	// Requests is how many requests that is.
	Requests int
}

// New returns a scheduler for a conversation that is empty as yet.
func New(o Options) (*Scheduler, error) {
	switch {
	case o.KeepNewest < 0:
		return nil, fmt.Errorf("%w: %d newest observations are to be kept; give 1 or more, or 0 for %d", ErrInvalid, o.KeepNewest, DefaultKeepNewest)
	case !(o.MostOverspend >= 0 && o.MostOverspend <= 1): // NaN too
		return nil, fmt.Errorf("%w: the most overspend is %g; give a fraction between 0 and 1", ErrInvalid, o.MostOverspend)
	}
	s := &Scheduler{
		prices: o.Prices, ttl: ttl(o.Cache), keep: o.KeepNewest, mostOverspend: o.MostOverspend,
		newest: map[message.Hash]int{}, newestSame: map[message.Hash]int{}, failures: map[message.Hash][]int{},
		reads: map[string][]int{}, index: map[transcript.Ref]int{}, cache: cacheState{lost: ReasonBroken},
	}
	if s.keep == 0 {
		s.keep = DefaultKeepNewest
	}
	if s.mostOverspend == 0 {
		s.mostOverspend = DefaultMostOverspend
	}
	return s, nil
}

// Extend takes in what was appended to the conversation besides tool results:
// texts, calls, framing.
func (s *Scheduler) Extend(tokens int) { s.lengthTokens += max(0, tokens) }

// Admit takes in the next tool result of the conversation. It refuses a result
// that it has, or whose tokens are negative.
func (s *Scheduler) Admit(o Observation) error {
	if _, known := s.index[o.Ref]; known {
		return fmt.Errorf("%w: tool result %s was admitted before", ErrInvalid, Reference(o.Ref))
	}
	if o.Tokens < 0 || o.StandInTokens < 0 {
		return fmt.Errorf("%w: tool result %s weighs %d tokens and its stand-in %d", ErrInvalid, Reference(o.Ref), o.Tokens, o.StandInTokens)
	}
	s.visited++
	i := len(s.observations)
	s.relate(i, o)
	s.observations = append(s.observations, entry{Observation: o, at: s.lengthTokens + s.clearedTokens, original: none, heldBy: none})
	s.index[o.Ref] = i
	s.admitRepeat(i, o)
	s.lengthTokens += o.Tokens
	return nil
}

// relate finds out what a new observation means for earlier ones.
func (s *Scheduler) relate(i int, o Observation) {
	if before, ok := s.newest[o.Call]; ok {
		e := &s.observations[before]
		e.superseded = e.superseded || !s.pointsTo(o, before)
		if s.shownNoMore(e) && e.Content == o.Content && o.Outcome != message.OutcomeFailure {
			s.rereadTokens += o.Tokens
		}
	}
	s.newest[o.Call] = i
	before, ok := s.newestSame[o.Content]
	if ok && !s.pointsTo(o, before) {
		s.observations[before].superseded = true
	}
	if o.SameAs == nil {
		s.newestSame[o.Content] = i
	}
	switch o.Outcome {
	case message.OutcomeFailure:
		s.failures[o.Call] = append(s.failures[o.Call], i)
		return
	case message.OutcomeSuccess:
		for _, f := range s.failures[o.Call] {
			s.resolve(f)
		}
		delete(s.failures, o.Call)
	}
	if o.Path == "" {
		return
	}
	switch o.Effect {
	case EffectRead:
		s.reads[o.Path] = append(s.reads[o.Path], i)
	case EffectWrite:
		for _, r := range s.reads[o.Path] {
			s.visited++
			s.observations[r].superseded = true
		}
		delete(s.reads, o.Path)
	}
}

// shownNoMore reports whether the content of an observation was cleared: its
// own, or that of the one it points to.
func (s *Scheduler) shownNoMore(e *entry) bool {
	return e.cleared || e.original != none && s.observations[e.original].cleared
}

// resolve takes note that a failed call has succeeded since.
func (s *Scheduler) resolve(i int) {
	e := &s.observations[i]
	e.resolved = true
	s.visited++
	if i < s.aged && e.clearable() {
		s.insert(i)
	}
}

// Sent says that the request of the last Decide went out and was answered.
// What was decided for it counts as done. Call it before the answer is taken
// in with Extend.
func (s *Scheduler) Sent() {
	n := &s.next
	tokens := n.frontTokens + n.lengthTokens
	appendOnly := tokens + s.clearedTokens
	r, a := ratesAt(s.prices, tokens), ratesAt(s.prices, appendOnly)
	if r.known && a.known {
		s.spent.USD += r.cost(tokens, n.cachedTokens)
		s.spent.AppendOnlyUSD += a.cost(appendOnly, n.appendCachedTokens)
		s.spent.Requests++
		s.rateSum += r.read
	}
	s.requests++
	s.cache = cacheState{
		warm: true, frontTokens: n.frontTokens, tokens: n.lengthTokens, appendTokens: n.lengthTokens + s.clearedTokens,
		observations: n.observations,
	}
}

// CacheBroken says that the next request will find nothing in the provider's
// cache: another model, other tools or instructions, a view that was changed
// by somebody else.
func (s *Scheduler) CacheBroken() { s.cache.lose(ReasonBroken) }

func (c *cacheState) lose(why Reason) { c.warm, c.lost = false, why }

// Spent returns what the requests have cost so far, and what they would have
// cost without any clearing.
func (s *Scheduler) Spent() Spending { return s.spent }

// RereadTokens is what tools read again, unchanged, after it had been cleared;
// it is halved with each clearing. Clearing must earn it first.
func (s *Scheduler) RereadTokens() int { return s.rereadTokens }

// Visited is how many items the scheduler has looked at since it was made: a
// deterministic measure of its work.
func (s *Scheduler) Visited() int { return s.visited }

// ConversationTokens is what the conversation weighs in the view, without the
// front.
func (s *Scheduler) ConversationTokens() int { return s.lengthTokens }

// Cleared reports whether the result at ref is cleared.
func (s *Scheduler) Cleared(ref transcript.Ref) bool {
	i, ok := s.index[ref]
	return ok && s.observations[i].cleared
}
