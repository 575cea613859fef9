//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Lock takes the lock of a file for this opening of it. Where another has it,
// Lock waits, or fails with ErrLocked.
func Lock(f *os.File, wait bool) error {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		}
		return err
	}
}
