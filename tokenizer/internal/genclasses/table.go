package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	pageRunes = 256
	pageCount = (utf8.MaxRune + 1) / pageRunes
	// unnamed is the class of every rune that the list does not name.
	unnamed = 'O'
)

// classBits gives each letter of the list the bits that package bpe uses.
var classBits = map[byte]byte{
	'U': 1 << 0,      // Lu, Lt
	'L': 1 << 1,      // Ll
	'B': 1<<0 | 1<<1, // Lm, Lo: upper and lower at once
	'M': 1 << 2,      // M
	'N': 1 << 3,      // N
	'S': 1 << 4,      // White_Space without CR and LF
	'C': 1 << 5,      // CR, LF
	'P': 1 << 6,      // P, S
	'O': 1 << 7,      // everything else
}

// Ranges returns the list of ranges for the Unicode version of this Go release.
func Ranges() []byte {
	var list bytes.Buffer
	fmt.Fprintf(&list, "# Character classes of the pre-tokenizers, Unicode %s.\n", unicode.Version)
	list.WriteString("# U: Lu Lt   L: Ll   B: Lm Lo   M: Mn Mc Me   N: Nd Nl No\n")
	list.WriteString("# P: Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So\n")
	list.WriteString("# C: CR LF   S: other White_Space   everything not named: O\n")
	list.WriteString("# Source: package unicode of Go, made from the Unicode Character Database\n")
	list.WriteString("# (https://www.unicode.org/license.txt).\n")
	for first := rune(0); first <= unicode.MaxRune; {
		letter := classLetter(first)
		last := first
		for last < unicode.MaxRune && classLetter(last+1) == letter {
			last++
		}
		switch {
		case letter == unnamed:
		case first == last:
			fmt.Fprintf(&list, "%04X %c\n", first, letter)
		default:
			fmt.Fprintf(&list, "%04X-%04X %c\n", first, last, letter)
		}
		first = last + 1
	}
	return list.Bytes()
}

func classLetter(r rune) byte {
	switch {
	case r == '\r' || r == '\n':
		return 'C'
	case unicode.IsSpace(r):
		return 'S'
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return 'U'
	case unicode.Is(unicode.Ll, r):
		return 'L'
	case unicode.In(r, unicode.Lm, unicode.Lo):
		return 'B'
	case unicode.Is(unicode.M, r):
		return 'M'
	case unicode.Is(unicode.N, r):
		return 'N'
	case unicode.In(r, unicode.P, unicode.S):
		return 'P'
	}
	return unnamed
}

// Table turns a list of ranges into the two-step table of package bpe: one
// page number for each 256 runes, then the pages that differ.
func Table(list string) ([]byte, error) {
	classes := bytes.Repeat([]byte{classBits[unnamed]}, utf8.MaxRune+1)
	lineNumber := 0
	for line := range strings.Lines(list) {
		lineNumber++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		first, last, bit, err := parseRange(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", lineNumber, err)
		}
		for r := first; r <= last; r++ {
			classes[r] = bit
		}
	}
	return fold(classes)
}

func parseRange(line string) (first, last int64, bit byte, err error) {
	runes, letter, ok := strings.Cut(line, " ")
	if !ok || len(letter) != 1 || classBits[letter[0]] == 0 {
		return 0, 0, 0, fmt.Errorf("%q is not a range and a class letter", line)
	}
	from, to, isRange := strings.Cut(runes, "-")
	if !isRange {
		to = from
	}
	if first, err = strconv.ParseInt(from, 16, 32); err != nil {
		return 0, 0, 0, fmt.Errorf("parse first rune: %w", err)
	}
	if last, err = strconv.ParseInt(to, 16, 32); err != nil {
		return 0, 0, 0, fmt.Errorf("parse last rune: %w", err)
	}
	if first > last || last > utf8.MaxRune {
		return 0, 0, 0, fmt.Errorf("range %s is not inside Unicode", runes)
	}
	return first, last, classBits[letter[0]], nil
}

func fold(classes []byte) ([]byte, error) {
	index := make([]byte, 0, pageCount)
	var pages [][]byte
	for page := range slices.Chunk(classes, pageRunes) {
		number := slices.IndexFunc(pages, func(p []byte) bool { return bytes.Equal(p, page) })
		if number < 0 {
			number = len(pages)
			pages = append(pages, page)
		}
		if number > 255 {
			return nil, fmt.Errorf("more than 256 pages differ: a page number no longer fits a byte")
		}
		index = append(index, byte(number))
	}
	return append(index, bytes.Join(pages, nil)...), nil
}
