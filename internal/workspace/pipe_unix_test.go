//go:build unix

package workspace_test

import (
	"syscall"
	"testing"
)

// pipe makes a named pipe without a writer: opening it the usual way would
// block for ever.
func pipe(t testing.TB, path string) { must(t, syscall.Mkfifo(path, 0o644)) }
