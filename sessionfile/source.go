package sessionfile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"unicode/utf8"
)

// Limits bound the memory and time that a file can take. A file beyond them
// is refused with ErrTooLarge. Zero fields mean the defaults.
type Limits struct {
	// FileBytes is the largest file, DefaultFileBytes when zero.
	FileBytes int64
	// ObjectBytes is the largest object of a file that holds several,
	// DefaultObjectBytes when zero.
	ObjectBytes int
	// DocumentBytes is the largest file that holds one document,
	// DefaultDocumentBytes when zero. Such a file is held in memory.
	DocumentBytes int
}

// The default limits. The longest lines in real files are tool results with
// images of some MiB; the longest documents are trajectories of some tens.
const (
	DefaultFileBytes     = 1 << 30
	DefaultObjectBytes   = 32 << 20
	DefaultDocumentBytes = 256 << 20
)

func (l Limits) orDefaults() Limits {
	if l.FileBytes == 0 {
		l.FileBytes = DefaultFileBytes
	}
	if l.ObjectBytes == 0 {
		l.ObjectBytes = DefaultObjectBytes
	}
	if l.DocumentBytes == 0 {
		l.DocumentBytes = DefaultDocumentBytes
	}
	return l
}

// A Source reads the JSON of one file for an importer: as a sequence of
// objects (Objects) or as one document (Document), once.
//
// It finds the objects by the grammar, not by lines: one on a line, several
// glued on a line, or one over many lines. When an object was cut off, it
// goes on with the next one, and remembers the loss for Builder.Finish.
// A Source is not safe for concurrent use.
type Source struct {
	path   string
	folder folder
	r      io.Reader // ends where the file ended when it was opened
	stat   func() (fs.FileInfo, error)
	close  func() error
	size   int64
	limits Limits

	scanner scanner
	losses  losses
	head    Head

	buf    []byte
	at     int  // buf[at:] is not yet scanned
	line   int  // of buf[at]
	strict int  // see scanner.scan; an offset into buf
	eof    bool // r is at its end
	hold   bool // buf must keep its beginning
	read   int64
}

// Path returns the file as the caller named it.
func (s *Source) Path() string { return s.path }

// Head returns what the beginning of the file tells.
func (s *Source) Head() Head { return s.head }

// Refuse returns an *Error for this file. A detail or hint may be empty.
func (s *Source) Refuse(reason error, detail, hint string) error {
	return &Error{Path: s.path, Err: reason, Detail: detail, Hint: hint}
}

