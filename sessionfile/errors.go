package sessionfile

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Reasons for which a file is refused. Every error that Open returns is an
// *Error that wraps one of these, fs.ErrNotExist, fs.ErrPermission or a fault
// of the disk.
var (
	// ErrEmpty: the file holds nothing, or only white space.
	ErrEmpty = errors.New("the file is empty")
	// ErrNotRegular: a directory, a device, a pipe.
	ErrNotRegular = errors.New("not a regular file")
	// ErrBinary: the bytes are no UTF-8 text.
	ErrBinary = errors.New("not a text file")
	// ErrCompressed: the file must be decompressed first.
	ErrCompressed = errors.New("the file is compressed")
	// ErrTooLarge: the file, or one object in it, is beyond a limit (see
	// Limits).
	ErrTooLarge = errors.New("too large")
	// ErrNesting: an object is nested deeper than MaxNesting.
	ErrNesting = errors.New("nested too deeply")
	// ErrUnreadable: no JSON object can be read from the file.
	ErrUnreadable = errors.New("no readable JSON in the file")
	// ErrUnknownFormat: JSON, but no session of a known format.
	ErrUnknownFormat = errors.New("not a session of a known format")
	// ErrRedacted: a session whose text was taken out on export.
	ErrRedacted = errors.New("the text of the session was removed on export")
)

// An Error says why a file was refused, in one line that names the file and
// what to do.
type Error struct {
	// Path is the file as the caller named it.
	Path string
	// Err is the reason.
	Err error
	// Detail adds facts to the reason, empty for none.
	Detail string
	// Hint says what to do about it.
	Hint string
}

// Error returns the line.
func (e *Error) Error() string {
	reason := e.Err
	if path := (*fs.PathError)(nil); errors.As(reason, &path) {
		reason = path.Err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "read session %q: %s", e.Path, reason)
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "; %s", e.Hint)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }
