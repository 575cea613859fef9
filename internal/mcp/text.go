package mcp

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden reports whether a character cannot be seen or turns other text
// around: control and format characters (direction marks and tags among them),
// the separators of lines and paragraphs, and the selectors in which text can
// be hidden. The two joiners stay, since scripts and emoji need them.
func hidden(r rune) bool {
	switch {
	case r == '\u200c', r == '\u200d':
		return false
	case r >= 0xE0100 && r <= 0xE01EF, r == '\u2028', r == '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// clean makes foreign text safe to show on one line: hidden characters become
// visible escapes.
func clean(s string) string { return escape(s, "") }

// cleanLines is clean for text of several lines.
func cleanLines(s string) string {
	return escape(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t")
}

func escape(s, except string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	bad := func(r rune) bool { return hidden(r) && !strings.ContainsRune(except, r) }
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if bad(r) {
			fmt.Fprintf(&out, "\\u{%04X}", r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// clip cuts a text to at most most bytes, "…" included, and no character.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := max(most-len("…"), 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// shown is one line of foreign text, bounded.
func shown(s string, most int) string { return clip(clean(clip(s, 4*most)), most) }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