// Objects yields the top-level objects in order. What is between them, and
// objects that were cut off, become losses. After an error nothing follows:
// the file could not be read, or it is beyond a limit.
func (s *Source) Objects() iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		for {
			v, ok, err := s.next(s.limits.ObjectBytes)
			if err != nil {
				yield(Value{}, err)
				return
			}
			if !ok {
				s.checkSize()
				return
			}
			if v.Cut {
				s.lose(v.Line, "the last object is cut off: the file ends inside it")
				continue
			}
			if !utf8.Valid(v.Raw) {
				s.lose(v.Line, "bytes that are no UTF-8, read as U+FFFD")
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// Document returns the file as one value, which stays valid. A document that
// is cut off is returned as far as it goes, with Cut set and the loss noted.
// It fails when the file is a sequence of objects (see Head.Single).
func (s *Source) Document() (Value, error) {
	if !s.head.Single {
		return Value{}, s.Refuse(ErrUnreadable, "several JSON objects where one document was expected", "")
	}
	v, _, err := s.document()
	if err != nil {
		return Value{}, err
	}
	if v.Cut {
		line := v.Line + bytes.Count(v.Raw, newline)
		s.lose(line, "the document is cut off or broken here; what follows is not read")
	} else {
		s.checkSize()
	}
	if !utf8.Valid(v.Raw) {
		s.lose(v.Line, "bytes that are no UTF-8, read as U+FFFD")
	}
	return v, nil
}

func (s *Source) lose(line int, what string) { s.losses.add(line, what) }

// checkSize notes when the file changed while it was read.
func (s *Source) checkSize() {
	if s.read < s.size {
		s.lose(s.line, fmt.Sprintf("the file shrank from %d to %d bytes while it was read", s.size, s.read))
		return
	}
	info, err := s.stat()
	if err == nil && info.Size() > s.size {
		s.lose(s.line, fmt.Sprintf("the file grew from %d to %d bytes while it was read; the new part is not read",
			s.size, info.Size()))
	}
}

// next finds the next object of at most limit bytes. The last one may be cut.
func (s *Source) next(limit int) (Value, bool, error) {
	for {
		if more, err := s.skipSpace(); err != nil || !more {
			return Value{}, false, err
		}
		if s.buf[s.at] != '{' {
			if err := s.skipNoise(); err != nil {
				return Value{}, false, err
			}
			continue
		}
		sp, err := s.scan(limit)
		switch {
		case err != nil:
			return Value{}, false, err
		case sp.verdict == whole:
			return s.take(sp.end, false), true, nil
		case sp.verdict == open && sp.line < 0:
			return s.take(sp.end, true), true, nil
		}
		if err := s.skipBroken(sp); err != nil {
			return Value{}, false, err
		}
	}
}

// document finds the one value of the file.
func (s *Source) document() (Value, bool, error) {
	if more, err := s.skipSpace(); err != nil || !more {
		return Value{}, false, err
	}
	sp, err := s.scan(s.limits.DocumentBytes)
	if err != nil {
		return Value{}, false, err
	}
	return s.take(sp.end, sp.verdict != whole), true, nil
}

// scan reads on until the value at s.at has an end, and refuses one that is
// too long or nested too deeply.
func (s *Source) scan(limit int) (span, error) {
	for {
		sp := s.scanner.scan(s.buf, s.at, s.strict)
		if sp.verdict == deep {
			return sp, s.Refuse(ErrNesting, fmt.Sprintf("line %d: more than %d levels", s.lineAt(sp.end), MaxNesting),
				"this is no session that an agent wrote; check where the file comes from")
		}
		if sp.end-s.at > limit {
			return sp, s.Refuse(ErrTooLarge,
				fmt.Sprintf("the object on line %d has more than %s", s.line, byteSize(int64(limit))),
				"remove that line or shorten it")
		}
		if sp.verdict != open {
			return sp, nil
		}
		if more, err := s.fill(); err != nil || !more {
			return sp, err
		}
	}
}

// take returns buf[at:end] and moves behind it.
func (s *Source) take(end int, cut bool) Value {
	v := Value{Raw: s.buf[s.at:end:end], Line: s.line, Cut: cut}
	s.move(end)
	return v
}

func (s *Source) move(to int) {
	s.line = s.lineAt(to)
	s.at = to
}

func (s *Source) lineAt(to int) int { return s.line + bytes.Count(s.buf[s.at:to], newline) }

func (s *Source) skipSpace() (bool, error) {
	for {
		to := s.at
		for to < len(s.buf) && isSpace(s.buf[to]) {
			to++
		}
		s.move(to)
		if s.at < len(s.buf) {
			return true, nil
		}
		if more, err := s.fill(); err != nil || !more {
			return false, err
		}
	}
}

// fillBytes is how much is read at once.
const fillBytes = 256 << 10

// fill reads more, at least as much again as waits in the buffer, so that
// scanning a long object anew after each fill stays linear. It moves buf[at:]
// to the front unless the beginning is held.
func (s *Source) fill() (bool, error) {
	if s.eof {
		return false, nil
	}
	if !s.hold && s.at > 0 {
		s.strict = max(s.strict-s.at, 0)
		s.buf = s.buf[:copy(s.buf, s.buf[s.at:])]
		s.at = 0
	}
	have := len(s.buf)
	want := int(min(int64(max(fillBytes, have-s.at)), s.size-s.read)) + 1
	if cap(s.buf) < have+want {
		grown := make([]byte, have, have+want)
		copy(grown, s.buf)
		s.buf = grown
	}
	n, err := io.ReadFull(s.r, s.buf[have:have+want])
	s.buf = s.buf[:have+n]
	s.read += int64(n)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		s.eof = true
	} else if err != nil {
		return false, s.Refuse(err, "", "check the disk and the permissions")
	}
	return n > 0, nil
}

func byteSize(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d %s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
