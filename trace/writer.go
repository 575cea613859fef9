package trace

import (
	"fmt"
	"io"
	"iter"
	"os"
	"time"
)

// A Sink takes events.
type Sink interface {
	// Emit gives the payload the next sequence number and the present time
	// and keeps it. The payload must not be changed afterwards.
	Emit(Payload) error
}

// A Writer is a Sink that writes JSON lines, one Write call for each event,
// so that a crash can tear only the last line. It belongs to one goroutine.
// Make one with NewWriter.
type Writer struct {
	out   io.Writer
	clock func() time.Time
	seq   int64
	line  []byte
	err   error
}

// NewWriter returns a Writer that appends to w and numbers events from 1.
// clock gives the time of each event; nil, or a zero time, leaves it out.
func NewWriter(w io.Writer, clock func() time.Time) *Writer {
	return &Writer{out: w, clock: clock}
}

// Emit writes one event. After a failed write every further call returns the
// same error: what follows a torn line could not be read.
func (w *Writer) Emit(p Payload) error {
	if w.err != nil {
		return w.err
	}
	line, err := stamp(p, w.seq+1, w.clock).AppendJSON(w.line[:0])
	if err != nil {
		return err
	}
	line = append(line, '\n')
	w.line = line
	if len(line) > MaxLineBytes {
		return fmt.Errorf("write event %d (%s): %w: %d bytes", w.seq+1, p.Type(), ErrLineTooLong, len(line))
	}
	if _, err := w.out.Write(line); err != nil {
		w.err = fmt.Errorf("write event %d (%s): %w", w.seq+1, p.Type(), err)
		return w.err
	}
	w.seq++
	return nil
}

func stamp(p Payload, seq int64, clock func() time.Time) Event {
	e := Event{Seq: seq, Payload: p}
	if clock != nil {
		e.Time = clock()
	}
	return e
}

// Create makes a new trace file that only its owner can read (mode 0600). It
// never overwrites: an existing name is an error. Close the file when done.
func Create(root *os.Root, name string, clock func() time.Time) (*Writer, io.Closer, error) {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("create trace: %w", err)
	}
	return NewWriter(f, clock), f, nil
}

// A List is a Sink that keeps events in memory. The zero value is ready to
// use and leaves the time out.
type List struct {
	// Clock gives the time of each event; nil leaves it out.
	Clock func() time.Time
	// Events are what was emitted, in order.
	Events []Event
}

// Emit keeps one event.
func (l *List) Emit(p Payload) error {
	if p == nil {
		return fmt.Errorf("keep event %d: it has no payload", len(l.Events)+1)
	}
	if err := p.check(); err != nil {
		return fmt.Errorf("keep event %d (%s): %w", len(l.Events)+1, p.Type(), err)
	}
	l.Events = append(l.Events, stamp(p, int64(len(l.Events))+1, l.Clock))
	return nil
}

// All yields the events kept so far. The error is always nil: it makes the
// list usable where a Reader is.
func (l *List) All() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, e := range l.Events {
			if !yield(e, nil) {
				return
			}
		}
	}
}
