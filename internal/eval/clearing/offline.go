package clearing

import (
	"maps"
	"math"
	"slices"
	"time"
)

// KeepNewest is how many of the newest observations the best clearing keeps:
// the family of clearings that the requirement names ("keep the last five").
const KeepNewest = 5

// Best returns, for each request, the least that a series up to it can cost,
// with the future known, when each clearing takes everything but the newest
// five observations. It is the reference that the scheduler is measured
// against, and no bound on other ways of clearing.
//
// After a clearing the view depends only on how many observations were
// cleared, so the state is that number: f(t, c) is the least cost of the
// first t requests that ends with c observations cleared.
func Best(s *Series, p Sheet) []float64 {
	o := newOffline(s)
	states := map[int]float64{0: 0}
	var out []float64
	for t := range s.Steps {
		next := map[int]float64{}
		e := o.eligible[t]
		for _, c := range slices.Sorted(maps.Keys(states)) {
			lower(next, c, states[c]+p.Cost(o.total[t]-o.saved[c], o.cached(p, t, c)))
			if e > c && o.saved[e] > o.saved[c] {
				lower(next, e, states[c]+p.Cost(o.total[t]-o.saved[e], min(o.cached(p, t, c), o.firstChange(c))))
			}
		}
		states = next
		least := math.Inf(1)
		for _, v := range states {
			least = min(least, v)
		}
		out = append(out, least)
	}
	return out
}

// BestExcess returns how far above never clearing the best clearing stands at
// its worst moment: 1.3 when it has spent 1.3 times as much after some request.
// A policy that is bound to less cannot follow it.
func BestExcess(s *Series, p Sheet) float64 {
	type path struct{ cost, worst float64 }
	o := newOffline(s)
	states := map[int]path{0: {}}
	never := 0.0
	for t := range s.Steps {
		next := map[int]path{}
		never += p.Cost(o.total[t], o.cached(p, t, 0))
		move := func(from path, to int, cost float64) {
			cost += from.cost
			if old, ok := next[to]; !ok || cost < old.cost {
				next[to] = path{cost, max(from.worst, cost/never)}
			}
		}
		e := o.eligible[t]
		for _, c := range slices.Sorted(maps.Keys(states)) {
			move(states[c], c, p.Cost(o.total[t]-o.saved[c], o.cached(p, t, c)))
			if e > c && o.saved[e] > o.saved[c] {
				move(states[c], e, p.Cost(o.total[t]-o.saved[e], min(o.cached(p, t, c), o.firstChange(c))))
			}
		}
		states = next
	}
	best := path{cost: math.Inf(1)}
	for _, c := range slices.Sorted(maps.Keys(states)) {
		if states[c].cost < best.cost {
			best = states[c]
		}
	}
	return best.worst
}

func lower(m map[int]float64, key int, value float64) {
	if old, ok := m[key]; !ok || value < old {
		m[key] = value
	}
}

// offline holds the numbers that the search needs.
type offline struct {
	total    []int // request tokens, nothing cleared
	eligible []int // how many observations can be cleared before a request
	saved    []int // saved[c]: tokens that clearing the first c observations saves
	idle     []time.Duration
	before   []int // tokens in front of an observation, nothing cleared
}

func newOffline(s *Series) offline {
	o := offline{saved: []int{0}}
	tokens, results, answered, next := s.Front, 0, 0, 0
	for _, st := range s.Steps {
		for ; next < st.Items; next++ {
			if r := s.Items[next].Result; r != nil {
				o.before = append(o.before, tokens)
				o.saved = append(o.saved, o.saved[results]+max(0, r.Tokens-r.StandInTokens))
				results++
			}
			tokens += s.Items[next].Tokens
		}
		o.total = append(o.total, tokens)
		o.idle = append(o.idle, st.Idle)
		o.eligible = append(o.eligible, max(0, min(results-KeepNewest, answered)))
		answered = results
	}
	return o
}

// cached is what request t reads from the cache when c observations are
// cleared and nothing more is.
func (o offline) cached(p Sheet, t, c int) int {
	if t == 0 || p.Expired(o.idle[t]) {
		return 0
	}
	return o.total[t-1] - o.saved[c]
}

// firstChange is what stays cached when more than c observations get cleared.
func (o offline) firstChange(c int) int {
	for o.saved[c+1] == o.saved[c] {
		c++
	}
	return o.before[c] - o.saved[c]
}
