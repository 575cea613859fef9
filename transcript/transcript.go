// Package transcript keeps the full record of a conversation: append-only,
// with stable message ids, tool calls paired with their results, turn
// boundaries and hashes over ranges.
//
// A transcript is never edited. What a model sees is derived from it by
// package activeview; a transcript itself knows no window and no tokens, and
// it does not store anything on disk.
package transcript

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/forge-agent/forge/message"
)

// Errors that Append returns, wrapped with the message's id.
var (
	// ErrInvalidMessage: no id, no blocks, an unknown role, or blocks that
	// the role cannot carry.
	ErrInvalidMessage = errors.New("invalid message")
	// ErrDuplicateID: the transcript has a message with this id.
	ErrDuplicateID = errors.New("duplicate message id")
	// ErrDuplicateCall: a call with this id still waits for its result.
	ErrDuplicateCall = errors.New("duplicate tool call id")
	// ErrOrphanResult: no call with this id waits for a result.
	ErrOrphanResult = errors.New("tool result without its call")
)

// A Transcript is the record of one conversation. The zero value is an empty
// transcript ready to use. It is not safe for concurrent use while Append
// runs; readers alone may share it.
//
// A transcript that Resume made holds its newer messages only; see there.
type Transcript struct {
	skipped  Prefix // what stands before the messages
	messages []message.Message
	hashes   []message.Hash
	prefix   []message.Hash // prefix[i] covers messages [0,Base+i)
	index    map[string]int // message id → index
	pending  map[string]Ref // call id → call without a result
	results  map[Ref]Ref    // call → result
	calls    map[Ref]Ref    // result → call
	turns    []int          // index of each turn's first message
}

// A Ref names one block of a transcript.
type Ref struct {
	// Message is the index of the message.
	Message int
	// Block is the index of the block in the message.
	Block int
}

// A Turn is a user message up to the next one, as a half-open range of
// message indexes. Whatever stands before the first user message belongs to
// no turn.
type Turn struct {
	Start, End int
}

// Append adds a message to the end.
//
// It refuses, and changes nothing for, a message that is invalid on its own
// (ErrInvalidMessage), whose id is taken (ErrDuplicateID), that calls a tool
// under an id whose earlier call still waits (ErrDuplicateCall) or that holds
// a result for which no call waits (ErrOrphanResult). A user or assistant
// message may follow calls that still wait: an interrupted run leaves such
// calls, and Pending names them.
func (t *Transcript) Append(m message.Message) error {
	if err := t.Check(m); err != nil {
		return err
	}
	t.take(m, m.Hash())
	return nil
}

// AppendHeld is Append for a message whose original is kept elsewhere: held is
// a lighter form of it, a long tool result cut to what is shown for example,
// and original is the content hash of the whole message, on which all hashes
// of ranges are built. Ids, roles, calls and results must be those of the
// original.
func (t *Transcript) AppendHeld(held message.Message, original message.Hash) error {
	if err := t.Check(held); err != nil {
		return err
	}
	t.take(held, original)
	return nil
}

// take adds a message that was checked.
func (t *Transcript) take(m message.Message, original message.Hash) {
	t.init()
	at := t.Len()
	for i, b := range m.Blocks {
		switch b := b.(type) {
		case message.ToolCall:
			t.pending[b.ID] = Ref{at, i}
		case message.ToolResult:
			call := t.pending[b.CallID]
			delete(t.pending, b.CallID)
			if call.Message >= t.Base() {
				t.results[call], t.calls[Ref{at, i}] = Ref{at, i}, call
			}
		}
	}
	if m.Authored() && !t.endsAuthored() {
		t.turns = append(t.turns, at)
	}
	t.index[m.ID] = at
	t.messages = append(t.messages, m)
	t.hashes = append(t.hashes, original)
	t.prefix = append(t.prefix, Chain(t.prefix[len(t.prefix)-1], original))
}

// endsAuthored reports whether the last message so far is a person's.
func (t *Transcript) endsAuthored() bool {
	if len(t.messages) > 0 {
		return t.messages[len(t.messages)-1].Authored()
	}
	return t.skipped.LastAuthored
}

// Check returns the error that Append would return, and changes nothing.
func (t *Transcript) Check(m message.Message) error {
	if err := validate(m); err != nil {
		return err
	}
	if _, taken := t.index[m.ID]; taken {
		return fmt.Errorf("append message %q: %w", m.ID, ErrDuplicateID)
	}
	if err := t.checkPairs(m); err != nil {
		return fmt.Errorf("append message %q: %w", m.ID, err)
	}
	return nil
}

func (t *Transcript) init() {
	if t.index != nil {
		return
	}
	t.index = map[string]int{}
	t.pending = map[string]Ref{}
	t.results, t.calls = map[Ref]Ref{}, map[Ref]Ref{}
	t.prefix = []message.Hash{emptyRange()}
	if t.skipped.Messages > 0 {
		t.prefix[0] = t.skipped.Hash
	}
}

func validate(m message.Message) error {
	reason := ""
	switch {
	case m.ID == "":
		reason = "it has no id"
	case !utf8.ValidString(m.ID):
		reason = "its id is not valid UTF-8"
	case len(m.Blocks) == 0:
		reason = "it has no blocks"
	default:
		reason = checkRole(m)
	}
	if reason == "" {
		return nil
	}
	return fmt.Errorf("append message %q: %w: %s", m.ID, ErrInvalidMessage, reason)
}

