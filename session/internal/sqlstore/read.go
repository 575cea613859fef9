package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"iter"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/transcript"
)

const headerColumns = "id, version, messages, hash, checkpoints, info, info_sum"

// List implements session.Directory.
func (d *DB) List(ctx context.Context, prefix string) iter.Seq2[session.Header, error] {
	return func(yield func(session.Header, error) bool) {
		rows, err := d.query(ctx, d.sql, "SELECT "+headerColumns+" FROM sessions WHERE id >= ?1 AND id < ?2 ORDER BY updated DESC, id", prefix, prefix+"~") // no id holds a '~'

		if err != nil {
			yield(session.Header{}, d.wrap("list sessions", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			h, err := d.scanHeader(rows)
			if !yield(h, err) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(session.Header{}, d.wrap("list sessions", err))
		}
	}
}

// Header implements session.Directory.
func (d *DB) Header(ctx context.Context, id string) (session.Header, error) {
	h, err := d.scanHeader(d.sql.QueryRowContext(ctx, d.dialect.Rebind("SELECT "+headerColumns+" FROM sessions WHERE id = ?1"), id))
	if err != nil {
		return h, fmt.Errorf("find session %q: %w", id, err)
	}
	return h, nil
}

// scanner is a row, or rows at one.
type scanner interface{ Scan(...any) error }

func (d *DB) scanHeader(row scanner) (session.Header, error) {
	var h session.Header
	var hash, info []byte
	var sum int64
	if err := row.Scan(&h.ID, &h.Version, &h.Messages, &hash, &h.Checkpoints, &info, &sum); err != nil {
		return h, d.wrap("read header", err)
	}
	if copy(h.Hash[:], hash) != len(h.Hash) || int64(sumOf(info)) != sum || json.Unmarshal(info, &h.Info) != nil {
		return h, &session.DamageError{Session: h.ID, Index: -1, What: "its header is not what was stored"}
	}
	return h, nil
}

func sumOf(p []byte) uint32 { return crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli)) }

// Locate implements session.Directory.
func (d *DB) Locate(ctx context.Context, id, messageID string) (int, error) {
	var at int
	err := d.sql.QueryRowContext(ctx, d.dialect.Rebind(
		"SELECT m.position FROM messages m JOIN sessions s ON s.key = m.session WHERE s.id = ?1 AND m.id = ?2"), id, messageID).Scan(&at)
	return at, d.wrap("find message", err)
}

const rowColumns = "m.position, m.id, m.status, m.authored, m.time, m.model, m.body, m.hash, m.prefix, m.sum"

// Rows implements session.Messages.
func (d *DB) Rows(ctx context.Context, id string, from, to int) iter.Seq2[session.Row, error] {
	if to < 0 {
		to = 1<<31 - 1
	}
	return d.rows(ctx, "SELECT "+rowColumns+` FROM messages m JOIN sessions s ON s.key = m.session
		WHERE s.id = ?1 AND m.position >= ?2 AND m.position < ?3 ORDER BY m.position`, id, from, to)
}

// Users implements session.Messages.
func (d *DB) Users(ctx context.Context, id string, before int) iter.Seq2[session.Row, error] {
	return d.rows(ctx, "SELECT "+rowColumns+` FROM messages m JOIN sessions s ON s.key = m.session
		WHERE s.id = ?1 AND m.position < ?2 AND m.authored = 1 ORDER BY m.position DESC`, id, before)
}

