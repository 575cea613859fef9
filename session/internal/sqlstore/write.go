package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
)

// Beginner begins a transaction: a database, or the connection that holds a
// lock.
type Beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// Apply stores a change of one session in one transaction.
func (d *DB) Apply(ctx context.Context, on Beginner, id string, c session.Change) error {
	tx, err := on.BeginTx(ctx, nil)
	if err != nil {
		return d.wrap("begin change of session "+id, err)
	}
	defer tx.Rollback() // without effect once committed
	ch := &change{DB: d, tx: tx, id: id, c: c}
	if err := ch.run(ctx); err != nil {
		return err
	}
	return d.wrap("commit change of session "+id, tx.Commit())
}

// change is a transaction under way.
type change struct {
	*DB
	tx          *sql.Tx
	id          string
	key         int64
	c           session.Change
	messages    int
	hash        []byte
	checkpoints int
}

func (ch *change) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{ch.begin, ch.copy, ch.truncate, ch.rows, ch.statuses, ch.records, ch.states, ch.finish} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("change session %s: %w", ch.id, err)
		}
	}
	return nil
}

func (ch *change) do(ctx context.Context, query string, args ...any) (int64, error) {
	n, err := ch.exec(ctx, ch.tx, query, args...)
	if err != nil {
		return n, ch.dialect.Wrap(err)
	}
	return n, nil
}

// begin finds the session at the version that the change is based on, or
// makes it.
func (ch *change) begin(ctx context.Context) error {
	if ch.c.Version == 0 {
		n, err := ch.do(ctx, `INSERT INTO sessions (id, version, messages, hash, checkpoints, info, info_sum, updated, indexed)
			VALUES (?1, 0, 0, ?2, 0, ?3, 0, 0, 0) ON CONFLICT (id) DO NOTHING`, ch.id, emptyHash(), []byte("{}"))
		if err != nil {
			return err
		}
		if n == 0 {
			return session.ErrExists
		}
	} else {
		n, err := ch.do(ctx, "UPDATE sessions SET version = version WHERE id = ?1 AND version = ?2", ch.id, ch.c.Version)
		if err != nil {
			return err
		}
		if n == 0 {
			return session.ErrConflict
		}
	}
	row := ch.tx.QueryRowContext(ctx, ch.dialect.Rebind("SELECT key, messages, hash, checkpoints FROM sessions WHERE id = ?1"), ch.id)
	return ch.wrap("read header", row.Scan(&ch.key, &ch.messages, &ch.hash, &ch.checkpoints))
}

func emptyHash() []byte {
	h := session.EmptyHash()
	return h[:]
}

func (ch *change) copy(ctx context.Context) error {
	c := ch.c.Copy
	if c == nil {
		return nil
	}
	from, err := ch.DB.key(ctx, ch.tx, c.From)
	if err != nil {
		return err
	}
	n, err := ch.do(ctx, `INSERT INTO messages (session, position, id, status, authored, time, model, body, hash, prefix, sum)
		SELECT CAST(?1 AS BIGINT), position, id, status, authored, time, model, body, hash, prefix, sum FROM messages WHERE session = ?2 AND position < ?3`, ch.key, from, c.Messages)
	if err != nil {
		return err
	}
	if int(n) != c.Messages {
		return fmt.Errorf("copy messages of %s: %w", c.From, session.ErrConflict)
	}
	if err := ch.endsWith(ctx, c.Messages, c.Hash); err != nil {
		return err
	}
	if _, err := ch.do(ctx, `INSERT INTO calls (session, position, block, answered)
		SELECT CAST(?1 AS BIGINT), position, block, CASE WHEN answered < ?3 THEN answered END FROM calls WHERE session = ?2 AND position < ?3`, ch.key, from, c.Messages); err != nil {
		return err
	}
	if _, err := ch.do(ctx, `INSERT INTO records (session, kind, position, body, sum)
		SELECT CAST(?1 AS BIGINT), kind, position, body, sum FROM records WHERE session = ?2 AND position <= ?3 AND kind <> ?4 ORDER BY seq`,
		ch.key, from, c.Messages, session.KindCheckpoint); err != nil {
		return err
	}
	ch.messages, ch.hash = c.Messages, c.Hash[:]
	return nil
}

