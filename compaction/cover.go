package compaction

import (
	"container/heap"
	"math"
)

// A cover picks sentences so that together they hold as many different words
// as possible, rare ones first, within a budget: it maximizes
//
//	Σ over terms of weight · √(times kept)  +  Σ over sentences of their prior
//
// by taking the best gain for its cost again and again. The gain of a sentence
// only falls as others are taken, so a stale value is an upper bound and most
// sentences need not be looked at twice (Minoux 1978). All arithmetic is on
// integers: the same input gives the same choice everywhere.
type cover struct {
	kept   map[uint64]int32
	weight map[uint64]int32
	value  int64
}

// candidate is a sentence that may be taken.
type candidate struct {
	index int // of the caller
	terms []term
	prior int64
	cost  int
	gain  int64 // when it was last looked at
	at    int   // number of sentences taken then
}

// root returns 1,000·√n, rounded.
func root(n int32) int64 { return int64(math.Round(1000 * math.Sqrt(float64(n)))) }

func newCover(candidates []*candidate) *cover {
	c := &cover{kept: map[uint64]int32{}, weight: map[uint64]int32{}}
	frequency := map[uint64]int32{}
	for _, cand := range candidates {
		for _, t := range cand.terms {
			frequency[t.hash]++
		}
	}
	for _, cand := range candidates {
		for _, t := range cand.terms {
			// log2 of how rare it is, at least 1.
			w := int32(1)
			for n := int32(len(candidates)) / frequency[t.hash]; n > 1; n >>= 1 {
				w++
			}
			c.weight[t.hash] = w
		}
	}
	return c
}

func (c *cover) gain(cand *candidate) int64 {
	g := cand.prior
	for _, t := range cand.terms {
		n := c.kept[t.hash]
		g += int64(c.weight[t.hash]) * (root(n+1) - root(n))
	}
	return g
}

// choose takes candidates until budget is spent and returns their indexes in
// the order taken, what they cost, and an upper bound on the value that any
// choice within the budget could have.
func (c *cover) choose(candidates []*candidate, budget int) (taken []int, spent int, bound int64) {
	queue := make(gainQueue, 0, len(candidates))
	for _, cand := range candidates {
		cand.gain, cand.at = c.gain(cand), 0
		if cand.gain > 0 {
			queue = append(queue, cand)
		}
	}
	heap.Init(&queue)
	var skipped gainQueue
	for len(queue) > 0 {
		top := queue[0]
		if top.at != len(taken) {
			top.gain, top.at = c.gain(top), len(taken)
			heap.Fix(&queue, 0)
			continue
		}
		heap.Pop(&queue)
		if spent+top.cost > budget {
			skipped = append(skipped, top)
			if budget-spent < 8 {
				break
			}
			continue
		}
		spent += top.cost
		c.value += top.gain
		for _, t := range top.terms {
			c.kept[t.hash]++
		}
		taken = append(taken, top.index)
	}
	return taken, spent, c.bound(append(skipped, queue...), budget)
}

// bound fills the budget with what is left at its present gain, the last piece
// in part: no choice can add more than that.
func (c *cover) bound(rest gainQueue, budget int) int64 {
	for _, cand := range rest {
		cand.gain = c.gain(cand)
	}
	heap.Init(&rest)
	total := c.value
	for room := budget; room > 0 && len(rest) > 0; {
		top := heap.Pop(&rest).(*candidate)
		if top.cost <= room {
			total += top.gain
		} else {
			total += top.gain * int64(room) / int64(top.cost)
		}
		room -= top.cost
	}
	return total
}

// gainQueue is a heap by gain for cost, earlier candidates first on a tie.
type gainQueue []*candidate

func (q gainQueue) Len() int      { return len(q) }
func (q gainQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q gainQueue) Less(i, j int) bool {
	a, b := q[i].gain*int64(q[j].cost), q[j].gain*int64(q[i].cost)
	if a != b {
		return a > b
	}
	return q[i].index < q[j].index
}

// Push appends; heap.Interface asks for it.
func (q *gainQueue) Push(x any) { *q = append(*q, x.(*candidate)) }

// Pop takes the last; heap.Interface asks for it.
func (q *gainQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
