package compaction

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/forge-agent/forge/checkpoint"
)

// Extractive is the default strategy: no model call, no randomness, the same
// bytes every time (F-SUM-06). It parses first and ranks last: the user's
// statements are pinned verbatim, tool calls become ledgers, and what is left
// of the target goes to the user's other words. It renders from the transcript
// each time and never reads an earlier checkpoint, so that the fiftieth
// compaction remembers what the first did.
type Extractive struct{}

// Shares of the target, in percent. What one does not use, the next may.
const (
	pinShare        = 35
	ledgerShare     = 20
	fullLedger      = 12 // when the pins need more than their share
	tightLedger     = 8  // when the pins alone would fill four fifths
	requestBonus    = 30
	priorWeight     = 4000
	coverFactor     = 12 // candidates for the cover, in multiples of the room
	coverFloorScore = -24
	recentLift      = 24
)

// A Plan is what the extractive strategy would keep. Making it changes
// nothing.
type Plan struct {
	// Through is the number of messages summarized.
	Through int
	// RangeTokens, TargetTokens, CheckpointTokens: the weight of the range,
	// the most the text may weigh, and what it weighs.
	RangeTokens, TargetTokens, CheckpointTokens int
	// PinsFound and PinsKept count the user's statements; PinsLeftOut is the
	// difference, never silent: the weakest preferences go first,
	// prohibitions last.
	PinsFound, PinsKept, PinsLeftOut int
	// UserFound and UserKept count the user's other sentences.
	UserFound, UserKept int
	// CoverPercent is how much of the best value that any choice of the
	// user's other words could have had is certainly reached, 100 when all
	// fit.
	CoverPercent int
	// Text is the checkpoint's text; Pins and Ledgers are what it shows.
	Text    string
	Pins    []checkpoint.Pin
	Ledgers map[string][]checkpoint.Entry
}

// Compact makes the checkpoint that Plan describes.
func (e Extractive) Compact(ctx context.Context, in Input) (*checkpoint.Checkpoint, error) {
	in, err := in.resolve()
	if err != nil {
		return nil, err
	}
	p, err := e.Plan(ctx, in)
	if err != nil {
		return nil, err
	}
	c := in.record(checkpoint.MethodExtractive)
	c.Pins, c.Ledgers, c.Summary = p.Pins, p.Ledgers, p.Text
	c.EstimatedCheckpointTokens, c.TokensAfter = p.CheckpointTokens, p.CheckpointTokens
	return checkpoint.New(c, in.Now)
}

// Plan returns what Compact would keep. It returns ErrNoGain when the range
// weighs no more than its checkpoint would.
func (e Extractive) Plan(ctx context.Context, in Input) (*Plan, error) {
	in, err := in.resolve()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("plan compaction: %w", err)
	}
	in.Index.Extend(in.Transcript)
	s := newSelection(in)
	s.choosePins(pinShare)
	s.chooseLedgers()
	s.choosePins(100)
	s.chooseCover()
	s.fillLedgers()
	return s.plan()
}

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
	queue int   // pins looked at
	found int

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
	s.next = make([]int, len(s.units))
	var pinned []*unit
	recent := s.recentFrom(2)
	shapes := map[uint64]int{}
	for _, u := range s.units {
		shapes[u.shape]++
	}
	for i, u := range s.units {
		s.next[i] = -1
		s.lift[i] = int64(u.score-routine(shapes[u.shape])) * int64(100+s.bonus(u))
		if u.message >= recent && u.kind == KindOther {
			s.lift[i] += recentLift * 100 // what the user asked for last is what goes on
		}
		if u.kind != KindOther {
			s.pins = append(s.pins, i)
			pinned = append(pinned, u)
		}
	}
	s.found = len(s.pins)
	for i, newer := range supersede(pinned) {
		if newer >= 0 {
			s.next[s.pins[i]] = s.pins[newer]
		}
	}
	slices.SortStableFunc(s.pins, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.rank(b), s.rank(a)), cmp.Compare(s.lift[b], s.lift[a]), cmp.Compare(b, a))
	})
	s.ledgers = in.Index.ledgers(in.Through)
	frame := in.Counter.Text(render(in.Through, nil)) + in.Counter.Text(headingPins) + in.Counter.Text(headingUser)
	s.total = in.TargetTokens - frame
	s.room = s.total
	return s
}

