//go:build unix

package sqlitestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/filelock"
)

func isReadOnlyFS(err error) bool { return errors.Is(err, syscall.EROFS) }

// lock takes the lock with this name and returns what gives it back. The
// kernel gives it back when the process ends.
func (s *Store) lock(name string, wait bool) (func() error, error) {
	path := filepath.Join(lockFolder, name)
	for {
		f, err := s.root.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		err = filelock.Lock(f, wait)
		if errors.Is(err, filelock.ErrLocked) {
			f.Close()
			return nil, fmt.Errorf("%w: another forge writes to it; wait for it to end, or fork the session", session.ErrLocked)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		if s.current(f, path) {
			return func() error {
				// Removed while it is held: whoever opened it meanwhile finds
				// that it is no longer the current one.
				return errors.Join(s.root.Remove(path), f.Close())
			}, nil
		}
		f.Close()
	}
}

// current reports whether f is still the file of that name.
func (s *Store) current(f *os.File, path string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := s.root.Stat(path)
	return err == nil && os.SameFile(held, named)
}
