package projection

import (
	"slices"
	"time"

	"github.com/forge-agent/forge/transcript"
)

// Reason says why a decision was taken. It is what a ledger line carries.
type Reason string

// The reasons. Those for clearing come first.
const (
	ReasonPaysBack   Reason = "old tool output cleared: keeping it has cost more than the cache that breaks"
	ReasonCold       Reason = "old tool output cleared: the cache has expired, so it costs nothing"
	ReasonBroken     Reason = "old tool output cleared: the cache is broken anyway, so it costs nothing"
	ReasonPriceStep  Reason = "old tool output cleared: the request stays below a price step"
	ReasonBudget     Reason = "old tool output cleared: the budget needs the room"
	ReasonNothing    Reason = "nothing to clear"
	ReasonNotYet     Reason = "nothing cleared: keeping it has not cost enough yet"
	ReasonOverspend  Reason = "nothing cleared: it would take too long to pay back"
	ReasonNoPrices   Reason = "nothing cleared: the prices are unknown"
	ReasonNotEnough  Reason = "old tool output cleared: all there is, less than the budget needs"
	ReasonSufficient Reason = "nothing cleared: the budget needs no room"
)

// A Query says what the next request will be like.
type Query struct {
	// FrontTokens is what stands before the conversation: instructions, tools,
	// memory. A change of it breaks the cache.
	FrontTokens int
	// Idle is the time since the last request.
	Idle time.Duration
}

// A Decision says what to clear before the next request, and what that means
// in tokens and money. The zero Decision clears nothing.
type Decision struct {
	// Clear names the tool results that get their stand-ins, in transcript
	// order; empty for none.
	Clear []transcript.Ref
	// Reason says why.
	Reason Reason
	// TokensBefore and TokensAfter are the weight of the request as it is and
	// after the clearing.
	TokensBefore, TokensAfter int
	// PricesKnown says whether the fields below say anything.
	PricesKnown bool
	// KeepUSD and ClearUSD are what the input of this request costs without
	// and with the clearing.
	KeepUSD, ClearUSD float64
	// SavedUSDPerRequest is what each later request costs less.
	SavedUSDPerRequest float64
}

// SavedTokens is what the clearing takes off the request.
func (d Decision) SavedTokens() int { return d.TokensBefore - d.TokensAfter }

// LossUSD is what this request costs more because of the clearing; negative
// when it costs less.
func (d Decision) LossUSD() float64 { return d.ClearUSD - d.KeepUSD }

// PaybackRequests is after how many further requests the clearing has paid for
// itself; zero when it costs nothing.
func (d Decision) PaybackRequests() float64 {
	if d.LossUSD() <= 0 || d.SavedUSDPerRequest <= 0 {
		return 0
	}
	return d.LossUSD() / d.SavedUSDPerRequest
}

// request is the one that is being prepared.
type request struct {
	frontTokens        int
	lengthTokens       int // conversation, shrinking with what is cleared
	cachedTokens       int // of the request, read from the cache
	appendCachedTokens int
	observations       int
	free               Reason // why clearing is free; empty when it is not
}

// begin takes note of the request to come.
func (s *Scheduler) begin(q Query) {
	switch {
	case q.FrontTokens != s.cache.frontTokens:
		s.CacheBroken()
	case s.cache.warm && q.Idle > s.ttl:
		s.cache.lose(ReasonCold)
	}
	s.next = request{
		frontTokens: max(0, q.FrontTokens), lengthTokens: s.lengthTokens, observations: len(s.observations), free: s.cache.lost,
	}
	if s.cache.warm {
		s.next.cachedTokens = s.next.frontTokens + s.cache.tokens
		s.next.appendCachedTokens = s.next.frontTokens + s.cache.appendTokens
	}
	for limit := min(len(s.observations)-s.keep, s.cache.observations); s.aged < limit; s.aged++ {
		s.visited++
		if s.observations[s.aged].clearable() {
			s.insert(s.aged)
		}
		s.release(s.aged)
	}
}

