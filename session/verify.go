package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/forge-agent/forge/checkpoint"
)

// A Finding is something about a stored session that does not hold.
type Finding struct {
	// Where names the place: "message 12", "checkpoint ckpt-…", "header".
	Where string `json:"where"`
	// What says what is wrong.
	What string `json:"what"`
}

// Report is the outcome of Verify.
type Report struct {
	// Messages and Checkpoints are how many were found whole.
	Messages    int `json:"messages"`
	Checkpoints int `json:"checkpoints"`
	// Findings are empty when everything holds.
	Findings []Finding `json:"findings"`
}

// Verify reads a whole session and derives everything again that can be
// derived: content hashes, the chain over all messages, pairs of calls and
// results, checkpoints with their ranges and anchors, the sums over records.
// It returns an error only when the store cannot be read at all.
func Verify(ctx context.Context, store Store, id string) (Report, error) {
	var out Report
	h, err := store.Header(ctx, id)
	if err != nil && !errors.Is(err, ErrDamaged) {
		return out, err
	}
	if err != nil {
		out.add("header", err.Error())
	}
	s := &Session{store: store, opts: (*Options)(nil).withDefaults(), header: h}
	s.header.ID = id
	t, _, err := s.Whole(ctx)
	out.Messages = t.Len()
	var damage *DamageError
	switch {
	case errors.As(err, &damage):
		out.add(fmt.Sprintf("message %d", damage.Index), fmt.Sprintf("%s; %d of %d messages before it are whole", damage.What, t.Len(), h.Messages))
	case err != nil:
		return out, err
	case t.Len() != h.Messages:
		out.add("header", fmt.Sprintf("it states %d messages, %d are there", h.Messages, t.Len()))
	case t.RangeHash(0, t.Len()) != h.Hash:
		out.add("header", "the hash over all messages is another one")
	}
	return out, out.records(ctx, s, h, t.Len(), func(chain *checkpoint.Chain) []checkpoint.Finding { return chain.Verify(t) })
}

func (r *Report) add(where, what string) {
	r.Findings = append(r.Findings, Finding{Where: where, What: what})
}

func (r *Report) records(ctx context.Context, s *Session, h Header, messages int, verify func(*checkpoint.Chain) []checkpoint.Finding) error {
	var list []*checkpoint.Checkpoint
	stored := 0
	for rec, err := range s.store.Records(ctx, h.ID, "", false) {
		if errors.Is(err, ErrDamaged) {
			r.add("records", err.Error())
			break
		}
		if err != nil {
			return err
		}
		if rec.Kind == KindCheckpoint {
			stored++
		}
		if err := rec.Check(); err != nil {
			r.add(rec.Kind, err.Error())
			continue
		}
		if rec.Kind != KindCheckpoint {
			continue
		}
		c, err := checkpoint.Decode(rec.Body)
		if err != nil {
			r.add("checkpoint", err.Error())
			continue
		}
		list = append(list, c)
	}
	if stored != h.Checkpoints {
		r.add("header", fmt.Sprintf("it states %d checkpoints, %d are there", h.Checkpoints, stored))
	}
	chain, err := checkpoint.Load(list)
	if err != nil {
		r.add("checkpoint chain", err.Error())
		chain, _ = checkpoint.Load(nil)
	}
	bad := map[string]bool{}
	for _, f := range verify(chain) {
		bad[f.Checkpoint] = true
		r.add("checkpoint "+f.Checkpoint, f.What+": "+f.Text)
	}
	r.Checkpoints = max(len(list)-len(bad), 0)
	return nil
}