func (d *DB) rows(ctx context.Context, query string, args ...any) iter.Seq2[session.Row, error] {
	return func(yield func(session.Row, error) bool) {
		rows, err := d.query(ctx, d.sql, query, args...)
		if err != nil {
			yield(session.Row{}, d.wrap("read messages", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			r, err := scanRow(rows)
			if err != nil {
				yield(session.Row{}, d.wrap("read messages", err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(session.Row{}, d.wrap("read messages", err))
		}
	}
}

func scanRow(rows *sql.Rows) (session.Row, error) {
	var r session.Row
	var hash, prefix []byte
	var authored, sum int64
	if err := rows.Scan(&r.Index, &r.ID, &r.Status, &authored, &r.Time, &r.Model, &r.Body, &hash, &prefix, &sum); err != nil {
		return r, err
	}
	r.Status, r.Authored, r.Sum = readStatus(r.Status), authored != 0, uint32(sum)
	r.Hash, r.Prefix = hashOf(hash), hashOf(prefix)
	return r, nil
}

// hashOf takes a stored hash; one of another length is no hash of anything.
func hashOf(p []byte) message.Hash {
	var h message.Hash
	if len(p) == len(h) {
		copy(h[:], p)
	}
	return h
}

// Pending implements session.Messages.
func (d *DB) Pending(ctx context.Context, id string, before int) ([]transcript.Ref, error) {
	rows, err := d.query(ctx, d.sql, `SELECT c.position, c.block FROM calls c JOIN sessions s ON s.key = c.session
		WHERE s.id = ?1 AND c.position < ?2 AND (c.answered IS NULL OR c.answered >= ?2) ORDER BY c.position, c.block`, id, before)
	if err != nil {
		return nil, d.wrap("read pending calls", err)
	}
	defer rows.Close()
	var out []transcript.Ref
	for rows.Next() {
		var ref transcript.Ref
		if err := rows.Scan(&ref.Message, &ref.Block); err != nil {
			return nil, d.wrap("read pending calls", err)
		}
		out = append(out, ref)
	}
	return out, d.wrap("read pending calls", rows.Err())
}

// Records implements session.Records.
func (d *DB) Records(ctx context.Context, id, kind string, newestFirst bool) iter.Seq2[session.Record, error] {
	order := "ASC"
	if newestFirst {
		order = "DESC"
	}
	return func(yield func(session.Record, error) bool) {
		rows, err := d.query(ctx, d.sql, `SELECT r.kind, r.position, r.body, r.sum FROM records r JOIN sessions s ON s.key = r.session
			WHERE s.id = ?1 AND (?2 = '' OR r.kind = ?2) ORDER BY r.seq `+order, id, kind)
		if err != nil {
			yield(session.Record{}, d.wrap("read records", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var r session.Record
			var sum int64
			if err := rows.Scan(&r.Kind, &r.At, &r.Body, &sum); err != nil {
				yield(r, d.wrap("read records", err))
				return
			}
			r.Sum = uint32(sum)
			if !yield(r, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(session.Record{}, d.wrap("read records", err))
		}
	}
}

// States implements session.Records.
func (d *DB) States(ctx context.Context, id string) (map[string][]byte, error) {
	rows, err := d.query(ctx, d.sql, "SELECT t.name, t.body, t.sum FROM states t JOIN sessions s ON s.key = t.session WHERE s.id = ?1", id)
	if err != nil {
		return nil, d.wrap("read states", err)
	}
	defer rows.Close()
	out := map[string][]byte{}
	for rows.Next() {
		var name string
		var body []byte
		var sum int64
		if err := rows.Scan(&name, &body, &sum); err != nil {
			return nil, d.wrap("read states", err)
		}
		if int64(sumOf(body)) == sum { // a state can be done without
			out[name] = body
		}
	}
	return out, d.wrap("read states", rows.Err())
}

// Removed implements session.Records.
func (d *DB) Removed(ctx context.Context, id string) iter.Seq2[session.Removed, error] {
	return func(yield func(session.Removed, error) bool) {
		rows, err := d.query(ctx, d.sql, `SELECT m.removal, `+rowColumns+`, m.kind FROM removed m JOIN sessions s ON s.key = m.session
			WHERE s.id = ?1 ORDER BY m.removal, m.key`, id)
		if err != nil {
			yield(session.Removed{}, d.wrap("read removed messages", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			r, err := scanRemoved(rows)
			if err != nil {
				yield(r, d.wrap("read removed messages", err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(session.Removed{}, d.wrap("read removed messages", err))
		}
	}
}

func scanRemoved(rows *sql.Rows) (session.Removed, error) {
	var out session.Removed
	var r session.Row
	var hash, prefix []byte
	var authored, sum int64
	var kind string
	if err := rows.Scan(&out.Removal, &r.Index, &r.ID, &r.Status, &authored, &r.Time, &r.Model, &r.Body, &hash, &prefix, &sum, &kind); err != nil {
		return out, err
	}
	if kind != messageKind {
		out.Record = &session.Record{Kind: kind, At: r.Index, Body: r.Body, Sum: uint32(sum)}
		return out, nil
	}
	r.Status, r.Authored, r.Sum = readStatus(r.Status), authored != 0, uint32(sum)
	r.Hash, r.Prefix = hashOf(hash), hashOf(prefix)
	out.Row = &r
	return out, nil
}

// messageKind is the kind of a removed message.
const messageKind = "message"

// Indexed implements session.Index.
func (d *DB) Indexed(ctx context.Context, id string) (int, error) {
	var n int
	err := d.sql.QueryRowContext(ctx, d.dialect.Rebind("SELECT indexed FROM sessions WHERE id = ?1"), id).Scan(&n)
	return n, d.wrap("read word index", err)
}

// WithWords implements session.Index.
func (d *DB) WithWords(ctx context.Context, id string, words []string) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		key, err := d.key(ctx, d.sql, id)
		if err != nil {
			yield(0, err)
			return
		}
		rows, err := d.query(ctx, d.sql, d.words.Find, key, d.words.Query(words))
		if err != nil {
			yield(0, d.wrap("search messages", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var at int
			if err := rows.Scan(&at); err != nil {
				yield(0, d.wrap("search messages", err))
				return
			}
			if !yield(at, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(0, d.wrap("search messages", err))
		}
	}
}
