package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// ReadExport reads an export into Content. Its messages are read as they are
// asked for; a line that is damaged or missing is an error that wraps
// ErrExport and names the line. With salvage, what stands whole before it is
// the content, and what is lost is named as a record of KindLoss.
func ReadExport(r io.Reader, salvage bool) (id string, content Content, err error) {
	x := &exportReader{in: bufio.NewReaderSize(r, 1<<16), salvage: salvage, hash: EmptyHash()}
	first, err := x.line()
	if err != nil {
		return "", Content{}, err
	}
	if first.Forge != "session" || first.V < 1 || first.Info == nil {
		return "", Content{}, fmt.Errorf("read line 1: %w: it is not the header", ErrExport)
	}
	if first.V > ExportVersion {
		return "", Content{}, fmt.Errorf("read line 1: %w: it has version %d, this Forge reads up to %d: update Forge", ErrExport, first.V, ExportVersion)
	}
	return first.ID, Content{Info: *first.Info, Messages: x.messages, Records: x.records}, nil
}

type exportReader struct {
	in      *bufio.Reader
	salvage bool
	number  int
	next    *Line // read, not yet used
	count   int
	hash    message.Hash
	lost    []Loss
	ended   bool
}

// line reads the next line.
func (x *exportReader) line() (*Line, error) {
	x.number++
	var raw []byte
	for {
		part, err := x.in.ReadSlice('\n')
		if len(raw)+len(part) > MaxLineBytes {
			return nil, fmt.Errorf("read line %d: %w: it is longer than %d bytes", x.number, ErrExport, MaxLineBytes)
		}
		raw = append(raw, part...)
		if err == nil {
			break
		}
		if errors.Is(err, io.EOF) {
			if len(bytes.TrimSpace(raw)) == 0 {
				return nil, fmt.Errorf("read line %d: %w: it ends before its last line", x.number, ErrExport)
			}
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("read line %d: %w", x.number, err)
		}
	}
	var l Line
	if err := json.Unmarshal(raw, &l); err != nil {
		return nil, fmt.Errorf("read line %d: %w: it is no JSON object of an export", x.number, ErrExport)
	}
	return &l, nil
}

// stop says how to go on after a fault: with salvage it is noted as a loss.
func (x *exportReader) stop(err error) error {
	x.ended = true
	if !x.salvage {
		return err
	}
	x.lost = append(x.lost, Loss{Line: x.number, What: "the export is damaged here, nothing after it was taken: " + err.Error()})
	return nil
}

func (x *exportReader) messages(yield func(Said, error) bool) {
	for {
		l, err := x.line()
		if err == nil && l.Type != LineMessage {
			x.next = l
			return
		}
		var said Said
		if err == nil {
			said, err = x.said(l)
		}
		if err != nil {
			if err = x.stop(err); err != nil {
				yield(Said{}, err)
			}
			return
		}
		x.hash = transcript.Chain(x.hash, said.Hash)
		x.count++
		if !yield(said, nil) {
			return
		}
	}
}

func (x *exportReader) said(l *Line) (Said, error) {
	bad := func(what string) (Said, error) {
		return Said{}, fmt.Errorf("read line %d: %w: %s", x.number, ErrExport, what)
	}
	switch {
	case l.Message == nil || l.Hash == nil || l.N == nil:
		return bad("a message without content, number or hash")
	case *l.N != x.count:
		return bad(fmt.Sprintf("message %d where %d is expected", *l.N, x.count))
	case !l.Status.valid():
		return bad("a message with an unknown status")
	}
	m := *l.Message
	if len(l.Canonical) > 0 {
		exact, err := message.ParseCanonical(l.Canonical)
		if err != nil {
			return bad(err.Error())
		}
		exact.ID, exact.Time, exact.Model = m.ID, m.Time, m.Model
		m = exact
	}
	if m.Hash() != *l.Hash {
		return bad("a message that does not have its hash")
	}
	return Said{Message: m, Status: l.Status, Hash: *l.Hash}, nil
}

func (x *exportReader) records() ([]Record, map[string][]byte, error) {
	var out []Record
	states := map[string][]byte{}
	for !x.ended {
		l := x.next
		x.next = nil
		var err error
		if l == nil {
			l, err = x.line()
		}
		if err == nil {
			err = x.beside(l, &out, states)
		}
		if err != nil {
			if err = x.stop(err); err != nil {
				return nil, nil, err
			}
		}
	}
	for _, loss := range x.lost {
		rec, err := NewRecord(KindLoss, x.count, loss)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, rec)
	}
	return out, states, nil
}

func (x *exportReader) beside(l *Line, out *[]Record, states map[string][]byte) error {
	bad := func(what string) error { return fmt.Errorf("read line %d: %w: %s", x.number, ErrExport, what) }
	switch l.Type {
	case LineRecord, LineLoss:
		if l.N == nil || l.Type == LineRecord && l.Kind == "" || *l.N < 0 {
			return bad("a record without kind or place")
		}
		kind := l.Kind
		if l.Type == LineLoss {
			kind = KindLoss
		}
		*out = append(*out, Record{Kind: kind, At: *l.N, Body: l.Body})
	case LineState:
		var body []byte
		if err := json.Unmarshal(l.Body, &body); err != nil {
			return bad("a state that cannot be read")
		}
		states[l.Name] = body
	case LineRemoved:
		x.removed(l, out)
	case LineEnd:
		x.ended = true
		if l.Messages != x.count || l.Hash == nil || *l.Hash != x.hash || l.Lines != x.number {
			return bad(fmt.Sprintf("the end states %d messages and %d lines, there are %d and %d", l.Messages, l.Lines, x.count, x.number))
		}
	case LineMessage:
		return bad("a message after the records")
	default:
		*out = append(*out, mustLoss(x.count, Loss{Line: x.number, What: fmt.Sprintf("a line of the unknown type %.40q", l.Type)}))
	}
	return nil
}

// removed keeps what a truncation took out as a record of its own: there is
// no session any more that it was taken out of.
func (x *exportReader) removed(l *Line, out *[]Record) {
	body, err := encodeJSON(l)
	if err == nil {
		*out = append(*out, Record{Kind: KindRemoved, At: min(*orZero(l.N), x.count), Body: body})
	}
}

func orZero(n *int) *int {
	if n == nil {
		return new(int)
	}
	return n
}

func mustLoss(at int, l Loss) Record {
	body, _ := json.Marshal(l) // two plain fields
	return Record{Kind: KindLoss, At: at, Body: body}
}
