package bpe

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// A spelling is what a vocabulary of characters has beside its merges.
type spelling struct {
	ascii  [utf8.RuneSelf]uint32 // token of each character, 0 is none
	others map[rune]uint32
	added  map[string]struct{}
	// addedBytes lists the lengths of the added tokens by their first byte,
	// the longest first.
	addedBytes [256][]int
}

// space is how these vocabularies write U+0020.
const space = '▁'

func newSpelling(characters map[rune]uint32, added []string) *spelling {
	s := &spelling{others: characters, added: make(map[string]struct{}, len(added))}
	for r, id := range characters {
		if r >= 0 && r < utf8.RuneSelf {
			s.ascii[r] = id
		}
	}
	for _, text := range added {
		if text != "" {
			s.added[text] = struct{}{}
			s.addedBytes[text[0]] = append(s.addedBytes[text[0]], len(text))
		}
	}
	for first, lengths := range s.addedBytes {
		slices.SortFunc(lengths, func(a, b int) int { return cmp.Compare(b, a) })
		s.addedBytes[first] = slices.Compact(lengths)
	}
	return s
}

// addedAt returns the length of the longest added token at text[i], or 0.
func (s *spelling) addedAt(text string, i int) int {
	for _, n := range s.addedBytes[text[i]] {
		if n <= len(text)-i {
			if _, ok := s.added[text[i:i+n]]; ok {
				return n
			}
		}
	}
	return 0
}

// appendTokens appends the tokens of the characters of a piece. A character
// without one counts as its bytes.
func (s *spelling) appendTokens(tokens []uint32, piece string) []uint32 {
	for i := 0; i < len(piece); {
		r, size := utf8.DecodeRuneInString(piece[i:])
		i += size
		if r == ' ' {
			r = space
		}
		if r < utf8.RuneSelf && s.ascii[r] != 0 {
			tokens = append(tokens, s.ascii[r])
			continue
		}
		if id, ok := s.others[r]; ok {
			tokens = append(tokens, id)
			continue
		}
		var b [utf8.UTFMax]byte
		for _, value := range b[:utf8.EncodeRune(b[:], r)] {
			tokens = append(tokens, uint32(value))
		}
	}
	return tokens
}

// countSpelled counts a text by a vocabulary of characters: added tokens first,
// then what is between them, cut where no token reaches across.
func (c *Counter) countSpelled(text string) int {
	s, seams := c.vocabulary.spelling, c.vocabulary.seams
	total, start := 0, 0
	var left uint32
	for i := 0; i < len(text); {
		if n := s.addedAt(text, i); n > 0 {
			total += c.countSpelledPart(text[start:i]) + 1
			i += n
			start, left = i, 0
			continue
		}
		right, n := characterAt(text, i)
		if left != 0 && seams.cut(left, right) {
			total += c.countSpelledPart(text[start:i])
			start = i
		}
		left = right
		i += n
	}
	return total + c.countSpelledPart(text[start:])
}

func (c *Counter) countSpelledPart(part string) int {
	if part == "" {
		return 0
	}
	return c.countPiece(part)
}

// mergeSpelled counts a piece of a vocabulary of characters.
func (c *Counter) mergeSpelled(piece string) int {
	c.long.characters = c.vocabulary.spelling.appendTokens(c.long.characters[:0], piece)
	tokens := c.long.characters
	if len(tokens) > shortBytes {
		return c.long.queue.mergeCharacters(c.vocabulary, tokens)
	}
	var p shortPiece
	p.n = copy(p.tokens[:], tokens)
	for i := range p.n - 1 {
		p.keys[i] = noKey
		if value := c.vocabulary.pair(tokens[i], tokens[i+1]); value != 0 {
			p.keys[i] = value<<positionBits | uint32(i)
		}
	}
	return p.merge(c.vocabulary)
}

// characterAt returns the character at s[i] as seams wants it, with the space
// as the vocabulary writes it, and its length in s.
func characterAt(s string, i int) (character uint32, size int) {
	r, size := rune(s[i]), 1
	if r >= utf8.RuneSelf {
		r, size = utf8.DecodeRuneInString(s[i:])
	}
	if r == ' ' {
		r = space
	}
	if r > 0 && r < utf8.RuneSelf {
		return uint32(r), size
	}
	var b [utf8.UTFMax]byte
	utf8.EncodeRune(b[:], r)
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24, size
}
