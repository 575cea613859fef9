package projection

import "math"

// The rule's numbers were searched on recorded sessions, on variants of them,
// on joins of them and on sessions with even and with uneven output; see
// docs/measured.md, "Projection".
const (
	// DefaultMostOverspend is the default of Options.MostOverspend.
	DefaultMostOverspend = 0.3
	// newestWeight is how often what was missed must have paid for the newest
	// results that a clearing makes the provider write anew. They are paid
	// with every clearing, so fewer clearings are cheaper.
	newestWeight = 0.54
	// olderWeight is the same for what stands between the first change and
	// those results. It is written anew once, whenever the clearing comes, but
	// it has to come back in what is left of the conversation.
	olderWeight = 0.68
	// lookAhead is how much of what has passed is expected to come.
	lookAhead = 0.18
	// What is expected may pay for a broken cache as a whole in the first
	// hopeRequests, and after that for less and less of it. A conversation
	// that lasts gets more to clear, and one large clearing costs less than
	// two small ones.
	hopeRequests = 4.6
	// No clearing may take longer than mostPaybackRequests to pay back, and one
	// that overspends no longer than paybackRequests.
	mostPaybackRequests = 100
	paybackRequests     = 39.6
	// It may leave the total above that of never clearing by
	// toleratedPerRequest for each request after the first youngRequests, and
	// by what comes back in recoverRequests: of a young conversation nobody
	// knows whether it lasts, and an old one has much to save.
	toleratedPerRequest = 0.0044
	youngRequests       = 29.1
	recoverRequests     = 3.94
	// stepRequests is for how many requests at least a conversation that
	// reaches a price step is expected to stay above it.
	stepRequests = 5
)

// bestCut looks for the group from which on clearing is worth most. It visits
// each group once.
func (s *Scheduler) bestCut(d Decision) (cut, Reason) {
	now := s.rateSum + ratesAt(s.prices, d.TokensBefore).read
	penalty := times(ratesAt(s.prices, d.TokensBefore).write, float64(s.rereadTokens))
	s.decisions++
	s.behindTokens += s.behind()
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
		value := missed + s.expected(c, extra) + s.stepValue(c, d) - penalty - s.toEarn(extra, least)
		if value <= bestValue {
			continue
		}
		if c.extraUSD > times(c.perRequestUSD, mostPaybackRequests) || s.overspends(c, d) {
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

// behind is what stands behind everything that may be cleared.
func (s *Scheduler) behind() int {
	if s.aged >= len(s.observations) {
		return s.lengthTokens
	}
	return s.lengthTokens - (s.observations[s.aged].at - s.clearedTokens)
}

// toEarn is what must have been missed before a clearing that costs extra,
// when the smallest one costs least.
func (s *Scheduler) toEarn(extra, least float64) float64 {
	usual := float64(s.behindTokens) / float64(s.decisions)
	// The fourth root of how much stands there now, beside what usually does: a
	// clearing waits for a moment at which it breaks little.
	moment := math.Sqrt(math.Sqrt(max(0.1, min(10, float64(s.behind())/max(1, usual)))))
	return times(times(newestWeight, moment), min(extra, least)) + times(olderWeight, max(0, extra-least))
}

// expected is what a cut will save in the requests that can be expected after
// this one, price steps aside. It may pay for a share of the broken cache only.
func (s *Scheduler) expected(c cut, extra float64) float64 {
	saves := times(times(lookAhead, float64(s.requests)), c.perRequestUSD-c.stepUSD)
	return min(saves, times(min(1, hopeRequests/float64(s.requests+1)), extra))
}

// stepValue is what a cut saves by staying below a price step, until the
// conversation has grown up to it again.
func (s *Scheduler) stepValue(c cut, d Decision) float64 {
	if c.stepUSD <= 0 {
		return 0
	}
	growth := max(1, s.lengthTokens/(s.requests+1))
	room := 0
	for _, t := range s.prices.Tiers {
		if after := d.TokensBefore - c.savedTokens; after <= t.AboveInputTokens {
			room = t.AboveInputTokens - after
			break
		}
	}
	return times(min(max(times(lookAhead, float64(s.requests)), stepRequests), float64(room/growth)), c.stepUSD)
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
	if c.extraUSD > times(c.perRequestUSD, paybackRequests) {
		return true
	}
	tolerated := times(toleratedPerRequest, max(0, float64(s.requests)-youngRequests))
	over := total - times(1+tolerated, appendOnly)
	return over > times(recoverRequests, c.perRequestUSD+times(tolerated, step))
}
