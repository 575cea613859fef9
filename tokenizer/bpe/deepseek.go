package bpe

import "unicode/utf8"

// nextDeepSeek returns the end of the piece that starts at s[i], by the three
// patterns of DeepSeek V3, each of which cuts what the one before left:
//
//	\p{N}{1,3}
//	[一-龥぀-ゟ゠-ヿ]+
//	[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+
//	  |[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*
//	  |\s*[\r\n]+|\s+(?!\S)|\s+
//
// A number and a run of Chinese or Japanese characters are each cut apart from
// the text around them, so that the last pattern sees the text end there. What
// it does not match is a piece too.
func nextDeepSeek(s string, i int) int {
	first, eastern, size := easternAt(s, i)
	afterFirst := i + size
	switch {
	case first&classNumber != 0:
		return numberEnd(s, afterFirst, 2)
	case first&(anyLetter|classMark) != 0:
		return easternRun(s, afterFirst, anyLetter|classMark, eastern)
	case first&classSign != 0:
		if s[i] < utf8.RuneSelf && afterFirst < len(s) && isASCIILetter(s[afterFirst]) {
			return asciiLetters(s, afterFirst)
		}
		return signEnd(s, afterFirst, eastern)
	case first&(classSpace|classOther) != 0:
		if end := easternRun(s, afterFirst, anyLetter|classMark, eastern); end > afterFirst {
			return end
		}
	}
	if s[i] == ' ' {
		if end := easternRun(s, afterFirst, classSign, eastern); end > afterFirst {
			return signEnd(s, end, eastern)
		}
	}
	if first&anySpace != 0 {
		return spaceEndBefore(s, i, endsSegment)
	}
	return otherEnd(s, afterFirst, eastern)
}

// easternAt is classAt and whether the second pattern takes the character.
func easternAt(s string, i int) (c class, eastern bool, size int) {
	if b := s[i]; b < utf8.RuneSelf {
		return classOf(rune(b)), false, 1
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	return classOf(r), r >= '一' && r <= '龥' || r >= '\u3040' && r <= '\u30ff', size
}

// easternRun is runEnd inside a segment.
func easternRun(s string, i int, set class, eastern bool) int {
	for i < len(s) {
		c, e, size := easternAt(s, i)
		if c&set == 0 || e != eastern {
			break
		}
		i += size
	}
	return i
}

// signEnd matches "[\p{P}\p{S}]*[\r\n]*" at s[i].
func signEnd(s string, i int, eastern bool) int {
	i = easternRun(s, i, classSign, eastern)
	for !eastern && i < len(s) && (s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// otherEnd returns the end of a run of characters that no pattern matches,
// except that the last of them may begin a word.
func otherEnd(s string, i int, eastern bool) int {
	last := i
	for i < len(s) {
		c, e, size := easternAt(s, i)
		if e != eastern {
			break
		}
		if c&(anyLetter|classMark) != 0 {
			return last
		}
		if c&classOther == 0 {
			break
		}
		last = i
		i += size
	}
	return i
}

// endsSegment reports whether the text ends before s[i] for the last pattern.
func endsSegment(s string, i int) bool {
	if i == len(s) {
		return true
	}
	c, eastern, _ := easternAt(s, i)
	return eastern || c&classNumber != 0
}

func isASCIILetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func asciiLetters(s string, i int) int {
	for i < len(s) && isASCIILetter(s[i]) {
		i++
	}
	return i
}
