package bpe

import (
	"sort"
	"unicode/utf8"
)

const (
	// chunkBytes bounds how much of a long piece is merged at once, so that
	// the working memory does not grow with the piece and stays in the cache.
	chunkBytes = 16 << 10
	// overlapShare of a chunk is merged again with the next one.
	overlapShare = 16
)

// A longMerger counts pieces of any length and content.
//
// It merges a piece in chunks that overlap. A sequence of tokens is the
// encoding of its text exactly if each two neighbours are the encoding of
// their text. So two encodings that share one token, at the same place, can be
// spliced there. The next chunk starts at a token of the last one; if its
// first token is that token again, the splice is exact. If not, what follows
// has reached back over the whole overlap, and the piece is merged once more
// in chunks of twice the size.
type longMerger struct {
	chunkBytes int // 0 means the constant; tests set another

	text   []byte // piece from the start of the current chunk, bad bytes replaced
	queue  mergeQueue
	tokens []token
	ahead  []token

	characters []uint32 // a piece of a vocabulary of characters
}

// A token is one token of a merged chunk and where in it the token starts.
type token struct {
	id, start uint32
}

// count returns the number of tokens of a piece.
func (m *longMerger) count(v *Vocabulary, piece string) int {
	size := chunkBytes
	if m.chunkBytes > 0 {
		size = m.chunkBytes
	}
	if !v.ordered {
		size = len(piece) * len("\ufffd")
	}
	for {
		if count, ok := m.countChunks(v, piece, size); ok {
			return count
		}
		size *= 2
	}
}

// countChunks counts a piece in chunks of a size, unless a splice fails.
func (m *longMerger) countChunks(v *Vocabulary, piece string, size int) (count int, ok bool) {
	m.text = m.text[:0]
	rest := m.fill(piece, size)
	m.tokens = m.queue.merge(v, m.text, m.tokens[:0])
	for rest != "" {
		at := lastBefore(m.tokens, len(m.text)-size/overlapShare)
		if at == 0 {
			return 0, false
		}
		start := int(m.tokens[at].start)
		rest = m.fill(rest, start+size)
		m.ahead = m.queue.merge(v, m.text[start:], m.ahead[:0])
		if m.ahead[0].id != m.tokens[at].id {
			return 0, false
		}
		count += at
		m.text = append(m.text[:0], m.text[start:]...)
		m.tokens, m.ahead = m.ahead, m.tokens
	}
	return count + len(m.tokens), true
}

// fill appends to m.text until it holds about size bytes, and returns what is
// left of the piece.
func (m *longMerger) fill(piece string, size int) (rest string) {
	i := 0
	for i < len(piece) && len(m.text) < size {
		if piece[i] < utf8.RuneSelf {
			m.text = append(m.text, piece[i])
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(piece[i:])
		m.text = utf8.AppendRune(m.text, r)
		i += n
	}
	return piece[i:]
}

// lastBefore returns the index of the last token that starts at or before a
// position, or 0.
func lastBefore(tokens []token, position int) int {
	after := sort.Search(len(tokens), func(i int) bool { return int(tokens[i].start) > position })
	return max(0, after-1)
}
