package mcp

import (
	"bytes"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// events passes a stream of server-sent events on, one whole event after the
// other, in bounded memory. What is no message of the protocol is left out and
// told as noise, as in the output of a child process: the protocol's transport
// would end the session over it. The call that the stream answers gets an error
// in place of an event that is too long, and at the end of the stream in place
// of an answer that may have been left out.
//
// The form of a stream: https://html.spec.whatwg.org/multipage/server-sent-events.html
type events struct {
	lines    *lineReader
	id       []byte             // of the call as JSON, nil for a stream that answers none
	noise    func([]byte) error // told what is left out
	leftOut  bool               // something was, behind the last position of the stream
	answered bool               // a response was passed on
	rest     []byte             // of the last event
}

// maxFieldBytes is the longest value of a field that is not the message.
const maxFieldBytes = 1 << 10

// Read returns what is left of an event, or waits for the next one.
func (e *events) Read(p []byte) (int, error) {
	for len(e.rest) == 0 {
		v, err := e.next()
		switch {
		case err == nil:
			if e.rest, err = e.passed(v); err != nil {
				return 0, err
			}
		case err == io.EOF && e.leftOut && !e.answered && e.id != nil:
			e.answered = true
			e.rest = eventOf(errorFor(e.id, "the answer is no message of the protocol, or did not come; what the call did is not known"))
		default:
			return 0, err
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// An event is one of a stream as it was read.
type event struct {
	name, id, retry []byte
	data            []byte // the message, nil for none and for one that is too long
	total           int    // of the lines with the message in bytes, line breaks included
}

// next reads up to the empty line that ends an event. Without that line the
// last one counts if it is whole; else the stream was cut off in it.
func (e *events) next() (event, error) {
	var v event
	for {
		l, err := e.lines.next()
		switch {
		case err == io.EOF && (isMessage(v.data) || v.total > e.lines.most):
			return v, nil
		case err != nil:
			return v, err
		case l.tooLong():
			if bytes.HasPrefix(l.head, []byte("data:")) {
				v.data, v.total = nil, v.total+l.total
			}
			continue
		}
		text := bytes.TrimSuffix(l.text, []byte("\r"))
		if len(text) == 0 {
			return v, nil
		}
		name, value, _ := bytes.Cut(text, []byte(":"))
		v.set(string(name), bytes.TrimSpace(value), e.lines.most)
	}
}

func (v *event) set(name string, value []byte, most int) {
	switch {
	case name == "data":
		v.add(value, most)
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
func (v *event) add(value []byte, most int) {
	v.total += len(value) + 1
	switch {
	case v.total > most:
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

// recode returns a message as it is passed on, see decode, and whether it is a
// response.
func recode(data []byte) (out []byte, response bool, err error) {
	m, own, err := decode(data)
	if err != nil {
		return nil, false, err
	}
	if own {
		data, err = jsonrpc.EncodeMessage(m)
	}
	_, response = m.(*jsonrpc.Response)
	return data, response, err
}

// passed returns what is passed on of an event: where a stream is taken up
// again, and the message if it is one.
func (e *events) passed(v event) ([]byte, error) {
	var err error
	if len(v.id) > 0 {
		e.leftOut = false // what is behind it can be asked for again
	}
	switch {
	case len(v.name) > 0 && string(v.name) != "message":
		v.data = nil // not for the protocol
	case v.total <= e.lines.most && len(bytes.TrimSpace(v.data)) == 0:
		v.data = nil // it says where the stream is, and no more
	case v.total > e.lines.most && e.id != nil:
		e.answered = true
		v.data = errorFor(e.id, tooLongText(v.total))
	case v.total > e.lines.most:
		err = e.noise(fmt.Appendf(nil, "an event of %d bytes", v.total))
	default:
		data, response, unread := recode(v.data)
		if unread != nil {
			e.leftOut = true
			err = e.noise(v.data)
		}
		e.answered = e.answered || response
		v.data = data
	}
	var out []byte
	for _, field := range []struct {
		name  string
		value []byte
	}{{"id", v.id}, {"retry", v.retry}} {
		if len(field.value) > 0 {
			out = fmt.Appendf(out, "%s: %s\n", field.name, field.value)
		}
	}
	if out == nil || v.data != nil {
		return append(out, eventOf(v.data)...), err
	}
	return append(out, '\n'), err
}

// eventOf is an event of one message, empty without one.
func eventOf(data []byte) []byte {
	if data == nil {
		return nil
	}
	return fmt.Appendf(nil, "data: %s\n\n", data)
}

// limited is a body that is read through something else.
type limited struct {
	io.Reader
	io.Closer
}
