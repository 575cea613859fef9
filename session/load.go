package session

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// load reads what the active view needs.
func (s *Session) load(ctx context.Context) error {
	h, err := s.store.Header(ctx, s.header.ID)
	if err != nil {
		return err
	}
	s.header, s.cost, s.stale = h, Cost{}, false
	if s.states, err = s.store.States(ctx, h.ID); err != nil {
		return err
	}
	held, err := s.readable(ctx)
	if err != nil {
		return err
	}
	base := 0
	if len(held) > 0 {
		base = held[0].SummarizedThroughMessageIndex
	}
	if err := s.loadFrom(ctx, base, held); err != nil {
		return err
	}
	return s.checkTotals()
}

// readable returns the newest checkpoints, oldest first, back to the newest
// one that is valid and readable; none when no such one is left. They are
// checked against the stored prefix hashes.
func (s *Session) readable(ctx context.Context) ([]*checkpoint.Checkpoint, error) {
	var held []*checkpoint.Checkpoint
	for rec, err := range s.store.Records(ctx, s.header.ID, KindCheckpoint, true) {
		if err != nil {
			return nil, err
		}
		s.cost.Records++
		c, err := checkpoint.Decode(rec.Body)
		if err != nil {
			return nil, nil // a checkpoint can be made again: go without
		}
		held = append([]*checkpoint.Checkpoint{c}, held...)
		if c.Strategy != checkpoint.ForgeSummary {
			continue
		}
		ok, err := s.stands(ctx, c)
		if err != nil || ok {
			return held, err
		}
	}
	return nil, nil
}

// stands reports whether the stored messages are those that c was made from.
func (s *Session) stands(ctx context.Context, c *checkpoint.Checkpoint) (bool, error) {
	through, count := c.SummarizedThroughMessageIndex, c.SourceMessageCount
	if count > s.header.Messages {
		return false, nil
	}
	last, err := s.row(ctx, through-1)
	if err != nil {
		return false, err
	}
	if last == nil || last.Prefix != c.SourceHash || last.ID != c.Anchors.Last {
		return false, nil
	}
	t, err := transcript.Resume(transcript.Prefix{Messages: through, Hash: last.Prefix, FirstID: c.Anchors.First, LastID: last.ID})
	if err != nil {
		return false, nil
	}
	if count == through {
		return c.Validate(t) == nil, nil
	}
	end, err := s.row(ctx, count-1)
	if err != nil || end == nil {
		return false, err
	}
	return true, nil // the tail is checked when it is loaded
}

func (s *Session) row(ctx context.Context, index int) (*Row, error) {
	for r, err := range s.store.Rows(ctx, s.header.ID, index, index+1) {
		if err != nil {
			return nil, err
		}
		s.cost.Rows++
		return &r, nil
	}
	return nil, nil
}

// HoldAll makes Transcript hold the whole conversation, from the first message
// on: what a new checkpoint needs.
func (s *Session) HoldAll(ctx context.Context) error {
	if s.tr.Base() == 0 {
		return nil
	}
	return s.loadFrom(ctx, 0, nil)
}

// loadFrom loads the messages from base on, behind the prefix that the store
// has for it.
func (s *Session) loadFrom(ctx context.Context, base int, held []*checkpoint.Checkpoint) error {
	p, err := s.prefix(ctx, base, held)
	if err != nil {
		return err
	}
	if s.tr, err = transcript.Resume(p); err != nil {
		return s.damage(base, "what is stored about earlier messages does not go together")
	}
	s.statuses = nil
	for e, err := range s.entries(ctx, base, s.header.Messages, s.tr.RangeHash(0, base)) {
		if err != nil {
			return err
		}
		if err := s.tr.AppendHeld(s.held(e.Message), e.Hash); err != nil {
			return s.damage(e.Index, err.Error())
		}
		s.statuses = append(s.statuses, e.Status)
	}
	if len(held) == 0 {
		s.chain, err = s.wholeChain(ctx)
		return err
	}
	var before *checkpoint.Checkpoint
	if first := held[0]; first.Generation > 1 {
		before = &checkpoint.Checkpoint{ID: first.Parent, Generation: first.Generation - 1}
	}
	if s.chain, err = checkpoint.Resume(before, held); err != nil || s.chain.ActiveWhere(s.tr, readableOnly) == nil {
		// The newest one does not stand after all: look at everything.
		return s.loadFrom(ctx, 0, nil)
	}
	return nil
}

