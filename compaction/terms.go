package compaction

import (
	"unicode/utf8"
)

// terms appends the hashes of the content words of a folded text: words of
// three letters and more, and pairs of characters in scripts without spaces.
// A word that holds digits or joints (a path, an identifier, a number) is
// marked as a name.
func terms(dst []term, folded []byte) []term {
	for i := 0; i < len(folded); {
		c := folded[i]
		if !wordByte(c) {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			if r, size := utf8.DecodeRune(folded[i:]); spaceless(r) {
				next, n := utf8.DecodeRune(folded[i+size:])
				if n > 0 && spaceless(next) {
					dst = append(dst, term{hash: hashBytes(folded[i : i+size+n])})
				}
				i += size
				continue
			}
		}
		j, named := i, false
		for j < len(folded) {
			c := folded[j]
			if c >= utf8.RuneSelf {
				r, size := utf8.DecodeRune(folded[j:])
				if spaceless(r) {
					break
				}
				j += size
				continue
			}
			if wordByte(c) {
				named = named || c <= '9'
				j++
				continue
			}
			if (c == '/' || c == '_' || c == '.' || c == '-') && j+1 < len(folded) && wordByte(folded[j+1]) {
				named = true
				j++
				continue
			}
			break
		}
		if w := folded[i:j]; len(w) >= 3 || named {
			number := true
			for _, c := range w {
				number = number && (c >= '0' && c <= '9' || c == '.')
			}
			dst = append(dst, term{hash: hashBytes(w), name: named && !number, number: number})
		}
		i = max(j, i+1)
	}
	return dst
}

type term struct {
	hash         uint64
	name, number bool
}

func hashBytes(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
