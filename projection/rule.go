package projection

// The rule's numbers were searched on recorded sessions, on variants of them
// and on joins of them; see docs/measured.md, "Projection".
const (
	// DefaultMostOverspend is the default of Options.MostOverspend.
	DefaultMostOverspend = 0.15
	// breakWeight is how often what was missed must have paid for the newest
	// results that a clearing makes the provider write anew. They are paid
	// with every clearing, so fewer clearings are cheaper: where output comes
	// in evenly, the cheapest moment is when what was missed since the last
	// one equals that price.
	breakWeight = 1.33
	// onceWeight is the same for what stands between the first change and
	// those results. It is written anew once, whenever the clearing comes, and
	// waiting only adds to it. So it counts less.
	onceWeight = 0.5
	// lookAhead is how much of what has passed is expected to come.
	lookAhead = 0.17
	// What is expected may pay for a broken cache as a whole in the first
	// hopeRequests, and after that for less and less of it. A conversation
	// that lasts gets more to clear, and one large clearing costs less than
	// two small ones.
	hopeRequests = 40
	// A clearing may put the total above the tolerated overspend only when it
	// is back below in recoverRequests.
	tolerated       = 0.016
	recoverRequests = 11
	// A clearing that overspends must pay back in paybackShare of the requests
	// that have passed since the first warmUpRequests, and for a start in
	// quickRequests: most conversations that have lasted go on for a while,
	// and of a young one nobody knows.
	warmUpRequests = 13
	paybackShare   = 0.54
	quickRequests  = 2
	// stepRequests is for how many requests at least a conversation that
	// reaches a price step is expected to stay above it.
	stepRequests = 5
)

// bestCut looks for the group from which on clearing is worth most. It visits
// each group once.
func (s *Scheduler) bestCut(d Decision) (cut, Reason) {
	now := s.rateSum + ratesAt(s.prices, d.TokensBefore).read
	penalty := times(ratesAt(s.prices, d.TokensBefore).write, float64(s.rereadTokens))
	best, bestValue, reason := cut{group: -1}, 0.0, ReasonNotYet
	saved, missed, least := 0, 0.0, 0.0
	for i := len(s.groups) - 1; i >= 0; i-- {
		g := &s.groups[i]
		s.visited++
		saved += g.savedTokens
		missed += times(float64(g.savedTokens), now) - g.born
		c := s.cut(saved, s.next.frontTokens+g.prefixTokens, d)
		c.group = i
		extra := max(0, c.extraUSD)
		if i == len(s.groups)-1 {
			least = extra // what the newest results cost, from wherever is cut
		}
		value := missed + min(s.expected(c, d), times(s.hope(), extra)) - penalty - toEarn(extra, least)
		if value <= bestValue {
			continue
		}
		if s.overspends(c, d) {
			if best.group < 0 {
				reason = ReasonOverspend
			}
			continue
		}
		best, bestValue, reason = c, value, ReasonPaysBack
		if c.stepUSD > 0 {
			reason = ReasonPriceStep
		}
	}
	return best, reason
}

// toEarn is what must have been missed before a clearing that costs extra,
// when the smallest one costs least.
func toEarn(extra, least float64) float64 {
	return times(breakWeight, min(extra, least)) + times(onceWeight, max(0, extra-least))
}

// expected is what a cut will save in the requests that can be expected after
// this one. A price step counts only until the conversation has grown up to it
// again.
func (s *Scheduler) expected(c cut, d Decision) float64 {
	ahead := times(lookAhead, float64(s.requests))
	e := times(ahead, c.perRequestUSD-c.stepUSD)
	if c.stepUSD > 0 {
		growth := max(1, s.lengthTokens/(s.requests+1))
		room := 0
		for _, t := range s.prices.Tiers {
			if after := d.TokensBefore - c.savedTokens; after <= t.AboveInputTokens {
				room = t.AboveInputTokens - after
				break
			}
		}
		e += times(min(max(ahead, stepRequests), float64(room/growth)), c.stepUSD)
	}
	return e
}

// hope is the share of a broken cache that expectation may pay for.
func (s *Scheduler) hope() float64 {
	return min(1, hopeRequests/float64(s.requests+1))
}

// overspends reports whether a cut would put the total too far above that of a
// conversation that is never cleared.
func (s *Scheduler) overspends(c cut, d Decision) bool {
	tokens := d.TokensBefore + s.clearedTokens
	step := ratesAt(s.prices, tokens).cost(tokens, s.next.appendCachedTokens)
	appendOnly := s.spent.AppendOnlyUSD + step
	total := s.spent.USD + d.KeepUSD + c.extraUSD
	if total <= appendOnly {
		return false
	}
	if total > times(1+s.mostOverspend, appendOnly) {
		return true
	}
	if c.extraUSD > times(c.perRequestUSD, max(quickRequests, times(paybackShare, float64(s.requests-warmUpRequests)))) {
		return true
	}
	over := total - times(1+tolerated, appendOnly)
	return over > times(recoverRequests, c.perRequestUSD+times(tolerated, step))
}
