package checkpoint_test

import (
	"errors"
	"testing"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/transcript"
)

func chainOf(t *testing.T, tr *transcript.Transcript, throughs ...int) *checkpoint.Chain {
	t.Helper()
	c := &checkpoint.Chain{}
	for _, through := range throughs {
		if err := c.Add(record(t, tr, through, c), tr); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// C5, P-CHN-01, B14: the chain keeps every record; the newest valid one is
// active.
func TestChainKeepsEveryRecord(t *testing.T) {
	tr := conversation(t, "m", 20)
	c := chainOf(t, tr, 4, 8, 12)
	if c.Len() != 3 || c.Active(tr) != c.Last() || c.Last().SummarizedThroughMessageIndex != 12 {
		t.Fatalf("%d records, active %v", c.Len(), c.Active(tr))
	}
	if found := c.Verify(tr); len(found) != 0 {
		t.Errorf("findings: %v", found)
	}
	if err := c.Add(c.Last(), tr); err != nil || c.Len() != 3 {
		t.Errorf("adding the last record again: %v, %d records", err, c.Len())
	}
	stranger := record(t, tr, 16, &checkpoint.Chain{})
	if err := c.Add(stranger, tr); !errors.Is(err, checkpoint.ErrChain) {
		t.Errorf("error %v for a record of another chain, want ErrChain", err)
	}
}

// B31: a newest record that is not valid here hides no earlier one.
func TestActiveSkipsInvalidRecords(t *testing.T) {
	long := conversation(t, "m", 20)
	var records []*checkpoint.Checkpoint
	for r := range chainOf(t, long, 4, 8, 16).All() {
		records = append(records, r)
	}
	c, err := checkpoint.Load(records)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Active(conversation(t, "m", 10)); got != nil {
		t.Errorf("a transcript that was cut inside every tail has the active record %v", got)
	}
	early := chainOf(t, conversation(t, "m", 6), 4)
	if err := early.Add(record(t, conversation(t, "m", 20), 16, early), conversation(t, "m", 20)); err != nil {
		t.Fatal(err)
	}
	got := early.Active(conversation(t, "m", 10))
	if got == nil || got.SummarizedThroughMessageIndex != 4 {
		t.Errorf("active %v, want the record over 4 messages", got)
	}
	if _, err := checkpoint.Load(records[1:]); !errors.Is(err, checkpoint.ErrChain) {
		t.Errorf("error %v for a chain without its first record, want ErrChain", err)
	}
}

// P-CHN-02, P-CHN-04: a truncation keeps what still stands, a fork with new
// message ids keeps all of it, and anything else is dropped with a reason.
func TestRemap(t *testing.T) {
	tr := conversation(t, "m", 20)
	c := chainOf(t, tr, 4, 8, 16)

	cut := conversation(t, "m", 10)
	kept, dropped, err := c.Remap(tr, cut)
	if err != nil || kept.Len() != 2 || len(dropped) != 1 || dropped[0].Reason == "" {
		t.Fatalf("after truncation: %d kept, dropped %v, %v", kept.Len(), dropped, err)
	}
	if found := kept.Verify(cut); len(found) != 0 {
		t.Errorf("findings after truncation: %v", found)
	}
	if a := kept.Active(cut); a == nil || a.SummarizedThroughMessageIndex != 8 {
		t.Errorf("active after truncation: %v", a)
	}

	fork := conversation(t, "fork-", 20)
	kept, dropped, err = c.Remap(tr, fork)
	if err != nil || kept.Len() != 3 || len(dropped) != 0 {
		t.Fatalf("after a fork: %d kept, dropped %v, %v", kept.Len(), dropped, err)
	}
	if found := kept.Verify(fork); len(found) != 0 {
		t.Errorf("findings after a fork: %v", found)
	}
	if got := kept.Last().Pins[0].MessageID; got != "fork-0" {
		t.Errorf("the pin names message %q, want fork-0", got)
	}
	if c.Last().Pins[0].MessageID != "m0" {
		t.Error("remapping changed the chain it came from")
	}

	if kept, dropped, err = c.Remap(tr, &transcript.Transcript{}); err != nil || kept.Len() != 0 || len(dropped) != 3 {
		t.Errorf("on an empty transcript: %d kept, %d dropped, %v", kept.Len(), len(dropped), err)
	}
}
