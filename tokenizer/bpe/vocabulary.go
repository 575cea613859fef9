package bpe

import (
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// A Pattern names the pre-tokenizer of a vocabulary: how a text is cut into
// pieces before the bytes of each piece are merged.
type Pattern uint8

const (
	// PatternO200K is the pattern of o200k_base, which also cuts words at a
	// change from lower to upper case.
	PatternO200K Pattern = iota + 1
	// PatternCL100K is the pattern of cl100k_base and of Llama 3.
	PatternCL100K
	// PatternQwen2 is the pattern of Qwen 2, 2.5 and 3: that of cl100k_base
	// with each digit by itself.
	PatternQwen2
	// PatternDeepSeek is the pattern of DeepSeek V3 and R1, which cuts in three
	// steps.
	PatternDeepSeek
	// PatternSentencePiece is no pattern: a vocabulary of characters, in which
	// a space is the character U+2581, reads a text as one piece. Definition
	// says what else it needs.
	PatternSentencePiece

	lastPattern = PatternSentencePiece
)

const (
	// byteTokens is the number of tokens that are one byte. Their numbers are
	// the values of the bytes.
	byteTokens = 256
	// tokenBits bounds token and merge numbers so that a pair and its merge
	// fit one word.
	tokenBits = 21
	// MaxTokens is the largest number of tokens, and of merges, that a
	// vocabulary may have.
	MaxTokens = 1 << tokenBits
	tokenMask = MaxTokens - 1
	// mergeRecordBytes is one merge in a merge file: the left and the right
	// token as little-endian 24-bit numbers.
	mergeRecordBytes = 6
)

// A Merge joins two neighbouring tokens into one. Tokens 0 to 255 are the
// bytes by value.
type Merge struct {
	Left, Right, Result uint32
}

// A Definition says what a vocabulary consists of.
type Definition struct {
	// Name is what Counter.Name returns.
	Name string
	// Pattern cuts texts into pieces.
	Pattern Pattern
	// NFC says that a text is brought to Unicode normalization form C first.
	NFC bool
	// MergeFile holds merges in the order in which they apply, each as two
	// little-endian 24-bit token numbers; merge n makes token 256+n.
	MergeFile string
	// Merges is an alternative to MergeFile for vocabularies in which more
	// than one merge makes a token, always of the same bytes. Of equal pairs
	// the first counts.
	Merges []Merge
	// Tokens gives the bytes of each token that Merges name, the token 256
	// first. Without them, merges that come before those that make their parts
	// are only merged more slowly.
	Tokens []string
	// Characters gives the token of each character, for PatternSentencePiece.
	// A character that is not in it counts as its bytes.
	Characters map[rune]uint32
	// Added lists texts that are one token wherever they stand, for
	// PatternSentencePiece. Of two at one place, the longer counts.
	Added []string
	// Whole lists pieces that are one token even where no merges make them.
	// Pieces that are not valid UTF-8 are no text and make no difference.
	Whole []string
}

// A Vocabulary holds a vocabulary in the form that counting needs. It is
// immutable and may be shared between any number of counters.
type Vocabulary struct {
	name    string
	pattern Pattern
	nfc     bool
	whole   map[string]struct{}

	// bytePairs is the merge of each pair of bytes, plus byteTokens; 0 is none.
	bytePairs []uint32
	// slots is an open-addressed table: left, right and merge+byteTokens.
	slots     []uint64
	slotShift uint
	// filter is a Bloom filter of the pairs with both bits in one word. Most
	// pairs that are looked up do not exist, and it fits a cache that slots
	// does not.
	filter      []uint64
	filterShift uint
	// results maps a merge to its token where that is not byteTokens+merge.
	results []uint32
	merges  int
	// ordered says that each merge comes after all those that make its parts.
	ordered bool
	seams   *seams
	// spelling is not nil for PatternSentencePiece.
	spelling *spelling
}

// NewVocabulary builds the tables of a vocabulary.
func NewVocabulary(d Definition) (*Vocabulary, error) {
	v, err := build(d)
	if err != nil {
		return nil, fmt.Errorf("build vocabulary %q: %w", d.Name, err)
	}
	return v, nil
}

func build(d Definition) (*Vocabulary, error) {
	if d.Pattern == 0 || d.Pattern > lastPattern {
		return nil, fmt.Errorf("pattern %d is not one of the constants", d.Pattern)
	}
	if len(d.MergeFile)%mergeRecordBytes != 0 {
		return nil, fmt.Errorf("a merge file of %d bytes is not a whole number of records", len(d.MergeFile))
	}
	if (d.Pattern == PatternSentencePiece) != (d.Characters != nil) {
		return nil, errors.New("characters go with the SentencePiece pattern, and only with it")
	}
	if d.Pattern == PatternSentencePiece && (d.NFC || d.Whole != nil || d.Merges == nil) {
		return nil, errors.New("the SentencePiece pattern takes Merges, and neither NFC nor Whole")
	}
	if d.MergeFile != "" && d.Merges != nil {
		return nil, errors.New("merges are given twice")
	}
	n := max(len(d.MergeFile)/mergeRecordBytes, len(d.Merges))
	if n > MaxTokens-byteTokens {
		return nil, fmt.Errorf("%d merges are more than %d", n, MaxTokens-byteTokens)
	}
	v := newTables(n)
	v.name, v.pattern, v.nfc = d.Name, d.Pattern, d.NFC
	if d.Characters != nil {
		v.spelling = newSpelling(d.Characters, d.Added)
		v.seams.ascii = true
	}
	var err error
	if d.Merges != nil {
		err = v.addMerges(d.Merges, d.Tokens)
	} else {
		err = v.addFile(d.MergeFile)
	}
	v.addWhole(d.Whole)
	return v, err
}

// addWhole keeps those of the pieces that merges do not make, few as a rule.
func (v *Vocabulary) addWhole(pieces []string) {
	whole := map[string]struct{}{}
	var long longMerger
	for _, piece := range pieces {
		if piece != "" && utf8.ValidString(piece) && long.count(v, piece) != 1 {
			whole[piece] = struct{}{}
		}
	}
	if len(whole) > 0 {
		v.whole = whole
	}
}

func newTables(merges int) *Vocabulary {
	// A quarter of the slots stay free at least; a filter word serves about
	// three pairs, so that one lookup in a hundred passes it by chance.
	slotBits := uint(max(8, bits.Len(uint(merges+merges/3))))
	filterBits := uint(max(6, bits.Len(uint(merges/4))))
	return &Vocabulary{
		bytePairs:   make([]uint32, byteTokens*byteTokens),
		slots:       make([]uint64, 1<<slotBits),
		slotShift:   64 - slotBits,
		filter:      make([]uint64, 1<<filterBits),
		filterShift: 64 - filterBits,
		merges:      merges,
		ordered:     true,
		seams:       new(seams),
	}
}

// addFile adds the merges of a merge file.
func (v *Vocabulary) addFile(file string) error {
	edges := byteEdges(v.merges)
	for i := range v.merges {
		record := file[i*mergeRecordBytes : (i+1)*mergeRecordBytes]
		left := uint32(record[0]) | uint32(record[1])<<8 | uint32(record[2])<<16
		right := uint32(record[3]) | uint32(record[4])<<8 | uint32(record[5])<<16
		if max(left, right) >= uint32(byteTokens+i) {
			return fmt.Errorf("merge %d joins a token that no earlier merge makes", i)
		}
		v.add(left, right, uint32(i))
		v.seams.add(edges[left], edges[right])
		edges = append(edges, edges[left].join(edges[right]))
	}
	return nil
}

// addMerges adds merges that name their result.
func (v *Vocabulary) addMerges(merges []Merge, tokens []string) error {
	v.results = make([]uint32, len(merges))
	edges := byteEdges(len(tokens))
	for _, text := range tokens {
		edges = append(edges, textEdge(text))
	}
	// isPart says that a merge so far needs the token. A vocabulary is ordered
	// if no later merge makes one.
	isPart := make([]bool, MaxTokens)
	for i, m := range merges {
		if max(m.Left, m.Right, m.Result) >= MaxTokens || m.Result < byteTokens {
			return fmt.Errorf("merge %d: tokens %d, %d and %d are not from 0 to %d", i, m.Left, m.Right, m.Result, MaxTokens-1)
		}
		v.results[i] = m.Result
		v.add(m.Left, m.Right, uint32(i))
		isPart[m.Left], isPart[m.Right] = true, true
		v.ordered = v.ordered && !isPart[m.Result]
		if need := int(max(m.Left, m.Right, m.Result)) + 1; need > len(edges) {
			edges = append(edges, make([]edge, need-len(edges))...)
		}
		left, right := edges[m.Left], edges[m.Right]
		if left.length == 0 || right.length == 0 {
			v.seams = nil // what the merge reaches across is not known
		}
		if v.seams != nil {
			v.seams.add(left, right)
			edges[m.Result] = left.join(right)
		}
	}
	if v.seams == nil && v.spelling != nil {
		return errors.New("a vocabulary of characters needs the bytes of its tokens")
	}
	return nil
}

// byteEdges returns the edges of the bytes, with room for n more tokens.
func byteEdges(n int) []edge {
	edges := make([]edge, 0, byteTokens+n)
	for b := range uint32(byteTokens) {
		edges = append(edges, byteEdge(b))
	}
	return edges
}

// add records that merge number n joins left and right. The first merge of a
// pair counts.
func (v *Vocabulary) add(left, right, n uint32) {
	value := byteTokens + n
	if left < byteTokens && right < byteTokens {
		if at := &v.bytePairs[left<<8|right]; *at == 0 {
			*at = value
		}
	}
	key, h := pairHash(left, right)
	v.filter[h>>v.filterShift] |= filterMask(h)
	slot := h >> v.slotShift
	for v.slots[slot] != 0 {
		if v.slots[slot]>>tokenBits == key {
			return
		}
		slot = (slot + 1) & uint64(len(v.slots)-1)
	}
	v.slots[slot] = key<<tokenBits | uint64(value)
}

// pair returns the merge of two neighbouring tokens plus byteTokens, or 0 if
// they do not merge.
func (v *Vocabulary) pair(left, right uint32) uint32 {
	key, h := pairHash(left, right)
	mask := filterMask(h)
	if v.filter[h>>v.filterShift]&mask != mask {
		return 0
	}
	slot := h >> v.slotShift
	for {
		entry := v.slots[slot]
		if entry>>tokenBits == key {
			return uint32(entry & tokenMask)
		}
		if entry == 0 {
			return 0
		}
		slot = (slot + 1) & uint64(len(v.slots)-1)
	}
}

// result returns the token that a merge makes; value is as pair returns it.
func (v *Vocabulary) result(value uint32) uint32 {
	if v.results == nil {
		return value
	}
	return v.results[value-byteTokens]
}

func pairHash(left, right uint32) (key, h uint64) {
	key = uint64(left)<<tokenBits | uint64(right)
	return key, key * 0x9e3779b97f4a7c15
}

// filterMask picks two bits of a filter word. It reads bits of the product
// that depend on the whole pair and that do not choose the word.
func filterMask(h uint64) uint64 {
	return 1<<(h>>42&63) | 1<<(h>>36&63)
}
