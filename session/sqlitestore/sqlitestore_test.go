package sqlitestore_test

import (
	"fmt"
	"os"
	"strings"
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

// The suite names what each part proves: F-CKP-01, F-CKP-06, F-CKP-08, F-SEC-04,
// F-SEC-06, F-E2E-06, resolutions C5, C6 and C16, P-CHN-01, P-CHN-02, P-CHN-04,
// B6, B13, B14, B20, B31, B34, weak spot 15.
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

// C18, F-SEC-07, F-SUM-03: secrets are out before a message is hashed, and the
// hash is that of what is stored; a session without a redactor of its own has
// one.
func TestRedactionIsAtAdmission(t *testing.T) {
	store := opener(t.TempDir()).Open(t)
	s, err := session.Create(t.Context(), store, "red", session.Info{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	secret := "gh" + "p_" + strings.Repeat("a1B2", 9)
	given := sessiontest.User("u", "my token is "+secret+", keep it")
	stored, err := s.Append(t.Context(), given)
	if err != nil {
		t.Fatal(err)
	}
	want := "my token is [redacted:github-token], keep it"
	if stored[0].Text() != want || s.Transcript().At(0).Text() != want || strings.Contains(s.Header().Info.Title, secret) {
		t.Errorf("%q, title %q", stored[0].Text(), s.Header().Info.Title)
	}
	e, err := s.Message(t.Context(), "u")
	if err != nil || e.Hash != stored[0].Hash() || e.Hash == given.Hash() {
		t.Errorf("hash %v: %v", e.Hash, err)
	}
	if _, err := s.Append(t.Context(), given); err != nil || s.Header().Messages != 1 {
		t.Errorf("the same message again: %v, %d messages", err, s.Header().Messages)
	}
}
