package compaction

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// trait is something in the form of a sentence that makes it more or less
// likely to hold for later.
type trait int

const (
	traitQuestion trait = iota
	traitAsks
	traitTask
	traitTalks
	traitOrdered
	traitName
	traitNames // two and more
	traitNumber
	traitShort  // less than 25 bytes
	traitLong   // more than 60
	traitLonger // more than 100
	traitBare   // no cue of a rule
	traitWritten
	traitLower
	traitComma
	traitCount
)

// openingBytes is how far into a sentence a cue still opens it.
const openingBytes = 7

// traits returns the traits of a sentence.
func (v *view) traits(raw string) [traitCount]bool {
	first, _ := utf8.DecodeRuneInString(raw)
	rules := v.told + v.soft + v.count[oblige] + v.count[keep] + v.count[decide] + v.count[contrast] + v.count[correct] + v.count[condition] + v.count[need]
	return [traitCount]bool{
		traitQuestion: v.marks.question,
		traitAsks:     v.asks,
		traitTask:     v.isTask,
		traitTalks:    v.talks,
		traitOrdered:  v.ordered,
		traitName:     v.marks.names > 0,
		traitNames:    v.marks.names > 1,
		traitNumber:   v.marks.numbers > 0,
		traitShort:    len(raw) < 25,
		traitLong:     len(raw) > 60,
		traitLonger:   len(raw) > 100,
		traitBare:     rules == 0,
		traitWritten:  unicode.IsUpper(first) && strings.HasSuffix(strings.TrimRight(raw, " \"')”’»」"), "."),
		traitLower:    unicode.IsLower(first),
		traitComma:    strings.IndexByte(raw, ',') >= 0 || strings.Contains(raw, "，") || strings.Contains(raw, "、"),
	}
}

// lean says how much a sentence looks like what holds for later rather than
// like talk: about 0 where it could be either. The score asks for cues of
// rules; this weighs the signs of talk against them, and decides only which of
// the user's words go first where not all fit.
func (v *view) lean(raw string) int {
	sum := leanBase
	for f, n := range v.count {
		if n == 0 {
			continue
		}
		w := &cueLean[f]
		sum += w[0]
		if n > 1 {
			sum += w[1]
		}
		if at := v.first[f]; at >= 0 && at <= openingBytes {
			sum += w[2]
		}
	}
	for t, ok := range v.traits(raw) {
		if ok {
			sum += traitLean[t]
		}
	}
	return sum
}
