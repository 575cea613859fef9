package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// events passes a stream of server-sent events on, one whole event after the
// other, in bounded memory. What is no message of the protocol is left out and
// told as noise, as in the output of a child process: the protocol's transport
// would end the session over it. An event that is too long becomes an error of
// the call that the stream answers.
//
// The form of a stream: https://html.spec.whatwg.org/multipage/server-sent-events.html
type events struct {
	lines  *lineReader
	id     []byte       // of the call as JSON, nil for a stream that answers none
	noise  func(string) // told the beginning of what was left out
	noises int
	rest   []byte // of the last event
}

// maxFieldBytes is the longest value of a field that is not the message.
const maxFieldBytes = 1 << 10

// Read returns what is left of an event, or waits for the next one.
func (e *events) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		v, err := e.next()
		if err != nil {
			return 0, err
		}
		e.rest = e.passed(v)
		if e.noises > maxNoise {
			return 0, errTooMuchNoise
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

var errTooMuchNoise = errors.New("the stream has too many events that are no messages")

// An event is one of a stream as it was read.
type event struct {
	name, id, retry []byte
	data            []byte // the message, nil for none and for one that is too long
	total           int    // of the lines with the message in bytes
}

// next reads up to the empty line that ends an event. Without that line the
// last one counts if it is whole; else the stream was cut off in it.
func (e *events) next() (event, error) {
	var v event
	for {
		l, err := e.lines.next()
		switch {
		case err == io.EOF && isMessage(v.data):
			return v, nil
		case err != nil:
			return v, err
		case l.tooLong():
			v.data, v.total = nil, v.total+l.total
			continue
		}
		text := bytes.TrimSuffix(l.text, []byte("\r"))
		if len(text) == 0 {
			return v, nil
		}
		name, value, _ := bytes.Cut(text, []byte(":"))
		v.set(string(name), bytes.TrimSpace(value))
	}
}

func (v *event) set(name string, value []byte) {
	switch {
	case name == "data":
		v.add(value)
	case len(value) > maxFieldBytes:
	case name == "event":
		v.name = value
	case name == "id":
		v.id = value
	case name == "retry":
		v.retry = value
	}
}

// add takes a line of the message. Between two lines stands a line break, which
// JSON allows only where a space may stand.
func (v *event) add(value []byte) {
	v.total += len(value)
	switch {
	case v.total > maxMessageBytes:
		v.data = nil
	case v.data == nil:
		v.data = append([]byte{}, value...)
	default:
		v.data = append(append(v.data, ' '), value...)
	}
}

func isMessage(data []byte) bool {
	_, err := jsonrpc.DecodeMessage(data)
	return err == nil
}

// passed returns what is passed on of an event: where a stream is taken up
// again, and the message if it is one.
func (e *events) passed(v event) []byte {
	switch {
	case len(v.name) > 0 && string(v.name) != "message", v.total == 0:
		v.data = nil // not for the protocol
	case v.total > maxMessageBytes:
		if v.data = errorFor(e.id, tooLongText(v.total)); v.data == nil {
			e.leaveOut(nil)
		}
	case !isMessage(v.data):
		e.leaveOut(v.data)
		v.data = nil
	}
	var out []byte
	for _, field := range []struct {
		name  string
		value []byte
	}{{"id", v.id}, {"retry", v.retry}, {"data", v.data}} {
		if len(field.value) > 0 {
			out = fmt.Appendf(out, "%s: %s\n", field.name, field.value)
		}
	}
	if out != nil {
		out = append(out, '\n')
	}
	return out
}

func (e *events) leaveOut(data []byte) {
	if e.noises++; e.noises == 1 {
		e.noise(string(data[:min(len(data), endBytes)]))
	}
}

// limited is a body that is read through something else.
type limited struct {
	io.Reader
	io.Closer
}
