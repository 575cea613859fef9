// Package sqlstore is what the stores on SQL databases have in common: the
// statements, and one transaction for each change. What differs between
// databases (locks, migrations, the word index, error codes) is in the
// packages that use it.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/forge-agent/forge/session"
)

// A Dialect is what differs between databases.
type Dialect interface {
	// Rebind turns ?1, ?2 … into the database's own form.
	Rebind(query string) string
	// Wrap gives an error of the database the meaning of package session's.
	Wrap(err error) error
	// Words gives the statements of the word index.
	Words() WordIndex
}

// WordIndex are the statements of the word index. An empty statement is left
// out.
type WordIndex struct {
	// Add takes the message's key and its words; Remove takes the session's
	// key and the first index that goes; Find takes the session's key and what
	// Query makes of the words, and yields indexes, newest first.
	Add, Remove, Find string
	Query             func(words []string) string
}

// A DB is a store without its locks. Make one with New.
type DB struct {
	sql     *sql.DB
	dialect Dialect
	words   WordIndex
}

// New returns a DB on an open database that has its tables.
func New(db *sql.DB, dialect Dialect) *DB {
	return &DB{sql: db, dialect: dialect, words: dialect.Words()}
}

// runner is a database, a connection or a transaction.
type runner interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// wrap says what was done when err came up.
func (d *DB) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", what, session.ErrNotFound)
	}
	return fmt.Errorf("%s: %w", what, d.dialect.Wrap(err))
}

func (d *DB) exec(ctx context.Context, tx runner, query string, args ...any) (int64, error) {
	res, err := tx.ExecContext(ctx, d.dialect.Rebind(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (d *DB) query(ctx context.Context, tx runner, query string, args ...any) (*sql.Rows, error) {
	return tx.QueryContext(ctx, d.dialect.Rebind(query), args...)
}

// key returns the number that stands for a session inside the database.
func (d *DB) key(ctx context.Context, tx runner, id string) (int64, error) {
	var key int64
	err := tx.QueryRowContext(ctx, d.dialect.Rebind("SELECT key FROM sessions WHERE id = ?1"), id).Scan(&key)
	return key, d.wrap(fmt.Sprintf("find session %q", id), err)
}
