// Package filelock locks an open file against other processes. The kernel
// gives a lock back when its file is closed or its process ends.
package filelock

import "errors"

// ErrLocked means that another process, or another opening of the file in this
// one, holds the lock.
var ErrLocked = errors.New("the file is locked by another process")
