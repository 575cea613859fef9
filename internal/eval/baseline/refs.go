package baseline

import (
	"strings"
	"unicode"
)

// References adds to into the paths, names and numbers of a text that identify
// something: what an agent cannot guess. Weak ones, such as "3" or "main", are
// left out.
func References(text string, into map[string]bool) {
	start := -1
	for i, c := range text + " " {
		if isReferenceRune(c) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			if word := strings.Trim(text[start:min(i, len(text))], "./-:@"); identifies(word) {
				into[word] = true
			}
			start = -1
		}
	}
}

func isReferenceRune(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("_-./@", c)
}

// identifies reports whether a word is a path, a name made of several words,
// or a number of three digits and more.
func identifies(word string) bool {
	if len(word) < 3 || len(word) > 200 {
		return false
	}
	digits, letters, inner, lower := 0, 0, false, false
	for i, c := range word {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case unicode.IsLetter(c):
			letters++
			if unicode.IsUpper(c) && lower {
				inner = true // a hump
			}
			lower = unicode.IsLower(c)
		}
		if i > 0 && i < len(word)-1 && (c == '_' || c == '/' || c == '.') {
			inner = true
		}
	}
	switch {
	case letters == 0:
		return digits == len(word) && digits >= 3
	case strings.Contains(word, "/"):
		return len(word) >= 6
	}
	return inner && len(word) >= 6
}
