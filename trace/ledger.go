package trace

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
)

// ErrLedger: the events do not lead to the ledger whose hash they state.
var ErrLedger = errors.New("ledger does not match its hash")

// A Ledger is the list of all items of a request, rebuilt from the changes
// that the budget events carry. The zero value is empty and ready to use.
type Ledger struct {
	slots   []slot
	index   map[string][]int // line id → its live slots, oldest first
	live    int
	hash    activeview.LedgerHash
	totals  budget.Breakdown
	request int
	started bool
}

type slot struct {
	line activeview.Line
	gone bool
}

// Apply takes the next budget event in. A Whole change starts anew.
//
// The error wraps ErrLedger and names the request when the event does not
// lead to the ledger that it states: an event is missing, or a line was
// altered. The ledger then holds what the events say, so that it can still be
// looked at; only the next Whole change makes it trustworthy again.
func (l *Ledger) Apply(e *ContextBudgeted) error {
	c := &e.Ledger
	var faults []error
	if c.Whole {
		*l = Ledger{}
	} else if !l.started {
		faults = append(faults, errors.New("the trace does not begin with a whole ledger"))
	}
	l.started, l.request = true, e.Request
	if l.index == nil {
		l.index = map[string][]int{}
	}
	for _, id := range c.Removed {
		if !l.remove(id) {
			faults = append(faults, fmt.Errorf("line %.80q is removed and was never added", id))
		}
	}
	for _, line := range c.Changed {
		if !l.change(line) {
			faults = append(faults, fmt.Errorf("line %.80q is changed and was never added", line.ID))
		}
	}
	for _, line := range c.Added {
		l.add(line)
	}
	l.tidy()
	if l.hash != c.Hash || len(faults) > 0 {
		err := fmt.Errorf("%w at request %d", ErrLedger, e.Request)
		if len(faults) > 0 {
			err = fmt.Errorf("%w: %w", err, faults[0])
		}
		return err
	}
	return nil
}

func (l *Ledger) add(line activeview.Line) {
	l.index[line.ID] = append(l.index[line.ID], len(l.slots))
	l.slots = append(l.slots, slot{line: line})
	l.live++
	l.weigh(line, 1)
	l.hash.Add(line)
}

func (l *Ledger) remove(id string) bool {
	at := l.index[id]
	if len(at) == 0 {
		return false
	}
	s := &l.slots[at[0]]
	l.weigh(s.line, -1)
	l.hash.Remove(s.line)
	*s = slot{gone: true}
	l.live--
	if len(at) == 1 {
		delete(l.index, id)
		return true
	}
	l.index[id] = at[1:]
	return true
}

// change puts a line in its new form where it stood. An id that nobody knows
// is added, so that a damaged trace still shows it.
func (l *Ledger) change(line activeview.Line) bool {
	at := l.index[line.ID]
	if len(at) == 0 {
		l.add(line)
		return false
	}
	s := &l.slots[at[0]]
	l.weigh(s.line, -1)
	l.hash.Remove(s.line)
	s.line = line
	l.weigh(line, 1)
	l.hash.Add(line)
	return true
}

func (l *Ledger) weigh(line activeview.Line, sign int) {
	l.totals[line.Category] += sign * line.Tokens
	l.totals[budget.Framing] += sign * line.FramingTokens
}

// tidy gives the room of removed lines back once they are the larger part.
func (l *Ledger) tidy() {
	if len(l.slots) <= 2*l.live+64 {
		return
	}
	l.slots = slices.DeleteFunc(l.slots, func(s slot) bool { return s.gone })
	clear(l.index)
	for i, s := range l.slots {
		l.index[s.line.ID] = append(l.index[s.line.ID], i)
	}
}

// Lines yields the lines in the order in which they came.
func (l *Ledger) Lines() iter.Seq[activeview.Line] {
	return func(yield func(activeview.Line) bool) {
		for _, s := range l.slots {
			if !s.gone && !yield(s.line) {
				return
			}
		}
	}
}

// Len returns the number of lines.
func (l *Ledger) Len() int { return l.live }

// Line returns the line with this id.
func (l *Ledger) Line(id string) (activeview.Line, bool) {
	at := l.index[id]
	if len(at) == 0 {
		return activeview.Line{}, false
	}
	return l.slots[at[0]].line, true
}

// Totals returns the tokens of the lines by category. What a request weighs
// besides is fixed framing, and what a provider was seen to count on top.
func (l *Ledger) Totals() budget.Breakdown { return l.totals }

// Hash stands for the ledger.
func (l *Ledger) Hash() activeview.LedgerHash { return l.hash }

// Request is the number of the request that the ledger belongs to, zero
// before the first.
func (l *Ledger) Request() int { return l.request }

// LedgerAt rebuilds the ledger of a request of the trace's first run and
// checks it on the way. It stops at the first fault.
func LedgerAt(events iter.Seq2[Event, error], request int) (*Ledger, error) {
	l := &Ledger{}
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		p, ok := e.Payload.(*ContextBudgeted)
		if !ok {
			continue
		}
		if err := l.Apply(p); err != nil {
			return l, err
		}
		if p.Request == request {
			return l, nil
		}
	}
	return nil, fmt.Errorf("find request %d: the trace ends at request %d", request, l.request)
}