// routine is what a sentence loses when the user says the same with other names
// and numbers again and again: that is how work is asked for and talked about,
// while a rule is stated once or a few times.
func routine(times int) int {
	loss := 0
	for ; times >= 4; times /= 2 {
		loss += 9
	}
	return min(loss, 36)
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
	return unitLine(s.units[i], i, newer)
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

// demand estimates what all pins would weigh.
func (s *selection) demand() int {
	bytes := 0
	for _, i := range s.pins {
		bytes += len(s.units[i].text) + 16
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
		if s.state[i] == unitOpen && u.kind == KindOther {
			s.userSeen++
			if u.score >= coverFloorScore && !u.small {
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
			prior: max(0, s.lift[i]/100-coverFloorScore) * priorWeight})
	}
	c := newCover(candidates)
	taken, _, bound := c.choose(candidates, s.room)
	for _, i := range taken {
		s.take(i, unitShown)
	}
	if bound > 0 {
		s.cover = int(c.value * 100 / bound)
	}
}

// plan renders what was chosen and gives lines back while the whole weighs
// more than its parts did.
func (s *selection) plan() (*Plan, error) {
	for {
		p := s.render()
		if p.CheckpointTokens <= s.in.TargetTokens {
			if p.CheckpointTokens >= s.in.RangeTokens {
				return nil, noGain(p.CheckpointTokens, s.in.RangeTokens)
			}
			return p, nil
		}
		if len(s.order) == 0 {
			if p.CheckpointTokens >= s.in.RangeTokens {
				return nil, noGain(p.CheckpointTokens, s.in.RangeTokens)
			}
			return nil, fmt.Errorf("plan compaction: %w: a target of %d tokens is less than the %d that the frame alone weighs",
				ErrInvalid, s.in.TargetTokens, p.CheckpointTokens)
		}
		last := s.order[len(s.order)-1]
		s.order = s.order[:len(s.order)-1]
		if last.unit >= 0 {
			s.state[last.unit] = unitOpen
		} else {
			s.shown[last.ledger]--
		}
	}
}

func (s *selection) render() *Plan {
	p := &Plan{Through: s.in.Through, RangeTokens: s.in.RangeTokens, TargetTokens: s.in.TargetTokens,
		PinsFound: s.found, UserFound: s.userSeen, CoverPercent: s.cover}
	pins, user := section{heading: headingPins}, section{heading: headingUser}
	for i, u := range s.units {
		switch s.state[i] {
		case unitPinned:
			pins.lines = append(pins.lines, s.line(i))
			p.Pins = append(p.Pins, s.pin(i, u))
		case unitShown:
			user.lines = append(user.lines, s.line(i))
		}
	}
	p.PinsKept, p.UserKept = len(pins.lines), len(user.lines)
	p.PinsLeftOut = p.PinsFound - p.PinsKept
	sections := []section{pins, user}
	for _, name := range ledgerOrder {
		l := section{heading: ledgerHeadings[name]}
		for _, line := range s.ledgers[name][:s.shown[name]] {
			if p.Ledgers == nil {
				p.Ledgers = map[string][]checkpoint.Entry{}
			}
			p.Ledgers[name] = append(p.Ledgers[name], checkpoint.Entry{Text: line.text, MessageID: s.in.Transcript.At(int(line.message)).ID})
			l.lines = append(l.lines, ledgerShown(line))
		}
		sections = append(sections, l)
	}
	p.Text = render(s.in.Through, sections)
	p.CheckpointTokens = s.in.Counter.Text(p.Text)
	return p
}

func (s *selection) pin(i int, u *unit) checkpoint.Pin {
	pin := checkpoint.Pin{Text: checkpoint.FoldSpace(u.text), MessageID: s.in.Transcript.At(int(u.message)).ID, Kind: string(u.kind), Source: "user"}
	if u.system {
		pin.Source = "system"
	}
	if n := s.next[i]; n >= 0 {
		pin.SupersededBy = s.in.Transcript.At(int(s.units[n].message)).ID
	}
	return pin
}
