package bpe

const (
	// shortBytes bounds the pieces that are merged by looking for the lowest
	// merge in a small array: quadratic, and faster than anything else at
	// this size.
	shortBytes = 64
	// positionBits is what a position in a short piece takes beside a merge.
	positionBits = 6
	positionMask = 1<<positionBits - 1
)

// mergeShort returns the number of tokens of a piece of 1 to shortBytes bytes
// of valid UTF-8.
func (v *Vocabulary) mergeShort(piece string) int {
	// A key is the merge of the token at a position with the next one, above
	// the position, so that the lowest key is the lowest merge and of equal
	// ones the leftmost.
	const none = ^uint32(0)
	var (
		keys       [shortBytes]uint32
		tokens     [shortBytes]uint32
		next, prev [shortBytes + 1]uint8
	)
	n := min(len(piece), shortBytes)
	for i := range n {
		tokens[i] = uint32(piece[i])
		next[i] = uint8(i + 1)
		prev[i+1] = uint8(i)
		keys[i] = none
	}
	for i := range n - 1 {
		if value := v.bytePairs[(tokens[i]<<8|tokens[i+1])&0xffff]; value != 0 {
			keys[i] = value<<positionBits | uint32(i)
		}
	}
	count := n
	for {
		best := lowest(&keys, n)
		if best == none {
			return count
		}
		count--
		at := best & positionMask
		gone := next[at] & positionMask
		after := next[gone]
		id := v.result(best >> positionBits)
		tokens[at] = id
		next[at] = after
		keys[gone] = none
		keys[at] = none
		if int(after) < n {
			prev[after] = uint8(at)
			if value := v.pair(id, tokens[after&positionMask]); value != 0 {
				keys[at] = value<<positionBits | at
			}
		}
		if at > 0 {
			before := uint32(prev[at] & positionMask)
			keys[before] = none
			if value := v.pair(tokens[before], id); value != 0 {
				keys[before] = value<<positionBits | before
			}
		}
	}
}

// lowest returns the lowest of n keys.
func lowest(keys *[shortBytes]uint32, n int) uint32 {
	a, b := ^uint32(0), ^uint32(0)
	i := 0
	for ; i+4 <= n; i += 4 {
		k := keys[i : i+4 : i+4]
		a = min(a, k[0], k[2])
		b = min(b, k[1], k[3])
	}
	for ; i < n; i++ {
		a = min(a, keys[i])
	}
	return min(a, b)
}
