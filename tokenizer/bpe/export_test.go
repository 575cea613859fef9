package bpe

import "math/bits"

// Normalize gives tests the normal form that a vocabulary with NFC counts.
func Normalize(text string) string {
	var n normalizer
	return n.normalize(text)
}

// NewCounterOfChunks returns a counter that merges long pieces in chunks of
// another size, so that small texts have many of them.
func NewCounterOfChunks(v *Vocabulary, chunkBytes int) *Counter {
	c := NewCounter(v)
	c.long.chunkBytes = chunkBytes
	return c
}

// CountLong counts text as one piece, past the short-piece path.
func (c *Counter) CountLong(text string) int { return c.long.count(c.vocabulary, text) }

// CountShort counts text of up to ShortBytes bytes as one piece.
func (c *Counter) CountShort(text string) int { return c.vocabulary.mergeShort(text) }

const ShortBytes = shortBytes

// PieceEnds returns where the pieces of text end, cut by windows where they
// know and one at a time elsewhere, or only one at a time.
func PieceEnds(pattern Pattern, text string, windows bool) []int {
	c := NewCounter(&Vocabulary{pattern: pattern})
	var ends []int
	w := window{pattern: pattern}
	for i := 0; i < len(text); {
		if windows {
			var b [windowReach]byte
			n := copy(b[:], text[i:])
			w.load(b[:], min(n, windowBytes))
			last := i
			for starts := w.starts(b[:]); starts != 0; starts &= starts - 1 {
				last = i + bits.TrailingZeros64(starts)
				ends = append(ends, last)
			}
			if last > i {
				i = last
				continue
			}
		}
		i = c.next(text, i)
		ends = append(ends, i)
	}
	return ends
}
