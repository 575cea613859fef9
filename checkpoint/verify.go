package checkpoint

import (
	"errors"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// Errors that Validate wraps.
var (
	// ErrRange: the checkpoint reaches beyond the transcript (F-CKP-04).
	ErrRange = errors.New("range beyond the transcript")
	// ErrSource: the messages are not those it was made from (F-CKP-05).
	ErrSource = errors.New("source has changed")
)

// Validate says whether the checkpoint may stand for the beginning of t: its
// range lies within t, and the hashes of range and tail are those of its
// creation. Messages that came later do not matter. A transcript that was cut
// inside the old tail fails: Remap makes a record for it. A transcript that
// does not hold the messages of the tail (transcript.Resume) cannot tell, and
// fails too.
func (c *Checkpoint) Validate(t *transcript.Transcript) error {
	through, count := c.SummarizedThroughMessageIndex, c.SourceMessageCount
	if through < 1 || count < through || count > t.Len() {
		return fmt.Errorf("validate checkpoint %s: %w: it covers %d of %d messages, the transcript has %d",
			c.ID, ErrRange, through, count, t.Len())
	}
	if h := t.RangeHash(0, through); h != c.SourceHash {
		return fmt.Errorf("validate checkpoint %s: %w: messages 0 to %d have the hash %s, it was made from %s",
			c.ID, ErrSource, through-1, h, c.SourceHash)
	}
	if h := t.RangeHash(through, count); h != c.RetainedTailHash {
		return fmt.Errorf("validate checkpoint %s: %w: the tail from %d to %d has the hash %s, it was made with %s",
			c.ID, ErrSource, through, count-1, h, c.RetainedTailHash)
	}
	if want := AnchorsOf(t, through, count); c.Anchors != want {
		return fmt.Errorf("validate checkpoint %s: %w: its anchors are %v, the transcript has %v", c.ID, ErrSource, c.Anchors, want)
	}
	return nil
}

// AnchorsOf returns the ids at the borders of the range [0, through) and the
// tail [through, count) of t. They are empty where t has no such range:
// 1 ≤ through ≤ count ≤ Len.
func AnchorsOf(t *transcript.Transcript, through, count int) Anchors {
	if through < 1 || count < through || count > t.Len() {
		return Anchors{}
	}
	a := Anchors{First: t.ID(0), Last: t.ID(through - 1)}
	if through < count {
		a.TailStart = t.ID(through)
	}
	return a
}

// A Finding is one thing about a checkpoint that does not hold.
type Finding struct {
	// Checkpoint is the id of the record.
	Checkpoint string `json:"checkpoint"`
	// What names the part: "form", "range", "source", "parent", "pin",
	// "ledger", "line", "pair".
	What string `json:"what"`
	// Text says what is wrong.
	Text string `json:"text"`
}

// Verify derives again what can be derived without a model: form, id, hashes,
// anchors, and that every pin and ledger entry points into the range and every
// pin stands in its message, under a role that may state it. It returns what
// does not hold, nothing when all does. Package compaction verifies the lines
// of a text that it made.
func (c *Checkpoint) Verify(t *transcript.Transcript) []Finding {
	var found []Finding
	report := func(what, format string, args ...any) {
		found = append(found, Finding{Checkpoint: c.ID, What: what, Text: fmt.Sprintf(format, args...)})
	}
	if err := c.Check(); err != nil {
		report("form", "%v", err)
	}
	if err := c.Validate(t); err != nil {
		what := "source"
		if errors.Is(err, ErrRange) {
			what = "range"
		}
		report(what, "%v", err)
	}
	for i, p := range c.Pins {
		if reason := c.checkPin(t, p); reason != "" {
			report("pin", "pin %d: %s", i+1, reason)
		}
	}
	for _, name := range LedgerNames(c.Ledgers) {
		for i, e := range c.Ledgers[name] {
			if at, ok := t.Index(e.MessageID); !ok || at >= c.SummarizedThroughMessageIndex {
				report("ledger", "%s entry %d names message %q, which is not in the range", name, i+1, e.MessageID)
			}
		}
	}
	return found
}

func (c *Checkpoint) checkPin(t *transcript.Transcript, p Pin) string {
	at, ok := t.Index(p.MessageID)
	if !ok || at >= c.SummarizedThroughMessageIndex {
		return fmt.Sprintf("message %q is not in the range", p.MessageID)
	}
	m := t.At(at)
	switch {
	case p.Source == "user" && !m.Authored():
		return fmt.Sprintf("message %q was not written by the user", p.MessageID)
	case p.Source == "system" && m.Role != message.RoleSystem:
		return fmt.Sprintf("message %q is no system message", p.MessageID)
	case !strings.Contains(FoldSpace(m.Text()), FoldSpace(p.Text)):
		return fmt.Sprintf("its text does not stand in message %q", p.MessageID)
	}
	if p.SupersededBy != "" {
		if newer, ok := t.Index(p.SupersededBy); !ok || newer < at {
			return fmt.Sprintf("it is superseded by %q, which does not follow it", p.SupersededBy)
		}
	}
	return ""
}

// UsableBy reports whether the payload may go to a model: a readable one to
// any, an opaque item only to the provider and model that made it (F-NAT-02).
func (c *Checkpoint) UsableBy(provider, model string) bool {
	return c.Strategy != ProviderNative || c.Provider == provider && c.ModelID == model
}
