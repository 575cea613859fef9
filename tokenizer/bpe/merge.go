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

// A shortPiece is a piece of up to shortBytes tokens in the course of merging.
type shortPiece struct {
	n      int
	tokens [shortBytes]uint32
	// keys holds the merge of the token at a position with the next one, above
	// the position, so that the lowest key is the lowest merge and of equal
	// ones the leftmost.
	keys       [shortBytes]uint32
	next, prev [shortBytes + 1]uint8
}

const noKey = ^uint32(0)

// mergeShort returns the number of tokens of a piece of 1 to shortBytes bytes
// of valid UTF-8.
func (v *Vocabulary) mergeShort(piece string) int {
	var p shortPiece
	p.n = min(len(piece), shortBytes)
	for i := range p.n {
		p.tokens[i] = uint32(piece[i])
	}
	for i := range p.n - 1 {
		p.keys[i] = noKey
		if value := v.bytePairs[(p.tokens[i]<<8|p.tokens[i+1])&0xffff]; value != 0 {
			p.keys[i] = value<<positionBits | uint32(i)
		}
	}
	return p.merge(v)
}

// merge merges until nothing is left to merge, and returns how many tokens
// there are. It expects the keys of all tokens but the last.
func (p *shortPiece) merge(v *Vocabulary) int {
	n := p.n
	for i := range n {
		p.next[i] = uint8(i + 1)
		p.prev[i+1] = uint8(i)
	}
	p.keys[n-1] = noKey
	count := n
	for {
		best := lowest(&p.keys, n)
		if best == noKey {
			return count
		}
		count--
		at := best & positionMask
		gone := p.next[at] & positionMask
		after := p.next[gone]
		id := v.result(best >> positionBits)
		p.tokens[at] = id
		p.next[at] = after
		p.keys[gone] = noKey
		p.keys[at] = noKey
		if int(after) < n {
			p.prev[after] = uint8(at)
			if value := v.pair(id, p.tokens[after&positionMask]); value != 0 {
				p.keys[at] = value<<positionBits | at
			}
		}
		if at > 0 {
			before := uint32(p.prev[at] & positionMask)
			p.keys[before] = noKey
			if value := v.pair(p.tokens[before], id); value != 0 {
				p.keys[before] = value<<positionBits | before
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
