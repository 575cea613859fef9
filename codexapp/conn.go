package codexapp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
)

// MaxLineBytes is the longest line of the server that is read, 64 MiB. A
// longer one is skipped and counted: what Codex says in one event is far
// shorter, and memory stays bounded whatever a server does.
const MaxLineBytes = 64 << 20

// maxGarbage is how many lines in a row may be no message before the other
// side counts as no app server.
const maxGarbage = 1000

// A conn is a running server as the client sees it: its two ends and how to
// end it.
type conn struct {
	in  io.WriteCloser
	out io.Reader
	// stop ends the server and everything that it started, and waits for it.
	stop func()
	// told returns the end of what the server wrote to its error output, and
	// how it ended, in one line each; empty for nothing.
	told func() (last, ending string)
}

// Strays counts what a server sent that no rule of the protocol explains.
type Strays struct {
	// Garbage are lines that are no message, Oversize lines longer than
	// MaxLineBytes, Unmatched replies that nothing waited for.
	Garbage, Oversize, Unmatched int
}

// A wire reads and writes messages. Reading is done by one goroutine, which
// hands over one message at a time: a server that says more than is looked at
// waits.
type wire struct {
	conn     conn
	messages chan inbound
	outgoing chan []byte
	quit     chan struct{} // closed when nobody reads any more
	failed   error         // why messages was closed; read after that
	strays   struct{ garbage, oversize atomic.Int64 }
}

func newWire(c conn) *wire {
	w := &wire{conn: c, messages: make(chan inbound), outgoing: make(chan []byte, 16), quit: make(chan struct{})}
	go w.read()
	go w.write()
	return w
}

// read hands over messages until the server's output ends.
func (w *wire) read() {
	defer close(w.messages)
	r := bufio.NewReaderSize(w.conn.out, 64<<10)
	for row := 0; ; {
		line, whole, err := readLine(r, MaxLineBytes)
		switch {
		case !whole:
			w.strays.oversize.Add(1)
		case len(line) > 0:
			if m, ok := parse(line); ok {
				row = 0
				select {
				case w.messages <- m:
				case <-w.quit:
					io.Copy(io.Discard, r) // a server that cannot write does not end
					return
				}
				break
			}
			w.strays.garbage.Add(1)
			if row++; row >= maxGarbage {
				w.failed = fmt.Errorf("%w: it wrote %d lines in a row that are no messages; check that the path names Codex", ErrProtocol, row)
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				w.failed = err
			}
			return
		}
	}
}

// readLine reads to the next line break. A line longer than most is skipped to
// its end, and whole is false.
func readLine(r *bufio.Reader, most int) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := r.ReadSlice('\n')
		if whole && len(line)+len(part) <= most {
			line = append(line, part...)
		} else {
			line, whole = nil, false
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return trimBreak(line), whole, err
		}
	}
}

func trimBreak(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

// parse reads a message; false when a line is none.
func parse(line []byte) (inbound, bool) {
	var m inbound
	if err := json.Unmarshal(line, &m); err != nil {
		return inbound{}, false
	}
	if string(m.ID) == "null" {
		m.ID = nil
	}
	return m, m.Method != "" || m.ID != nil
}

// write sends lines until the wire is closed. A server that does not read
// keeps only this goroutine waiting.
func (w *wire) write() {
	for {
		select {
		case line := <-w.outgoing:
			if _, err := w.conn.in.Write(line); err != nil {
				return // the end of its output tells
			}
		case <-w.quit:
			return
		}
	}
}

// send queues a message. It fails when the server takes none.
func (w *wire) send(v any, give <-chan struct{}) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	select {
	case w.outgoing <- append(line, '\n'):
		return nil
	case <-give:
		return fmt.Errorf("%w: it does not read what it is sent", ErrSilent)
	}
}

// close ends the server. It returns when nothing of it is left.
func (w *wire) close() {
	close(w.quit)
	w.conn.stop()
}
