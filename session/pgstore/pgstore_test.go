package pgstore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/pgstore"
	"github.com/forge-agent/forge/session/sessiontest"
)

func dsn(t testing.TB) string {
	t.Helper()
	d := os.Getenv("FORGE_POSTGRES_DSN")
	if d == "" {
		t.Skip("FORGE_POSTGRES_DSN is unset: needs a PostgreSQL server; make test-postgres starts one")
	}
	return d
}

// fresh makes a schema of its own and drops it with the test.
func fresh(t testing.TB) sessiontest.Opener {
	d := dsn(t)
	schema := "forge_" + strings.ReplaceAll(session.NewID(), "-", "")
	t.Cleanup(func() {
		db, err := sql.Open("pgx", d)
		if err != nil {
			t.Error(err)
			return
		}
		defer db.Close()
		if _, err := db.Exec("DROP SCHEMA IF EXISTS " + schema + " CASCADE"); err != nil {
			t.Error(err)
		}
	})
	return func(t testing.TB) session.Store {
		t.Helper()
		s, err := pgstore.Open(t.Context(), d, schema)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestSuite(t *testing.T) { sessiontest.Run(t, fresh) }

// A lost connection loses nothing that was admitted: the change fails, the
// lock is free, and after opening again the same message can be repeated.
func TestLostConnection(t *testing.T) {
	open := fresh(t)
	store := open.Open(t)
	s, err := session.Create(t.Context(), store, "lost", session.Info{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Append(t.Context(), sessiontest.User("u", "x")); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", dsn(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// It waits for the end: the lock is free only then.
	if _, err := db.Exec("SELECT pg_terminate_backend(pid, 60000) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid() AND granted"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), sessiontest.Assistant("a", "y")); !errors.Is(err, session.ErrUnavailable) {
		t.Fatalf("append over a lost connection: %v", err)
	}
	s.Close()
	again, err := session.Open(t.Context(), open.Open(t), "lost", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := again.Append(t.Context(), sessiontest.Assistant("a", "y")); err != nil || again.Header().Messages != 2 {
		t.Fatalf("%d messages: %v", again.Header().Messages, err)
	}
}

// No error shows the password.
func TestErrorsHideThePassword(t *testing.T) {
	const word = "a-pass-word"
	for _, d := range []string{"postgres://u:" + word + "@127.0.0.1:1/x", "postgres://u:" + word + "@%zz", "password=" + word + " port=x"} {
		if _, err := pgstore.Open(context.Background(), d, ""); err == nil || strings.Contains(err.Error(), word) {
			t.Errorf("%v", err)
		}
	}
}
