package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/redact"
	"github.com/forge-agent/forge/transcript"
)

// Options are the settings of a Session. Nil means: no known secret values,
// no times.
type Options struct {
	// Redactor takes secrets out at admission; nil means the one without
	// configured values, so that recognised forms never get through.
	Redactor *redact.Redactor
	// Now is the clock; nil leaves times out.
	Now func() time.Time
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Redactor == nil {
		out.Redactor = redact.New(nil)
	}
	if out.Now == nil {
		out.Now = func() time.Time { return time.Time{} }
	}
	return out
}

// Cost is the work of opening or appending, in numbers that do not depend on
// the machine.
type Cost struct {
	// Rows is how many messages were read, Records how many records;
	// HashedBytes is how much content was hashed.
	Rows, Records int
	HashedBytes   int64
}

// A Session is a stored conversation in use. It belongs to one goroutine.
type Session struct {
	store    Store
	writer   Writer // nil for a reader
	opts     Options
	header   Header
	tr       *transcript.Transcript
	statuses []Status // of the messages that tr holds
	chain    *checkpoint.Chain
	states   map[string][]byte
	cost     Cost
	stale    bool  // the store may hold something else than this Session
	salvage  bool  // the header is not believed
	lost     error // what of the header could not be read
}

// NewID returns a fresh id: a random UUID (RFC 9562, version 4).
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// checkID refuses ids that are no plain name: they become file names and
// arguments.
func checkID(id string) error {
	if id == "" || len(id) > 128 || strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) {
		return fmt.Errorf("use session id %.40q: it must be 1 to 128 letters, digits, '-' and '_'", id)
	}
	return nil
}

// Find returns the id that a unique prefix stands for: ErrNotFound,
// ErrAmbiguous.
func Find(ctx context.Context, d Directory, prefix string) (string, error) {
	found := ""
	for h, err := range d.List(ctx, prefix) {
		if err != nil {
			return "", err
		}
		if h.ID == prefix {
			return h.ID, nil
		}
		if found != "" {
			return "", fmt.Errorf("find session %q: %w: give more of its id", prefix, ErrAmbiguous)
		}
		found = h.ID
	}
	if found == "" || prefix == "" {
		return "", fmt.Errorf("find session %q: %w; \"forge sessions list\" shows what is there", prefix, ErrNotFound)
	}
	return found, nil
}

// Create makes a session and opens it for writing. info.CreatedAt is set when
// it is zero. An empty id gets a fresh one.
func Create(ctx context.Context, store Store, id string, info Info, opts *Options) (*Session, error) {
	if id == "" {
		id = NewID()
	}
	if err := checkID(id); err != nil {
		return nil, err
	}
	s := &Session{store: store, opts: opts.withDefaults(), header: Header{ID: id}, tr: &transcript.Transcript{}, chain: &checkpoint.Chain{}}
	s.header.Hash = s.tr.RangeHash(0, 0)
	if info.CreatedAt.IsZero() {
		info.CreatedAt = s.opts.Now().UTC()
	}
	w, err := store.Acquire(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("create session %s: %w", id, err)
	}
	s.writer = w
	s.header.Info = s.redactInfo(info)
	if err := s.apply(ctx, Change{}); err != nil {
		return nil, errors.Join(fmt.Errorf("create session %s: %w", id, err), w.Close())
	}
	return s, nil
}

// Open opens a session for writing: ErrLocked while somebody else does.
func Open(ctx context.Context, store Store, id string, opts *Options) (*Session, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	w, err := store.Acquire(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("open session %s: %w", id, err)
	}
	s := &Session{store: store, writer: w, opts: opts.withDefaults(), header: Header{ID: id}}
	if err := s.load(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open session %s: %w", id, err), w.Close())
	}
	return s, nil
}

// View opens a session for reading, as it is now. Nobody is kept from writing
// to it.
func View(ctx context.Context, store Store, id string, opts *Options) (*Session, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	s := &Session{store: store, opts: opts.withDefaults(), header: Header{ID: id}}
	for range maxRetries {
		err := s.load(ctx)
		if err == nil {
			return s, nil
		}
		// Somebody may have changed it between two of our reads.
		if h, again := store.Header(ctx, id); again != nil || h.Version == s.header.Version {
			return nil, fmt.Errorf("open session %s: %w", id, err)
		}
	}
	return nil, fmt.Errorf("open session %s: %w: it changes faster than it can be read; try again", id, ErrConflict)
}

const maxRetries = 5

// Close gives the session back. It can be called twice.
func (s *Session) Close() error {
	if s.writer == nil {
		return nil
	}
	w := s.writer
	s.writer = nil
	return w.Close()
}

// Header returns what is known about the session, as of its last change here.
func (s *Session) Header() Header { return s.header }

// ID returns the session's id.
func (s *Session) ID() string { return s.header.ID }

// Transcript returns the messages from the active checkpoint's tail on, behind
// what is known of those before (transcript.Resume); without a checkpoint it
// is whole. It grows with Append and must not be appended to by others.
func (s *Session) Transcript() *transcript.Transcript { return s.tr }

// Chain returns the checkpoints back to the active one, for contextwindow.
// One that the manager adds is stored by AddCheckpoint.
func (s *Session) Chain() *checkpoint.Chain { return s.chain }

// State returns a named state, nil for none.
func (s *Session) State(name string) []byte { return s.states[name] }

// Cost returns the work since the session was opened or reloaded.
func (s *Session) Cost() Cost { return s.cost }

// Status returns the status of message i, Transcript().Base() ≤ i.
func (s *Session) Status(i int) Status { return s.statuses[i-s.tr.Base()] }

// Salvage opens a session for reading without looking at its messages, so that
// Export can write what is whole of a damaged one.
func Salvage(ctx context.Context, store Store, id string) (*Session, error) {
	h, lost := store.Header(ctx, id)
	if lost != nil && !errors.Is(lost, ErrDamaged) {
		return nil, lost
	}
	h.ID = id
	s := &Session{store: store, opts: (*Options)(nil).withDefaults(), header: h, tr: &transcript.Transcript{}, chain: &checkpoint.Chain{}, salvage: true, lost: lost}
	var err error
	if s.states, err = store.States(ctx, id); err != nil && !errors.Is(err, ErrDamaged) {
		return nil, err
	}
	return s, nil
}
