package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// checksum is CRC-32C. It finds damage, not forgery: what was said has a hash.
func checksum(parts ...string) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := uint32(0)
	for _, p := range parts {
		sum = crc32.Update(sum, table, []byte(p))
		sum = crc32.Update(sum, table, []byte{0xff}) // in no UTF-8 text
	}
	return sum
}

// newRow encodes a message. The caller gives the hashes.
func newRow(e Entry) Row {
	r := Row{Index: e.Index, ID: e.Message.ID, Status: e.Status, Authored: e.Message.Authored(), Time: formatTime(e.Message.Time),
		Model: e.Message.Model, Body: e.Message.AppendCanonical(nil), Hash: e.Hash, Prefix: e.Prefix}
	for i, b := range e.Message.Blocks {
		if b.Kind() == message.KindToolCall {
			r.Calls = append(r.Calls, i)
		}
	}
	r.Sum = r.checksum()
	return r
}

func (r *Row) checksum() uint32 {
	return checksum(fmt.Sprint(r.Index), r.ID, fmt.Sprint(r.Authored), r.Time, r.Model)
}

// formatTime gives a time that JSON can hold, else none.
func formatTime(t time.Time) string {
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// entry decodes a row and says what is wrong with it.
func (r *Row) entry() (Entry, string) {
	if !r.Status.valid() {
		return Entry{}, fmt.Sprintf("its status %.20q is unknown", string(r.Status))
	}
	if r.checksum() != r.Sum {
		return Entry{}, "its id, time or model is not what was stored"
	}
	m, err := message.ParseCanonical(r.Body)
	if err != nil {
		return Entry{}, "its content cannot be read"
	}
	if m.Hash() != r.Hash {
		return Entry{}, "its content does not have the hash that was stored"
	}
	m.ID, m.Model = r.ID, r.Model
	if r.Time != "" {
		if m.Time, err = time.Parse(time.RFC3339Nano, r.Time); err != nil {
			return Entry{}, "its time cannot be read"
		}
	}
	if m.Authored() != r.Authored {
		return Entry{}, "it is marked for another author"
	}
	return Entry{Index: r.Index, Status: r.Status, Message: m, Hash: r.Hash, Prefix: r.Prefix}, ""
}

// clean makes the names of a message fit for every store: UTF-8 without NUL.
func clean(m message.Message) message.Message {
	m.ID, m.Model = cleanName(m.ID), cleanName(m.Model)
	if formatTime(m.Time) == "" {
		m.Time = time.Time{}
	}
	return m
}

func cleanName(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// NewRecord encodes v as a record's body.
func NewRecord(kind string, at int, v any) (Record, error) {
	body, err := encodeJSON(v)
	if err != nil {
		return Record{}, fmt.Errorf("write %s: %w", kind, err)
	}
	return Record{Kind: kind, At: at, Body: body, Sum: checksum(kind, fmt.Sprint(at), string(body))}, nil
}

// Check says whether the record is what was stored.
func (r Record) Check() error {
	if checksum(r.Kind, fmt.Sprint(r.At), string(r.Body)) != r.Sum {
		return fmt.Errorf("read %s at message %d: %w", r.Kind, r.At, ErrDamaged)
	}
	return nil
}

// Decode checks the record and reads its body.
func (r Record) Decode(v any) error {
	if err := r.Check(); err != nil {
		return err
	}
	if err := json.Unmarshal(r.Body, v); err != nil {
		return fmt.Errorf("read %s at message %d: %w: %w", r.Kind, r.At, ErrDamaged, err)
	}
	return nil
}

// encodeJSON leaves '<' and '&' as they are: providers' items are kept byte
// for byte.
func encodeJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// rowsOf yields a list.
func rowsOf(rows []Row) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// EmptyHash is the hash of a session without messages: that of an empty
// range.
func EmptyHash() message.Hash {
	var t transcript.Transcript
	return t.RangeHash(0, 0)
}
