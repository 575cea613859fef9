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
	stack   []byte // the open brackets
	objects int    // how many of them are braces
	state   expectation
}

// expectation is what the grammar allows next.
type expectation int

const (
	expectValue expectation = iota
	expectValueOrEnd
	expectKey
	expectKeyOrEnd
	expectColon
	expectCommaOrEnd
	expectNothing
)

// scan reads the value that starts at buf[at]. Below the offset strict, a
// brace at a line's start always begins a new object; above, it does so only
// where the grammar allows no value: documents exist that put nested objects
// at column 0.
func (s *scanner) scan(buf []byte, at, strict int) span {
	s.stack, s.objects, s.state = s.stack[:0], 0, expectValue
	line := -1
	for i := at; i < len(buf); {
		c := buf[i]
		if isSpace(c) {
			i++
			continue
		}
		if c == '{' && s.objects > 0 && buf[i-1] == '\n' {
			if line < 0 {
				line = i
			}
			if i < strict {
				return span{broken, i, line}
			}
		}
		end, v := s.token(buf, i)
		if v != whole || s.state == expectNothing {
			return span{v, end, line}
		}
		i = end
	}
	return span{open, len(buf), line}
}

// token reads one token at buf[i] and returns where it ends.
func (s *scanner) token(buf []byte, i int) (int, verdict) {
	c := buf[i]
	switch s.state {
	case expectColon:
		if c != ':' {
			return i, broken
		}
		s.state = expectValue
		return i + 1, whole
	case expectKey, expectKeyOrEnd:
		if c == '}' && s.state == expectKeyOrEnd {
			return s.pop(c, i)
		}
		if c != '"' {
			return i, broken
		}
		s.state = expectColon
		return scanString(buf, i)
	case expectCommaOrEnd:
		if c != ',' {
			return s.pop(c, i)
		}
		s.state = expectValue
		if s.stack[len(s.stack)-1] == '{' {
			s.state = expectKey
		}
		return i + 1, whole
	}
	switch {
	case c == ']' && s.state == expectValueOrEnd:
		return s.pop(c, i)
	case c == '{' || c == '[':
		return s.push(c, i)
	}
	s.afterValue()
	return scanScalar(buf, i)
}

func (s *scanner) push(c byte, i int) (int, verdict) {
	if len(s.stack) == MaxNesting {
		return i, deep
	}
	s.stack = append(s.stack, c)
	s.state = expectValueOrEnd
	if c == '{' {
		s.state = expectKeyOrEnd
		s.objects++
	}
	return i + 1, whole
}

func (s *scanner) pop(c byte, i int) (int, verdict) {
	top := s.stack[len(s.stack)-1]
	if c-top != 2 { // '{'+2 is '}', '['+2 is ']'
		return i, broken
	}
	if top == '{' {
		s.objects--
	}
	s.stack = s.stack[:len(s.stack)-1]
	s.afterValue()
	return i + 1, whole
}

func (s *scanner) afterValue() {
	s.state = expectCommaOrEnd
	if len(s.stack) == 0 {
		s.state = expectNothing
	}
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
