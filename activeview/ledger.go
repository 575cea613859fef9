package activeview

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/message"
)

// Decision is what was decided about an item.
type Decision string

// The decisions.
const (
	// Kept: the item is in the request as it is.
	Kept Decision = "kept"
	// Projected: a stand-in is in the request.
	Projected Decision = "projected"
	// Summarized: the item is inside the range of a summary.
	Summarized Decision = "summarized"
	// Dropped: the item is not in the request; the reason says why.
	Dropped Decision = "dropped"
)

// A Line is one entry of the ledger: an item that is or could be in the
// request, and what was decided about it. It carries no content.
type Line struct {
	// ID is the message's id, "#" and the block's index; for a tool
	// definition "tool:" and its name.
	ID string `json:"id"`
	// Label is a short name for people: the tool's name, the role. It never
	// quotes content.
	Label string `json:"label,omitempty"`
	// Category is where the tokens are counted.
	Category budget.Category `json:"category"`
	// Hash is the hash of the item's original content.
	Hash message.Hash `json:"hash"`
	// Tokens is what the item weighs in the request: zero when summarized or
	// dropped, the stand-in's weight when projected.
	Tokens int `json:"tokens"`
	// FramingTokens is what the provider adds around the item's message,
	// counted with the message's first block.
	FramingTokens int `json:"framingTokens,omitempty"`
	// Decision and Reason say what happened to the item and why.
	Decision Decision `json:"decision"`
	Reason   string   `json:"reason"`
}

// digest hashes a line's meaning, the label left out.
func (l Line) digest() message.Hash {
	var buf [128]byte
	b := buf[:0]
	for _, s := range [...]string{l.ID, l.Category.String(), string(l.Decision), l.Reason} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = append(b, l.Hash[:]...)
	b = binary.AppendUvarint(b, uint64(l.Tokens))
	b = binary.AppendUvarint(b, uint64(l.FramingTokens))
	return sha256.Sum256(b)
}

// A LedgerHash stands for a whole ledger: the sum of its lines' SHA-256
// digests modulo 2²⁵⁶. A line can be added, removed or changed without looking
// at the others, so that a step costs what is new in it. It finds mistakes
// and torn files; it is no protection against somebody who forges lines.
// The zero value stands for the empty ledger.
type LedgerHash message.Hash

// Add takes a line in.
func (h *LedgerHash) Add(l Line) {
	d := l.digest()
	carry := 0
	for i := len(h) - 1; i >= 0; i-- {
		sum := int(h[i]) + int(d[i]) + carry
		h[i], carry = byte(sum), sum>>8
	}
}

// Remove takes a line out. It must have been added in exactly this form.
func (h *LedgerHash) Remove(l Line) {
	d := l.digest()
	borrow := 0
	for i := len(h) - 1; i >= 0; i-- {
		diff := int(h[i]) - int(d[i]) - borrow
		borrow = 0
		if diff < 0 {
			diff, borrow = diff+256, 1
		}
		h[i] = byte(diff)
	}
}

// String returns 64 hex digits.
func (h LedgerHash) String() string { return message.Hash(h).String() }

// MarshalText returns the hex form.
func (h LedgerHash) MarshalText() ([]byte, error) { return message.Hash(h).MarshalText() }

// UnmarshalText reads the hex form.
func (h *LedgerHash) UnmarshalText(text []byte) error { return (*message.Hash)(h).UnmarshalText(text) }

// A Delta is what changed in a ledger between two requests.
type Delta struct {
	// Added are new lines, in the order in which they came.
	Added []Line `json:"added,omitempty"`
	// Changed are lines with a known ID in their new form.
	Changed []Line `json:"changed,omitempty"`
	// Removed are the IDs of lines that are gone altogether.
	Removed []string `json:"removed,omitempty"`
}

// Empty reports whether nothing changed.
func (d Delta) Empty() bool { return len(d.Added)+len(d.Changed)+len(d.Removed) == 0 }

func blockID(messageID string, block int) string {
	return messageID + "#" + strconv.Itoa(block)
}

func label(m message.Message, b message.Block, toolName string) string {
	switch b := b.(type) {
	case message.ToolCall:
		return b.Name
	case message.ToolResult:
		if b.Name != "" {
			return b.Name
		}
		return toolName
	case message.Opaque:
		if m.Origin == message.OriginSummary {
			return "opaque " + string(m.Origin) // only its provider can read it
		}
		return b.Type
	case message.Image:
		return b.MediaType
	}
	if m.Origin != message.OriginAuthored {
		return string(m.Origin)
	}
	return string(m.Role)
}
