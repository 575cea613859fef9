package bpe

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

const (
	// cachedBytes bounds the pieces that the word cache holds. Nearly all
	// pieces are this short: 99.4 % of those of mixed agent text.
	cachedBytes = 15
	// cacheSlots words of 16 bytes each make a cache of 2 MB.
	cacheBits  = 17
	cacheSlots = 1 << cacheBits
)

// A word is one entry of the word cache: up to 15 bytes of a piece and, in the
// top byte, its length and its count of tokens, four bits each.
type word struct {
	low, high uint64
}

// A Counter counts tokens with one vocabulary. It implements
// tokenizer.Counter.
//
// It keeps a cache of the words it met (2 MB, made by the first count) and the
// working memory for long pieces, and is not safe for concurrent use: give
// each goroutine its own. Counters of one vocabulary share its tables.
type Counter struct {
	vocabulary *Vocabulary
	words      *[cacheSlots]word
	long       longMerger
	normalizer normalizer
}

// NewCounter returns a counter with an empty cache.
func NewCounter(v *Vocabulary) *Counter {
	return &Counter{vocabulary: v}
}

// Name returns the name of the vocabulary, for example "o200k_base".
func (c *Counter) Name() string { return c.vocabulary.name }

// Count returns the number of tokens of text.
func (c *Counter) Count(text string) int {
	if c.words == nil {
		c.words = new([cacheSlots]word)
	}
	if c.vocabulary.pattern == PatternQwen2 {
		text = c.normalizer.normalize(text)
	}
	total := 0
	b := unsafe.Slice(unsafe.StringData(text), len(text)) // never written
	var w window
	for i := 0; i < len(text); {
		if len(text)-i >= windowReach+cachedBytes && text[i] < utf8.RuneSelf {
			w.load(b[i : i+windowReach])
			if starts := w.starts(c.vocabulary.pattern, b[i:i+windowReach]); starts != 0 {
				count, n := c.countPieces(b[i:i+windowReach+cachedBytes], starts)
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

// countPieces counts the pieces of a window up to the last start.
func (c *Counter) countPieces(text []byte, starts uint64) (count, end int) {
	words := c.words
	at := 0
	for ; starts != 0; starts &= starts - 1 {
		next := bits.TrailingZeros64(starts)
		n := next - at
		if n > cachedBytes {
			count += c.merge(asString(text[at:next]))
			at = next
			continue
		}
		low := binary.LittleEndian.Uint64(text[at:at+8]) & lowMasks[n&15]
		high := binary.LittleEndian.Uint64(text[at+8:at+16])&highMasks[n&15] | uint64(n)<<60
		slot := &words[wordHash(low, high)]
		if slot.low == low && (slot.high^high)&^(15<<56) == 0 {
			count += int(slot.high >> 56 & 15)
		} else {
			count += c.remember(slot, low, high, asString(text[at:next]))
		}
		at = next
	}
	return count, at
}

// asString is a string over bytes that nobody writes.
func asString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// next returns the end of the piece that starts at text[i].
func (c *Counter) next(text string, i int) int {
	switch c.vocabulary.pattern {
	case PatternO200K:
		return nextO200K(text, i)
	case PatternQwen2:
		return nextCL100K(text, i, 0)
	default:
		return nextCL100K(text, i, 2)
	}
}

func (c *Counter) countPiece(piece string) int {
	n := len(piece)
	if n > cachedBytes {
		return c.merge(piece)
	}
	low, high := pack(piece)
	high |= uint64(n) << 60
	slot := &c.words[wordHash(low, high)]
	if slot.low == low && (slot.high^high)&^(15<<56) == 0 {
		return int(slot.high >> 56 & 15)
	}
	return c.remember(slot, low, high, piece)
}

// remember counts a short piece and puts it into its slot of the cache.
func (c *Counter) remember(slot *word, low, high uint64, piece string) int {
	count := c.merge(piece)
	if count <= 15 {
		*slot = word{low, high | uint64(count)<<56}
	}
	return count
}

// merge counts a piece without the cache.
func (c *Counter) merge(piece string) int {
	if !utf8.ValidString(piece) {
		return c.long.count(c.vocabulary, piece)
	}
	if len(piece) > cachedBytes && piece[len(piece)/2] >= utf8.RuneSelf {
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

// lowMasks and highMasks keep the first n bytes of two words.
var (
	lowMasks = [16]uint64{
		0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1,
		1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1,
	}
	highMasks = [16]uint64{
		0, 0, 0, 0, 0, 0, 0, 0,
		0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1,
	}
)

// pack puts up to 15 bytes into two words.
func pack(piece string) (low, high uint64) {
	for i := range len(piece) {
		if i < 8 {
			low |= uint64(piece[i]) << (8 * i)
		} else {
			high |= uint64(piece[i]) << (8 * (i - 8))
		}
	}
	return low, high
}

func wordHash(low, high uint64) uint64 {
	hi, lo := bits.Mul64(low^0x9e3779b97f4a7c15, high^0xd1b54a32d192ed03)
	return (hi ^ lo) >> (64 - cacheBits)
}