// endsWith checks that the first n messages have the hash.
func (ch *change) endsWith(ctx context.Context, n int, hash message.Hash) error {
	if n == 0 {
		return nil
	}
	var prefix []byte
	row := ch.tx.QueryRowContext(ctx, ch.dialect.Rebind("SELECT prefix FROM messages WHERE session = ?1 AND position = ?2"), ch.key, n-1)
	if err := row.Scan(&prefix); err != nil {
		return ch.wrap("read message", err)
	}
	if hashOf(prefix) != hash {
		return fmt.Errorf("cut after %d messages: %w", n, session.ErrConflict)
	}
	return nil
}

// truncate moves the end of the session aside.
func (ch *change) truncate(ctx context.Context) error {
	t := ch.c.Truncate
	if t == nil {
		return nil
	}
	if err := ch.endsWith(ctx, t.Messages, t.Hash); err != nil {
		return err
	}
	const next = "(SELECT COALESCE(MAX(removal), 0) + 1 FROM removed WHERE session = ?1)"
	var removal int
	if err := ch.tx.QueryRowContext(ctx, ch.dialect.Rebind("SELECT "+next), ch.key).Scan(&removal); err != nil {
		return ch.wrap("number truncation", err)
	}
	type statement struct {
		text string
		args []any
	}
	steps := []statement{
		{`INSERT INTO removed (session, removal, kind, position, id, status, authored, time, model, body, hash, prefix, sum)
			SELECT session, CAST(?2 AS INTEGER), '` + messageKind + `', position, id, status, authored, time, model, body, hash, prefix, sum
			FROM messages WHERE session = ?1 AND position >= ?3 ORDER BY position`, []any{ch.key, removal, t.Messages}},
		{`INSERT INTO removed (session, removal, kind, position, id, status, authored, time, model, body, sum)
			SELECT session, CAST(?2 AS INTEGER), kind, position, '', '', 0, '', '', body, sum FROM records
			WHERE session = ?1 AND (position > ?3 OR kind = '` + session.KindCheckpoint + `') ORDER BY seq`, []any{ch.key, removal, t.Messages}},
	}
	if ch.words.Remove != "" {
		steps = append(steps, statement{ch.words.Remove, []any{ch.key, t.Messages}})
	}
	steps = append(steps,
		statement{"DELETE FROM messages WHERE session = ?1 AND position >= ?2", []any{ch.key, t.Messages}},
		statement{"DELETE FROM records WHERE session = ?1 AND (position > ?2 OR kind = '" + session.KindCheckpoint + "')", []any{ch.key, t.Messages}},
		statement{"DELETE FROM calls WHERE session = ?1 AND position >= ?2", []any{ch.key, t.Messages}},
		statement{"UPDATE calls SET answered = NULL WHERE session = ?1 AND answered >= ?2", []any{ch.key, t.Messages}},
		statement{"UPDATE sessions SET indexed = ?2 WHERE key = ?1 AND indexed > ?2", []any{ch.key, t.Messages}})
	for _, s := range steps {
		if _, err := ch.do(ctx, s.text, s.args...); err != nil {
			return err
		}
	}
	ch.messages, ch.hash, ch.checkpoints = t.Messages, t.Hash[:], 0
	return nil
}

func (ch *change) rows(ctx context.Context) error {
	if ch.c.Rows == nil {
		return nil
	}
	insert, err := ch.tx.PrepareContext(ctx, ch.dialect.Rebind(`INSERT INTO messages (session, position, id, status, authored, time, model, body, hash, prefix, sum)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`))
	if err != nil {
		return ch.dialect.Wrap(err)
	}
	defer insert.Close()
	for r, err := range ch.c.Rows {
		if err != nil {
			return err
		}
		if r.Index != ch.messages {
			return fmt.Errorf("append message %d after %d: %w", r.Index, ch.messages, session.ErrConflict)
		}
		authored := 0
		if r.Authored {
			authored = 1
		}
		if _, err := insert.ExecContext(ctx, ch.key, r.Index, r.ID, storedStatus(r.Status), authored, r.Time, r.Model, r.Body, r.Hash[:], r.Prefix[:], int64(r.Sum)); err != nil {
			return fmt.Errorf("append message %q: %w", r.ID, ch.dialect.Wrap(err))
		}
		if err := ch.calls(ctx, r); err != nil {
			return err
		}
		ch.messages, ch.hash = r.Index+1, append([]byte(nil), r.Prefix[:]...)
	}
	return nil
}

