// Package pgstore is the session store on PostgreSQL, so that several machines
// share sessions.
//
// Whoever writes to a session holds an advisory lock on a connection of its
// own, and changes go over that same connection: when it is lost, the lock and
// the change under way go with it, and nothing that was acknowledged does.
// The caller then opens the session again.
package pgstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/internal/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// lockSpace keeps Forge's advisory locks apart from those of others.
const lockSpace = 0x666f7267 // "forg"

// A Store is a session.Store in a PostgreSQL database. Make one with Open.
type Store struct {
	*sqlstore.DB
	sql *sql.DB
}

// Open connects to the database that dsn names, a postgres:// URL or
// key=value pairs, and brings the tables up to date. schema is where they
// are, empty for the default; it is made when it is not there. Errors never
// hold the password.
func Open(ctx context.Context, dsn, schema string) (*Store, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("open session store: the PostgreSQL connection string cannot be read: use postgres://user:password@host:port/database")
	}
	if schema != "" {
		c.RuntimeParams["search_path"] = schema
	}
	db := stdlib.OpenDB(*c)
	s := &Store{DB: sqlstore.New(db, dialect{}), sql: db}
	if err := s.prepare(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("open session store on %s: %w", c.Host, wrap(err)), db.Close())
	}
	return s, nil
}

func (s *Store) prepare(ctx context.Context, schema string) error {
	if schema != "" {
		if _, err := s.sql.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{schema}.Sanitize()); err != nil {
			return err
		}
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return err
	}
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectPostgres, s.sql, folder, goose.WithDisableGlobalRegistry(true), goose.WithSessionLocker(locker))
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate tables: %w", err)
	}
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	sources := p.ListSources()
	if known := sources[len(sources)-1].Version; have > known {
		return fmt.Errorf("the store has version %d, this Forge knows up to %d: update Forge", have, known)
	}
	return nil
}

// Close closes every connection, and so gives all locks back.
func (s *Store) Close() error { return s.sql.Close() }

// Acquire implements session.Locker.
func (s *Store) Acquire(ctx context.Context, id string) (session.Writer, error) {
	conn, err := s.sql.Conn(ctx)
	if err != nil {
		return nil, wrap(err)
	}
	var got bool
	// The lock is by schema, so that stores in one database do not meet.
	err = conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1, hashtext(current_schema() || '/' || $2))", lockSpace, id).Scan(&got)
	if err != nil {
		return nil, errors.Join(wrap(err), conn.Close())
	}
	if !got {
		return nil, errors.Join(fmt.Errorf("%w: another forge writes to it, maybe on another machine; wait for it to end, or fork the session", session.ErrLocked), conn.Close())
	}
	return &writer{store: s, conn: conn, id: id}, nil
}

// writer holds the lock of a session on a connection of its own.
type writer struct {
	store *Store
	conn  *sql.Conn
	id    string
}

// Apply implements session.Writer.
func (w *writer) Apply(ctx context.Context, c session.Change) error {
	if w.conn == nil {
		return fmt.Errorf("change session %s: %w: it is closed", w.id, session.ErrReadOnly)
	}
	return w.store.DB.Apply(ctx, w.conn, w.id, c)
}

// Close implements session.Writer. A connection that cannot give the lock
// back is closed, and the lock goes with it.
func (w *writer) Close() error {
	if w.conn == nil {
		return nil
	}
	conn := w.conn
	w.conn = nil
	ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
	defer cancel()
	var done bool
	err := conn.QueryRowContext(ctx, "SELECT pg_advisory_unlock($1, hashtext(current_schema() || '/' || $2))", lockSpace, w.id).Scan(&done)
	if err != nil || !done {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it
		return nil
	}
	return conn.Close()
}

// unlockTimeout is how long Close waits for a server that does not answer.
const unlockTimeout = 5 * time.Second

// dialect is PostgreSQL's.
type dialect struct{}

func (dialect) Rebind(query string) string { return strings.ReplaceAll(query, "?", "$") }
func (dialect) Wrap(err error) error       { return wrap(err) }

func (dialect) Words() sqlstore.WordIndex {
	return sqlstore.WordIndex{
		Add:  "UPDATE messages SET words = array_to_tsvector(array_remove(string_to_array(?2, ' '), '')) WHERE key = ?1",
		Find: "SELECT position FROM messages WHERE session = ?1 AND words @@ CAST(?2 AS tsquery) ORDER BY position DESC",
		Query: func(words []string) string {
			quoted := make([]string, len(words))
			for i, w := range words {
				quoted[i] = "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(w) + "'"
			}
			return strings.Join(quoted, " & ")
		},
	}
}

// wrap gives PostgreSQL's errors the meaning of package session's.
func wrap(err error) error {
	if err == nil {
		return nil
	}
	var pg *pgconn.PgError
	meaning := error(nil)
	switch {
	case errors.As(err, &pg):
		switch {
		case pg.Code == "53100", pg.Code == "54000": // disk full, program limit exceeded
			meaning = session.ErrNoSpace
		case pg.Code == "25006": // read-only transaction
			meaning = session.ErrReadOnly
		case pg.Code == "XX001", pg.Code == "XX002": // data corrupted, index corrupted
			meaning = session.ErrDamaged
		case strings.HasPrefix(pg.Code, "23"), pg.Code == "40001", pg.Code == "40P01": // constraint, serialization, deadlock
			meaning = session.ErrConflict
		case strings.HasPrefix(pg.Code, "08"), strings.HasPrefix(pg.Code, "57P"): // connection, shutdown
			meaning = session.ErrUnavailable
		}
	case isNetwork(err):
		meaning = session.ErrUnavailable
	}
	if meaning == nil {
		return err
	}
	return fmt.Errorf("%w: %w", meaning, err)
}

func isNetwork(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &network) || errors.As(err, &connect) || strings.Contains(err.Error(), "conn closed")
}
