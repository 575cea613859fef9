package activeview

import (
	"iter"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/message"
)

// Lines yields the whole ledger.
func (v *View) Lines() iter.Seq[Line] {
	return func(yield func(Line) bool) {
		for _, list := range [][]*entry{v.instructions, v.replaced, v.memory, v.entries} {
			for _, e := range list {
				for _, l := range e.lines {
					if !yield(l) {
						return
					}
				}
			}
		}
		for _, t := range v.tools {
			if !yield(t.line) {
				return
			}
		}
	}
}

// LedgerHash returns the hash of the whole ledger.
func (v *View) LedgerHash() LedgerHash { return v.hash }

// TakeDelta returns what changed in the ledger since the last call.
func (v *View) TakeDelta() Delta {
	d := v.delta
	v.delta = Delta{}
	clear(v.added)
	clear(v.changed)
	return d
}

// put takes a new line into totals, hash and delta.
func (v *View) put(l Line) {
	v.weigh(l, 1)
	v.hash.Add(l)
	v.added[l.ID] = len(v.delta.Added)
	v.delta.Added = append(v.delta.Added, l)
}

// change gives the line at old a new form.
func (v *View) change(old *Line, l Line) {
	if *old == l {
		return
	}
	v.weigh(*old, -1)
	v.hash.Remove(*old)
	*old = l
	v.weigh(l, 1)
	v.hash.Add(l)
	if i, fresh := v.added[l.ID]; fresh {
		v.delta.Added[i] = l
		return
	}
	if i, again := v.changed[l.ID]; again {
		v.delta.Changed[i] = l
		return
	}
	v.changed[l.ID] = len(v.delta.Changed)
	v.delta.Changed = append(v.delta.Changed, l)
}

// remove takes a message's lines out of the ledger altogether.
func (v *View) remove(e *entry) {
	for _, l := range e.lines {
		v.drop(l)
	}
}

// drop takes one line out.
func (v *View) drop(l Line) {
	v.weigh(l, -1)
	v.hash.Remove(l)
	if i, fresh := v.added[l.ID]; fresh {
		v.delta.Added = append(v.delta.Added[:i], v.delta.Added[i+1:]...)
		delete(v.added, l.ID)
		for id, at := range v.added {
			if at > i {
				v.added[id] = at - 1
			}
		}
		return
	}
	if i, again := v.changed[l.ID]; again {
		v.delta.Changed = append(v.delta.Changed[:i], v.delta.Changed[i+1:]...)
		delete(v.changed, l.ID)
		for id, at := range v.changed {
			if at > i {
				v.changed[id] = at - 1
			}
		}
	}
	v.delta.Removed = append(v.delta.Removed, l.ID)
}

func (v *View) weigh(l Line, sign int) {
	v.totals[l.Category] += sign * l.Tokens
	v.totals[budget.Framing] += sign * l.FramingTokens
}

// MandatoryTokens returns the part of the window that can never be left out:
// instructions, tools, the current request, and the calls and results that
// the model has not answered yet (F-BUD-02, F-CLS-12).
func (v *View) MandatoryTokens() int {
	total := v.totals[budget.ToolSchemas] + v.counter.Fixed(len(v.tools))
	for _, list := range [][]*entry{v.instructions, v.system, v.current} {
		for _, e := range list {
			total += e.tokens()
		}
	}
	for i := len(v.entries) - 1; i >= 0; i-- {
		e := v.entries[i]
		v.visited++
		if e.message.Authored() {
			break
		}
		if e.message.Role == message.RoleSystem {
			continue
		}
		if e.message.Role == message.RoleAssistant && !e.calls() {
			break
		}
		total += e.tokens()
		if e.message.Role == message.RoleAssistant {
			break
		}
	}
	return total
}

func (e *entry) tokens() int {
	total := 0
	for _, l := range e.lines {
		total += l.Tokens + l.FramingTokens
	}
	return total
}

func (e *entry) calls() bool {
	for _, b := range e.message.Blocks {
		if b.Kind() == message.KindToolCall {
			return true
		}
	}
	return false
}
