package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

const (
	// MaxFileBytes is the largest file that is read, far above any
	// configuration.
	MaxFileBytes = 1 << 20
	// maxBrackets bounds how deep objects can stand in each other, since the
	// parser calls itself.
	maxBrackets = 20_000
)

// A node is a value and where it stands.
type node struct {
	line, column int
	// value is nil, bool, string or json.Number for a plain value.
	value any
	// object and list tell the other kinds apart; an empty list is not nil.
	object  bool
	members []member
	list    []*node
}

type member struct {
	name         string
	line, column int
	value        *node
}

// kind names a node for people.
func (n *node) kind() string {
	switch n.value.(type) {
	case string:
		return "text"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	}
	switch {
	case n.object:
		return "an object"
	case n.list != nil:
		return "a list"
	}
	return "null"
}

// A syntaxError is a fault of the form, and where it is.
type syntaxError struct {
	line, column int
	text         string
}

// parse reads JSON with comments and commas at the end. data is not changed.
func parse(data []byte) (*node, *syntaxError) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with a byte order mark
	p := &parser{data: data, starts: []int{0}, lastColumn: 1}
	for i, b := range data {
		if b == '\n' {
			p.starts = append(p.starts, i+1)
		}
	}
	switch at := firstInvalid(data); {
	case len(data) > MaxFileBytes:
		return nil, p.fault(0, "the file has %d bytes, which no configuration has; the most is %d", len(data), MaxFileBytes)
	case at >= 0:
		return nil, p.fault(at, "the file is not valid UTF-8 here; save it as UTF-8")
	case bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("[")) > maxBrackets:
		return nil, p.fault(0, "the file has more than %d brackets, which no configuration has", maxBrackets)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, p.fault(0, `the file is empty; write {"version": %d} or remove it`, Version)
	}
	// A comment may end with the file.
	v, err := hujson.Parse(append(bytes.Clone(data), '\n'))
	if err != nil {
		line, column, text := 1, 1, err.Error()
		if n, _ := fmt.Sscanf(text, "hujson: line %d, column %d: ", &line, &column); n == 2 {
			_, text, _ = strings.Cut(text, ": ")
			_, text, _ = strings.Cut(text, ": ")
		}
		if strings.HasPrefix(text, "invalid literal") {
			text = "a text, number or word that cannot be read" // the library repeats it, and it may be a secret
		}
		return nil, p.fault(p.offset(line, column), "this is not JSON with comments: %s", strings.ReplaceAll(text, "unexpected EOF", "the file ends too early"))
	}
	return p.convert(v)
}

func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

type parser struct {
	data   []byte
	starts []int // offsets of the lines
	// last is where the last place was, so that a long line is read once.
	lastOffset, lastColumn int
}

// offset is the inverse of the library's lines and columns of bytes.
func (p *parser) offset(line, column int) int {
	if line < 1 || line > len(p.starts) {
		return len(p.data)
	}
	return min(p.starts[line-1]+column-1, len(p.data))
}

// place returns the line and the character of an offset, from 1.
func (p *parser) place(offset int) (line, column int) {
	low, high := 0, len(p.starts)
	for high-low > 1 {
		if middle := (low + high) / 2; p.starts[middle] <= offset {
			low = middle
		} else {
			high = middle
		}
	}
	from, column := p.starts[low], 1
	if p.lastOffset >= from && p.lastOffset <= offset {
		from, column = p.lastOffset, p.lastColumn
	}
	column += utf8.RuneCount(p.data[from:min(offset, len(p.data))])
	p.lastOffset, p.lastColumn = offset, column
	return low + 1, column
}

func (p *parser) fault(offset int, format string, args ...any) *syntaxError {
	e := &syntaxError{text: fmt.Sprintf(format, args...)}
	e.line, e.column = p.place(offset)
	return e
}

func (p *parser) convert(v hujson.Value) (*node, *syntaxError) {
	n := &node{}
	n.line, n.column = p.place(v.StartOffset)
	switch t := v.Value.(type) {
	case *hujson.Object:
		n.object = true
		for _, m := range t.Members {
			name, fault := p.text(m.Name)
			if fault != nil {
				return nil, fault
			}
			value, fault := p.convert(m.Value)
			if fault != nil {
				return nil, fault
			}
			out := member{name: name, value: value}
			out.line, out.column = p.place(m.Name.StartOffset)
			n.members = append(n.members, out)
		}
	case *hujson.Array:
		n.list = []*node{}
		for _, e := range t.Elements {
			value, fault := p.convert(e)
			if fault != nil {
				return nil, fault
			}
			n.list = append(n.list, value)
		}
	case hujson.Literal:
		switch t.Kind() {
		case '"':
			text, fault := p.text(v)
			if fault != nil {
				return nil, fault
			}
			n.value = text
		case 't', 'f':
			n.value = t.Bool()
		case '0':
			n.value = json.Number(string(t))
		}
	}
	return n, nil
}

// text reads a text. Half a surrogate pair stands for no character, and would
// silently become another text.
func (p *parser) text(v hujson.Value) (string, *syntaxError) {
	literal := []byte(v.Value.(hujson.Literal))
	var out string
	if err := json.Unmarshal(literal, &out); err != nil {
		return "", p.fault(v.StartOffset, "this text cannot be read: %v", err)
	}
	if strings.Count(out, "\ufffd") > bytes.Count(literal, []byte("\ufffd"))+bytes.Count(bytes.ToLower(literal), []byte(`\ufffd`)) {
		return "", p.fault(v.StartOffset, `this text holds half a surrogate pair (\ud800 to \udfff), which is no character`)
	}
	return out, nil
}
