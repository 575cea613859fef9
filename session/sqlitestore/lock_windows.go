package sqlitestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"

	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/filelock"
)

func isReadOnlyFS(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

// lock takes the lock with this name and returns what gives it back. The
// system gives it back when the process ends.
func (s *Store) lock(name string, wait bool) (func() error, error) {
	f, err := s.root.OpenFile(filepath.Join(lockFolder, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	err = filelock.Lock(f, wait)
	switch {
	case errors.Is(err, filelock.ErrLocked):
		f.Close()
		return nil, fmt.Errorf("%w: another forge writes to it; wait for it to end, or fork the session", session.ErrLocked)
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f.Close, nil
}
