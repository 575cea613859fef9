package projection

import (
	"strings"
	"unicode/utf8"
)

// headShare is how much of a cut text is its beginning, in per cent; the rest
// is its end. The division into 75 and 25 is the seed's.
const headShare = 75

// head returns the longest beginning of at most n bytes that cuts no rune.
func head(text string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(text) <= n {
		return text
	}
	for back := 0; back < utf8.UTFMax && n-back > 0; back++ {
		if utf8.RuneStart(text[n-back]) {
			return text[:n-back]
		}
	}
	if !utf8.RuneStart(text[0]) || n < utf8.UTFMax {
		return ""
	}
	return text[:n] // no UTF-8 around here: there is no rune to keep whole
}

// tail returns the longest end of at most n bytes that cuts no rune.
func tail(text string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(text) <= n {
		return text
	}
	at := len(text) - n
	for on := 0; on < utf8.UTFMax && at+on < len(text); on++ {
		if utf8.RuneStart(text[at+on]) {
			return text[at+on:]
		}
	}
	if n < utf8.UTFMax {
		return ""
	}
	return text[at:]
}

// validHead is head for a text that may hold bytes which are no UTF-8: they
// come out as U+FFFD, and the bound holds all the same.
func validHead(text string, n int) string {
	return head(strings.ToValidUTF8(head(text, n), "\uFFFD"), n)
}

func validTail(text string, n int) string {
	return tail(strings.ToValidUTF8(tail(text, n), "\uFFFD"), n)
}
