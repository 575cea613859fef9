package baseline

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"github.com/forge-agent/forge/message"
)

// Numbers of TextRank (Mihalcea and Tarau 2004): the damping factor, and how
// often the ranks are passed on. commonTerm leaves out words that stand in so
// many sentences that they connect everything with everything.
const (
	damping    = 0.85
	passes     = 20
	commonTerm = 60
)

// textRank returns the sentences by falling rank. Two sentences are connected
// by the words they share, over the logarithms of their lengths.
func (r *Reading) textRank() []int {
	if r.ranked != nil {
		return r.ranked
	}
	n := len(r.sentences)
	edges := r.edges()
	total := make([]float64, n)
	for i, to := range edges {
		for _, e := range to {
			total[i] += e.weight
		}
	}
	rank, next := make([]float64, n), make([]float64, n)
	for i := range rank {
		rank[i] = 1
	}
	for range passes {
		for i := range next {
			sum := 0.0
			for _, e := range edges[i] {
				sum += rank[e.to] * e.weight / total[e.to]
			}
			next[i] = 1 - damping + damping*sum
		}
		rank, next = next, rank
	}
	r.ranked = order(n, func(a, b int) int { return cmp.Or(cmp.Compare(rank[b], rank[a]), a-b) })
	return r.ranked
}

type edge struct {
	to     int
	weight float64
}

// edges connects sentences that share words, in order of the sentences.
func (r *Reading) edges() [][]edge {
	in := map[int32][]int{}
	for i, s := range r.sentences {
		for _, t := range s.terms {
			in[t] = append(in[t], i)
		}
	}
	out := make([][]edge, len(r.sentences))
	shared := make([]int, len(r.sentences))
	for i, s := range r.sentences {
		var near []int
		for _, t := range s.terms {
			if len(in[t]) > commonTerm {
				continue
			}
			for _, j := range in[t] {
				if j != i {
					if shared[j] == 0 {
						near = append(near, j)
					}
					shared[j]++
				}
			}
		}
		slices.Sort(near)
		for _, j := range near {
			length := math.Log(float64(len(s.terms))+1) + math.Log(float64(len(r.sentences[j].terms))+1)
			out[i] = append(out[i], edge{j, float64(shared[j]) / length})
			shared[j] = 0
		}
	}
	return out
}

// cover returns sentences in the order in which a greedy choice takes them
// that covers the words of the whole: each word counts by the square root of
// how often it is covered, weighted by its rarity, over the weight of the
// sentence (submodular, Lin and Bilmes 2010). With users set it looks at what
// persons said only.
func (r *Reading) cover(users bool) []int {
	done := &r.covered
	if users {
		done = &r.userCovered
	}
	if *done != nil {
		return *done
	}
	counts := map[int32]int{}
	var from []int
	for i, s := range r.sentences {
		if users && r.messages[s.message].role != message.RoleUser {
			continue
		}
		from = append(from, i)
		for _, t := range s.terms {
			counts[t]++
		}
	}
	g := greedy{reading: r, counts: counts, covered: map[int32]int{}, total: float64(len(from))}
	for _, i := range from {
		g.queue = append(g.queue, candidate{sentence: i, gain: g.gain(i)})
	}
	heap.Init(&g.queue)
	*done = g.run()
	return *done
}

// greedy is a lazy greedy choice.
type greedy struct {
	reading         *Reading
	counts, covered map[int32]int
	total           float64
	queue           queue
}

func (g *greedy) gain(i int) float64 {
	s, sum := g.reading.sentences[i], 0.0
	for _, t := range s.terms {
		n := float64(g.covered[t])
		sum += math.Log(1+g.total/float64(g.counts[t])) * (math.Sqrt(n+1) - math.Sqrt(n))
	}
	return sum / float64(s.tokens)
}

func (g *greedy) run() []int {
	out := []int{}
	for g.queue.Len() > 0 {
		top := heap.Pop(&g.queue).(candidate)
		if now := g.gain(top.sentence); g.queue.Len() > 0 && now < g.queue[0].gain {
			top.gain = now
			heap.Push(&g.queue, top)
			continue
		}
		out = append(out, top.sentence)
		for _, t := range g.reading.sentences[top.sentence].terms {
			g.covered[t]++
		}
	}
	return out
}

type candidate struct {
	sentence int
	gain     float64
}

type queue []candidate

func (q queue) Len() int { return len(q) }
func (q queue) Less(a, b int) bool {
	return q[a].gain > q[b].gain || q[a].gain == q[b].gain && q[a].sentence < q[b].sentence
}
func (q queue) Swap(a, b int) { q[a], q[b] = q[b], q[a] }
func (q *queue) Push(x any)   { *q = append(*q, x.(candidate)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// order returns 0 to n−1 sorted.
func order(n int, compare func(a, b int) int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	slices.SortFunc(out, compare)
	return out
}
