// Package workspace is the folder that a session works in. All access to files
// goes through one [os.Root], so that neither ".." nor a symbolic link nor a
// folder that is swapped for a link in the meantime leads out of it.
//
// It knows files, ignore rules and atomic changes. It asks nobody (package
// policy does) and confines no programs (internal/command does). Its errors are
// written for the model that named the path.
package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/forge-agent/forge/tool"
)

// maxPathBytes is the longest path that is looked at: PATH_MAX of Linux.
const maxPathBytes = 4096

// A Workspace is an open folder. It may be used by several goroutines.
type Workspace struct {
	root *os.Root
	dir  string
}

// Open opens a folder, which must exist. Links in the path to the folder are
// resolved once, now.
func Open(dir string) (*Workspace, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	if resolved, err = filepath.Abs(resolved); err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return &Workspace{root: root, dir: resolved}, nil
}

// Close closes the folder.
func (w *Workspace) Close() error { return w.root.Close() }

// Dir returns the absolute path of the folder.
func (w *Workspace) Dir() string { return w.dir }

// Clean returns the path in its shortest form, relative to the workspace and
// with slashes, or says what is wrong with it. "." is the workspace itself.
// Whether there is such a file, and whether a link on the way leads out, shows
// when it is opened.
func (w *Workspace) Clean(name string) (string, error) {
	switch {
	case name == "":
		return "", tool.Argumentf("The path is empty. Give one relative to the workspace, such as %q.", "cmd/main.go")
	case len(name) > maxPathBytes:
		return "", tool.Argumentf("The path is %d bytes long; the most is %d.", len(name), maxPathBytes)
	case strings.ContainsRune(name, 0):
		return "", tool.Argumentf("The path holds a NUL character. Leave it out.")
	case strings.HasPrefix(name, "~/"):
		return "", tool.Argumentf("%q is not expanded: paths are relative to the workspace.", "~")
	case path.IsAbs(name) || filepath.IsAbs(name) || filepath.VolumeName(name) != "":
		if inside, ok := w.inside(name); ok {
			return "", tool.Argumentf("The path %q is absolute. Paths are relative to the workspace: use %q.", name, inside)
		}
		return "", tool.Argumentf("The path %q is absolute and outside the workspace. Only files of the workspace can be used; name them relative to it.", name)
	}
	clean := path.Clean(filepath.ToSlash(name))
	if !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", tool.Argumentf("The path %q leads out of the workspace. Only files of the workspace can be used; name them relative to it, without %q.", name, "..")
	}
	return clean, nil
}

func (w *Workspace) inside(name string) (string, bool) {
	rel, err := filepath.Rel(w.dir, filepath.Clean(name))
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// A File is a regular file's content at the time it was read.
type File struct {
	// Path is relative to the workspace, as Clean returns it.
	Path string
	Data []byte
	// Mode holds the permission bits.
	Mode fs.FileMode
}

// Read returns a regular file of at most maxBytes. Folders, devices, pipes and
// links that lead out of the workspace are errors, and so is a longer file.
func (w *Workspace) Read(name string, maxBytes int) (File, error) {
	name, err := w.Clean(name)
	if err != nil {
		return File{}, err
	}
	f, info, err := openRegular(w.root, name)
	if err != nil {
		return File{}, explain("read", name, err)
	}
	defer f.Close()
	data, err := readAll(f, info, maxBytes)
	if err != nil {
		return File{}, explain("read", name, err)
	}
	return File{Path: name, Data: data, Mode: info.Mode().Perm()}, nil
}

var (
	errTooLarge   = errors.New("file is too large")
	errNotRegular = errors.New("not a regular file")
	errFolder     = errors.New("a folder, not a file")
)

// openRegular never blocks: a pipe is opened without waiting for its other
// end, and refused by what was opened, not by what stood there before.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = errFolder
	case !info.Mode().IsRegular():
		err = errNotRegular
	default:
		return f, info, nil
	}
	f.Close()
	return nil, nil, err
}

func readAll(f *os.File, info fs.FileInfo, maxBytes int) ([]byte, error) {
	if info.Size() > int64(maxBytes) {
		return nil, fmt.Errorf("%w: %d bytes, the most is %d", errTooLarge, info.Size(), maxBytes)
	}
	data := make([]byte, 0, info.Size()+1)
	limited := io.LimitReader(f, int64(maxBytes)+1)
	for {
		n, err := limited.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
	if len(data) > maxBytes { // it grew meanwhile, or its size says nothing
		return nil, fmt.Errorf("%w: more than %d bytes", errTooLarge, maxBytes)
	}
	return data, nil
}

// OpenDir opens a folder of the workspace, for a program to start in.
func (w *Workspace) OpenDir(name string) (*os.File, error) {
	name, err := w.Clean(name)
	if err != nil {
		return nil, err
	}
	f, err := w.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, explain("open", name, err)
	}
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		f.Close()
		return nil, tool.Argumentf("%q is not a folder.", name)
	}
	return f, nil
}

// explain says in a sentence what went wrong with a path.
func explain(verb, name string, err error) error {
	var known *tool.ArgumentError
	text := ""
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrNotExist):
		text = "There is no file or folder " + quote(name) + ". Look with list_files."
	case errors.Is(err, fs.ErrPermission):
		text = "Permission to " + verb + " " + quote(name) + " is missing."
	case errors.Is(err, fs.ErrExist):
		text = quote(name) + " exists already."
	case errors.Is(err, errFolder):
		text = quote(name) + " is a folder. Use list_files for it."
	case errors.Is(err, errNotRegular):
		text = quote(name) + " is a device, a pipe or a socket, and only regular files can be used."
	case errors.Is(err, errTooLarge):
		text = "Cannot " + verb + " " + quote(name) + ": " + err.Error() + "."
	case strings.Contains(err.Error(), "escapes from parent"): // the os package exports no value for it
		text = quote(name) + " leads out of the workspace through a symbolic link. Only files of the workspace can be used."
	default:
		text = "Cannot " + verb + " " + quote(name) + ": " + reason(err) + "."
	}
	return &Error{Text: text, Err: err}
}

// reason is the innermost cause, without paths.
func reason(err error) string {
	var pathErr *fs.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		return pathErr.Err.Error()
	case errors.As(err, &linkErr):
		return linkErr.Err.Error()
	}
	return err.Error()
}

func quote(name string) string { return fmt.Sprintf("%q", name) }

// An Error is what went wrong with a path, in words for a model.
type Error struct {
	Text string
	// Err is the cause; fs.ErrNotExist and its like are found in it.
	Err error
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
