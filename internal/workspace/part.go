package workspace

import (
	"errors"
	"io"
	"path/filepath"
)

// ReadStart returns the beginning of a regular file, at most maxBytes of it,
// and how many bytes the whole file has. What Read refuses besides its length
// is refused here too.
func (w *Workspace) ReadStart(name string, maxBytes int) (start File, totalBytes int64, err error) {
	name, err = w.Clean(name)
	if err != nil {
		return File{}, 0, err
	}
	f, info, err := openRegular(w.root, name)
	if err != nil {
		return File{}, 0, explain("read", name, err)
	}
	defer f.Close()
	data := make([]byte, maxBytes)
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return File{}, 0, explain("read", name, err)
	}
	return File{Path: name, Data: data[:n:n], Mode: info.Mode().Perm()}, max(info.Size(), int64(n)), nil
}

// OpenSub opens a folder of the workspace as a workspace of its own: no path
// and no link leads out of that folder. Close it when done.
func (w *Workspace) OpenSub(name string) (*Workspace, error) {
	name, err := w.Clean(name)
	if err != nil {
		return nil, err
	}
	root, err := w.root.OpenRoot(filepath.FromSlash(name))
	if err != nil {
		return nil, explain("open", name, err)
	}
	return &Workspace{root: root, dir: filepath.Join(w.dir, filepath.FromSlash(name))}, nil
}
