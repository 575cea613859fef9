package sessionfile

// MaxNesting is how deeply arrays and objects may be nested. It is the limit
// of encoding/json, which decodes what the scanner finds.
const MaxNesting = 10_000

// verdict is what the scanner found out about a value.
type verdict int

const (
	whole  verdict = iota // the value ends at span.end
	open                  // the bytes end inside the value
	broken                // the bytes at span.end cannot continue the value
	deep                  // nested beyond MaxNesting
)

// A span is the extent of a value in a buffer.
type span struct {
	verdict verdict
	// end is just after a whole value, and where scanning stopped otherwise.
	end int
	// line is the first line start with an opening brace while an object was
	// open: where the next object may begin when this one was cut. -1 for
	// none.
	line int
}

// A scanner finds the ends of JSON values. It checks the grammar completely
// and decodes nothing.
type scanner struct {
	stack []byte // the open brackets
}

type expectation int

const (
	expectValue expectation = iota
	expectValueOrEnd
	expectKey
	expectKeyOrEnd
	expectColon
	expectCommaOrEnd
)

// scan reads the value that starts at buf[at]. Below the offset strict, a
// brace at a line's start always begins a new object; above, it does so only
// where the grammar allows no value: documents exist that put nested objects
// at column 0.
func (s *scanner) scan(buf []byte, at, strict int) span {
	s.stack = s.stack[:0]
	objects := 0
	line := -1
	state := expectValue
	i := at
	for i < len(buf) {
		c := buf[i]
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			i++
			continue
		}
		if c == '{' && objects > 0 && buf[i-1] == '\n' {
			if line < 0 {
				line = i
			}
			if i < strict {
				return span{broken, i, line}
			}
		}
		switch state {
		case expectColon:
			if c != ':' {
				return span{broken, i, line}
			}
			state = expectValue
			i++
			continue
		case expectKey, expectKeyOrEnd:
			if c == '}' && state == expectKeyOrEnd {
				break
			}
			if c != '"' {
				return span{broken, i, line}
			}
			end, v := scanString(buf, i)
			if v != whole {
				return span{v, end, line}
			}
			i, state = end, expectColon
			continue
		case expectCommaOrEnd:
			if c == ',' {
				state = expectValue
				if s.stack[len(s.stack)-1] == '{' {
					state = expectKey
				}
				i++
				continue
			}
			if c != '}' && c != ']' {
				return span{broken, i, line}
			}
		case expectValue, expectValueOrEnd:
			if c == ']' && state == expectValueOrEnd {
				break
			}
			if c == '{' || c == '[' {
				if len(s.stack) == MaxNesting {
					return span{deep, i, line}
				}
				s.stack = append(s.stack, c)
				state = expectValueOrEnd
				if c == '{' {
					state = expectKeyOrEnd
					objects++
				}
				i++
				continue
			}
			end, v := scanScalar(buf, i)
			if v != whole {
				return span{v, end, line}
			}
			i, state = end, expectCommaOrEnd
			if len(s.stack) == 0 {
				return span{whole, i, line}
			}
			continue
		}
		// c closes a container.
		top := s.stack[len(s.stack)-1]
		if c-top != 2 { // '{'+2 is '}', '['+2 is ']'
			return span{broken, i, line}
		}
		if top == '{' {
			objects--
		}
		s.stack = s.stack[:len(s.stack)-1]
		i++
		if len(s.stack) == 0 {
			return span{whole, i, line}
		}
		state = expectCommaOrEnd
	}
	return span{open, i, line}
}

// scanScalar reads a string, number, true, false or null at buf[i].
func scanScalar(buf []byte, i int) (int, verdict) {
	switch c := buf[i]; {
	case c == '"':
		return scanString(buf, i)
	case c == '-' || '0' <= c && c <= '9':
		return scanNumber(buf, i)
	case c == 't':
		return scanWord(buf, i, "true")
	case c == 'f':
		return scanWord(buf, i, "false")
	case c == 'n':
		return scanWord(buf, i, "null")
	}
	return i, broken
}

func scanWord(buf []byte, i int, word string) (int, verdict) {
	for k := range len(word) {
		if i+k == len(buf) {
			return i + k, open
		}
		if buf[i+k] != word[k] {
			return i + k, broken
		}
	}
	return i + len(word), whole
}

// plain tells the bytes that a string may hold without a second look.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

func scanString(buf []byte, i int) (int, verdict) {
	i++
	for i < len(buf) {
		c := buf[i]
		if plain[c] {
			i++
			continue
		}
		switch c {
		case '"':
			return i + 1, whole
		case '\\':
			if i+1 == len(buf) {
				return i + 1, open
			}
			switch buf[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				for k := i + 2; k < i+6; k++ {
					if k >= len(buf) {
						return k, open
					}
					if !isHex(buf[k]) {
						return i, broken
					}
				}
				i += 6
			default:
				return i, broken
			}
		default:
			return i, broken
		}
	}
	return i, open
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func scanNumber(buf []byte, i int) (int, verdict) {
	digits := func() bool {
		from := i
		for i < len(buf) && '0' <= buf[i] && buf[i] <= '9' {
			i++
		}
		return i > from
	}
	incomplete := func() (int, verdict) {
		if i == len(buf) {
			return i, open
		}
		return i, broken
	}
	if buf[i] == '-' {
		i++
	}
	if i < len(buf) && buf[i] == '0' {
		i++
	} else if !digits() {
		return incomplete()
	}
	if i < len(buf) && buf[i] == '.' {
		i++
		if !digits() {
			return incomplete()
		}
	}
	if i < len(buf) && (buf[i] == 'e' || buf[i] == 'E') {
		i++
		if i < len(buf) && (buf[i] == '+' || buf[i] == '-') {
			i++
		}
		if !digits() {
			return incomplete()
		}
	}
	return i, whole
}
