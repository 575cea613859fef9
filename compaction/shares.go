package compaction

import (
	"cmp"
	"slices"
)

// chooseLedgers takes ledger lines in turns, so that each ledger has some,
// within the share of the ledgers: less of it when the pins need the room.
func (s *selection) chooseLedgers() {
	share := ledgerShare
	switch demand := s.demand(); {
	case demand > s.total*4/5:
		share = tightLedger
	case demand > s.total*pinShare/100:
		share = fullLedger
	}
	s.takeLedgers(s.total*share/100, 3)
}

// demand estimates what all that the user said would weigh, small talk aside.
func (s *selection) demand() int {
	bytes := 0
	for i, u := range s.units {
		if !u.small && u.kind != KindAuthority && s.lift[i] >= coverFloor*100 {
			bytes += len(u.text) + lineBytes
		}
	}
	return bytes / 4
}

// fillLedgers gives the ledgers what nobody else needed.
func (s *selection) fillLedgers() { s.takeLedgers(s.room, 1<<30) }

func (s *selection) takeLedgers(limit, perLedger int) {
	limit = min(limit, s.room)
	for round := 0; round < perLedger; round++ {
		progress := false
		for _, name := range ledgerOrder {
			at := s.shown[name]
			if at >= len(s.ledgers[name]) || s.spent[name] {
				continue
			}
			l := s.ledgers[name][at]
			cost := s.in.Counter.Text(ledgerShown(l).String())
			if at == 0 {
				cost += s.in.Counter.Text(ledgerHeadings[name])
			}
			if cost > limit {
				s.spent[name] = perLedger > 3
				continue
			}
			limit -= cost
			s.room -= cost
			s.shown[name]++
			s.order = append(s.order, chosen{unit: -1, ledger: name})
			progress = true
		}
		if !progress {
			return
		}
	}
}

func ledgerShown(l ledgerLine) shownLine { return shownLine{message: l.message, text: l.text} }

// chooseCover takes the user's other sentences: all while they fit, else the
// cover of them that the room allows. Small talk never comes along: a bare
// "yes" or "go on" would read as an approval of something else.
func (s *selection) chooseCover() {
	var open []int
	weight := 0
	for i, u := range s.units {
		if s.state[i] == unitOpen && (s.demoted[i] || u.kind == KindOther && !u.system) {
			if u.kind == KindOther {
				s.userSeen++
			}
			if s.lift[i] >= coverFloor*100 && !u.small {
				open = append(open, i)
				weight += len(u.text) + 12
			}
		}
	}
	if s.room < 8 || len(open) == 0 {
		if len(open) > 0 {
			s.cover = 0
		}
		return
	}
	// The best by score are enough to choose from; the rest would only be
	// looked at.
	if bytes := s.room * 4 * coverFactor; weight > bytes {
		slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(s.lift[b], s.lift[a]) })
		n := 0
		for n < len(open) && bytes > 0 {
			bytes -= len(s.units[open[n]].text) + 12
			n++
		}
		open = open[:n]
		slices.Sort(open)
	}
	candidates := make([]*candidate, 0, len(open))
	for _, i := range open {
		s.folded = appendFolded(s.folded[:0], s.units[i].text)
		candidates = append(candidates, &candidate{index: i, terms: terms(nil, s.folded), cost: s.cost(i),
			prior: max(0, s.lift[i]/100-coverFloor) * priorWeight})
	}
	c := newCover(candidates)
	taken, _, bound := c.choose(candidates, s.room)
	for _, i := range taken {
		if s.demoted[i] {
			s.take(i, unitPinned)
		} else {
			s.take(i, unitShown)
		}
	}
	if bound > 0 {
		s.cover = int(c.value * 100 / bound)
	}
}

// fillUser gives the user's remaining sentences, such as questions, what room
// is left, best first. It still leaves out small talk.
func (s *selection) fillUser() {
	if s.room < 8 {
		return
	}
	var open []int
	for i, u := range s.units {
		if s.state[i] == unitOpen && u.kind == KindOther && !u.small {
			open = append(open, i)
		}
	}
	slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(s.lift[b], s.lift[a]) })
	for _, i := range open {
		if s.room < 8 {
			return
		}
		if len(s.units[i].text) < s.room*8 && s.cost(i) <= s.room {
			s.take(i, unitShown)
		}
	}
}
