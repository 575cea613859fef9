package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/forge-agent/forge/session/filelock"
)

// One opening of a file holds the lock until it is closed.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := open(), open()
	defer second.Close()
	if err := filelock.Lock(first, true); err != nil {
		t.Fatal(err)
	}
	if err := filelock.Lock(second, false); !errors.Is(err, filelock.ErrLocked) {
		t.Fatalf("a second lock: %v", err)
	}
	got := make(chan error)
	go func() { got <- filelock.Lock(second, true) }()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}
