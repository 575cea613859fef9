package bpe

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// A Counter counts tokens with one vocabulary. It implements
// tokenizer.Counter.
//
// It keeps a cache of the pieces it met (1.3 MB, made by the first count) and
// the working memory for long pieces, and is not safe for concurrent use: give
// each goroutine its own. Counters of one vocabulary share its tables.
type Counter struct {
	vocabulary *Vocabulary
	cache      *cache
	long       longMerger
	normalizer normalizer
	tail       [windowReach + wordBytes]byte // the end of a text, for a window
}

// NewCounter returns a counter with an empty cache.
func NewCounter(v *Vocabulary) *Counter {
	return &Counter{vocabulary: v}
}

// Name returns the name of the vocabulary, for example "o200k_base".
func (c *Counter) Name() string { return c.vocabulary.name }

// Count returns the number of tokens of text.
func (c *Counter) Count(text string) int {
	if c.cache == nil {
		c.cache = new(cache)
	}
	if c.vocabulary.nfc {
		text = c.normalizer.normalize(text)
	}
	if c.vocabulary.spelling != nil {
		return c.countSpelled(text)
	}
	total := 0
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf && len(text)-i >= tailBytes {
			if count, n := c.countWindow(text[i:]); n > 0 {
				total += count
				i += n
				continue
			}
		}
		end := c.next(text, i)
		total += c.countPiece(text[i:end])
		i = end
	}
	return total
}

// tailBytes is how much text a window is worth its cost for.
const tailBytes = 16

// countWindow counts the pieces at the start of text that one window knows.
func (c *Counter) countWindow(text string) (count, n int) {
	w := window{pattern: c.vocabulary.pattern}
	b := asBytes(text)
	known := windowBytes
	if len(b) < windowReach+wordBytes {
		known = min(known, copy(c.tail[:], b))
		b = c.tail[:]
	}
	w.load(b[:windowReach], known)
	starts := w.starts(b[:windowReach])
	if starts == 0 {
		return 0, 0
	}
	return c.countPieces(b[:windowReach+wordBytes], starts)
}

// countPieces counts the pieces of a window up to the last start.
func (c *Counter) countPieces(text []byte, starts uint64) (count, end int) {
	words := &c.cache.words
	for ; starts != 0; starts &= starts - 1 {
		next := bits.TrailingZeros64(starts)
		n := next - end
		if n > wordBytes {
			count += c.countPhrase(asString(text[end:next]))
			end = next
			continue
		}
		low := binary.LittleEndian.Uint64(text[end:end+8]) & lowMasks[n&15]
		high := binary.LittleEndian.Uint64(text[end+8:end+16])&highMasks[n&15] | uint64(n)<<60
		slot := &words[wordHash(low, high)]
		if slot.low == low && (slot.high^high)&^(15<<56) == 0 {
			count += int(slot.high >> 56 & 15)
		} else {
			count += c.countWord(slot, low, high, asString(text[end:next]))
		}
		end = next
	}
	return count, end
}

// asString and asBytes are views of bytes that nobody writes.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func asBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// next returns the end of the piece that starts at text[i].
func (c *Counter) next(text string, i int) int {
	switch c.vocabulary.pattern {
	case PatternO200K:
		return nextO200K(text, i)
	case PatternQwen2:
		return nextCL100K(text, i, 0)
	case PatternDeepSeek:
		return nextDeepSeek(text, i)
	default:
		return nextCL100K(text, i, 2)
	}
}

func (c *Counter) countPiece(piece string) int {
	n := len(piece)
	if n > wordBytes {
		return c.countPhrase(piece)
	}
	low, high := pack(piece)
	high |= uint64(n) << 60
	slot := &c.cache.words[wordHash(low, high)]
	if slot.low == low && (slot.high^high)&^(15<<56) == 0 {
		return int(slot.high >> 56 & 15)
	}
	return c.countWord(slot, low, high, piece)
}

// countWord counts a piece of up to wordBytes and puts it into its slot.
func (c *Counter) countWord(slot *word, low, high uint64, piece string) int {
	count := c.merge(piece)
	if count <= 15 {
		*slot = word{low, high | uint64(count)<<56}
	}
	return count
}

// countPhrase counts a piece that is longer than a word.
func (c *Counter) countPhrase(piece string) int {
	if len(piece) > phraseBytes {
		return c.merge(piece)
	}
	slot := &c.cache.phrases[phraseHash(piece)]
	if slot.length == uint8(len(piece)) && string(slot.key[:len(piece)]) == piece {
		return int(slot.count)
	}
	count := c.merge(piece)
	if count <= 255 {
		copy(slot.key[:], piece)
		slot.length, slot.count = uint8(len(piece)), uint8(count)
	}
	return count
}

// merge counts a piece without looking it up.
func (c *Counter) merge(piece string) int {
	if c.vocabulary.spelling != nil {
		return c.mergeSpelled(piece)
	}
	valid := utf8.ValidString(piece)
	if c.vocabulary.whole != nil {
		key := piece
		if !valid {
			key = string([]rune(piece))
		}
		if _, ok := c.vocabulary.whole[key]; ok {
			return 1
		}
	}
	if !valid {
		return c.long.count(c.vocabulary, piece)
	}
	if len(piece) > wordBytes && piece[len(piece)/2] >= utf8.RuneSelf && c.vocabulary.seams != nil {
		return c.mergeAtSeams(piece)
	}
	return c.mergeWhole(piece)
}

// mergeWhole counts a piece of valid UTF-8 in one go.
func (c *Counter) mergeWhole(piece string) int {
	if len(piece) <= shortBytes {
		return c.vocabulary.mergeShort(piece)
	}
	return c.long.count(c.vocabulary, piece)
}
