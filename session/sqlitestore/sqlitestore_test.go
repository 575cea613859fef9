package sqlitestore_test

import (
	"testing"

	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/sessiontest"
	"github.com/forge-agent/forge/session/sqlitestore"
)

func opener(dir string) sessiontest.Opener {
	return func(t testing.TB) session.Store {
		t.Helper()
		s, err := sqlitestore.Open(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestSuite(t *testing.T) {
	sessiontest.Run(t, func(t testing.TB) sessiontest.Opener { return opener(t.TempDir()) })
}
