package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"regexp"
)

// maxMessageBytes is the longest message that is read from a server: what is
// kept of a result (tool.MaxOutputBytes, 16 MiB) and a quarter for its JSON.
const maxMessageBytes = 20 << 20

// A line is one line of a stream without its end.
type line struct {
	// text is the whole line, or nil for one that is too long.
	text []byte
	// total is its length in bytes.
	total int
	// head and tail are the ends of a line that is too long.
	head, tail []byte
}

// A lineReader reads lines in bounded memory.
type lineReader struct {
	from *bufio.Reader
	most int
}

func newLineReader(from io.Reader, most int) *lineReader {
	return &lineReader{from: bufio.NewReaderSize(from, 64<<10), most: most}
}

// endBytes is how much of each end is kept of a line that is too long.
const endBytes = 1024

// next returns the next line. At the end of the stream the rest counts as one.
func (r *lineReader) next() (line, error) {
	var l line
	for {
		piece, err := r.from.ReadSlice('\n')
		l.add(bytes.TrimSuffix(piece, []byte("\n")), r.most)
		switch {
		case err == nil:
			return l, nil
		case err == bufio.ErrBufferFull:
		case err == io.EOF && l.total > 0:
			return l, nil
		default:
			return l, err
		}
	}
}

func (l *line) add(piece []byte, most int) {
	l.total += len(piece)
	if l.total <= most {
		l.text = append(l.text, piece...)
		return
	}
	if l.text != nil || l.head == nil {
		l.head = append(append([]byte{}, l.text[:min(endBytes, len(l.text))]...), piece[:min(endBytes, len(piece))]...)
		l.tail = append([]byte{}, l.text[max(0, len(l.text)-endBytes):]...)
		l.text = nil
	}
	l.tail = append(l.tail, piece[max(0, len(piece)-endBytes):]...)
	l.tail = append([]byte{}, l.tail[max(0, len(l.tail)-endBytes):]...)
}

// tooLong reports whether the line was not kept.
func (l *line) tooLong() bool { return l.head != nil }

// idAtEnd is an id as the last member of a message, or before its version. The
// brace ends the message, so this cannot stand inside a value of it.
var idAtEnd = regexp.MustCompile(`[^\\],\s*"id"\s*:\s*(-?[0-9]{1,18}|"[^"\\]{1,100}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// id returns the id of a message that is too long to be read, as JSON, or nil
// where it stands neither before nor after the long part.
func (l *line) id() json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(l.head))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			break
		}
		if name == "id" {
			return value
		}
	}
	if found := idAtEnd.FindSubmatch(l.tail); found != nil {
		return found[1]
	}
	return nil
}
