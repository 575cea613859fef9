package sessionfile

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// folder is where a file stands: on the disk or in an fs.FS.
type folder struct {
	dir  string // absolute; empty for none
	fsys fs.FS
	name string // in fsys
}

func isErr(err, target error) bool { return errors.Is(err, target) }

// Folder opens the folder that is levels above the file's own, for formats
// that span several files: Folder(0) is the file's own folder. It returns
// the folder, the file's slash-separated name inside it, and a function that
// releases the folder. Nothing outside the folder can be reached through it.
// Without folders around the file (Read) it returns fs.ErrNotExist.
func (s *Source) Folder(levels int) (fsys fs.FS, name string, release func(), err error) {
	if s.folder.fsys != nil {
		dir := path.Dir(s.folder.name)
		for range levels {
			dir = path.Dir(dir)
		}
		name = s.folder.name
		if dir != "." {
			name = name[len(dir)+1:]
		}
		sub, err := fs.Sub(s.folder.fsys, dir)
		return sub, name, func() {}, err
	}
	if s.folder.dir == "" {
		return nil, "", nil, fs.ErrNotExist
	}
	dir := s.folder.dir
	name = filepath.Base(s.path)
	for range levels {
		name = path.Join(filepath.Base(dir), name)
		dir = filepath.Dir(dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", nil, err
	}
	return root.FS(), name, func() { root.Close() }, nil
}

// Other opens another file of the same session under the same limits. Its
// losses are its own: see Builder.Adopt. Close it after use.
func (s *Source) Other(fsys fs.FS, name string) (*Source, error) {
	return openFS(fsys, name, &Options{Limits: s.limits})
}

// Close releases the file. The Source that Import gets is closed by the
// function that opened it.
func (s *Source) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}
