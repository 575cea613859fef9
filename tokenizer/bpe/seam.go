package bpe

import (
	"math/bits"
	"unicode/utf8"
)

// A seams filter knows between which two characters no token reaches. Scripts
// without spaces make long pieces, but most neighbours in them are in no token
// together, so the piece can be cut there without changing its encoding.
//
// Only characters above ASCII are asked for, unless ascii says otherwise.
type seams struct {
	ascii bool

	// whole is a Bloom filter of the pairs of characters that stand beside
	// each other in a token, two bits in one word each.
	whole [1 << seamBits]uint64
	// part has a bit for the last byte of the left character and the first
	// two of the right one, where a token holds only a part of one of them.
	part [1 << 13]uint64
}

// seamBits gives a filter of 64 KB. The 12,000 to 30,000 pairs of the known
// vocabularies leave about one cut in thirty unused.
const seamBits = 13

// An edge holds the first and the last four bytes of a token, the outermost
// byte lowest, and how many of them it has.
type edge struct {
	first, last uint32
	length      uint8 // at most 4
}

func byteEdge(b uint32) edge { return edge{first: b, last: b, length: 1} }

func textEdge(text string) edge {
	e := edge{length: uint8(min(4, len(text)))}
	for i := range e.length {
		e.first |= uint32(text[i]) << (8 * i)
		e.last |= uint32(text[len(text)-1-int(i)]) << (8 * i)
	}
	return e
}

// join returns the edges of two tokens in a row.
func (l edge) join(r edge) edge {
	joined := edge{first: l.first, last: r.last, length: min(4, l.length+r.length)}
	if l.length < 4 {
		joined.first |= r.first << (8 * l.length)
	}
	if r.length < 4 {
		joined.last |= l.last << (8 * r.length)
	}
	return joined
}

// add records that a token reaches from one token into the next.
func (s *seams) add(l, r edge) {
	if !s.ascii && (l.last&0xff < utf8.RuneSelf || r.first&0xff < utf8.RuneSelf) || isContinuation(r.first) {
		return
	}
	left, leftWhole := lastCharacter(l)
	right, rightWhole := firstCharacter(r)
	if leftWhole && rightWhole {
		word, mask := seamHash(left, right)
		s.whole[word] |= mask
		return
	}
	seconds := uint64(1) << (r.first >> 8 & 63)
	if r.length == 1 {
		seconds = ^uint64(0)
	}
	s.part[(l.last&63)<<7|r.first&0x7f] |= seconds
}

// cut reports whether no token reaches from a character into the next. Both
// are given by their bytes, the first lowest.
func (s *seams) cut(left, right uint32) bool {
	word, mask := seamHash(left, right)
	if s.whole[word]&mask == mask {
		return false
	}
	last := left >> (8 * (characterBytes(left) - 1))
	return s.part[(last&63)<<7|right&0x7f]>>(right>>8&63)&1 == 0
}

func seamHash(left, right uint32) (word, mask uint64) {
	h := (uint64(left)<<32 | uint64(right)) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	h *= 0xd1b54a32d192ed03
	return h >> (64 - seamBits), 1<<(h>>40&63) | 1<<(h>>32&63)
}

// lastCharacter returns the character that a token ends in, first byte lowest,
// and whether the token holds all of it.
func lastCharacter(e edge) (character uint32, whole bool) {
	for n := uint8(1); n <= e.length; n++ {
		if b := e.last >> (8 * (n - 1)); isContinuation(b) {
			continue
		}
		character = bits.ReverseBytes32(e.last << (32 - 8*n))
		return character, characterBytes(character) == int(n)
	}
	return 0, false
}

// firstCharacter returns the character that a token begins with.
func firstCharacter(e edge) (character uint32, whole bool) {
	n := characterBytes(e.first)
	if n > int(e.length) {
		return 0, false
	}
	return e.first & (1<<(8*n) - 1), true
}

func isContinuation(b uint32) bool { return b&0xc0 == 0x80 }

// characterBytes returns the length of a character by its first byte.
func characterBytes(first uint32) int {
	switch first &= 0xff; {
	case first < 0x80:
		return 1
	case first < 0xe0:
		return 2
	case first < 0xf0:
		return 3
	}
	return 4
}

// mergeAtSeams counts a piece of valid UTF-8 that is too long for the cache by
// the parts that no token reaches across.
func (c *Counter) mergeAtSeams(piece string) int {
	count, start := 0, 0
	var left uint32
	for i := 0; i < len(piece); {
		if piece[i] < utf8.RuneSelf {
			left = 0
			i++
			continue
		}
		right := uint32(piece[i]) | uint32(piece[i+1])<<8
		n := 2
		if piece[i] >= 0xe0 {
			right |= uint32(piece[i+2]) << 16
			n = 3
		}
		if piece[i] >= 0xf0 {
			right |= uint32(piece[i+3]) << 24
			n = 4
		}
		if left != 0 && c.vocabulary.seams.cut(left, right) {
			count += c.countPart(piece[start:i])
			start = i
		}
		left = right
		i += n
	}
	return count + c.countPart(piece[start:])
}

// countPart counts a part of a piece, which has no more seams.
func (c *Counter) countPart(part string) int {
	if len(part) <= wordBytes {
		return c.countPiece(part)
	}
	return c.mergeWhole(part)
}
