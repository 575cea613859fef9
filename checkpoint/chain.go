package checkpoint

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/forge-agent/forge/transcript"
)

// ErrChain is wrapped when a record does not continue its chain.
var ErrChain = errors.New("checkpoint does not continue the chain")

// A Chain is the append-only list of the checkpoints of one transcript
// (resolution C5). Which of them is active depends on the transcript: the
// newest that is valid there. The zero Chain is empty and ready to use.
type Chain struct {
	records []*Checkpoint
	skipped *Checkpoint // the newest record that is not held
}

// Add appends a record. It must be well formed, valid for t, and name the last
// record as its parent. Adding the last record again changes nothing.
func (c *Chain) Add(record *Checkpoint, t *transcript.Transcript) error {
	if err := record.Check(); err != nil {
		return err
	}
	if last := c.Last(); last != nil && last.ID == record.ID {
		return nil
	}
	if err := c.continues(record); err != nil {
		return err
	}
	if err := record.Validate(t); err != nil {
		return err
	}
	c.records = append(c.records, record)
	return nil
}

// Load makes a chain from stored records in their order. A record that is not
// valid for a transcript stays in it: it may be valid again for another, and
// it never hides an earlier one (fault B31).
func Load(records []*Checkpoint) (*Chain, error) {
	return Resume(nil, records)
}

// Resume makes a chain that goes on after last, which it does not hold: a
// session that was opened without its older checkpoints. A nil last is the
// beginning.
func Resume(last *Checkpoint, records []*Checkpoint) (*Chain, error) {
	c := &Chain{skipped: last}
	for _, r := range records {
		if err := r.Check(); err != nil {
			return nil, err
		}
		if err := c.continues(r); err != nil {
			return nil, err
		}
		c.records = append(c.records, r)
	}
	return c, nil
}

func (c *Chain) continues(record *Checkpoint) error {
	parent, generation := c.Next()
	if record.Parent != parent || record.Generation != generation {
		return fmt.Errorf("add checkpoint %s: %w: it is generation %d after %q, expected generation %d after %q",
			record.ID, ErrChain, record.Generation, record.Parent, generation, parent)
	}
	return nil
}

// Next returns the parent and generation that the next record must have.
func (c *Chain) Next() (parent string, generation int) {
	last := c.Last()
	if last == nil {
		return "", 1
	}
	return last.ID, last.Generation + 1
}

// Last returns the newest record, valid or not; nil when the chain is empty.
func (c *Chain) Last() *Checkpoint {
	if len(c.records) == 0 {
		return c.skipped
	}
	return c.records[len(c.records)-1]
}

// Len returns the number of records that it holds.
func (c *Chain) Len() int { return len(c.records) }

// All yields every record, oldest first.
func (c *Chain) All() iter.Seq[*Checkpoint] { return slices.Values(c.records) }

// Active returns the newest record that is valid for t, nil when none is.
func (c *Chain) Active(t *transcript.Transcript) *Checkpoint {
	return c.ActiveWhere(t, func(*Checkpoint) bool { return true })
}

// ActiveWhere is Active among the records that use accepts: an opaque item is
// usable only for its own provider and model (F-NAT-02).
func (c *Chain) ActiveWhere(t *transcript.Transcript, use func(*Checkpoint) bool) *Checkpoint {
	for _, r := range slices.Backward(c.records) {
		if use(r) && r.Validate(t) == nil {
			return r
		}
	}
	return nil
}

