package transcript

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/forge-agent/forge/message"
)

// A Prefix is what a transcript has to know about messages at its beginning
// that it does not hold. The zero Prefix means that it holds all.
type Prefix struct {
	// Messages is how many they are.
	Messages int
	// Hash is RangeHash(0, Messages).
	Hash message.Hash
	// FirstID and LastID are the ids of the first and last of them.
	FirstID, LastID string
	// LastAuthored is true when the last of them was written by a person, so
	// that a person's message after it belongs to the same turn.
	LastAuthored bool
	// Pending are the calls among them that still wait for a result, oldest
	// first.
	Pending []PendingCall
}

// A PendingCall is a call without a result and where it stands.
type PendingCall struct {
	Ref  Ref
	Call message.ToolCall
}

func (p Prefix) call(ref Ref) message.ToolCall {
	for _, c := range p.Pending {
		if c.Ref == ref {
			return c.Call
		}
	}
	return message.ToolCall{}
}

// Resume returns a transcript that stands behind p: its messages are appended
// as to any other and have the indexes from Base on. Nothing but what p says
// is known of the messages before; what a method cannot tell for that reason
// stands at the method. An id that is taken among them is not noticed: that is
// for whoever stores them.
func Resume(p Prefix) (*Transcript, error) {
	if p.Messages < 0 || (p.Messages == 0) != (p.FirstID == "") || (p.Messages == 0) != (p.LastID == "") ||
		(p.Messages == 0) != (p.Hash == message.Hash{}) {
		return nil, fmt.Errorf("resume transcript after %d messages: the prefix does not name its hash and its first and last message", p.Messages)
	}
	t := &Transcript{skipped: p}
	t.init()
	for _, c := range p.Pending {
		if _, twice := t.pending[c.Call.ID]; twice || c.Call.ID == "" || c.Ref.Message < 0 || c.Ref.Message >= p.Messages {
			return nil, fmt.Errorf("resume transcript after %d messages: pending call %q at message %d: %w", p.Messages, c.Call.ID, c.Ref.Message, ErrDuplicateCall)
		}
		t.pending[c.Call.ID] = c.Ref
	}
	return t, nil
}

// Base is the index of the first message that the transcript holds: zero but
// for one that Resume made.
func (t *Transcript) Base() int { return t.skipped.Messages }

// ID returns the id of message i: of those before Base only the first and the
// last are known, of the others it is empty.
func (t *Transcript) ID(i int) string {
	switch {
	case i >= t.Base():
		return t.At(i).ID
	case i == 0:
		return t.skipped.FirstID
	case i == t.Base()-1:
		return t.skipped.LastID
	}
	return ""
}

// waiting returns the calls that wait now, oldest first.
func (t *Transcript) waiting() []PendingCall {
	var out []PendingCall
	for _, ref := range slices.SortedFunc(maps.Values(t.pending), func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.Message, b.Message), cmp.Compare(a.Block, b.Block))
	}) {
		c := PendingCall{Ref: ref}
		if ref.Message < t.Base() {
			c.Call = t.skipped.call(ref)
		} else {
			c.Call = t.At(ref.Message).Blocks[ref.Block].(message.ToolCall)
		}
		out = append(out, c)
	}
	return out
}

// PrefixAt returns what Resume needs to go on after the first n messages,
// Base ≤ n ≤ Len.
func (t *Transcript) PrefixAt(n int) Prefix {
	if n == t.Base() {
		return t.skipped
	}
	p := Prefix{Messages: n, Hash: t.RangeHash(0, n), FirstID: t.ID(0), LastID: t.ID(n - 1), LastAuthored: t.At(n - 1).Authored()}
	if n == t.Len() {
		p.Pending = t.waiting()
		return p
	}
	for _, c := range t.skipped.Pending {
		if !t.answeredBefore(c.Call.ID, n) {
			p.Pending = append(p.Pending, c)
		}
	}
	for i := t.Base(); i < n; i++ {
		for b, block := range t.At(i).Blocks {
			call, ok := block.(message.ToolCall)
			if !ok {
				continue
			}
			ref := Ref{Message: i, Block: b}
			if result, done := t.results[ref]; done && result.Message < n {
				continue
			}
			p.Pending = append(p.Pending, PendingCall{Ref: ref, Call: call})
		}
	}
	return p
}

// answeredBefore reports whether a call that waited at Base has its result
// among the held messages before n.
func (t *Transcript) answeredBefore(id string, n int) bool {
	for i := t.Base(); i < n; i++ {
		for _, block := range t.At(i).Blocks {
			if r, ok := block.(message.ToolResult); ok && r.CallID == id {
				return true // the first result under an id is that of the oldest call
			}
		}
	}
	return false
}
