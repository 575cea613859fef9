package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxEventBytes bounds one server-sent event. The largest real ones are whole
// answers in one event and inline images.
const MaxEventBytes = 64 << 20

var errEventTooLong = errors.New("an event of the stream is too long")

// An Event is one server-sent event.
type Event struct {
	// Name is the event's type, empty when it has none.
	Name string
	// Data is its text; lines are joined by newlines. It is valid until the
	// next call of Next.
	Data []byte
}

// A Reader reads server-sent events as the WHATWG standard defines them: lines
// end in LF, CR or CRLF, comments and unknown fields are skipped, and an event
// that the stream breaks off in is not an event.
type Reader struct {
	in    *bufio.Reader
	line  []byte
	data  []byte
	size  int
	begun bool
	max   int
}

// NewReader returns a reader of a stream. max bounds an event in bytes; zero
// means MaxEventBytes.
func NewReader(in io.Reader, max int) *Reader {
	if max == 0 {
		max = MaxEventBytes
	}
	return &Reader{in: bufio.NewReaderSize(in, 16<<10), max: max}
}

// Next returns the next event that has data. At the end of the stream it
// returns io.EOF, and io.ErrUnexpectedEOF when the stream breaks off inside an
// event.
func (r *Reader) Next() (Event, error) {
	var e Event
	r.data, r.size = r.data[:0], 0
	hasData := false
	for {
		line, err := r.readLine()
		if err != nil {
			if err == io.EOF && (hasData || len(line) > 0) {
				err = io.ErrUnexpectedEOF
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if hasData {
				e.Data = r.data
				return e, nil
			}
			e = Event{}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.Name = string(value)
		case "data":
			if hasData {
				r.data = append(r.data, '\n')
			}
			r.data = append(r.data, value...)
			hasData = true
		}
	}
}

// readLine returns a line without its end. At the end of the stream it returns
// what is left with io.EOF.
func (r *Reader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			return r.line, err
		}
		if !r.begun {
			r.begun = true
			if c == 0xEF { // a byte order mark may stand before the first line
				if rest, _ := r.in.Peek(2); string(rest) == "\xBB\xBF" {
					_, _ = r.in.Discard(2)
					continue
				}
			}
		}
		switch c {
		case '\r':
			r.size++
			if next, _ := r.in.Peek(1); len(next) == 1 && next[0] == '\n' {
				_, _ = r.in.Discard(1)
			}
			return r.line, nil
		case '\n':
			r.size++
			return r.line, nil
		}
		r.line = append(r.line, c)
		if r.size++; r.size > r.max {
			return nil, fmt.Errorf("%w: more than %d bytes", errEventTooLong, r.max)
		}
	}
}
