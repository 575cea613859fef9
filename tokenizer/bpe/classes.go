package bpe

import (
	_ "embed"
	"unicode/utf8"
)

//go:generate go run ../internal/genclasses -in classes.txt -out classes.bin

// classData maps a rune to its class in two steps: the byte at r>>8 is a page
// number, and page n starts at classIndexBytes + n<<8. It is generated from
// classes.txt, which pins the Unicode version, and is used as it is: nothing
// is built at start.
//
//go:embed classes.bin
var classData string

const classIndexBytes = (utf8.MaxRune + 1) >> 8

// A class is what the patterns of the pre-tokenizers tell apart. One bit is
// set, and two for the letters that are upper and lower case at once.
type class uint8

const (
	classUpper   class = 1 << iota // Lu, Lt
	classLower                     // Ll
	classMark                      // M
	classNumber                    // N
	classSpace                     // White_Space without CR and LF
	classNewline                   // CR, LF
	classSign                      // P, S
	classOther                     // everything else

	// Lm and Lo, the letters without case, have both bits.
	anyLetter = classUpper | classLower
	anySpace  = classSpace | classNewline
	// upperRun and lowerRun are the two letter sets of the o200k pattern.
	upperRun = classUpper | classMark
	lowerRun = classLower | classMark
	// prefixable is [^\r\n\p{L}\p{N}]: one such character may begin a word.
	prefixable = classMark | classSpace | classSign | classOther
	// symbol is [^\s\p{L}\p{N}].
	symbol = classMark | classSign | classOther
)

func classOf(r rune) class {
	page := int(classData[r>>8])
	return class(classData[classIndexBytes+page<<8+int(r&0xff)])
}

// classAt returns the class and the byte length of the character at s[i].
// A bad byte is one character, U+FFFD, of length 1.
func classAt(s string, i int) (class, int) {
	if b := s[i]; b < utf8.RuneSelf {
		return class(classData[classIndexBytes+int(b)]), 1
	}
	r, size := utf8.DecodeRuneInString(s[i:])
	return classOf(r), size
}
