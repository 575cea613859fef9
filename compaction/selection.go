package compaction

import (
	"cmp"
	"slices"
)

// Shares of the target, in percent. What one does not use, the next may.
const (
	pinShare     = 35
	ledgerShare  = 20
	fullLedger   = 12 // when the pins need more than their share
	tightLedger  = 5  // when the pins alone would fill four fifths
	requestBonus = 30
	priorWeight  = 2000
	coverFactor  = 12 // candidates for the cover, in multiples of the room
	coverFloor   = -24
	recentLift   = 24
	worthBytes   = 400
	demotedScore = 56
	messageShare = 5 // of the target, in percent, for one message
	shareLoss    = 12
	maxShareLoss = 30
	lineBytes    = 12
	standBase    = 5
	standShare   = 50
)

// selection is the state of one plan.
type selection struct {
	in    Input
	room  int // tokens left
	total int // tokens for all lines
	units []*unit
	next  []int   // the unit that replaces it, or -1
	lift  []int64 // score with the request's bonus
	costs []int
	state []unitState
	pins  []int // unit indexes, best first
	// demoted pins are routine: they compete with the user's other words.
	demoted []bool
	queue   int // pins looked at
	found   int

	ledgers  map[string][]ledgerLine
	shown    map[string]int // lines taken of each ledger
	spent    map[string]bool
	order    []chosen
	cover    int // percent
	userSeen int
	request  []term
	folded   []byte
	terms    []term
}

type unitState uint8

const (
	unitOpen unitState = iota
	unitPinned
	unitShown
)

// chosen is one line taken, so that it can be given back.
type chosen struct {
	unit   int // -1 for a ledger line
	ledger string
}

func newSelection(in Input) *selection {
	s := &selection{in: in, shown: map[string]int{}, spent: map[string]bool{}, cover: 100}
	s.folded = appendFolded(nil, in.Request)
	s.request = terms(nil, s.folded)
	latest := map[uint64]int{}
	all := in.Index.units
	end := len(all)
	for end > 0 && int(all[end-1].message) >= in.Through {
		end--
	}
	for i := range all[:end] {
		latest[all[i].key] = i
	}
	for i := range all[:end] {
		u := &all[i]
		if latest[u.key] == i && u.kind != KindAuthority && quotable(u.text) {
			s.units = append(s.units, u)
		}
	}
	s.lift, s.costs, s.state = make([]int64, len(s.units)), make([]int, len(s.units)), make([]unitState, len(s.units))
	s.next, s.demoted = make([]int, len(s.units)), make([]bool, len(s.units))
	var pinned []*unit
	recent := s.recentFrom(2)
	times := countShapes(s.units)
	for i, u := range s.units {
		s.next[i] = -1
		stands := int64(u.standing() - routine(times[i]))
		s.lift[i] = 100*stands + max(stands, -stands)*int64(s.bonus(u))
		if u.message >= recent && u.kind == KindOther {
			s.lift[i] += recentLift * 100 // what the user asked for last is what goes on
		}
		if u.kind != KindOther {
			s.pins = append(s.pins, i)
			pinned = append(pinned, u)
		}
	}
	s.found = len(s.pins)
	s.share(in.TargetTokens)
	for i, newer := range supersede(pinned) {
		if newer >= 0 {
			s.next[s.pins[i]] = s.pins[newer]
		}
	}
	s.pins = slices.DeleteFunc(s.pins, func(i int) bool {
		s.demoted[i] = s.rank(i) == 1 && s.lift[i] < demotedScore*100
		return s.demoted[i]
	})
	slices.SortStableFunc(s.pins, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.rank(b), s.rank(a)), cmp.Compare(s.worth(b), s.worth(a)), cmp.Compare(b, a))
	})
	s.ledgers = in.Index.ledgers(in.Through)
	frame := in.Counter.Text(render(in.Through, nil)) + in.Counter.Text(headingPins) + in.Counter.Text(headingUser)
	s.total = in.TargetTokens - frame
	s.room = s.total
	return s
}

// standing is how well a unit stands among the user's words: its score and
// how it leans.
func (u *unit) standing() int { return standBase + (clamp(u.score)+u.lean)*standShare/100 }

