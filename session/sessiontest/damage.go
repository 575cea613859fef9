package sessiontest

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/forge-agent/forge/session"
)

// broken is a store whose messages come out otherwise than they went in.
type broken struct {
	session.Store
	change func(*session.Row) (keep bool)
}

func (b broken) Rows(ctx context.Context, id string, from, to int) iter.Seq2[session.Row, error] {
	return func(yield func(session.Row, error) bool) {
		for r, err := range b.Store.Rows(ctx, id, from, to) {
			if err == nil && r.Index == 2 && !b.change(&r) {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Must reach 4: whatever happens to one stored message, opening, reading,
// verifying and exporting name it; an export still holds what stands before,
// and reading that export back names the loss.
func damageIsNamed(t *testing.T, o Opener) {
	store := o.Open(t)
	s := create(t, store, "dmg")
	appendAll(t, s, User("u", "x"), Assistant("a", "y"), User("u2", "z"), Assistant("a2", "w"))
	s.Close()
	for name, change := range map[string]func(*session.Row) bool{
		"missing": func(*session.Row) bool { return false },
		"content": func(r *session.Row) bool { r.Body = append(bytes.Clone(r.Body[:len(r.Body)-1]), 'q'); return true },
		"cut":     func(r *session.Row) bool { r.Body = r.Body[:5]; return true },
		"hash":    func(r *session.Row) bool { r.Hash[3] ^= 1; return true },
		"prefix":  func(r *session.Row) bool { r.Prefix[3] ^= 1; return true },
		"id":      func(r *session.Row) bool { r.ID = "other"; return true },
		"model":   func(r *session.Row) bool { r.Model = "other"; return true },
		"time":    func(r *session.Row) bool { r.Time = "2026-01-01T00:00:00Z"; return true },
		"status":  func(r *session.Row) bool { r.Status = "done"; return true },
		"author":  func(r *session.Row) bool { r.Authored = !r.Authored; return true },
	} {
		t.Run(name, func(t *testing.T) {
			bad := broken{store, change}
			var damage *session.DamageError
			if _, err := session.View(t.Context(), bad, "dmg", nil); !errors.As(err, &damage) || damage.Index != 2 {
				t.Fatalf("View: %v", err)
			}
			r, err := session.Verify(t.Context(), bad, "dmg")
			if err != nil || r.Messages != 2 || len(r.Findings) == 0 || !strings.Contains(r.Findings[0].Where, "message 2") {
				t.Errorf("Verify: %+v, %v", r, err)
			}
			whole, err := session.Salvage(t.Context(), bad, "dmg")
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := whole.Export(t.Context(), &out); !errors.Is(err, session.ErrDamaged) {
				t.Fatalf("Export: %v", err)
			}
			_, content, err := session.ReadExport(&out, false)
			if err != nil {
				t.Fatal(err)
			}
			done, err := session.Import(t.Context(), store, "", content, nil)
			if err != nil || done.Messages != 2 {
				t.Fatalf("Import: %+v, %v", done, err)
			}
			v, err := session.View(t.Context(), store, done.ID, nil)
			if err != nil {
				t.Fatal(err)
			}
			if losses, err := v.Losses(t.Context()); err != nil || len(losses) != 1 || !strings.Contains(losses[0].What, "messages 2 to 3") {
				t.Errorf("losses %v, %v", losses, err)
			}
		})
	}
}
