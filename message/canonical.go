package message

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrCanonical is wrapped by ParseCanonical.
var ErrCanonical = errors.New("not a canonical message")

// maxNesting bounds how deep results may hold blocks.
const maxNesting = 8

// ParseCanonical reads what AppendCanonical writes, and nothing else: encoding
// the result gives the same bytes. ID, Time and Model are not part of the
// encoding and stay empty. The result shares no memory with data.
func ParseCanonical(data []byte) (Message, error) {
	d := decoder{rest: data}
	var m Message
	if d.text() != "forge.message/1" {
		d.fail("it does not begin as one")
	}
	m.Role, m.Origin = Role(d.text()), Origin(d.text())
	m.Blocks = d.blocks(0)
	if d.err == nil && len(d.rest) > 0 {
		d.fail("something follows it")
	}
	if d.err != nil {
		return Message{}, d.err
	}
	return m, nil
}

// decoder reads fields; after the first fault it returns zero values.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("read message: %w: %s", ErrCanonical, what)
	}
	d.rest = nil
}

func (d *decoder) number() int {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v > 1<<62 || n > 1 && d.rest[n-1] == 0 { // the last: a longer form than needed
		d.fail("a number is cut or out of range")
		return 0
	}
	d.rest = d.rest[n:]
	return int(v)
}

func (d *decoder) field() []byte {
	n := d.number()
	if n > len(d.rest) {
		d.fail("a field is cut")
		return nil
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out
}

func (d *decoder) text() string { return string(d.field()) }

func (d *decoder) bytes() []byte {
	p := d.field()
	if len(p) == 0 {
		return nil
	}
	return append([]byte(nil), p...)
}

func (d *decoder) blocks(depth int) []Block {
	n := d.number()
	if n > len(d.rest) || depth > maxNesting {
		d.fail("it holds more blocks than bytes, or too deep")
		return nil
	}
	var out []Block
	for range n {
		out = append(out, d.block(depth))
	}
	return out
}

func (d *decoder) block(depth int) Block {
	switch kind := Kind(d.text()); kind {
	case KindText:
		return Text{Text: d.text()}
	case KindReasoning:
		return Reasoning{Text: d.text(), Provider: d.text(), Opaque: json.RawMessage(d.bytes())}
	case KindImage:
		return Image{MediaType: d.text(), Data: d.bytes(), URL: d.text(), Detail: d.text(), WidthPixels: d.number(), HeightPixels: d.number()}
	case KindToolCall:
		return ToolCall{ID: d.text(), Name: d.text(), Arguments: d.text()}
	case KindToolResult:
		r := ToolResult{CallID: d.text(), Name: d.text(), Outcome: Outcome(d.text())}
		truncated := d.number()
		if truncated > 1 {
			d.fail("a mark is neither 0 nor 1")
		}
		r.Truncated, r.OriginalBytes = truncated == 1, d.number()
		r.Content = d.blocks(depth + 1)
		return r
	case KindOpaque:
		return Opaque{Provider: d.text(), Type: d.text(), Data: json.RawMessage(d.bytes())}
	default:
		d.fail(fmt.Sprintf("unknown kind %.40q of block", kind))
		return Text{}
	}
}