// clamp keeps one strong cue from deciding alone.
func clamp(score int) int { return max(-50, min(score, 80)) }

// routine is what a sentence loses when the user says the same with other names
// and numbers again and again: that is how work is asked for and talked about,
// while a rule is stated once or a few times. Losses begin at the third time and
// grow faster from the fifth on.
func routine(times int) int {
	switch {
	case times < 3:
		return 0
	case times < 5:
		return 6*times - 6
	}
	return min(10*times-24, 90)
}

// share takes from the units of a message that would fill much of the
// checkpoint alone: its best units stand for it.
func (s *selection) share(tokens int) {
	step := max(1, tokens*messageShare/100)
	var own []int
	for from := 0; from < len(s.units); {
		to, bytes := from, 0
		for to < len(s.units) && s.units[to].message == s.units[from].message {
			bytes += len(s.units[to].text) + lineBytes
			to++
		}
		if bytes/4 > step && to-from > 1 {
			own = own[:0]
			for i := from; i < to; i++ {
				own = append(own, i)
			}
			slices.SortStableFunc(own, func(a, b int) int { return cmp.Compare(s.lift[b], s.lift[a]) })
			bytes = 0
			for _, i := range own {
				s.lift[i] -= int64(min(bytes/4/step*shareLoss, maxShareLoss)) * 100
				bytes += len(s.units[i].text) + lineBytes
			}
		}
		from = to
	}
}

// recentFrom returns the message from which the last n messages of the user in
// the range begin.
func (s *selection) recentFrom(n int) int32 {
	last := int32(-1)
	for _, u := range slices.Backward(s.units) {
		if u.message != last && !u.system {
			last = u.message
			if n--; n == 0 {
				break
			}
		}
	}
	return last
}

// rank puts clear prohibitions above all else: they are left out last. What a
// newer statement replaced ranks below everything that is live.
func (s *selection) rank(i int) int {
	switch u := s.units[i]; {
	case s.next[i] >= 0:
		return 0
	case u.prohibition && u.score >= pinScore+24:
		return 2
	}
	return 1
}

// worth is the lift of a unit for the room that its line takes: of two equally
// likely rules the shorter one goes first. The line's frame counts, so that a
// fragment wins nothing by being one.
func (s *selection) worth(i int) int64 {
	return s.lift[i] * worthBytes / int64(worthBytes+len(s.units[i].text))
}

// bonus is how much of a unit's words the current request shares, in percent
// of requestBonus.
func (s *selection) bonus(u *unit) int {
	if len(s.request) == 0 {
		return 0
	}
	s.folded = appendFolded(s.folded[:0], u.text)
	s.terms = terms(s.terms[:0], s.folded)
	if len(s.terms) == 0 {
		return 0
	}
	shared := 0
	for _, t := range s.terms {
		if contains(s.request, t.hash) {
			shared++
		}
	}
	return requestBonus * shared / len(s.terms)
}

// cost is the weight of a unit's line.
func (s *selection) cost(i int) int {
	if s.costs[i] == 0 {
		s.costs[i] = s.in.Counter.Text(s.line(i).String())
	}
	return s.costs[i]
}

func (s *selection) line(i int) shownLine {
	newer := int32(-1)
	if n := s.next[i]; n >= 0 {
		newer = s.units[n].message
	}
	return unitLine(s.units[i], i, newer, s.state[i] != unitShown && (s.demoted[i] || s.units[i].kind != KindOther))
}

// choosePins takes pins, best first, until they weigh percent of all lines.
func (s *selection) choosePins(percent int) {
	limit := s.total * percent / 100
	used := s.total - s.room
	if percent == 100 {
		used, limit = 0, s.room
	}
	for ; s.queue < len(s.pins); s.queue++ {
		i := s.pins[s.queue]
		if used+s.cost(i) > limit {
			if percent < 100 || limit-used < 12 {
				return
			}
			continue // a shorter one may still fit
		}
		used += s.costs[i]
		s.take(i, unitPinned)
	}
}

func (s *selection) take(i int, state unitState) {
	s.room -= s.cost(i)
	s.state[i] = state
	s.order = append(s.order, chosen{unit: i})
}
