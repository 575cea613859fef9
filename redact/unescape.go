package redact

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape decodes the escapes of JSON and of Go strings in s, wherever they
// stand, and returns for each byte of the result, and for its end, the offset
// in s that it comes from. Without an escape the offsets are nil. What is no
// escape stays.
func unescape(s string) (string, []int) {
	first := strings.IndexByte(s, '\\')
	if first < 0 || first == len(s)-1 {
		return s, nil
	}
	out := make([]byte, 0, len(s))
	at := make([]int, 0, len(s)+1)
	decoded := false
	for i := 0; i < len(s); {
		if s[i] == '\\' {
			if r, n := escape(s[i:]); n > 0 {
				before := len(out)
				out = utf8.AppendRune(out, r)
				for range len(out) - before {
					at = append(at, i)
				}
				i += n
				decoded = true
				continue
			}
		}
		out, at = append(out, s[i]), append(at, i)
		i++
	}
	if !decoded {
		return s, nil
	}
	return string(out), append(at, len(s))
}

// escape decodes the escape that s begins with; n is zero for none.
func escape(s string) (r rune, n int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[1] {
	case '"', '\\', '/', '\'':
		return rune(s[1]), 2
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'x':
		return hexEscape(s, 2)
	case 'u':
		r, n = hexEscape(s, 4)
		if n > 0 && utf16.IsSurrogate(r) && strings.HasPrefix(s[n:], `\u`) {
			if low, m := hexEscape(s[n:], 4); m > 0 {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return pair, n + m
				}
			}
		}
		return r, n
	}
	return 0, 0
}

func hexEscape(s string, digits int) (rune, int) {
	if len(s) < 2+digits {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[2:2+digits], 16, 32)
	if err != nil {
		return 0, 0
	}
	return rune(v), 2 + digits
}
