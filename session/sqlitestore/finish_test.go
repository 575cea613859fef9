package sqlitestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/sessiontest"
	"github.com/forge-agent/forge/session/sqlitestore"
)

// The end of a turn does not write its messages again, however large they are:
// a run that printed a gigabyte must come to its end (resolution C16).
func TestFinishWritesNoBodies(t *testing.T) {
	dir := t.TempDir()
	open := func() (*sqlitestore.Store, *session.Session) {
		store, err := sqlitestore.Open(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := session.Create(t.Context(), store, "large", session.Info{ShownBytes: 1000}, nil)
		if err != nil {
			if s, err = session.Open(t.Context(), store, "large", nil); err != nil {
				t.Fatal(err)
			}
		}
		return store, s
	}
	store, s := open()
	text := strings.Repeat("some words of a message, ", 20_000)
	for i := range 20 {
		m := sessiontest.Assistant(fmt.Sprint("a", i), text)
		if i == 0 {
			m = sessiontest.User("u", "Begin.")
		}
		if _, err := s.Append(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []interface{ Close() error }{s, store} { // what was written goes into the file
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	store, s = open()
	defer store.Close()
	defer s.Close()
	if n, err := s.Finish(t.Context(), session.Cancelled); err != nil || n != 20 {
		t.Fatalf("%d messages ended: %v", n, err)
	}
	written := int64(0)
	logs, err := filepath.Glob(filepath.Join(dir, "*-wal"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("there is no log of what was written: %v", err)
	}
	for _, path := range logs {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		written += info.Size()
	}
	if written > 1<<20 {
		t.Errorf("the end of the turn wrote %d bytes", written)
	}
	for i := range 20 {
		if s.Status(i) != session.Cancelled {
			t.Errorf("message %d is %q", i, s.Status(i))
		}
	}
}
