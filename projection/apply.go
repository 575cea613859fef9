package projection

import (
	"fmt"
	"slices"

	"github.com/forge-agent/forge/transcript"
)

// Apply takes note that the view shows stand-ins for these tool results: what
// a Decision names, or what a record of an earlier run names. It refuses, and
// changes nothing for, a result that it does not know or that is cleared.
func (s *Scheduler) Apply(clear []transcript.Ref) error {
	if len(clear) == 0 {
		return nil
	}
	seen := make(map[int]bool, len(clear))
	first := len(s.observations)
	for _, ref := range clear {
		i, ok := s.index[ref]
		switch {
		case !ok:
			return fmt.Errorf("%w: clear tool result %s: it was not admitted", ErrInvalid, Reference(ref))
		case s.observations[i].cleared || seen[i]:
			return fmt.Errorf("%w: clear tool result %s: it is cleared", ErrInvalid, Reference(ref))
		}
		seen[i] = true
		first = min(first, i)
	}
	from := s.suffix(first, seen)
	prefix := 0
	if from >= 0 {
		prefix = s.groups[from].prefixTokens
	} else {
		prefix = s.prefixOf(first)
	}
	for _, ref := range clear {
		s.clear(s.index[ref])
	}
	if from >= 0 {
		s.groups = s.groups[:from]
	} else {
		s.rebuild()
	}
	s.cache.tokens = min(s.cache.tokens, prefix)
	s.next.cachedTokens = min(s.next.cachedTokens, s.next.frontTokens+prefix)
	s.rereadTokens /= 2
	return nil
}

// suffix returns the group from which on the observations are exactly those
// that are grouped, -1 when that is not how the groups are.
func (s *Scheduler) suffix(first int, clear map[int]bool) int {
	for i := range clear {
		if !s.observations[i].grouped {
			return -1
		}
	}
	count := len(clear)
	for g := len(s.groups) - 1; g >= 0 && count > 0; g-- {
		s.visited++
		count -= len(s.groups[g].members)
		if s.groups[g].first == first && count == 0 {
			return g
		}
	}
	return -1
}

// prefixOf returns the conversation tokens before observation i.
func (s *Scheduler) prefixOf(i int) int {
	prefix := s.observations[i].at
	for j := range i {
		s.visited++
		prefix -= s.observations[j].clearedTokens
	}
	return prefix
}

func (s *Scheduler) clear(i int) {
	e := &s.observations[i]
	s.visited++
	e.cleared, e.grouped, e.clearedTokens = true, false, e.savedTokens()
	s.clearedTokens += e.clearedTokens
	s.lengthTokens -= e.clearedTokens
	s.next.lengthTokens -= e.clearedTokens
	s.frontier = max(s.frontier, i+1)
}

// Compacted says that the view was compacted: the conversation begins at
// message from now and weighs tokens. What stands before it, checkpoint
// included, is part of the front, which weighs frontTokens now. Observations
// before it are forgotten, and the request finds nothing of it in the cache.
func (s *Scheduler) Compacted(from, tokens, frontTokens int) {
	gone := 0
	for gone < len(s.observations) && s.observations[gone].Ref.Message < from {
		gone++
	}
	shift := s.lengthTokens - max(0, tokens)
	cleared := 0
	for i := range s.observations {
		e := &s.observations[i]
		s.visited++
		if i < gone {
			delete(s.index, e.Ref)
		}
		at := e.at - cleared - shift
		cleared += e.clearedTokens
		e.at, e.clearedTokens = at, 0
	}
	s.forget(gone)
	s.lengthTokens, s.clearedTokens = max(0, tokens), 0
	s.cache.observations = max(0, s.cache.observations-gone)
	s.aged, s.frontier = max(0, s.aged-gone), max(0, s.frontier-gone)
	s.CacheBroken()
	// The request that is being prepared is another one now.
	s.next = request{frontTokens: max(0, frontTokens), lengthTokens: s.lengthTokens, observations: max(0, s.next.observations-gone), free: ReasonBroken}
	s.rebuild()
}

// forget drops the first observations from every list that names them.
func (s *Scheduler) forget(gone int) {
	s.observations = slices.Clone(s.observations[gone:])
	for i := range s.observations {
		e := &s.observations[i]
		s.index[e.Ref] = i
		e.original, e.heldBy = max(none, e.original-gone), max(none, e.heldBy-gone)
	}
	for h, i := range s.newest {
		if i < gone {
			delete(s.newest, h)
		} else {
			s.newest[h] = i - gone
		}
	}
	for h, i := range s.newestSame {
		if i < gone {
			delete(s.newestSame, h)
		} else {
			s.newestSame[h] = i - gone
		}
	}
	for h, list := range s.failures {
		s.failures[h] = shifted(list, gone)
	}
	for p, list := range s.reads {
		s.reads[p] = shifted(list, gone)
	}
}

func shifted(list []int, gone int) []int {
	var out []int
	for _, i := range list {
		if i >= gone {
			out = append(out, i-gone)
		}
	}
	return out
}
