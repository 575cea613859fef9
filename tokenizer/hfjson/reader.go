package hfjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// A reader steps through JSON that is known to be valid, several times as fast
// as json.Decoder, which matters for the million strings of a large file.
type reader struct {
	rest []byte
}

func (r *reader) space() {
	r.rest = bytes.TrimLeft(r.rest, " \t\r\n")
}

// skip steps over a punctuation mark if it is next.
func (r *reader) skip(mark byte) bool {
	r.space()
	if len(r.rest) == 0 || r.rest[0] != mark {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// text reads a string if one is next.
func (r *reader) text() (string, bool) {
	r.space()
	if len(r.rest) == 0 || r.rest[0] != '"' {
		return "", false
	}
	end := 1
	for end < len(r.rest) && r.rest[end] != '"' {
		if r.rest[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(r.rest) {
		return "", false
	}
	quoted := r.rest[:end+1]
	r.rest = r.rest[end+1:]
	if plain := quoted[1:end]; bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return string(plain), true
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return "", false
	}
	return text, true
}

// number steps over a number if one is next.
func (r *reader) number() bool {
	r.space()
	end := 0
	for end < len(r.rest) && bytes.IndexByte([]byte("+-.0123456789eE"), r.rest[end]) >= 0 {
		end++
	}
	r.rest = r.rest[end:]
	return end > 0
}
