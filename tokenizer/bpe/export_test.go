package bpe

// Normalize gives tests the normal form that PatternQwen2 counts.
func Normalize(text string) string {
	var n normalizer
	return n.normalize(text)
}

// NewCounterOfChunks returns a counter that merges long pieces in chunks of
// another size, so that small texts have many of them.
func NewCounterOfChunks(v *Vocabulary, chunkBytes, overlapBytes int) *Counter {
	c := NewCounter(v)
	c.long.chunkBytes, c.long.overlapBytes = chunkBytes, overlapBytes
	return c
}

// CountLong counts text as one piece, past the short-piece path.
func (c *Counter) CountLong(text string) int { return c.long.count(c.vocabulary, text) }

// CountShort counts text of up to ShortBytes bytes as one piece.
func (c *Counter) CountShort(text string) int { return c.vocabulary.mergeShort(text) }

const ShortBytes = shortBytes
