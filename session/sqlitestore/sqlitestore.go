// Package sqlitestore is the session store on one SQLite file: the one that
// Forge uses by itself.
//
// The file is forge.db in a folder that only its owner can enter. It is in WAL
// mode with full synchronization: a change that was acknowledged survives a
// killed process and a lost power supply. Any number of processes may read;
// each session has at most one writer, who holds a lock that the operating
// system takes back when the process ends, however it ends.
package sqlitestore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/internal/sqlstore"
)

// FileName is the name of the database in its folder.
const FileName = "forge.db"

const (
	lockFolder    = "locks"
	migrationLock = "migrate"
	pageBytes     = 4096
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options are the settings of a Store; nil and the zero value mean the
// defaults.
type Options struct {
	// ReadOnly opens an existing file without ever writing to it.
	ReadOnly bool
	// MaxBytes is the most that the file may take; zero for no bound. Beyond
	// it changes fail with session.ErrNoSpace.
	MaxBytes int64
}

// A Store is a session.Store in one file. Make one with Open.
type Store struct {
	*sqlstore.DB
	sql      *sql.DB
	root     *os.Root
	path     string
	readOnly bool
}

// Open opens the store in the folder dir, and makes folder and file when they
// are not there (0700, 0600). A file that cannot be written is opened for
// reading: see ReadOnly. The error wraps session.ErrDamaged when the file is
// no database.
func Open(ctx context.Context, dir string, opts *Options) (*Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	s := &Store{readOnly: o.ReadOnly}
	if err := s.files(dir); err != nil {
		return nil, fmt.Errorf("open session store in %q: %w", dir, err)
	}
	if err := s.connect(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("open session store %q: %w", s.path, err), s.Close())
	}
	return s, nil
}

// files makes folder, file and their permissions what they must be.
func (s *Store) files(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if !s.readOnly {
		if err := os.MkdirAll(abs, 0o700); err != nil {
			return err
		}
	}
	if s.root, err = os.OpenRoot(abs); err != nil {
		return err
	}
	s.path = filepath.Join(abs, FileName)
	if !s.readOnly {
		f, err := s.root.OpenFile(FileName, os.O_RDWR|os.O_CREATE, 0o600)
		switch {
		case err == nil:
			return errors.Join(s.protect(f), f.Close())
		case !errors.Is(err, fs.ErrPermission) && !isReadOnlyFS(err):
			return errors.Join(err, s.root.Close())
		}
		s.readOnly = true
	}
	f, err := s.root.Open(FileName)
	if err != nil {
		return errors.Join(err, s.root.Close())
	}
	return f.Close()
}

// protect takes everybody else's permissions away from file and folder.
func (s *Store) protect(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return err
		}
	}
	folder, err := s.root.Stat(".")
	if err != nil {
		return err
	}
	if folder.Mode().Perm()&0o077 != 0 {
		if err := s.root.Chmod(".", 0o700); err != nil {
			return err
		}
	}
	err = s.root.Mkdir(lockFolder, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (s *Store) connect(ctx context.Context, o Options) error {
	if s.readOnly {
		return s.connectReadOnly(ctx)
	}
	if err := s.open(o, "mode=rw"); err != nil {
		return err
	}
	unlock, err := s.lock(migrationLock, true)
	if err != nil {
		return err
	}
	defer unlock()
	return s.migrate(ctx)
}

// connectReadOnly opens a file that cannot be written. In WAL mode reading
// needs to write beside the file; where that is not possible, and nothing is
// in the WAL, the file is taken as one that nobody changes.
func (s *Store) connectReadOnly(ctx context.Context) error {
	modes := []string{"mode=ro", "mode=ro&immutable=1"}
	if info, err := s.root.Stat(FileName + "-wal"); err == nil && info.Size() > 0 {
		modes = modes[:1]
	}
	var first error
	for _, mode := range modes {
		err := s.open(Options{}, mode)
		if err == nil {
			if err = s.checkVersion(ctx); err == nil {
				return nil
			}
			s.sql.Close()
			s.sql = nil
		}
		if first == nil {
			first = err
		}
		if errors.Is(err, session.ErrDamaged) {
			break
		}
	}
	return first
}

func (s *Store) open(o Options, mode string) error {
	q := []string{mode, "_txlock=immediate", "_pragma=busy_timeout(10000)", "_pragma=foreign_keys(1)", "_pragma=cell_size_check(1)"}
	if !s.readOnly {
		q = append(q, "_pragma=journal_mode(WAL)", "_pragma=synchronous(FULL)", "_pragma=secure_delete(1)")
	}
	if o.MaxBytes > 0 {
		q = append(q, fmt.Sprintf("_pragma=max_page_count(%d)", max(o.MaxBytes/pageBytes, 1)))
	}
	name := "file:" + (&url.URL{Path: s.path}).EscapedPath() + "?" + strings.Join(q, "&")
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return wrap(err)
	}
	s.sql, s.DB = db, sqlstore.New(db, dialect{})
	return nil
}

