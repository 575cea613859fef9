package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/forge-agent/forge/internal/tools"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/transcript"
)

// recaller finds originals in the present session. References are those that
// stand-ins and checkpoints carry, "#12" or "#12.3", or the id of a message.
type recaller struct{ a *App }

// Recall returns what a query finds.
func (r recaller) Recall(ctx context.Context, q tools.Query) ([]tools.Found, error) {
	s := r.a.session
	if q.Reference != "" {
		e, block, err := r.byReference(ctx, q.Reference)
		if errors.Is(err, session.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []tools.Found{{Reference: q.Reference, Role: e.Message.Role, Text: textOf(e.Message, block)}}, nil
	}
	var out []tools.Found
	for e, err := range s.Search(ctx, q.Words) {
		if err != nil {
			return nil, err
		}
		out = append(out, tools.Found{Reference: projection.Reference(transcript.Ref{Message: e.Index}), Role: e.Message.Role, Text: session.PlainText(e.Message)})
		if len(out) == q.MaxResults {
			break
		}
	}
	return out, nil
}

// byReference returns the message, and the block that is meant, -1 for all.
func (r recaller) byReference(ctx context.Context, reference string) (session.Entry, int, error) {
	s := r.a.session
	ref, ok := projection.ParseReference(reference)
	if !ok {
		e, err := s.Message(ctx, reference)
		return e, -1, err
	}
	e, err := s.MessageAt(ctx, ref.Message)
	if err != nil {
		return e, -1, err
	}
	if len(e.Message.Blocks) == 1 || ref.Block == 0 && reference == fmt.Sprintf("#%d", ref.Message) {
		return e, -1, nil
	}
	if ref.Block >= len(e.Message.Blocks) {
		return e, -1, fmt.Errorf("find block %d of message %d: %w", ref.Block, ref.Message, session.ErrNotFound)
	}
	return e, ref.Block, nil
}

func textOf(m message.Message, block int) string {
	if block < 0 {
		return session.PlainText(m)
	}
	m.Blocks = m.Blocks[block : block+1]
	return session.PlainText(m)
}
