package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A JSON writes one JSON text, member by member, in the order of the calls:
// the same calls give the same bytes. The first fault stays in Err.
type JSON struct {
	buf []byte
	err error
}

// NewJSON returns a writer with room for size bytes.
func NewJSON(size int) *JSON { return &JSON{buf: make([]byte, 0, size)} }

// Bytes returns the text, or the first fault.
func (j *JSON) Bytes() ([]byte, error) { return j.buf, j.err }

// Len returns how much is written.
func (j *JSON) Len() int { return len(j.buf) }

// Fail keeps a fault.
func (j *JSON) Fail(format string, args ...any) {
	if j.err == nil {
		j.err = fmt.Errorf(format, args...)
	}
}

// comma separates a value or key from the one before it.
func (j *JSON) comma() {
	if n := len(j.buf); n > 0 {
		switch j.buf[n-1] {
		case '{', '[', ':', ',':
		default:
			j.buf = append(j.buf, ',')
		}
	}
}

// Open begins an object '{' or a list '['.
func (j *JSON) Open(c byte) *JSON {
	j.comma()
	j.buf = append(j.buf, c)
	return j
}

// Close ends an object '}' or a list ']'.
func (j *JSON) Close(c byte) *JSON {
	j.buf = append(j.buf, c)
	return j
}

// Key writes the name of a member, which needs no escapes.
func (j *JSON) Key(name string) *JSON {
	j.comma()
	j.buf = append(append(append(j.buf, '"'), name...), '"', ':')
	return j
}

// String writes a string.
func (j *JSON) String(s string) *JSON {
	j.comma()
	j.buf = append(appendEscaped(append(j.buf, '"'), s), '"')
	return j
}

// Field writes a member with a string.
func (j *JSON) Field(name, value string) *JSON { return j.Key(name).String(value) }

// Int writes a number.
func (j *JSON) Int(n int) *JSON {
	j.comma()
	j.buf = strconv.AppendInt(j.buf, int64(n), 10)
	return j
}

// Bool writes a truth value.
func (j *JSON) Bool(b bool) *JSON {
	j.comma()
	j.buf = strconv.AppendBool(j.buf, b)
	return j
}

// Raw writes a JSON text as it is. what names it in the fault when it is
// none.
func (j *JSON) Raw(raw []byte, what string) *JSON {
	if !json.Valid(raw) {
		j.Fail("encode request: %s is no JSON", what)
		return j
	}
	j.comma()
	j.buf = append(j.buf, raw...)
	return j
}

// Base64 writes bytes as a string in base64 behind a prefix that needs no
// escapes.
func (j *JSON) Base64(prefix string, data []byte) *JSON {
	j.comma()
	j.buf = append(append(j.buf, '"'), prefix...)
	j.buf = append(base64.StdEncoding.AppendEncode(j.buf, data), '"')
	return j
}

// Members writes the members of a JSON object as they stand. It refuses those
// that the caller writes itself.
func (j *JSON) Members(object []byte, what string, taken ...string) *JSON {
	if len(object) == 0 {
		return j
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil || members == nil {
		j.Fail("encode request: %s is no JSON object", what)
		return j
	}
	for _, name := range taken {
		if _, ok := members[name]; ok {
			j.Fail("encode request: %s must not hold %q, which the adapter sets", what, name)
			return j
		}
	}
	if len(members) == 0 {
		return j
	}
	first, last := 0, len(object)-1
	for object[first] != '{' {
		first++
	}
	for object[last] != '}' {
		last--
	}
	j.comma()
	j.buf = append(j.buf, object[first+1:last]...)
	return j
}

const hexDigits = "0123456789abcdef"

// plain marks the ASCII bytes that stand for themselves in a string.
var plain = func() (t [utf8.RuneSelf]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\' && c != 0x7f
	}
	return t
}()

// appendEscaped appends the inside of a JSON string. What is no UTF-8 becomes
// the replacement character, as encoding/json does it.
func appendEscaped(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if plain[c] {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(append(dst, s[start:i]...), "\ufffd"...)
			i++
			start = i
			continue
		}
		i += size
	}
	return append(dst, s[start:]...)
}

// DataURL writes bytes as a data URL.
func (j *JSON) DataURL(mediaType string, data []byte) *JSON {
	inside := appendEscaped(nil, "data:"+mediaType+";base64,")
	return j.Base64(string(inside), data)
}