// Verify verifies every record against t, and that each one names the one
// before it. A record that only lies beyond a transcript that was cut is named
// too.
func (c *Chain) Verify(t *transcript.Transcript) []Finding {
	var found []Finding
	parent, generation, known := "", 0, map[string]bool{}
	if c.skipped != nil {
		parent, generation, known = c.skipped.ID, c.skipped.Generation, map[string]bool{c.skipped.ID: true}
	}
	for _, r := range c.records {
		if generation++; r.Parent != parent || r.Generation != generation {
			found = append(found, Finding{Checkpoint: r.ID, What: "parent",
				Text: fmt.Sprintf("it is generation %d after %q, expected generation %d after %q", r.Generation, r.Parent, generation, parent)})
		}
		if r.PairedWith != "" && !known[r.PairedWith] {
			found = append(found, Finding{Checkpoint: r.ID, What: "pair",
				Text: fmt.Sprintf("the readable checkpoint %s is not in the chain before it", r.PairedWith)})
		}
		found = append(found, r.Verify(t)...)
		parent, known[r.ID] = r.ID, true
	}
	return found
}

// A Dropped is a record that a fork or truncation could not take along.
type Dropped struct {
	ID     string
	Reason string
}

// Remap returns the chain for to, a fork or truncation of from, the transcript
// that c belongs to (P-CHN-02, P-CHN-04): every record whose range still
// stands at the beginning of to is taken along, with message ids, tail and
// parent as they are there; the others are dropped with a reason. c stays as
// it is.
//
// A record that changes gets a new id; references to it change with it.
func (c *Chain) Remap(from, to *transcript.Transcript) (*Chain, []Dropped, error) {
	out := &Chain{}
	var dropped []Dropped
	renamed := map[string]string{}
	for _, r := range c.records {
		n, reason := remap(r, from, to, renamed)
		if reason != "" {
			dropped = append(dropped, Dropped{ID: r.ID, Reason: reason})
			continue
		}
		n.Parent, n.Generation = out.Next()
		made, err := New(n, r.CreatedAt)
		if err != nil {
			return nil, nil, fmt.Errorf("remap checkpoint %s: %w", r.ID, err)
		}
		renamed[r.ID] = made.ID
		out.records = append(out.records, made)
	}
	return out, dropped, nil
}

func remap(r *Checkpoint, from, to *transcript.Transcript, renamed map[string]string) (Checkpoint, string) {
	through := r.SummarizedThroughMessageIndex
	if through > to.Len() {
		return Checkpoint{}, fmt.Sprintf("it covers %d messages, %d are left", through, to.Len())
	}
	if to.RangeHash(0, through) != r.SourceHash {
		return Checkpoint{}, "its range is not the beginning of this transcript"
	}
	n := *r
	n.SourceMessageCount = min(r.SourceMessageCount, to.Len())
	n.RetainedTailHash = to.RangeHash(through, n.SourceMessageCount)
	n.Anchors = AnchorsOf(to, through, n.SourceMessageCount)
	if r.PairedWith != "" {
		pair, kept := renamed[r.PairedWith]
		if !kept {
			return Checkpoint{}, "the readable checkpoint that goes with it was dropped"
		}
		n.PairedWith = pair
	}
	if r.CarriedFrom != "" {
		n.CarriedFrom = renamed[r.CarriedFrom]
	}
	known := true
	rename := func(id string) string {
		i, ok := from.Index(id)
		if !ok || i >= through {
			known = false
			return id
		}
		return to.At(i).ID
	}
	n.Pins = slices.Clone(r.Pins)
	for i, p := range n.Pins {
		n.Pins[i].MessageID = rename(p.MessageID)
		if p.SupersededBy != "" {
			n.Pins[i].SupersededBy = rename(p.SupersededBy)
		}
	}
	if r.Ledgers != nil {
		n.Ledgers = map[string][]Entry{}
	}
	for _, name := range LedgerNames(r.Ledgers) {
		entries := slices.Clone(r.Ledgers[name])
		for i, e := range entries {
			entries[i].MessageID = rename(e.MessageID)
		}
		n.Ledgers[name] = entries
	}
	if !known {
		return Checkpoint{}, "it names messages that its own transcript does not have in the range"
	}
	return n, ""
}

// LedgerNames returns the names of the ledgers in alphabetical order.
func LedgerNames(ledgers map[string][]Entry) []string {
	return slices.Sorted(maps.Keys(ledgers))
}
