package compaction

import (
	"unicode"
	"unicode/utf8"
)

// A shape is what is left of a sentence without its names and numbers. What
// has one shape again and again is routine.

// minShapeWords is how many plain words a sentence needs so that one of them
// may stand for a name that looks like a plain word.
const minShapeWords = 3

// maxShapeWords bounds the work on one sentence.
const maxShapeWords = 24

// shapeWords appends the hashes of the plain words of a text: names, numbers
// and, in a text of another script, Latin words are left out.
func shapeWords(dst []uint64, raw string) []uint64 {
	foreign := false
	for _, r := range raw {
		if r >= 0x370 && unicode.IsLetter(r) && (r < 0x1e00 || r > 0x1eff) {
			foreign = true
			break
		}
	}
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRuneInString(raw[i:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			i += size
			continue
		}
		w := nextToken(raw[i:])
		if h, plain := plainWord(raw[i:i+w], foreign); plain {
			dst = append(dst, h)
		}
		i += w
	}
	return dst
}

// nextToken returns the length of the word or name that s begins with.
func nextToken(s string) int {
	first, _ := utf8.DecodeRuneInString(s)
	wide := spaceless(first)
	for i, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			if spaceless(r) != wide {
				return i
			}
		case r == '/' || r == '_' || r == '.' || r == '-' || r == ':' || r == '@' || r == '#' || r == '\\':
			next, _ := utf8.DecodeRuneInString(s[i+1:])
			if wide || spaceless(next) || !unicode.IsLetter(next) && !unicode.IsDigit(next) && next != '/' && next != '_' {
				return i
			}
		default:
			return i
		}
	}
	return len(s)
}

// plainWord hashes a word without regard to case, unless it is a name or a
// number.
func plainWord(w string, foreign bool) (hash uint64, plain bool) {
	hash = 14695981039346656037
	latin, upper, letters := false, 0, 0
	for i, r := range w {
		switch {
		case unicode.IsDigit(r), r == '/', r == '_', r == '.', r == '-', r == ':', r == '@', r == '#', r == '\\':
			return 0, false
		case r < 0x370:
			latin = true
		}
		letters++
		if i > 0 && unicode.IsUpper(r) {
			upper++
		}
		hash = (hash ^ uint64(unicode.ToLower(r))) * 1099511628211
	}
	return hash, !(foreign && latin) && (upper == 0 || upper == letters-1)
}

// shapeOf hashes the plain words of a sentence in their order.
func shapeOf(words []uint64) uint64 {
	h := uint64(len(words))
	for _, w := range words {
		h = h*shapeStep + w
	}
	return h
}

const shapeStep = 0x9e3779b97f4a7c15

// nearShapes appends, for every plain word, the shape of the sentence with any
// word in its place: "redis is missing" and "kafka is missing" share one.
func nearShapes(dst, words []uint64) []uint64 {
	if len(words) < minShapeWords || len(words) > maxShapeWords {
		return dst
	}
	whole, power := shapeOf(words), uint64(1)
	for i := len(words) - 1; i >= 0; i-- {
		dst = append(dst, whole-words[i]*power+uint64(i+1)*0xff51afd7ed558ccd)
		power *= shapeStep
	}
	return dst
}

// countShapes returns for each unit how often the user says the same with other
// names, itself counted.
func countShapes(units []*unit) []int {
	var words, near []uint64
	ends := make([]int, len(units))
	for i, u := range units {
		words = shapeWords(words, u.text)
		ends[i] = len(words)
	}
	times := make(map[uint64]int32, len(words)+len(units))
	each := func(visit func(i int, shapes []uint64)) {
		from := 0
		for i, end := range ends {
			own := words[from:end]
			near = nearShapes(append(near[:0], shapeOf(own)), own)
			visit(i, near)
			from = end
		}
	}
	each(func(_ int, shapes []uint64) {
		for _, h := range shapes {
			times[h]++
		}
	})
	counts := make([]int, len(units))
	each(func(i int, shapes []uint64) {
		for _, h := range shapes {
			counts[i] = max(counts[i], int(times[h]))
		}
	})
	return counts
}
