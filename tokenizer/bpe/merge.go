package bpe

// shortBytes bounds the pieces that are merged by looking for the best pair
// in a small array: quadratic, and faster than anything else at this size.
const shortBytes = 64

// mergeShort returns the number of tokens of a piece of 1 to shortBytes bytes
// of valid UTF-8.
func (v *Vocabulary) mergeShort(piece string) int {
	const none = ^uint32(0)
	var tokens, merges [shortBytes]uint32
	n := len(piece)
	for i := range n {
		tokens[i] = uint32(piece[i])
	}
	for i := range n - 1 {
		merges[i] = none
		if value := v.bytePairs[tokens[i]<<8|tokens[i+1]]; value != 0 {
			merges[i] = value
		}
	}
	for n > 1 {
		best, at := none, 0
		for i, value := range merges[:n-1] {
			if value < best {
				best, at = value, i
			}
		}
		if best == none {
			break
		}
		tokens[at] = v.result(best)
		n--
		copy(tokens[at+1:n], tokens[at+2:n+1])
		if at < n {
			copy(merges[at:n-1], merges[at+1:n])
		}
		if at < n-1 {
			merges[at] = none
			if value := v.pair(tokens[at], tokens[at+1]); value != 0 {
				merges[at] = value
			}
		}
		if at > 0 {
			merges[at-1] = none
			if value := v.pair(tokens[at-1], tokens[at]); value != 0 {
				merges[at-1] = value
			}
		}
	}
	return n
}
