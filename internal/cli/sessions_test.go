package cli_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/sessiontest"
	"github.com/forge-agent/forge/session/sqlitestore"
)

// shown is what show --json says of the chain.
type shown struct {
	Messages    int
	Hash        message.Hash
	Compactions []struct {
		ID, Parent, ThroughMessageID string
		Generation, Summarized       int
		Valid, Active                bool
	}
	Compaction *struct{ ID string }
}

func show(t *testing.T, env map[string]string, id string) (out shown) {
	t.Helper()
	if err := json.Unmarshal([]byte(run(t, env, "sessions", "show", id, "--json")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// P-CHN-03, P-ROW-02, F-E2E-06: the details of a session have every record of
// the chain and the last one, after a restart, and after a fork those whose
// anchor came along (P-ROW-03).
func TestShowHasTheWholeChain(t *testing.T) {
	home := t.TempDir()
	store, err := sqlitestore.Open(t.Context(), home, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.Create(t.Context(), store, "chain", session.Info{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range 9 {
		if _, err := s.Append(t.Context(), sessiontest.User(fmt.Sprint("u", i), "x"), sessiontest.Assistant(fmt.Sprint("a", i), "y")); err != nil {
			t.Fatal(err)
		}
		if i%3 == 2 {
			c := sessiontest.Checkpoint(t, s, 2*i)
			if err := s.AddCheckpoint(t.Context(), c, nil); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, c.ID)
		}
	}
	hash := s.Header().Hash
	s.Close()
	store.Close()
	env := map[string]string{"FORGE_HOME": home}
	got := show(t, env, "chain")
	if got.Messages != 18 || got.Hash != hash || len(got.Compactions) != 3 || got.Compaction == nil || got.Compaction.ID != ids[2] {
		t.Fatalf("%+v", got)
	}
	for i, c := range got.Compactions {
		if c.ID != ids[i] || c.Generation != i+1 || !c.Valid || c.Active != (i == 2) || c.ThroughMessageID != fmt.Sprint("a", 3*i+1) {
			t.Errorf("checkpoint %d: %+v", i, c)
		}
	}
	run(t, env, "sessions", "truncate", "chain", "--at", "11")
	got = show(t, env, "chain")
	if len(got.Compactions) != 2 || !got.Compactions[1].Active || got.Compaction.ID != got.Compactions[1].ID {
		t.Errorf("after the cut: %+v", got)
	}
}
