package inspect

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/trace"
)

// version is one form of a ledger line and the requests that have it:
// [from, to) by index. A line that changes gets a new version at the same
// place.
type version struct {
	line     activeview.Line
	place    int
	from, to int
}

// follow takes a ledger change of the request at this index in.
func (l *loader) follow(c *trace.LedgerChange, at int) {
	if c.Whole {
		l.close(at)
		clear(l.open)
	}
	for _, id := range c.Removed {
		if open := l.open[id]; len(open) > 0 {
			l.run.versions[open[0]].to = at
			if l.open[id] = open[1:]; len(open) == 1 {
				delete(l.open, id)
			}
		}
	}
	for _, line := range c.Changed {
		open := l.open[line.ID]
		if len(open) == 0 {
			l.begin(line, len(l.run.versions), at)
			continue
		}
		old := &l.run.versions[open[0]]
		old.to = at
		open[0] = len(l.run.versions)
		l.run.versions = append(l.run.versions, version{line: line, place: old.place, from: at})
	}
	for _, line := range c.Added {
		l.begin(line, len(l.run.versions), at)
	}
}

func (l *loader) begin(line activeview.Line, place, at int) {
	l.open[line.ID] = append(l.open[line.ID], len(l.run.versions))
	l.run.versions = append(l.run.versions, version{line: line, place: place, from: at})
}

// close ends every version that is still open.
func (l *loader) close(at int) {
	for _, open := range l.open {
		for _, i := range open {
			l.run.versions[i].to = at
		}
	}
}

// Ledger returns the ledger of the request at this index, in the order in
// which the lines came. Building it costs the length of all ledgers together.
func (r *Run) Ledger(index int) []activeview.Line {
	at := r.at(index)
	out := make([]activeview.Line, len(at))
	for i, v := range at {
		out[i] = v.line
	}
	return out
}

// at returns the versions of a request in order of place.
func (r *Run) at(index int) []*version {
	var out []*version
	for i := range r.versions {
		if v := &r.versions[i]; v.from <= index && index < v.to {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b *version) int { return cmp.Compare(a.place, b.place) })
	return out
}

// weight is what a line takes in the request, its framing included.
func weight(l activeview.Line) int { return l.Tokens + l.FramingTokens }

// heavier sorts the heaviest first.
func heavier(a, b activeview.Line) int { return cmp.Compare(weight(b), weight(a)) }

// Heaviest returns the n heaviest lines of the request at this index, the
// heaviest first. Lines that weigh nothing are left out.
func (r *Run) Heaviest(index, n int) []activeview.Line {
	at := r.at(index)
	slices.SortStableFunc(at, func(a, b *version) int { return heavier(a.line, b.line) })
	var out []activeview.Line
	for _, v := range at {
		if len(out) == n || weight(v.line) == 0 {
			break
		}
		out = append(out, v.line)
	}
	return out
}

// eachHeaviest calls f with the n heaviest lines of every request, in one
// sweep over the run.
func (r *Run) eachHeaviest(n int, f func(index int, lines []activeview.Line)) {
	h := &byWeight{versions: r.versions}
	next := 0
	for i := range r.Requests {
		for ; next < len(r.versions) && r.versions[next].from <= i; next++ {
			if weight(r.versions[next].line) > 0 {
				heap.Push(h, next)
			}
		}
		var taken []int
		var lines []activeview.Line
		for h.Len() > 0 && len(lines) < n {
			top := heap.Pop(h).(int)
			if v := &r.versions[top]; i < v.to {
				taken, lines = append(taken, top), append(lines, v.line)
			}
		}
		for _, v := range taken {
			heap.Push(h, v)
		}
		f(i, lines)
	}
}

// byWeight is a heap of versions, the heaviest first, then by place.
type byWeight struct {
	versions []version
	order    []int
}

func (h *byWeight) Len() int { return len(h.order) }
func (h *byWeight) Less(i, j int) bool {
	a, b := &h.versions[h.order[i]], &h.versions[h.order[j]]
	return cmp.Or(heavier(a.line, b.line), cmp.Compare(a.place, b.place)) < 0
}
func (h *byWeight) Swap(i, j int) { h.order[i], h.order[j] = h.order[j], h.order[i] }
func (h *byWeight) Push(x any)    { h.order = append(h.order, x.(int)) }
func (h *byWeight) Pop() any {
	last := len(h.order) - 1
	x := h.order[last]
	h.order = h.order[:last]
	return x
}
