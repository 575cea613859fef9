package sessionfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"time"
)

// A Value is one JSON value of a file with the line on which it starts.
type Value struct {
	// Raw is the value's text. Values from Source.Objects are valid until
	// the next one is asked for; decode what must stay.
	Raw []byte
	// Line is the line of the first byte, counted from 1.
	Line int
	// Cut is true when the file ends inside the value. Raw then holds what is
	// there, Decode fails, and Elements and Members give the whole parts.
	Cut bool
}

// Kind returns the first byte of the value, which tells its type: '{', '[',
// '"', a digit or '-', 't', 'f', 'n'; 0 for no value.
func (v Value) Kind() byte {
	if len(v.Raw) == 0 {
		return 0
	}
	return v.Raw[0]
}

// Decode decodes the value as encoding/json does. After an
// *json.UnmarshalTypeError the other fields are set.
func (v Value) Decode(into any) error {
	if err := json.Unmarshal(v.Raw, into); err != nil {
		return fmt.Errorf("decode line %d: %w", v.Line, err)
	}
	return nil
}

// Text returns a string value decoded, "" for anything else.
func (v Value) Text() string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v.Raw, &s) != nil {
		return ""
	}
	return s
}

// maxNumber is far above any count in a file.
const maxNumber = 1 << 40

// Number returns a count, without a fraction. It is zero for anything else,
// also for less than zero and for more than any file counts.
func (v Value) Number() int {
	var f float64
	if len(v.Raw) == 0 || json.Unmarshal(v.Raw, &f) != nil || f < 0 || f > maxNumber {
		return 0
	}
	return int(f)
}

// maxSeconds is after any time in a file, in the year 8775.
const maxSeconds = math.MaxInt32 * 100.0

// Time returns the time that RFC 3339 text states, or a number of units since
// 1970; a unit is a second or a part of it. It is the zero time for anything
// else.
func (v Value) Time(unit time.Duration) time.Time {
	if v.Kind() == '"' {
		t, err := time.Parse(time.RFC3339, v.Text())
		if err != nil {
			return time.Time{}
		}
		return t
	}
	var units float64
	perSecond := float64(time.Second / unit)
	if len(v.Raw) == 0 || json.Unmarshal(v.Raw, &units) != nil || units <= 0 || units > maxSeconds*perSecond {
		return time.Time{}
	}
	seconds := math.Floor(units / perSecond)
	rest := units - seconds*perSecond
	return time.Unix(int64(seconds), int64(rest*float64(unit))).UTC()
}

// CompactJSON returns JSON without space between its parts, the form in which
// models write arguments. What is no JSON stays as it is.
func CompactJSON(raw []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return string(raw)
	}
	return out.String()
}

// Elements yields the elements of an array in order, nothing for another
// type. Of a cut array it yields all whole elements and the cut one.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() == '[' {
			v.walk(func(_ []byte, e Value) bool { return yield(e) })
		}
	}
}

// Members yields the members of an object in order with their decoded names,
// nothing for another type. Of a cut object it yields all whole members and
// the cut one.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != '{' {
			return
		}
		v.walk(func(key []byte, e Value) bool {
			return yield(Value{Raw: key}.Text(), e)
		})
	}
}

// walk visits what stands directly inside an array or object.
func (v Value) walk(visit func(key []byte, e Value) bool) {
	var s scanner
	raw, line, at := v.Raw, v.Line, 0
	skip := func(to int) {
		line += bytes.Count(raw[at:to], newline)
		at = to
	}
	space := func() bool {
		to := at
		for to < len(raw) && (isSpace(raw[to]) || raw[to] == ',' || raw[to] == ':') {
			to++
		}
		skip(to)
		return at < len(raw) && raw[at] != ']' && raw[at] != '}'
	}
	skip(1)
	for space() {
		var key []byte
		if raw[0] == '{' {
			end, verdict := scanString(raw, at)
			if verdict != whole {
				return
			}
			key = raw[at:end]
			skip(end)
			if !space() {
				return
			}
		}
		sp := s.scan(raw, at, 0)
		if sp.verdict != whole && sp.verdict != open {
			return
		}
		if !visit(key, Value{Raw: raw[at:sp.end:sp.end], Line: line, Cut: sp.verdict == open}) {
			return
		}
		skip(sp.end)
	}
}

var newline = []byte{'\n'}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