// Decide says what to clear before the next request for the sake of its price.
// It changes nothing in the view: Apply does, once the view has followed.
func (s *Scheduler) Decide(q Query) Decision {
	s.begin(q)
	d := s.decision()
	if len(s.groups) == 0 && (s.next.free == "" || len(s.late) == 0) {
		d.Reason = ReasonNothing
		return d
	}
	if s.next.free != "" {
		return s.everything(d)
	}
	if !d.PricesKnown {
		d.Reason = ReasonNoPrices
		return d
	}
	best, reason := s.bestCut(d)
	d.Reason = reason
	if best.group < 0 {
		return d
	}
	d.TokensAfter -= best.savedTokens
	d.ClearUSD = d.KeepUSD + best.extraUSD
	d.SavedUSDPerRequest = best.perRequestUSD
	for _, g := range s.groups[best.group:] {
		d.Clear = s.appendRefs(d.Clear, g.members)
	}
	sortRefs(d.Clear)
	return d
}

// decision is the one to clear nothing.
func (s *Scheduler) decision() Decision {
	tokens := s.next.frontTokens + s.next.lengthTokens
	d := Decision{TokensBefore: tokens, TokensAfter: tokens}
	if r := ratesAt(s.prices, tokens); r.known {
		d.PricesKnown = true
		d.KeepUSD = r.cost(tokens, s.next.cachedTokens)
		d.ClearUSD = d.KeepUSD
	}
	return d
}

// everything clears all that can be cleared: the request is written to the
// cache as a whole whatever is in it.
func (s *Scheduler) everything(d Decision) Decision {
	saved := 0
	for _, g := range s.groups {
		s.visited++
		d.Clear = s.appendRefs(d.Clear, g.members)
		saved += g.savedTokens
	}
	for _, i := range s.late {
		saved += s.observations[i].savedTokens()
	}
	d.Clear = s.appendRefs(d.Clear, s.late)
	sortRefs(d.Clear)
	d.Reason = s.next.free
	return s.priced(d, saved, 0)
}

// priced fills in what clearing means whose first change comes after prefix
// tokens of the request.
func (s *Scheduler) priced(d Decision, savedTokens, prefixTokens int) Decision {
	d.TokensAfter = d.TokensBefore - savedTokens
	if !d.PricesKnown {
		return d
	}
	c := s.cut(savedTokens, prefixTokens, d)
	d.ClearUSD = d.KeepUSD + c.extraUSD
	d.SavedUSDPerRequest = c.perRequestUSD
	return d
}

// A cut is a clearing of everything from one group on.
type cut struct {
	group         int
	savedTokens   int
	extraUSD      float64 // what this request costs more
	perRequestUSD float64 // what each later request costs less
	stepUSD       float64 // the part of it that comes from a price step
}

// cut prices a clearing of savedTokens whose first change comes after
// prefixTokens of the request.
func (s *Scheduler) cut(savedTokens, prefixTokens int, d Decision) cut {
	before, after := ratesAt(s.prices, d.TokensBefore), ratesAt(s.prices, d.TokensBefore-savedTokens)
	if !after.known {
		after = before
	}
	cached := min(s.next.cachedTokens, prefixTokens)
	c := cut{savedTokens: savedTokens, extraUSD: after.cost(d.TokensBefore-savedTokens, cached) - d.KeepUSD}
	c.perRequestUSD = times(after.read, float64(savedTokens))
	if before != after {
		growth := float64(s.lengthTokens) / float64(s.requests+1)
		c.stepUSD = times(before.read-after.read, float64(d.TokensBefore)) + times(before.write-after.write, growth)
		c.perRequestUSD += c.stepUSD
	}
	return c
}

func (s *Scheduler) appendRefs(dst []transcript.Ref, members []int) []transcript.Ref {
	for _, i := range members {
		s.visited++
		dst = append(dst, s.observations[i].Ref)
	}
	return dst
}

func sortRefs(refs []transcript.Ref) {
	slices.SortFunc(refs, func(a, b transcript.Ref) int {
		if a.Message != b.Message {
			return a.Message - b.Message
		}
		return a.Block - b.Block
	})
}
