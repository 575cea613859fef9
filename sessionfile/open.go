package sessionfile

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// A Format reads the session files of one agent.
type Format interface {
	// Name is the format's name, for example "claude-code".
	Name() string
	// Match reports whether a file with this beginning is of the format.
	// It looks at keys that only this format has.
	Match(Head) bool
	// Import reads the file. It returns an error only when the file cannot
	// be read, is beyond a limit, or holds no session after all; whatever
	// else it cannot keep becomes a Loss.
	Import(*Source) (*Session, error)
}

// Options change how files are opened. A nil *Options means the defaults.
type Options struct {
	// Limits bound what is read.
	Limits Limits
}

// Open reads the session file at path in the first of the formats that its
// content matches; the name of the file plays no part. Every error is an
// *Error.
func Open(path string, formats []Format, o *Options) (*Session, error) {
	s, err := openPath(path, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.session(formats)
}

// OpenFS is Open for a file of fsys. Formats that span several files find
// the others in fsys.
func OpenFS(fsys fs.FS, name string, formats []Format, o *Options) (*Session, error) {
	s, err := openFS(fsys, name, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.session(formats)
}

// Read is Open for a session that is in memory. The path is only for
// messages; there are no other files.
func Read(path string, data []byte, formats []Format, o *Options) (*Session, error) {
	s := &Source{path: path, r: bytes.NewReader(data), size: int64(len(data)), line: 1, limits: limitsOf(o),
		stat: func() (fs.FileInfo, error) { return nil, fs.ErrInvalid }}
	if err := s.start(); err != nil {
		return nil, err
	}
	return s.session(formats)
}

func limitsOf(o *Options) Limits {
	if o == nil {
		o = &Options{}
	}
	return o.Limits.orDefaults()
}

func openPath(path string, o *Options) (*Source, error) {
	// Stat first: opening a pipe would wait for a writer.
	info, err := os.Stat(path)
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		return nil, refuseOpen(path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, refuseOpen(path, err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		f.Close()
		return nil, refuseOpen(path, err)
	}
	return newSource(path, f, folder{dir: filepath.Dir(abs)}, o)
}

func openFS(fsys fs.FS, name string, o *Options) (*Source, error) {
	info, err := fs.Stat(fsys, name)
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		return nil, refuseOpen(name, err)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, refuseOpen(name, err)
	}
	return newSource(name, f, folder{fsys: fsys, name: name}, o)
}

func newSource(path string, f fs.File, where folder, o *Options) (*Source, error) {
	info, err := f.Stat()
	if err == nil {
		err = checkRegular(info)
	}
	if err != nil {
		f.Close()
		return nil, refuseOpen(path, err)
	}
	s := &Source{path: path, folder: where, r: io.LimitReader(f, info.Size()), size: info.Size(), line: 1,
		stat: f.Stat, close: f.Close, limits: limitsOf(o)}
	if err := s.start(); err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

func checkRegular(info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return ErrNotRegular
}

func refuseOpen(path string, err error) error {
	e := &Error{Path: path, Err: err, Hint: "check the path and the disk"}
	switch {
	case isErr(err, fs.ErrNotExist):
		e.Hint = "check the path"
	case isErr(err, fs.ErrPermission):
		e.Hint = "make the file readable for you, or copy it"
	case isErr(err, ErrNotRegular):
		e.Hint = "name one session file"
	}
	return e
}

// session finds the format and imports the file.
func (s *Source) session(formats []Format) (*Session, error) {
	for _, f := range formats {
		if f.Match(s.head) {
			return f.Import(s)
		}
	}
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.Name()
	}
	return nil, s.Refuse(ErrUnknownFormat, "", "known are "+strings.Join(names, ", "))
}

// start checks the first bytes, reads the head and goes back to the start.
func (s *Source) start() error {
	if s.size > s.limits.FileBytes {
		return s.Refuse(ErrTooLarge, fmt.Sprintf("%d bytes, at most %s are read", s.size, byteSize(s.limits.FileBytes)),
			"split the file, or give the part that matters")
	}
	if _, err := s.fill(); err != nil {
		return err
	}
	if err := s.checkText(); err != nil {
		return err
	}
	s.hold = true
	more, err := s.skipSpace()
	if err != nil {
		return err
	}
	if !more {
		return s.Refuse(ErrEmpty, "", "give the session file that an agent wrote")
	}
	start, line := s.at, s.line
	rewind := func() {
		s.at, s.line, s.strict, s.losses = start, line, 0, losses{}
	}
	if s.buf[s.at] == '[' {
		err = s.readArrayHead()
	} else {
		err = s.readObjectHead()
	}
	if err != nil {
		return err
	}
	rewind()
	s.hold = false
	if len(s.head.Objects) == 0 && !s.head.Array {
		return s.refuseUnreadable()
	}
	return nil
}

const hintFormat = "give a session file as the agent wrote it (JSON or JSON lines)"

func (s *Source) refuseUnreadable() error {
	if head := s.buf[:min(len(s.buf), headBytes)]; !utf8.Valid(head) || bytes.IndexByte(head, 0) >= 0 {
		return s.Refuse(ErrBinary, "", hintFormat)
	}
	return s.Refuse(ErrUnreadable, "", hintFormat)
}

// checkText refuses what cannot be JSON text by its first bytes.
func (s *Source) checkText() error {
	for _, m := range []struct{ magic, tool string }{
		{"\x28\xb5\x2f\xfd", "zstd -d"}, {"\x1f\x8b", "gunzip"}, {"\xfd7zXZ\x00", "unxz"},
		{"BZh", "bunzip2"}, {"PK\x03\x04", "unzip"},
	} {
		if bytes.HasPrefix(s.buf, []byte(m.magic)) {
			return s.Refuse(ErrCompressed, "", "decompress it first ("+m.tool+") and give the result")
		}
	}
	if bytes.HasPrefix(s.buf, []byte("\xff\xfe")) || bytes.HasPrefix(s.buf, []byte("\xfe\xff")) {
		return s.Refuse(ErrBinary, "UTF-16", "save it as UTF-8")
	}
	const bom = "\xef\xbb\xbf"
	if bytes.HasPrefix(s.buf, []byte(bom)) {
		s.at = len(bom)
	}
	// A crash can leave NUL bytes in a session, but not at its beginning.
	if nul, open := bytes.IndexByte(s.buf, 0), bytes.IndexAny(s.buf, "{["); nul >= 0 && (open < 0 || nul < open) {
		return s.Refuse(ErrBinary, "", hintFormat)
	}
	return nil
}

// readArrayHead reads the head of a file that begins with a bracket.
func (s *Source) readArrayHead() error {
	at, line := s.at, s.line
	v, _, err := s.document()
	if err != nil {
		return err
	}
	objects := headElements(v)
	more, err := s.skipSpace()
	if err != nil {
		return err
	}
	if v.Cut && len(objects) > 0 || !v.Cut && !more {
		s.head = Head{Single: true, Array: true, Objects: objects}
		return nil
	}
	s.at, s.line = at, line
	return s.readObjectHead()
}

// readObjectHead reads the head of a file that begins with anything else.
func (s *Source) readObjectHead() error {
	at, line := s.at, s.line
	limit := s.limits.DocumentBytes
	var first Value
	for len(s.head.Objects) < headObjects && s.at-at < headBytes {
		v, ok, err := s.next(limit)
		if err != nil {
			if len(s.head.Objects) > 0 {
				return nil // Objects will report it
			}
			return err
		}
		if !ok {
			break
		}
		object := newHeadObject(v)
		if v.Cut && len(object.members) == 0 {
			break
		}
		if len(s.head.Objects) == 0 {
			first = v
		}
		s.head.Objects = append(s.head.Objects, object)
		limit = s.limits.ObjectBytes
	}
	switch n := len(s.head.Objects); {
	case n == 1:
		more, err := s.skipSpace()
		if err != nil {
			return err
		}
		s.head.Single = !more && first.Line == line && len(s.losses.list) == 0
	case n == 0 && s.buf[at] == '{':
		// One broken document: what stands before the break can be read.
		s.at, s.line, s.strict = at, line, 0
		v, _, err := s.document()
		if err != nil {
			return err
		}
		if first := newHeadObject(v); len(first.members) > 0 {
			s.head = Head{Single: true, Objects: []HeadObject{first}}
		}
	}
	return nil
}
