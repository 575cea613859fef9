// Package excerpt makes text for a model out of the bytes of a file that
// somebody else wrote: without secrets, valid, of bounded length, and never
// shortened or changed without a mark. It reads no files.
package excerpt

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/forge-agent/forge/redact"
)

// SlackBytes is how much more than the bound is to be read, so that a secret
// that the cut goes through is recognised: longer than any key or token but
// private keys, whose rule needs their first line only.
const SlackBytes = 4096

// minBytes leaves room for the mark.
const minBytes = 128

// An Excerpt is what became of a file's content.
type Excerpt struct {
	// Text is valid UTF-8 of at most the bound, the mark of a cut included.
	Text string
	// OriginalBytes is the length of the whole file.
	OriginalBytes int64
	// Cut says that the end is missing.
	Cut bool
	// Secrets is how many were taken out, BadBytes how many bytes were no
	// UTF-8 and stand as U+FFFD, Hidden how many characters were there that a
	// model reads and a person does not see, which stand as U+FFFD too.
	Secrets, BadBytes, Hidden int
}

// Make returns the excerpt of a file. data is its beginning, better SlackBytes
// longer than maxBytes, and totalBytes how long the file is. maxBytes is raised
// to 128. A nil redactor stands for redact.New(nil).
func Make(data []byte, totalBytes int64, maxBytes int, r *redact.Redactor) Excerpt {
	if r == nil {
		r = redact.New(nil)
	}
	e := Excerpt{OriginalBytes: max(totalBytes, int64(len(data)))}
	whole := e.OriginalBytes == int64(len(data))
	if !whole {
		data = wholeRunes(data)
	}
	text := strings.TrimPrefix(string(data), "\uFEFF")
	text, e.BadBytes = valid(text)
	text, e.Hidden = visible(text)
	text, hits := r.Text(text)
	text, _ = valid(text)
	maxBytes = max(maxBytes, minBytes)
	e.Secrets = len(hits)
	if whole && len(text) <= maxBytes {
		e.Text = text
		return e
	}
	e.Cut = true
	mark := func(shown int) string {
		return fmt.Sprintf("\n[… cut here: about %d of %d bytes are shown …]", shown, e.OriginalBytes)
	}
	at := min(len(text), maxBytes-len(mark(maxBytes)))
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	e.Text = text[:at] + mark(at)
	return e
}

// Notes says in clauses what was done to the text.
func (e Excerpt) Notes() []string {
	var out []string
	if e.Cut {
		out = append(out, fmt.Sprintf("cut: about %d of %d bytes are shown", len(e.Text), e.OriginalBytes))
	}
	if e.Secrets > 0 {
		out = append(out, fmt.Sprintf("recognised secrets taken out: %d", e.Secrets))
	}
	if e.BadBytes > 0 {
		out = append(out, fmt.Sprintf("bytes that are not UTF-8, shown as \uFFFD: %d", e.BadBytes))
	}
	if e.Hidden > 0 {
		out = append(out, fmt.Sprintf("characters that are not visible, shown as \uFFFD: %d", e.Hidden))
	}
	return out
}

// The tag characters of Unicode are drawn as nothing, but a model reads the
// letters that they stand for. Their one use is in flags, after the black flag.
const (
	tagFirst, tagLast = 0xE0000, 0xE007F
	blackFlag         = 0x1F3F4
	// The overrides make text read otherwise than it is drawn.
	leftOverride, rightOverride = 0x202D, 0x202E
)

// visible puts U+FFFD in place of characters that hide text from a person.
func visible(s string) (string, int) {
	hidden, inFlag := 0, false
	out := strings.Map(func(r rune) rune {
		tag := r >= tagFirst && r <= tagLast
		inFlag = r == blackFlag || inFlag && tag
		if tag && !inFlag || r == leftOverride || r == rightOverride {
			hidden++
			return utf8.RuneError
		}
		return r
	}, s)
	if hidden == 0 {
		return s, 0
	}
	return out, hidden
}

// valid puts U+FFFD in place of each run of bytes that are no text, and counts
// the bytes. NUL is one of them: no provider takes it for sure.
func valid(s string) (string, int) {
	bad := strings.Count(s, "\x00")
	if bad == 0 && utf8.ValidString(s) {
		return s, 0
	}
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				bad++
			}
		}
	}
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD"), bad
}

// wholeRunes takes an unfinished rune off the end.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// Line returns a text as one line without control characters, of at most
// maxBytes: for descriptions, names and reasons that others wrote.
func Line(s string, maxBytes int) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))), " ")
	s, _ = visible(s)
	if len(s) <= maxBytes {
		return s
	}
	at := max(maxBytes-len("…"), 0)
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + "…"
}