func checkRole(m message.Message) string {
	for _, b := range m.Blocks {
		kind := message.Kind("nil")
		if b != nil {
			kind = b.Kind()
		}
		allowed := false
		switch m.Role {
		case message.RoleSystem, message.RoleUser:
			allowed = kind == message.KindText || kind == message.KindImage || kind == message.KindOpaque
		case message.RoleAssistant:
			allowed = b != nil && kind != message.KindToolResult
		case message.RoleTool:
			allowed = kind == message.KindToolResult
		default:
			return fmt.Sprintf("unknown role %q", m.Role)
		}
		if !allowed {
			return fmt.Sprintf("a %s message cannot hold a %s block", m.Role, kind)
		}
	}
	return ""
}

func (t *Transcript) checkPairs(m message.Message) error {
	var answered, called map[string]bool
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case message.ToolCall:
			if b.ID == "" {
				return fmt.Errorf("%w: a tool call has no id", ErrInvalidMessage)
			}
			if _, waits := t.pending[b.ID]; waits || called[b.ID] {
				return fmt.Errorf("%w: %q", ErrDuplicateCall, b.ID)
			}
			if called == nil {
				called = map[string]bool{}
			}
			called[b.ID] = true
		case message.ToolResult:
			if _, waits := t.pending[b.CallID]; !waits || answered[b.CallID] {
				return fmt.Errorf("%w: %q", ErrOrphanResult, b.CallID)
			}
			if answered == nil {
				answered = map[string]bool{}
			}
			answered[b.CallID] = true
		}
	}
	return nil
}

// Len returns the number of messages, those before Base included.
func (t *Transcript) Len() int { return t.Base() + len(t.messages) }

// At returns the message at index i, Base ≤ i < Len. The blocks are shared
// with the transcript: do not change them.
func (t *Transcript) At(i int) message.Message { return t.messages[i-t.Base()] }

// All yields every message that it holds with its index, in order.
func (t *Transcript) All() iter.Seq2[int, message.Message] { return t.From(0) }

// From yields the messages from index start on, those from Base on if that is
// later.
func (t *Transcript) From(start int) iter.Seq2[int, message.Message] {
	return func(yield func(int, message.Message) bool) {
		for i := max(start, t.Base()); i < t.Len(); i++ {
			if !yield(i, t.At(i)) {
				return
			}
		}
	}
}

// Index returns where the message with this id stands.
func (t *Transcript) Index(id string) (int, bool) {
	i, ok := t.index[id]
	return i, ok
}

// Hash returns the content hash of message i, Base ≤ i < Len: of the original
// where a lighter form is held.
func (t *Transcript) Hash(i int) message.Hash { return t.hashes[i-t.Base()] }

// RangeHash returns the hash of messages [from,to), 0 ≤ from ≤ to ≤ Len.
//
// It is a chain: the empty range has the SHA-256 of "forge.range/1", and each
// further message replaces the value r by SHA-256(r ‖ message hash). A range
// that starts at 0 is kept ready and costs nothing; any other costs one short
// hash for each message in it. Of a range that begins or ends among messages
// that are not held, and is not all of [0,Base), the hash is not known: it is
// the zero Hash, which no range has.
func (t *Transcript) RangeHash(from, to int) message.Hash {
	base := t.Base()
	switch {
	case from == to:
		return emptyRange()
	case from == 0 && to >= base:
		return t.prefix[to-base]
	case from < base:
		return message.Hash{}
	}
	r := emptyRange()
	for _, h := range t.hashes[from-base : to-base] {
		r = Chain(r, h)
	}
	return r
}

func emptyRange() message.Hash { return sha256.Sum256([]byte("forge.range/1")) }

// Chain returns the hash of a range that is one message longer: r is the hash
// of the range so far, h the message's.
func Chain(r, h message.Hash) message.Hash {
	var buf [2 * sha256.Size]byte
	copy(buf[:], r[:])
	copy(buf[sha256.Size:], h[:])
	return sha256.Sum256(buf[:])
}

// Turns yields every turn in order that begins at Base or later. The last one
// may be unfinished.
func (t *Transcript) Turns() iter.Seq[Turn] {
	return func(yield func(Turn) bool) {
		for i := range t.turns {
			if !yield(t.Turn(i)) {
				return
			}
		}
	}
}

// TurnCount returns the number of turns.
func (t *Transcript) TurnCount() int { return len(t.turns) }

// Turn returns turn i, 0 ≤ i < TurnCount.
func (t *Transcript) Turn(i int) Turn {
	end := t.Len()
	if i+1 < len(t.turns) {
		end = t.turns[i+1]
	}
	return Turn{Start: t.turns[i], End: end}
}

// Pending returns the calls that have no result yet, oldest first.
func (t *Transcript) Pending() []message.ToolCall {
	var out []message.ToolCall
	for _, c := range t.waiting() {
		out = append(out, c.Call)
	}
	return out
}

// Result returns where the result of the call at ref stands; false while the
// call waits, when ref is no call, or when it stands before Base.
func (t *Transcript) Result(call Ref) (Ref, bool) {
	r, ok := t.results[call]
	return r, ok
}

// Call returns where the call answered by the result at ref stands; false
// when ref is no result, or the call stands before Base.
func (t *Transcript) Call(result Ref) (Ref, bool) {
	c, ok := t.calls[result]
	return c, ok
}
