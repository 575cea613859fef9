package projection

import (
	"github.com/forge-agent/forge/message"
)

// class says how much is lost with an observation. The budget takes the lower
// classes first.
type class int

const (
	// stale: read again since, the same as a later one, or a file that was
	// changed since.
	stale class = iota
	// passing: the output of a command that succeeded.
	passing
	// plain: anything else.
	plain
	// standing: an error that still stands.
	standing

	classCount
)

// worth is what an observation of a class is worth to the model, in what it
// costs to read it again. These are judgements. Behind a broken cache keeping
// anything costs 1, so what is worth less goes along, and what is worth more
// stays unless it is needed.
func (c class) worth() float64 {
	return [classCount]float64{0, 0.5, 1.5, 5}[c]
}

func (e *entry) class() class {
	switch {
	case e.unresolved():
		return standing
	case e.superseded:
		return stale
	case e.Effect == EffectRun && e.Outcome == message.OutcomeSuccess:
		return passing
	}
	return plain
}

// leastShare: a conversation at its budget grows on, and clearing a little
// with every request would break the cache each time. So a relief takes a tenth
// of the request at least where it can.
const leastShare = 10

// Relieve says what to clear so that the request loses needTokens, with
// the least loss: what this request costs more, and what the model may have to
// fetch again. It takes a class as a whole, from some place on, since after
// the first changed byte the rest costs nothing more. When all that can be
// cleared is not enough it names all of that, and the reason is
// ReasonNotEnough.
//
// It is the first step of the order of relief; Decide need not come before it.
// It costs the number of observations that are not cleared.
func (s *Scheduler) Relieve(q Query, needTokens int) Decision {
	s.begin(q)
	d := s.decision()
	if needTokens <= 0 {
		d.Reason = ReasonSufficient
		return d
	}
	if s.next.free != "" {
		if free := s.everything(d); free.SavedTokens() >= needTokens {
			return free
		}
	}
	candidates := s.candidates()
	r := s.batch(d, candidates, needTokens)
	for _, c := range candidates[r.from:] {
		if c.class <= r.class {
			d.Clear = append(d.Clear, s.observations[c.index].Ref)
		}
	}
	d.Reason = ReasonBudget
	switch {
	case len(d.Clear) == 0:
		d.Reason = ReasonNothing
		return d
	case r.savedTokens < needTokens:
		d.Reason = ReasonNotEnough
	}
	return s.priced(d, r.savedTokens, s.next.frontTokens+candidates[r.from].prefixTokens)
}

// batch chooses what a relief takes: the cheapest class that is enough, and
// then all of it. The cache breaks for what follows the first change, so the
// less stays behind it the less is read again, now and with the next relief.
func (s *Scheduler) batch(d Decision, cs []candidate, need int) relief {
	r, reached := s.cheapest(d, cs, max(need, d.TokensBefore/leastShare))
	if !reached {
		r, _ = s.cheapest(d, cs, need)
		return r
	}
	all := relief{from: -1, class: r.class}
	for i, c := range cs {
		if c.class > r.class {
			continue
		}
		if all.from < 0 {
			all.from = i
		}
		all.savedTokens += c.savedTokens
	}
	// What stands before the cheapest cut costs its own part of the cache.
	if before := all.savedTokens - r.savedTokens; before > d.TokensBefore/leastShare {
		return all
	}
	return r
}

// candidate is an observation that the budget may take.
type candidate struct {
	index        int
	class        class
	prefixTokens int
	savedTokens  int
}

// candidates returns what may be cleared, in order.
func (s *Scheduler) candidates() []candidate {
	var out []candidate
	cleared := 0
	for i := range min(len(s.observations)-s.keep, s.cache.observations) {
		e := &s.observations[i]
		s.visited++
		if e.cleared {
			cleared += e.clearedTokens
			continue
		}
		if saved := e.savedTokens(); saved >= minSavedTokens && e.heldBy == none {
			out = append(out, candidate{index: i, class: e.class(), prefixTokens: e.at - cleared, savedTokens: saved})
		}
	}
	return out
}

// relief is a clearing of every candidate up to a class, from one on.
type relief struct {
	from        int
	class       class
	savedTokens int
	lossUSD     float64
}

// cheapest finds the relief that reaches the need with the least loss, or the
// one that saves most when none does, and whether it reaches it.
func (s *Scheduler) cheapest(d Decision, cs []candidate, need int) (best relief, found bool) {
	var most relief
	for k := range classCount {
		saved, worth := 0, 0.0
		for i := len(cs) - 1; i >= 0; i-- {
			c := cs[i]
			if c.class > k {
				continue
			}
			saved += c.savedTokens
			worth += times(c.class.worth(), float64(c.savedTokens))
			if saved > most.savedTokens {
				most = relief{from: i, class: k, savedTokens: saved}
			}
			if saved < need {
				continue
			}
			loss := s.loss(d, saved, worth, c.prefixTokens)
			if !found || loss < best.lossUSD {
				best, found = relief{from: i, class: k, savedTokens: saved, lossUSD: loss}, true
			}
		}
	}
	if !found {
		return most, false
	}
	return best, true
}

// loss is what a relief costs in this request and in what the model loses. Where prices are unknown, prices of an ordinary shape stand
// in: only the order of the losses matters.
func (s *Scheduler) loss(d Decision, saved int, worthTokens float64, prefixTokens int) float64 {
	prefix := s.next.frontTokens + prefixTokens
	if d.PricesKnown {
		write := ratesAt(s.prices, d.TokensBefore).write
		return s.cut(saved, prefix, d).extraUSD + times(worthTokens, write)
	}
	r := rates{read: 0.1e-6, write: 1.25e-6}
	return r.cost(d.TokensBefore-saved, min(s.next.cachedTokens, prefix)) + times(worthTokens, r.write)
}
