package bpe

import (
	"math/bits"
	"slices"
)

// A mergeQueue merges a text of any length.
//
// In an ordered vocabulary, merging only makes later merges possible. The pairs
// that can merge wait in one list for each merge; a three-level bitmap of the
// lists that are not empty finds the next one. A list is merged from left to
// right, which is the order that the encoding is defined by. The time is linear
// in the text.
//
// In other vocabularies the pairs wait in a heap.
type mergeQueue struct {
	ids        []uint32 // token that starts at a position
	next, prev []uint32 // neighbouring token starts
	values     []uint32 // merge of the token here with the next, 0 is none

	heads   []uint32 // first waiting pair of each merge, plus 1
	waiting []waitingPair
	bitmap  [3][]uint64
	batch   []uint32

	heap []uint64 // merge above position
}

type waitingPair struct {
	position, next uint32
}

// merge appends the tokens of text, which is valid UTF-8, to tokens.
func (q *mergeQueue) merge(v *Vocabulary, text []byte, tokens []token) []token {
	n := len(text)
	q.reset(v, n)
	for i, b := range text {
		q.ids[i] = uint32(b)
	}
	for i := n - 2; i >= 0; i-- { // lists grow at the front
		if value := v.bytePairs[q.ids[i]<<8|q.ids[i+1]]; value != 0 {
			q.values[i] = value
			q.push(v, value, uint32(i))
		}
	}
	q.run(v)
	for i := 0; i < n; i = int(q.next[i]) {
		tokens = append(tokens, token{id: q.ids[i], start: uint32(i)})
	}
	return tokens
}

// mergeCharacters returns the number of tokens that the tokens of characters
// merge to.
func (q *mergeQueue) mergeCharacters(v *Vocabulary, characters []uint32) int {
	n := len(characters)
	q.reset(v, n)
	copy(q.ids, characters)
	for i := n - 2; i >= 0; i-- {
		if value := v.pair(q.ids[i], q.ids[i+1]); value != 0 {
			q.values[i] = value
			q.push(v, value, uint32(i))
		}
	}
	q.run(v)
	count := 0
	for i := 0; i < n; i = int(q.next[i]) {
		count++
	}
	return count
}

func (q *mergeQueue) reset(v *Vocabulary, n int) {
	if v.ordered && len(q.heads) != v.merges {
		q.heads = make([]uint32, v.merges)
		words := v.merges
		for level := range q.bitmap {
			words = (words + 63) / 64
			q.bitmap[level] = make([]uint64, words)
		}
	}
	for _, s := range []*[]uint32{&q.ids, &q.next, &q.prev, &q.values} {
		*s = slices.Grow((*s)[:0], n)[:n]
	}
	clear(q.values)
	for i := range n {
		q.next[i] = uint32(i + 1)
		q.prev[i] = uint32(i - 1) // of the first: out of range
	}
	q.waiting = q.waiting[:0]
	q.heap = q.heap[:0]
}

// run merges until no pair waits.
func (q *mergeQueue) run(v *Vocabulary) {
	if !v.ordered {
		q.runHeap(v)
		return
	}
	for {
		merge, ok := q.first()
		if !ok {
			return
		}
		q.take(merge)
		value := merge + byteTokens
		for _, position := range q.batch {
			if q.values[position] == value { // else a neighbour has merged since
				q.join(v, position, v.result(value))
			}
		}
	}
}

// push lets the pair at a position wait for its merge; value is as
// Vocabulary.pair returns it.
func (q *mergeQueue) push(v *Vocabulary, value, position uint32) {
	if !v.ordered {
		q.pushHeap(uint64(value)<<32 | uint64(position))
		return
	}
	merge := value - byteTokens
	q.waiting = append(q.waiting, waitingPair{position, q.heads[merge]})
	if q.heads[merge] == 0 {
		at := merge
		for level := range q.bitmap {
			q.bitmap[level][at>>6] |= 1 << (at & 63)
			at >>= 6
		}
	}
	q.heads[merge] = uint32(len(q.waiting))
}

// first returns the lowest merge that a pair waits for.
func (q *mergeQueue) first() (merge uint32, ok bool) {
	top := q.bitmap[2]
	for i, word := range top {
		if word == 0 {
			continue
		}
		at := uint32(i<<6 + bits.TrailingZeros64(word))
		at = at<<6 + uint32(bits.TrailingZeros64(q.bitmap[1][at]))
		return at<<6 + uint32(bits.TrailingZeros64(q.bitmap[0][at])), true
	}
	return 0, false
}

// take empties the list of a merge into q.batch, leftmost pair first.
func (q *mergeQueue) take(merge uint32) {
	q.batch = q.batch[:0]
	for at := q.heads[merge]; at != 0; at = q.waiting[at-1].next {
		q.batch = append(q.batch, q.waiting[at-1].position)
	}
	if !slices.IsSorted(q.batch) {
		slices.Sort(q.batch)
	}
	q.heads[merge] = 0
	at := merge
	for level := range q.bitmap {
		q.bitmap[level][at>>6] &^= 1 << (at & 63)
		if q.bitmap[level][at>>6] != 0 {
			break
		}
		at >>= 6
	}
}

// join merges the token at a position with the next one.
func (q *mergeQueue) join(v *Vocabulary, position, id uint32) {
	gone := q.next[position]
	after := q.next[gone]
	q.ids[position] = id
	q.next[position] = after
	q.values[gone] = 0
	q.values[position] = 0
	if int(after) < len(q.ids) {
		q.prev[after] = position
		if value := v.pair(id, q.ids[after]); value != 0 {
			q.values[position] = value
			q.push(v, value, position)
		}
	}
	if before := q.prev[position]; int(before) < len(q.ids) {
		q.values[before] = 0
		if value := v.pair(q.ids[before], id); value != 0 {
			q.values[before] = value
			q.push(v, value, before)
		}
	}
}

// runHeap merges the lowest waiting pair until none waits.
func (q *mergeQueue) runHeap(v *Vocabulary) {
	for len(q.heap) > 0 {
		lowest := q.popHeap()
		value, position := uint32(lowest>>32), uint32(lowest)
		if q.values[position] == value {
			q.join(v, position, v.result(value))
		}
	}
}

func (q *mergeQueue) pushHeap(pair uint64) {
	q.heap = append(q.heap, pair)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if q.heap[parent] <= pair {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = pair
}

func (q *mergeQueue) popHeap() uint64 {
	lowest := q.heap[0]
	n := len(q.heap) - 1
	last := q.heap[n]
	q.heap = q.heap[:n]
	i := 0
	for {
		child := 4*i + 1
		if child >= n {
			break
		}
		for other := child + 1; other < min(4*i+5, n); other++ {
			if q.heap[other] < q.heap[child] {
				child = other
			}
		}
		if q.heap[child] >= last {
			break
		}
		q.heap[i] = q.heap[child]
		i = child
	}
	if n > 0 {
		q.heap[i] = last
	}
	return lowest
}
