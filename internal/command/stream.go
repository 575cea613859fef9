package command

import (
	"errors"
	"io"
	"os"
	"time"
)

// A stream is one output of a program on its way to a writer.
type stream struct {
	reader, writer *os.File
	to             io.Writer
	copied         chan struct{}
}

func newStream(to io.Writer) (*stream, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if to == nil {
		to = io.Discard
	}
	return &stream{reader: reader, writer: writer, to: to, copied: make(chan struct{})}, nil
}

// begin reads, once the program has the writing end.
func (s *stream) begin() {
	s.writer.Close()
	go func() {
		defer close(s.copied)
		s.copy()
	}()
}

// end returns when all is read. All writers are dead. One that got away keeps
// the pipe open and shall not keep us: what is in the pipe by now is read, and
// no more is waited for.
func (s *stream) end() {
	s.reader.SetReadDeadline(time.Unix(1, 0)) // wakes a reader that waits
	<-s.copied
}

func (s *stream) close() {
	s.reader.Close()
	s.writer.Close()
}

const (
	// drainTime is how long is waited for more output after the last known
	// writer died.
	drainTime = 250 * time.Millisecond
	// maxPipeBytes is no less than a pipe of ours holds (64 KiB on Linux).
	maxPipeBytes = 1 << 20
)

// copy passes on all there is, also past a writer that fails: the program must
// not block on a full pipe. After the end only the time counts that is spent in
// reading, since whatever else takes long must not cost output, and what a pipe
// can hold is read at most, since a writer that got away may write without end.
func (s *stream) copy() {
	buf := make([]byte, 32<<10)
	ended, left, waited := false, maxPipeBytes, time.Duration(0)
	for {
		begun := time.Now()
		n, err := s.reader.Read(buf)
		took := time.Since(begun)
		if n > 0 {
			if k, failed := s.to.Write(buf[:n]); failed != nil || k < n {
				s.to = io.Discard
			}
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if ended {
			left, waited = left-n, waited+took
		}
		if left <= 0 || waited >= drainTime {
			return
		}
		if ended = ended || err != nil; ended {
			s.reader.SetReadDeadline(time.Now().Add(drainTime - waited))
		}
	}
}
