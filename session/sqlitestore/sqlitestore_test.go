package sqlitestore_test

import (
	"fmt"
	"os"
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

func soak(few, many int) int {
	if os.Getenv("FORGE_SOAK") != "" {
		return many
	}
	return few
}

// fatal is a testing.TB where there is no test.
type fatal struct{}

func (fatal) Fatal(args ...any) { panic(fmt.Sprint(args...)) }
