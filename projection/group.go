package projection

import "slices"

// MaxGroups is how many places the scheduler can cut at. Older places are
// merged, so that a decision looks at a bounded number of them however long
// the conversation is.
const MaxGroups = 64

// A group is a run of observations that can be cleared and are cleared
// together, with everything that follows them. Its members are not in order.
type group struct {
	first, last  int     // indexes of the first and the last member
	prefixTokens int     // conversation tokens before the first member
	savedTokens  int     // sum over the members
	born         float64 // sum over the members of saved tokens × rateSum at birth
	members      []int
}

// insert makes observation i clearable.
func (s *Scheduler) insert(i int) {
	e := &s.observations[i]
	s.visited++
	e.born = s.rateSum
	saved := e.savedTokens()
	g := s.groupBefore(i)
	switch {
	case g >= 0 && (i < s.groups[g].last || i < s.frontier):
		// Inside the reach of a group it only adds to what that one saves.
		s.groups[g].add(i, saved, e.born)
	case i < s.frontier:
		// Something behind it is cleared already and nothing in front of it
		// can be: it would need a prefix that nobody keeps, and waits for a
		// clearing of everything.
		s.late = append(s.late, i)
		return
	default:
		s.addGroup(newGroup(i, e.at-s.clearedTokens, saved, e.born))
	}
	e.grouped = true
}

func newGroup(i, prefixTokens, saved int, born float64) group {
	return group{first: i, last: i, prefixTokens: prefixTokens, savedTokens: saved, born: times(float64(saved), born), members: []int{i}}
}

func (g *group) add(i, saved int, born float64) {
	g.last = max(g.last, i)
	g.members = append(g.members, i)
	g.savedTokens += saved
	g.born += times(float64(saved), born)
}

// groupBefore returns the last group whose first member comes before i, -1
// for none.
func (s *Scheduler) groupBefore(i int) int {
	at, _ := slices.BinarySearchFunc(s.groups, i, func(g group, i int) int { return g.first - i })
	return at - 1
}

// addGroup puts a group in its place and keeps the number bounded.
func (s *Scheduler) addGroup(g group) {
	at := s.groupBefore(g.first) + 1
	s.groups = slices.Insert(s.groups, at, g)
	if len(s.groups) <= MaxGroups {
		return
	}
	s.mergeClosest()
}

// mergeClosest merges the two neighbours between which a cut matters least:
// those that are closest together, measured by what follows them.
func (s *Scheduler) mergeClosest() {
	best, least := 0, 2.0
	for i := range len(s.groups) - 1 {
		s.visited++
		a, b := s.groups[i].prefixTokens, s.groups[i+1].prefixTokens
		apart := float64(b-a) / float64(max(1, s.lengthTokens-a))
		if apart < least {
			best, least = i, apart
		}
	}
	a, b := &s.groups[best], s.groups[best+1]
	a.savedTokens += b.savedTokens
	a.born += b.born
	a.last = b.last
	if len(a.members) < len(b.members) {
		a.members, b.members = b.members, a.members
	}
	a.members = append(a.members, b.members...)
	s.groups = slices.Delete(s.groups, best+1, best+2)
}

// rebuild makes the groups again from the observations. It costs their
// number, and is needed only after a clearing out of the usual order.
func (s *Scheduler) rebuild() {
	s.groups, s.late = s.groups[:0], s.late[:0]
	frontier, cleared := s.frontier, s.clearedTokens
	s.clearedTokens = 0 // tokens cleared before the observation at hand
	for i := range s.aged {
		e := &s.observations[i]
		s.visited++
		switch {
		case e.cleared:
			s.clearedTokens += e.clearedTokens
		case e.clearable():
			e.grouped = true
			s.addGroup(newGroup(i, e.at-s.clearedTokens, e.savedTokens(), e.born))
		}
	}
	s.frontier, s.clearedTokens = frontier, cleared
}
