package session

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tool"
	"github.com/forge-agent/forge/transcript"
)

// All streams every message of the session from the store, each checked
// against its hash and the one before it. It ends with a *DamageError at the
// first that does not hold.
func (s *Session) All(ctx context.Context) iter.Seq2[Entry, error] {
	return s.entries(ctx, 0, s.header.Messages, EmptyHash())
}

// held returns the form in which a message stands in a transcript: a result
// of a tool is cut to what a model sees first of it (F-RUN-01, F-RUN-05).
func (s *Session) held(m message.Message) message.Message {
	if s.header.Info.ShownBytes <= 0 || m.Role != message.RoleTool {
		return m
	}
	blocks := slices.Clone(m.Blocks)
	for i, b := range blocks {
		if r, ok := b.(message.ToolResult); ok {
			blocks[i] = tool.Shown(r, s.header.Info.ShownBytes)
		}
	}
	m.Blocks = blocks
	return m
}

// Whole returns the whole transcript with the status of each message; results
// of tools are in it as a model saw them first (Info.ShownBytes), All has them
// whole. With an error it holds what came before the damage.
func (s *Session) Whole(ctx context.Context) (*transcript.Transcript, []Status, error) {
	t := &transcript.Transcript{}
	var statuses []Status
	for e, err := range s.All(ctx) {
		if err != nil {
			return t, statuses, err
		}
		if err := t.AppendHeld(s.held(e.Message), e.Hash); err != nil {
			return t, statuses, s.damage(e.Index, err.Error())
		}
		statuses = append(statuses, e.Status)
	}
	return t, statuses, nil
}

// Message reads one message by its id: what the recall tool returns for a
// reference.
func (s *Session) Message(ctx context.Context, id string) (Entry, error) {
	at, ok := s.tr.Index(id)
	if !ok {
		var err error
		if at, err = s.store.Locate(ctx, s.header.ID, id); err != nil {
			return Entry{}, fmt.Errorf("find message %q: %w", id, err)
		}
	}
	return s.entry(ctx, at)
}

// MessageAt reads the whole message at an index, 0 ≤ index < Messages.
func (s *Session) MessageAt(ctx context.Context, index int) (Entry, error) {
	if index < 0 || index >= s.header.Messages {
		return Entry{}, fmt.Errorf("find message %d: %w; the session has %d", index, ErrNotFound, s.header.Messages)
	}
	return s.entry(ctx, index)
}

func (s *Session) entry(ctx context.Context, at int) (Entry, error) {
	r, err := s.row(ctx, at)
	if err != nil {
		return Entry{}, err
	}
	if r == nil {
		return Entry{}, s.damage(at, "it is missing")
	}
	e, what := r.entry()
	s.cost.HashedBytes += int64(len(r.Body))
	if what != "" {
		return Entry{}, s.damage(at, what)
	}
	return e, nil
}

// RetainedUsers reads the messages of persons before the held ones, newest
// first, until their content exceeds most bytes: what the retention of user
// messages needs (P-RET-04).
func (s *Session) RetainedUsers(ctx context.Context, most int) ([]Entry, error) {
	var out []Entry
	for r, err := range s.store.Users(ctx, s.header.ID, s.tr.Base()) {
		if err != nil {
			return out, err
		}
		s.cost.Rows++
		s.cost.HashedBytes += int64(len(r.Body))
		e, what := r.entry()
		if what != "" {
			return out, s.damage(r.Index, what)
		}
		out = append(out, e)
		if most -= len(r.Body); most <= 0 {
			break
		}
	}
	return out, nil
}

// Requests returns the model requests of the session, in order.
func (s *Session) Requests(ctx context.Context) ([]Request, error) {
	return decodeAll[Request](ctx, s, KindRequest)
}

// Marks returns what the agent of an imported session did to its context.
func (s *Session) Marks(ctx context.Context) ([]Mark, error) {
	return decodeAll[Mark](ctx, s, KindMark)
}

// Losses returns what did not come along when the session was imported.
func (s *Session) Losses(ctx context.Context) ([]Loss, error) {
	return decodeAll[Loss](ctx, s, KindLoss)
}

// Instructions returns the instructions that an imported session named.
func (s *Session) Instructions(ctx context.Context) ([]message.Message, error) {
	return lastOf[[]message.Message](ctx, s, KindInstructions)
}

// Tools returns the tools that an imported session named.
func (s *Session) Tools(ctx context.Context) ([]message.ToolDefinition, error) {
	return lastOf[[]message.ToolDefinition](ctx, s, KindTools)
}

// Checkpoints returns the whole chain (P-CHN-01).
func (s *Session) Checkpoints(ctx context.Context) (*checkpoint.Chain, error) {
	return s.wholeChain(ctx)
}

// Removed yields what truncations took out.
func (s *Session) Removed(ctx context.Context) iter.Seq2[Removed, error] {
	return s.store.Removed(ctx, s.header.ID)
}

func decodeAll[T any](ctx context.Context, s *Session, kind string) ([]T, error) {
	var out []T
	for rec, err := range s.store.Records(ctx, s.header.ID, kind, false) {
		if err != nil {
			return out, err
		}
		var v T
		if err := rec.Decode(&v); err != nil {
			return out, fmt.Errorf("session %s: %w", s.header.ID, err)
		}
		out = append(out, v)
	}
	return out, nil
}

func lastOf[T any](ctx context.Context, s *Session, kind string) (T, error) {
	var v T
	for rec, err := range s.store.Records(ctx, s.header.ID, kind, true) {
		if err != nil {
			return v, err
		}
		return v, rec.Decode(&v)
	}
	return v, nil
}
