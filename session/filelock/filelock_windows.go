package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Lock takes the lock of a file for this opening of it. Where another has it,
// Lock waits, or fails with ErrLocked.
func Lock(f *os.File, wait bool) error {
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if !wait {
		flags |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	// The byte behind the largest file is locked: others may read the file.
	behind := &windows.Overlapped{Offset: ^uint32(0), OffsetHigh: ^uint32(0)}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, behind)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}
