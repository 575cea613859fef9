package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// MaxLineBytes is the longest line that is written or read: enough for a
// first event with the ledger of 200,000 items.
const MaxLineBytes = 64 << 20

// maxProblems bounds what a Reader keeps about a damaged file.
const maxProblems = 100

// A Problem is something wrong with a trace that does not keep the rest from
// being read.
type Problem struct {
	// Line is counted from 1.
	Line int `json:"line"`
	// What says what is wrong, in one line without foreign content.
	What string `json:"what"`
}

// A Reader reads a trace as a stream. Make one with NewReader; it belongs to
// one goroutine.
type Reader struct {
	in       *bufio.Reader
	line     int
	seq      int64
	events   int
	unknown  map[Type]int
	names    []Type
	problems []Problem
	more     int
}

// NewReader returns a Reader over r.
func NewReader(r io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 64<<10), unknown: map[Type]int{}}
}

// Events yields the events in file order.
//
// It goes on past a line that is not an event, a torn last line, a gap or a
// repeat in the sequence numbers, and unknown event types; Problems names
// them. It ends with an error, and the zero Event, when the source cannot be
// read, when an event has a newer version (ErrNewerVersion), when a line is
// too long (ErrLineTooLong), and when the first line is not an event
// (ErrMalformed): then it is no trace at all. Iterate once.
func (r *Reader) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			line, whole, err := r.next()
			if err != nil {
				yield(Event{}, err)
				return
			}
			if line == nil {
				return
			}
			e, keep, err := r.take(line, whole)
			if err != nil {
				yield(Event{}, err)
				return
			}
			if keep && !yield(e, nil) {
				return
			}
		}
	}
}

// take parses one line. keep is false for a line that was only reported.
func (r *Reader) take(line []byte, whole bool) (e Event, keep bool, err error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return Event{}, false, nil
	}
	e, err = ParseEvent(line)
	switch {
	case errors.Is(err, ErrNewerVersion):
		return Event{}, false, fmt.Errorf("read trace line %d: %w", r.line, err)
	case err != nil && r.events == 0 && whole:
		return Event{}, false, fmt.Errorf("read trace line %d: %w", r.line, err)
	case err != nil && !whole:
		r.report(fmt.Sprintf("the last line is torn: its %d bytes are left out", len(line)))
		return Event{}, false, nil
	case err != nil:
		r.report(fmt.Sprintf("left out: %s", err))
		return Event{}, false, nil
	}
	r.events++
	r.checkSequence(e.Seq)
	if u, ok := e.Payload.(*Unknown); ok {
		if r.unknown[u.Name]++; r.unknown[u.Name] == 1 && len(r.names) < maxProblems {
			r.names = append(r.names, u.Name)
			r.report(fmt.Sprintf("event type %.60q is unknown to this Forge: kept, not shown", string(u.Name)))
		}
	}
	return e, true, nil
}

func (r *Reader) checkSequence(seq int64) {
	switch {
	case seq > r.seq+1:
		r.report(fmt.Sprintf("events are missing: number %d follows %d", seq, r.seq))
	case seq <= r.seq:
		r.report(fmt.Sprintf("event number %d comes after %d", seq, r.seq))
	}
	r.seq = seq
}

func (r *Reader) report(what string) {
	if len(r.problems) == maxProblems {
		r.more++
		return
	}
	r.problems = append(r.problems, Problem{Line: r.line, What: what})
}

// Problems returns what was wrong so far, at most 100 entries and one that
// counts the rest.
func (r *Reader) Problems() []Problem {
	out := slices.Clone(r.problems)
	if r.more > 0 {
		out = append(out, Problem{Line: r.line, What: fmt.Sprintf("%d more problems", r.more)})
	}
	return out
}

// next returns the next line without its end. whole is false when the file
// ends before the line does. At the end of the file the line is nil.
func (r *Reader) next() (line []byte, whole bool, err error) {
	r.line++
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(part) > MaxLineBytes {
			return nil, false, fmt.Errorf("read trace line %d: %w: more than %d bytes", r.line, ErrLineTooLong, MaxLineBytes)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], true, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if len(line) == 0 {
				return nil, false, nil
			}
			return line, false, nil
		default:
			return nil, false, fmt.Errorf("read trace line %d: %w", r.line, err)
		}
	}
}

// Sniff reports whether the beginning of a file looks like a trace: its first
// line starts as every event does.
func Sniff(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	return bytes.HasPrefix(head, []byte(`{"v":`)) && bytes.Contains(head[:min(len(head), 80)], []byte(`,"seq":`))
}
