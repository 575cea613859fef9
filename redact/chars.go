package redact

import "strings"

// charset is a set of ASCII characters.
type charset string

const (
	digits             = "0123456789"
	lower              = "abcdefghijklmnopqrstuvwxyz"
	upper              = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum      charset = digits + lower + upper
	word64     charset = alnum + "_"
	tokenChars charset = word64 + "-"
	dotted     charset = tokenChars + "."
	slashed    charset = tokenChars + "/"

	upperDigits charset = upper + digits
	hex         charset = digits + "abcdefABCDEF"
	base64Chars charset = alnum + "+/="
	bearerChars charset = alnum + "-._~+/="
	valueChars  charset = alnum + "-._~+/=!@%^&*"
	// pemChars may stand between the lines of a PEM block, headers included.
	pemChars charset = base64Chars + " \t\r\n:,-."
)

func (c charset) has(b byte) bool { return strings.IndexByte(string(c), b) >= 0 }

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isWord(c byte) bool { return isAlnum(c) || c == '_' }

// mixed reports whether letters and digits both occur.
func mixed(s string) bool {
	return strings.ContainsAny(s, digits) && strings.ContainsAny(s, lower+upper)
}

// placeholder reports whether a value stands for a secret instead of being
// one: a mark, one character repeated, an obvious example.
func placeholder(s string) bool {
	if s == "" || marked(s) {
		return true
	}
	if strings.Trim(s, s[:1]) == "" {
		return true
	}
	l := lowerASCII(s)
	return crossed(s) || strings.Contains(l, "....") || strings.Contains(l, "example") || strings.Contains(l, "placeholder") ||
		strings.HasPrefix(l, "your") && (!strings.ContainsAny(l, digits) || strings.ContainsAny(l[4:min(5, len(l))], "_-"))
}

// crossed reports whether a value is crossed out: eight times the same x, or
// half of it. Four in a row come up in keys by chance.
func crossed(s string) bool {
	for _, x := range []byte{'x', 'X'} {
		run, most := 0, 0
		for i := range len(s) {
			if s[i] == x {
				run++
			} else {
				run = 0
			}
			most = max(most, run)
		}
		if most >= 8 || most >= 4 && 2*most >= len(s) {
			return true
		}
	}
	return false
}
