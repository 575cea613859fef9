package corpus_test

import (
	"strings"
	"testing"

	"github.com/forge-agent/forge/internal/eval/corpus"
	"github.com/forge-agent/forge/internal/eval/corpustest"
	"github.com/forge-agent/forge/message"
)

func load(t *testing.T) *corpus.Corpus {
	t.Helper()
	dir := t.TempDir()
	if err := corpustest.Write(dir, 5, 1); err != nil {
		t.Fatal(err)
	}
	c, err := corpus.Load(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Sessions are named by format and number, files that are none are counted.
func TestLoad(t *testing.T) {
	c := load(t)
	if len(c.Sessions) != 5 || c.Skipped != 1 {
		t.Fatalf("%d sessions, %d skipped", len(c.Sessions), c.Skipped)
	}
	for _, s := range c.Sessions {
		if strings.Contains(s.Name, corpustest.Secret) || !strings.HasPrefix(s.Name, s.Session.Format) {
			t.Errorf("name %q", s.Name)
		}
	}
	if _, err := corpus.Load(t.TempDir(), 1); err == nil {
		t.Error("an empty folder is a corpus")
	}
}

// Issue behaviour 3: joined sessions weigh what was asked for, keep every call
// with its result, and are the same for the same seed.
func TestLong(t *testing.T) {
	c := load(t)
	weigh := func(m message.Message) int { return len(m.Text()) + 100 }
	long, err := c.Long(4, 9, 20_000, 30_000, weigh)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := c.Long(4, 9, 20_000, 30_000, weigh)
	for i, n := range long {
		tr, total := n.Session.Transcript, 0
		for _, m := range tr.All() {
			total += weigh(m)
		}
		if total < 20_000 || total > 33_000 {
			t.Errorf("%s weighs %d", n.Name, total)
		}
		if pending := tr.Pending(); len(pending) > 0 {
			t.Errorf("%s: calls without results: %v", n.Name, pending)
		}
		last := 0
		for _, q := range n.Session.Requests {
			if q.At < last || q.End <= q.At || q.End > tr.Len() || tr.At(q.At).Role != message.RoleAssistant {
				t.Fatalf("%s: request %+v of %d messages", n.Name, q, tr.Len())
			}
			last = q.End
		}
		if len(n.Session.Requests) == 0 {
			t.Errorf("%s has no requests", n.Name)
		}
		if a, b := tr.RangeHash(0, tr.Len()), again[i].Session.Transcript.RangeHash(0, tr.Len()); a != b {
			t.Errorf("%s is another one the second time", n.Name)
		}
	}
}
