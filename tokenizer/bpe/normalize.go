package bpe

import (
	"slices"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/unicode/norm"
)

// keptBytes bounds the working memory that a counter keeps for the next text.
const keptBytes = 1 << 20

// A normalizer turns text into Unicode normalization form C.
//
// Package norm does it, except for more than 30 combining characters in a row:
// there it inserts U+034F as Stream-Safe Text asks for, which tokenizers do
// not. Those segments are composed here.
type normalizer struct {
	text  []byte
	runes []classedRune
	pair  []byte
	iter  norm.Iter // here because a local one is allocated
}

// streamSafe is how many combining characters in a row are left to norm: each
// decomposes to three of the 30 at most.
const streamSafe = 9

type classedRune struct {
	r       rune
	combine uint8 // canonical combining class
}

// IsNormal reports whether text is in Unicode normalization form C, as
// Definition.NFC makes it. It may report false for a text that is.
func IsNormal(text string) bool { return norm.NFC.QuickSpanString(text) == len(text) }

// normalize returns the normal form of text. It is valid until the next call.
func (n *normalizer) normalize(text string) string {
	if IsNormal(text) {
		return text
	}
	if cap(n.text) > keptBytes {
		n.text, n.runes = nil, nil
	}
	n.text = n.text[:0]
	plain := 0 // start of what norm may do by itself
	for i := 0; i < len(text); {
		end, combining := segmentEnd(text, i)
		if combining > streamSafe {
			n.appendPlain(text[plain:i])
			n.compose(text[i:end])
			plain = end
		}
		i = end
	}
	n.appendPlain(text[plain:])
	return unsafe.String(unsafe.SliceData(n.text), len(n.text))
}

// appendPlain appends the normal form of s, which starts at a boundary.
func (n *normalizer) appendPlain(s string) {
	n.iter.InitString(norm.NFC, s)
	for !n.iter.Done() {
		n.text = append(n.text, n.iter.Next()...)
	}
}

// segmentEnd returns the end of the segment at s[i], which nothing outside it
// composes with, and how many characters follow its first.
func segmentEnd(s string, i int) (end, combining int) {
	_, size := utf8.DecodeRuneInString(s[i:])
	end = i + size
	for end < len(s) {
		if s[end] < utf8.RuneSelf {
			break
		}
		properties := norm.NFC.PropertiesString(s[end:])
		if properties.Size() == 0 || properties.BoundaryBefore() {
			break
		}
		end += properties.Size()
		combining++
	}
	return end, combining
}

// compose appends the composed form of one segment.
func (n *normalizer) compose(segment string) {
	n.runes = n.runes[:0]
	for i := 0; i < len(segment); {
		properties := norm.NFC.PropertiesString(segment[i:])
		size := max(1, properties.Size())
		if parts := properties.Decomposition(); parts != nil {
			n.appendRunes(string(parts))
		} else {
			n.appendRunes(segment[i : i+size])
		}
		i += size
	}
	for start := 0; start < len(n.runes); {
		end := start + 1
		if n.runes[start].combine != 0 {
			for end < len(n.runes) && n.runes[end].combine != 0 {
				end++
			}
			slices.SortStableFunc(n.runes[start:end], func(a, b classedRune) int {
				return int(a.combine) - int(b.combine)
			})
		}
		start = end
	}
	for _, c := range n.composed() {
		n.text = utf8.AppendRune(n.text, c.r)
	}
}

func (n *normalizer) appendRunes(s string) {
	for i, r := range s {
		n.runes = append(n.runes, classedRune{r, norm.NFC.PropertiesString(s[i:]).CCC()})
	}
}

// composed composes n.runes in place by the canonical composition algorithm.
func (n *normalizer) composed() []classedRune {
	out := n.runes[:0]
	starter := -1
	last := uint8(0) // class of the character before, 0 right after the starter
	for _, c := range n.runes {
		if starter >= 0 && (last < c.combine || last == 0) {
			if r, ok := n.composePair(out[starter].r, c.r); ok {
				out[starter].r = r
				continue
			}
		}
		if c.combine == 0 {
			starter = len(out)
		}
		last = c.combine
		out = append(out, c)
	}
	return out
}

func (n *normalizer) composePair(a, b rune) (rune, bool) {
	n.pair = utf8.AppendRune(utf8.AppendRune(n.pair[:0], a), b)
	n.iter.Init(norm.NFC, n.pair)
	composed := n.iter.Next()
	r, size := utf8.DecodeRune(composed)
	return r, size == len(composed) && n.iter.Done()
}
