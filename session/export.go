package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/forge-agent/forge/message"
)

// ExportVersion is the version of the export format.
const ExportVersion = 1

// Line is one line of an export: JSON lines that hold everything that is
// stored about a session and read back to the same hashes. The first line has
// Forge set to "session" and is the header; the last has the type "end" and
// says what must have come. Type says which members count.
type Line struct {
	Forge string `json:"forge,omitempty"`
	V     int    `json:"v,omitempty"`
	ID    string `json:"id,omitempty"`
	Info  *Info  `json:"info,omitempty"`

	Type string `json:"type,omitempty"`
	// N is the index of a message or the number of messages before a record.
	N      *int          `json:"n,omitempty"`
	Status Status        `json:"status,omitempty"`
	Hash   *message.Hash `json:"hash,omitempty"`
	// Message is for people and other programs. Where its JSON form cannot
	// carry the exact bytes, Canonical holds them.
	Message   *message.Message `json:"message,omitempty"`
	Canonical []byte           `json:"canonical,omitempty"`

	Kind string          `json:"kind,omitempty"`
	Name string          `json:"name,omitempty"`
	Body json.RawMessage `json:"body,omitempty"`
	// Removal is set for what a truncation took out.
	Removal int `json:"removal,omitempty"`

	// Messages and Lines are the totals of the end.
	Messages int `json:"messages,omitempty"`
	Lines    int `json:"lines,omitempty"`
}

// The types of Line.
const (
	LineMessage = "message"
	LineRecord  = "record"
	LineState   = "state"
	LineRemoved = "removed"
	LineLoss    = "loss"
	LineEnd     = "end"
)

// Export writes the whole session to w. Damage does not end it: everything
// before is written, with a line of the type "loss" that names what is not
// there, and then the *DamageError is returned.
func (s *Session) Export(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriter(w)
	x := &exporter{out: out}
	err := x.all(ctx, s)
	return errors.Join(err, out.Flush())
}

type exporter struct {
	out   *bufio.Writer
	lines int
}

func (x *exporter) write(l Line) error {
	data, err := encodeJSON(l)
	if err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	x.lines++
	if _, err := x.out.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	return nil
}

func (x *exporter) all(ctx context.Context, s *Session) error {
	info := s.header.Info
	if err := x.write(Line{Forge: "session", V: ExportVersion, ID: s.header.ID, Info: &info}); err != nil {
		return err
	}
	hash, n := EmptyHash(), 0
	var damage error
	to := s.header.Messages
	if s.salvage {
		to = -1
	}
	for e, err := range s.entries(ctx, 0, to, EmptyHash()) {
		if errors.Is(err, ErrDamaged) {
			damage = err
			break
		}
		if err != nil {
			return err
		}
		l, err := messageLine(e)
		if err != nil {
			return err
		}
		if err := x.write(l); err != nil {
			return err
		}
		hash, n = e.Prefix, n+1
	}
	if damage == nil && (n != s.header.Messages || hash != s.header.Hash) {
		damage = s.damage(-1, fmt.Sprintf("its header states %d messages and another hash than the %d that are there", s.header.Messages, n))
	}
	if damage != nil {
		loss, _ := encodeJSON(Loss{What: lossText(n, s.header.Messages)})
		if err := x.write(Line{Type: LineLoss, N: &n, Body: loss}); err != nil {
			return err
		}
	}
	if err := x.beside(ctx, s, n); err != nil {
		if !errors.Is(err, ErrDamaged) {
			return err
		}
		damage = errors.Join(damage, err)
	}
	if err := x.write(Line{Type: LineEnd, Hash: &hash, Messages: n, Lines: x.lines + 1}); err != nil {
		return err
	}
	return errors.Join(damage, s.lost)
}

func lossText(n, stated int) string {
	if n < stated {
		return fmt.Sprintf("messages %d to %d are damaged and left out", n, stated-1)
	}
	return fmt.Sprintf("the header of the session is damaged; the %d messages that are there are whole", n)
}

// messageLine makes sure that the line reads back to the same hash.
func messageLine(e Entry) (Line, error) {
	m, hash, index := e.Message, e.Hash, e.Index
	l := Line{Type: LineMessage, N: &index, Status: e.Status, Hash: &hash, Message: &m}
	data, err := encodeJSON(m)
	if err != nil {
		return l, fmt.Errorf("write message %q: %w", m.ID, err)
	}
	var back message.Message
	if json.Unmarshal(data, &back) != nil || back.Hash() != e.Hash {
		l.Canonical = m.AppendCanonical(nil)
	}
	return l, nil
}

// beside writes records that belong to the first n messages, states, and what
// was removed.
func (x *exporter) beside(ctx context.Context, s *Session, n int) error {
	var damage error
	for rec, err := range s.store.Records(ctx, s.header.ID, "", false) {
		if err != nil {
			return err
		}
		if err := rec.Check(); err != nil {
			damage = errors.Join(damage, err)
			continue
		}
		if rec.At > n {
			continue
		}
		if err := x.write(Line{Type: LineRecord, Kind: rec.Kind, N: &rec.At, Body: rec.Body}); err != nil {
			return err
		}
	}
	for name, body := range s.states {
		quoted, err := encodeJSON(body)
		if err != nil {
			return err
		}
		if err := x.write(Line{Type: LineState, Name: name, Body: quoted}); err != nil {
			return err
		}
	}
	for r, err := range s.store.Removed(ctx, s.header.ID) {
		if err != nil {
			return errors.Join(damage, err)
		}
		l := Line{Type: LineRecord}
		if r.Record != nil {
			l.Kind, l.N, l.Body = r.Record.Kind, &r.Record.At, bytes.Clone(r.Record.Body)
		} else {
			e, what := r.Row.entry()
			if what != "" {
				damage = errors.Join(damage, s.damage(-1, fmt.Sprintf("removed message %d: %s", r.Row.Index, what)))
				continue
			}
			if l, err = messageLine(e); err != nil {
				return err
			}
		}
		l.Kind, l.Type, l.Removal = cmpOr(l.Kind, l.Type), LineRemoved, r.Removal
		if err := x.write(l); err != nil {
			return err
		}
	}
	return damage
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
