package compaction

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// foldable lists Latin letters with marks after the letter that they are
// compared as.
const foldable = "aàáâãäåāăąǎạảấầẩẫậắằẳẵặ cçćĉċč dďđðḍ eèéêëēĕėęěẹẻẽếềểễệ gĝğġģ hĥħ iìíîïĩīĭįıịỉ jĵ kķ " +
	"lĺļľŀł nñńņňŋ oòóôõöøōŏőơọỏốồổỗộớờởỡợ rŕŗř sśŝşšșſ tţťŧț uùúûüũūŭůűųưụủứừửữự wŵ yýÿŷỳỵỷỹ zźżž " +
	"αά её εέ ηή ιίϊΐ οό υύϋΰ ωώ σς"

// foldTable maps the runes of foldable.
var foldTable = sync.OnceValue(func() map[rune]rune {
	table := map[rune]rune{}
	var base rune
	for _, r := range foldable {
		switch {
		case r == ' ':
			base = 0
		case base == 0:
			base = r
		default:
			table[r] = base
		}
	}
	return table
})

// appendFolded appends the form of s in which cues are looked for: lower case,
// without accents, apostrophes and white space in one form. Combining marks
// of Latin letters are dropped, so that both ways to write an accent agree.
func appendFolded(dst []byte, s string) []byte {
	space := true
	table := foldTable()
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == ' ' || c == '\n' || c == '\t' || c == '\r':
				if !space {
					dst = append(dst, ' ')
				}
				space = true
				continue
			case 'A' <= c && c <= 'Z':
				c += 'a' - 'A'
			}
			space = false
			dst = append(dst, c)
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case r >= 0x0300 && r <= 0x036f:
			continue
		case r == '’' || r == '‘' || r == 'ʼ':
			dst, space = append(dst, '\''), false
			continue
		case r == 'ß':
			dst, space = append(dst, "ss"...), false
			continue
		case r == 'æ' || r == 'Æ':
			dst, space = append(dst, "ae"...), false
			continue
		case r == 0x3000 || r == 0xa0:
			if !space {
				dst = append(dst, ' ')
			}
			space = true
			continue
		}
		r = unicode.ToLower(r)
		if f, ok := table[r]; ok {
			r = f
		}
		dst, space = utf8.AppendRune(dst, r), false
	}
	return dst
}

// spaceless reports whether r belongs to a script that is written without
// spaces, or glues endings to words, so that a cue may begin inside a word.
func spaceless(r rune) bool {
	return r >= 0x0e00 && r <= 0x0e7f || // Thai
		r >= 0x1100 && r <= 0x11ff || r >= 0x2e80 && r <= 0xd7ff || // Hangul, kana, ideographs
		r >= 0xf900 && r <= 0xfaff || r >= 0xff00 && r <= 0xffef || r >= 0x20000 && r <= 0x3ffff
}

// wordByte reports whether c is part of a word in folded text; every byte of a
// multi-byte letter is.
func wordByte(c byte) bool {
	return c >= utf8.RuneSelf || c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
}
