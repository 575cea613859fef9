package bpe

import (
	"math/bits"
	"slices"
)

// A mergeQueue merges a text of any length in time that is linear in it.
//
// The pairs that can merge wait in one list for each merge of the vocabulary;
// a three-level bitmap of the lists that are not empty finds the next one. A
// list is merged from left to right, which is the order that the encoding is
// defined by.
type mergeQueue struct {
	ids        []uint32 // token that starts at a position
	next, prev []uint32 // neighbouring token starts
	values     []uint32 // merge of the token here with the next, 0 is none

	heads   []uint32 // first waiting pair of each merge, plus 1
	waiting []waitingPair
	bitmap  [3][]uint64
	batch   []uint32
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
		q.next[i] = uint32(i + 1)
		q.prev[i] = uint32(i - 1) // of the first: out of range
	}
	for i := n - 2; i >= 0; i-- { // lists grow at the front
		if value := v.bytePairs[q.ids[i]<<8|q.ids[i+1]]; value != 0 {
			q.values[i] = value
			q.push(value-byteTokens, uint32(i))
		}
	}
	for {
		merge, ok := q.first()
		if !ok {
			break
		}
		q.drain(v, merge)
	}
	for i := 0; i < n; i = int(q.next[i]) {
		tokens = append(tokens, token{id: q.ids[i], start: uint32(i)})
	}
	return tokens
}

func (q *mergeQueue) reset(v *Vocabulary, n int) {
	if len(q.heads) != v.merges {
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
	q.waiting = q.waiting[:0]
}

// push lets the pair at a position wait for its merge.
func (q *mergeQueue) push(merge, position uint32) {
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

// drain applies one merge wherever it waits.
func (q *mergeQueue) drain(v *Vocabulary, merge uint32) {
	value := merge + byteTokens
	q.take(merge)
	for i, position := range q.batch {
		if q.values[position] != value {
			continue // a neighbour has merged since
		}
		if q.join(v, position, v.result(value)) < value {
			// Only a vocabulary whose merges are not in the order of their
			// parts gets here: an earlier merge has become possible.
			for _, position := range slices.Backward(q.batch[i+1:]) {
				q.push(merge, position)
			}
			return
		}
	}
}

// join merges the token at a position with the next one and returns the
// lowest merge that this makes possible.
func (q *mergeQueue) join(v *Vocabulary, position, id uint32) (lowest uint32) {
	gone := q.next[position]
	after := q.next[gone]
	q.ids[position] = id
	q.next[position] = after
	q.values[gone] = 0
	q.values[position] = 0
	lowest = ^uint32(0)
	if int(after) < len(q.ids) {
		q.prev[after] = position
		if value := v.pair(id, q.ids[after]); value != 0 {
			q.values[position] = value
			q.push(value-byteTokens, position)
			lowest = value
		}
	}
	if before := q.prev[position]; int(before) < len(q.ids) {
		q.values[before] = 0
		if value := v.pair(q.ids[before], id); value != 0 {
			q.values[before] = value
			q.push(value-byteTokens, before)
			lowest = min(lowest, value)
		}
	}
	return lowest
}