// migrate brings the tables to this program's version.
func (s *Store) migrate(ctx context.Context) error {
	p, err := s.provider()
	if err != nil {
		return wrap(err)
	}
	if err := newer(ctx, p); err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate tables: %w", wrap(err))
	}
	return nil
}

func (s *Store) provider() (*goose.Provider, error) {
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, s.sql, folder, goose.WithDisableGlobalRegistry(true))
}

// newer refuses a store that a newer Forge has changed.
func newer(ctx context.Context, p *goose.Provider) error {
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return wrap(err)
	}
	sources := p.ListSources()
	if known := sources[len(sources)-1].Version; have > known {
		return fmt.Errorf("the store has version %d, this Forge knows up to %d: update Forge", have, known)
	}
	return nil
}

// checkVersion reads the version of a store that cannot be migrated.
func (s *Store) checkVersion(ctx context.Context) error {
	var have int64
	if err := s.sql.QueryRowContext(ctx, "SELECT MAX(version_id) FROM goose_db_version WHERE is_applied").Scan(&have); err != nil {
		return wrap(err)
	}
	p, err := s.provider()
	if err != nil {
		return wrap(err)
	}
	sources := p.ListSources()
	if known := sources[len(sources)-1].Version; have != known {
		return fmt.Errorf("the store has version %d, this Forge needs %d: open it once where it can be written", have, known)
	}
	return nil
}

// ReadOnly reports whether the store cannot be changed.
func (s *Store) ReadOnly() bool { return s.readOnly }

// Path is the file.
func (s *Store) Path() string { return s.path }

// Close closes the store. Sessions that are still open can no longer be
// changed.
func (s *Store) Close() error {
	var errs []error
	if s.sql != nil {
		errs = append(errs, s.sql.Close())
	}
	if s.root != nil {
		errs = append(errs, s.root.Close())
	}
	return errors.Join(errs...)
}

// Acquire implements session.Locker.
func (s *Store) Acquire(_ context.Context, id string) (session.Writer, error) {
	if s.readOnly {
		return nil, fmt.Errorf("write to %q: %w: check the permissions of file and folder", s.path, session.ErrReadOnly)
	}
	unlock, err := s.lock("session-"+id, false)
	if err != nil {
		return nil, err
	}
	return &writer{store: s, id: id, unlock: unlock}, nil
}

// writer holds the lock of a session.
type writer struct {
	store  *Store
	id     string
	unlock func() error
}

// Apply implements session.Writer.
func (w *writer) Apply(ctx context.Context, c session.Change) error {
	if w.unlock == nil {
		return fmt.Errorf("change session %s: %w: it is closed", w.id, session.ErrReadOnly)
	}
	return w.store.DB.Apply(ctx, w.store.sql, w.id, c)
}

// Close implements session.Writer.
func (w *writer) Close() error {
	if w.unlock == nil {
		return nil
	}
	unlock := w.unlock
	w.unlock = nil
	return unlock()
}

// dialect is SQLite's.
type dialect struct{}

func (dialect) Rebind(query string) string { return query }
func (dialect) Wrap(err error) error       { return wrap(err) }

func (dialect) Words() sqlstore.WordIndex {
	return sqlstore.WordIndex{
		Add:    "INSERT INTO words (rowid, text) VALUES (?1, ?2)",
		Remove: "DELETE FROM words WHERE rowid IN (SELECT key FROM messages WHERE session = ?1 AND position >= ?2)",
		Find: `SELECT m.position FROM words w JOIN messages m ON m.key = w.rowid
			WHERE m.session = ?1 AND words MATCH ?2 ORDER BY m.position DESC`,
		Query: func(words []string) string {
			quoted := make([]string, len(words))
			for i, w := range words {
				quoted[i] = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
			}
			return strings.Join(quoted, " ")
		},
	}
}

// wrap gives SQLite's errors the meaning of package session's.
func wrap(err error) error {
	var e *sqlite.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	meaning := error(nil)
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		meaning = session.ErrNoSpace
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		meaning = session.ErrReadOnly
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT:
		meaning = session.ErrDamaged
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		meaning = session.ErrLocked
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		meaning = session.ErrUnavailable
	case sqlite3.SQLITE_CONSTRAINT:
		meaning = session.ErrConflict
	}
	if meaning == nil {
		return err
	}
	return fmt.Errorf("%w: %w", meaning, err)
}
