package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/transcript"
)

// cut is the beginning of a session with the checkpoints that still stand
// there (P-CHN-02, B31).
type cut struct {
	hash    [32]byte
	records []Record
	dropped []checkpoint.Dropped
}

// cutAt works out what a session that ends after n messages consists of. It
// reads the whole transcript.
func (s *Session) cutAt(ctx context.Context, n int) (*cut, error) {
	if n < 0 || n > s.header.Messages {
		return nil, fmt.Errorf("cut session %s after %d messages: it has %d", s.header.ID, n, s.header.Messages)
	}
	from, _, err := s.Whole(ctx)
	if err != nil {
		return nil, err
	}
	chain, err := s.wholeChain(ctx)
	if err != nil {
		return nil, err
	}
	to := &transcript.Transcript{}
	for i, m := range from.All() {
		if i == n {
			break
		}
		if err := to.AppendHeld(m, from.Hash(i)); err != nil {
			return nil, err
		}
	}
	kept, dropped, err := chain.Remap(from, to)
	if err != nil {
		return nil, err
	}
	out := &cut{hash: to.RangeHash(0, n), dropped: dropped}
	for c := range kept.All() {
		rec, err := checkpointRecord(c)
		if err != nil {
			return nil, err
		}
		out.records = append(out.records, rec)
	}
	return out, nil
}

// Fork makes a new session from the first n messages, with their statuses and
// every checkpoint whose range still stands, and returns its id and the
// checkpoints that could not come along. An empty id gets a fresh one. The
// session itself stays as it is.
func (s *Session) Fork(ctx context.Context, id string, n int) (string, []checkpoint.Dropped, error) {
	if id == "" {
		id = NewID()
	}
	if err := checkID(id); err != nil {
		return "", nil, err
	}
	c, err := s.cutAt(ctx, n)
	if err != nil {
		return "", nil, fmt.Errorf("fork session %s: %w", s.header.ID, err)
	}
	w, err := s.store.Acquire(ctx, id)
	if err != nil {
		return "", nil, fmt.Errorf("fork session %s: %w", s.header.ID, err)
	}
	info := s.header.Info
	info.Parent, info.ForkedAt = s.header.ID, n
	info.CreatedAt = s.opts.Now().UTC()
	info.UpdatedAt = info.CreatedAt
	change := Change{Info: info, Copy: &Copy{From: s.header.ID, Messages: n, Hash: c.hash}, Records: c.records}
	if n == s.header.Messages {
		change.States = s.states
	}
	err = w.Apply(ctx, change)
	if err = errors.Join(err, w.Close()); err != nil {
		return "", nil, fmt.Errorf("fork session %s: %w", s.header.ID, err)
	}
	return id, c.dropped, nil
}

// Truncate ends the session after n messages: the later ones are taken out of
// it and kept aside (F-SEC-06). Every checkpoint whose range still stands
// stays, with its anchors and tail as they are now (P-CHN-04); the others are
// returned.
func (s *Session) Truncate(ctx context.Context, n int) ([]checkpoint.Dropped, error) {
	if s.stale {
		if err := s.Reload(ctx); err != nil {
			return nil, err
		}
	}
	c, err := s.cutAt(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("truncate session %s: %w", s.header.ID, err)
	}
	if n == s.header.Messages {
		return nil, nil
	}
	states := map[string][]byte{}
	for name := range s.states {
		states[name] = nil // they describe a window that is no more
	}
	if err := s.apply(ctx, Change{Truncate: &Truncation{Messages: n, Hash: c.hash}, Records: c.records, States: states}); err != nil {
		return nil, fmt.Errorf("truncate session %s: %w", s.header.ID, err)
	}
	return c.dropped, s.Reload(ctx)
}