func readableOnly(c *checkpoint.Checkpoint) bool { return c.Strategy == checkpoint.ForgeSummary }

func (s *Session) prefix(ctx context.Context, base int, held []*checkpoint.Checkpoint) (transcript.Prefix, error) {
	if base == 0 {
		return transcript.Prefix{}, nil
	}
	last, err := s.row(ctx, base-1)
	if err != nil {
		return transcript.Prefix{}, err
	}
	if last == nil {
		return transcript.Prefix{}, s.damage(base-1, "it is missing")
	}
	p := transcript.Prefix{Messages: base, Hash: last.Prefix, FirstID: held[0].Anchors.First, LastID: last.ID, LastAuthored: last.Authored}
	refs, err := s.store.Pending(ctx, s.header.ID, base)
	if err != nil {
		return p, err
	}
	for _, ref := range refs {
		r, err := s.row(ctx, ref.Message)
		if err != nil {
			return p, err
		}
		var e Entry
		what := "it is missing"
		if r != nil {
			e, what = r.entry()
			s.cost.HashedBytes += int64(len(r.Body))
		}
		if what != "" || ref.Block >= len(e.Message.Blocks) {
			return p, s.damage(ref.Message, what)
		}
		call, ok := e.Message.Blocks[ref.Block].(message.ToolCall)
		if !ok {
			return p, s.damage(ref.Message, "a call that waits for its result is no call")
		}
		p.Pending = append(p.Pending, transcript.PendingCall{Ref: ref, Call: call})
	}
	return p, nil
}

// wholeChain loads every checkpoint. One that cannot be read ends the chain:
// what follows it names a parent that is not there.
func (s *Session) wholeChain(ctx context.Context) (*checkpoint.Chain, error) {
	var list []*checkpoint.Checkpoint
	for rec, err := range s.store.Records(ctx, s.header.ID, KindCheckpoint, false) {
		if err != nil {
			return nil, err
		}
		s.cost.Records++
		c, err := checkpoint.Decode(rec.Body)
		if err != nil {
			break
		}
		list = append(list, c)
	}
	for len(list) > 0 {
		chain, err := checkpoint.Load(list)
		if err == nil {
			return chain, nil
		}
		list = list[:len(list)-1]
	}
	return &checkpoint.Chain{}, nil
}

// entries yields the decoded messages [from, to) and checks that each is what
// was stored and follows the one before. hash is RangeHash(0, from).
func (s *Session) entries(ctx context.Context, from, to int, hash message.Hash) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		next := from
		for r, err := range s.store.Rows(ctx, s.header.ID, from, to) {
			if err != nil {
				yield(Entry{}, s.atIndex(err, next))
				return
			}
			s.cost.Rows++
			s.cost.HashedBytes += int64(len(r.Body))
			e, what := r.entry()
			switch {
			case r.Index != next:
				what = "it is missing"
			case what == "" && transcript.Chain(hash, e.Hash) != e.Prefix:
				what = "it does not follow the message before it"
			}
			if what != "" {
				yield(Entry{}, s.damage(next, what))
				return
			}
			hash = e.Prefix
			next++
			if !yield(e, nil) {
				return
			}
		}
		if next < to {
			yield(Entry{}, s.damage(next, "it is missing"))
		}
	}
}

// atIndex gives damage that a store noticed the place where reading stopped.
func (s *Session) atIndex(err error, index int) error {
	if errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w: %w", s.damage(index, "the store cannot read it"), err)
	}
	return err
}

func (s *Session) damage(index int, what string) error {
	return &DamageError{Session: s.header.ID, Index: index, What: what}
}

// checkTotals compares the header with what was read.
func (s *Session) checkTotals() error {
	switch {
	case s.tr.Len() != s.header.Messages:
		return s.damage(s.tr.Len(), "it is missing")
	case s.tr.RangeHash(0, s.tr.Len()) != s.header.Hash:
		return s.damage(-1, "its messages do not have the hash that the session states")
	}
	return nil
}