func (ch *change) calls(ctx context.Context, r session.Row) error {
	for _, block := range r.Calls {
		if _, err := ch.do(ctx, "INSERT INTO calls (session, position, block) VALUES (?1, ?2, ?3)", ch.key, r.Index, block); err != nil {
			return err
		}
	}
	for _, ref := range r.Answers {
		n, err := ch.do(ctx, "UPDATE calls SET answered = ?4 WHERE session = ?1 AND position = ?2 AND block = ?3 AND answered IS NULL", ch.key, ref.Message, ref.Block, r.Index)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("append message %q: its result answers no call that waits: %w", r.ID, session.ErrConflict)
		}
	}
	return nil
}

// statusWidth is the length of the longest status.
const statusWidth = 9

// storedStatus is a status as it stands in a row: all have the same length. A
// row that keeps its length is changed in its place, and SQLite does not write
// the pages of its body again.
func storedStatus(s session.Status) string { return fmt.Sprintf("%-*s", statusWidth, s) }

// readStatus is the inverse. Rows of earlier programs are not padded.
func readStatus(text session.Status) session.Status {
	return session.Status(strings.TrimRight(string(text), " "))
}

func (ch *change) statuses(ctx context.Context) error {
	for _, s := range ch.c.Statuses {
		if _, err := ch.do(ctx, "UPDATE messages SET status = ?4 WHERE session = ?1 AND position >= ?2 AND position < ?3", ch.key, s.From, s.To, storedStatus(s.Status)); err != nil {
			return err
		}
	}
	return nil
}

func (ch *change) records(ctx context.Context) error {
	for _, r := range ch.c.Records {
		if _, err := ch.do(ctx, "INSERT INTO records (session, kind, position, body, sum) VALUES (?1, ?2, ?3, ?4, ?5)", ch.key, r.Kind, r.At, r.Body, int64(r.Sum)); err != nil {
			return err
		}
		if r.Kind == session.KindCheckpoint {
			ch.checkpoints++
		}
	}
	return nil
}

func (ch *change) states(ctx context.Context) error {
	for name, body := range ch.c.States {
		if _, err := ch.do(ctx, "DELETE FROM states WHERE session = ?1 AND name = ?2", ch.key, name); err != nil {
			return err
		}
		if len(body) == 0 {
			continue
		}
		if _, err := ch.do(ctx, "INSERT INTO states (session, name, body, sum) VALUES (?1, ?2, ?3, ?4)", ch.key, name, body, int64(sumOf(body))); err != nil {
			return err
		}
	}
	return nil
}

func (ch *change) finish(ctx context.Context) error {
	info, err := json.Marshal(ch.c.Info)
	if err != nil {
		return fmt.Errorf("write header: %w", err)
	}
	updated := int64(0)
	if t := ch.c.Info.UpdatedAt; !t.IsZero() {
		updated = t.UnixMicro()
	}
	_, err = ch.do(ctx, `UPDATE sessions SET version = version + 1, messages = ?2, hash = ?3, checkpoints = ?4, info = ?5, info_sum = ?6, updated = ?7 WHERE key = ?1`,
		ch.key, ch.messages, ch.hash, ch.checkpoints, info, int64(sumOf(info)), updated)
	return err
}

// AddWords implements session.Index.
func (d *DB) AddWords(ctx context.Context, id string, from int, words []string) error {
	tx, err := d.sql.BeginTx(ctx, nil)
	if err != nil {
		return d.wrap("begin word index", err)
	}
	defer tx.Rollback()
	n, err := d.exec(ctx, tx, "UPDATE sessions SET indexed = ?3 WHERE id = ?1 AND indexed = ?2", id, from, from+len(words))
	if err != nil || n == 0 {
		return d.wrap("update word index", err)
	}
	key, err := d.key(ctx, tx, id)
	if err != nil {
		return err
	}
	for i, text := range words {
		var message int64
		row := tx.QueryRowContext(ctx, d.dialect.Rebind("SELECT key FROM messages WHERE session = ?1 AND position = ?2"), key, from+i)
		if err := row.Scan(&message); err != nil {
			return d.wrap("update word index", err)
		}
		if _, err := d.exec(ctx, tx, d.words.Add, message, text); err != nil {
			return d.wrap("update word index", err)
		}
	}
	return d.wrap("commit word index", tx.Commit())
}
