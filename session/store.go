package session

import (
	"context"
	"iter"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// A Store keeps sessions. Implementations are safe for use by several
// goroutines and processes. Every method that reads sees one state between two
// changes, never half of one.
type Store interface {
	Directory
	Messages
	Records
	Index
	Locker
	Close() error
}

// A Directory finds sessions and messages by name.
type Directory interface {
	// List yields the sessions whose id begins with prefix, the one changed
	// last first.
	List(ctx context.Context, prefix string) iter.Seq2[Header, error]
	// Header returns one session's; ErrNotFound.
	Header(ctx context.Context, id string) (Header, error)
	// Locate returns the index of the message with this id; ErrNotFound.
	Locate(ctx context.Context, id, messageID string) (int, error)
}

// Messages reads stored messages as they are: whether they are whole is for
// the reader to check.
type Messages interface {
	// Rows yields the rows [from, to) in order, those that exist; to < 0 is
	// the end.
	Rows(ctx context.Context, id string, from, to int) iter.Seq2[Row, error]
	// Users yields the rows below index before that a person wrote, newest
	// first.
	Users(ctx context.Context, id string, before int) iter.Seq2[Row, error]
	// Pending returns where the tool calls below index before stand that have
	// no result below it, in order.
	Pending(ctx context.Context, id string, before int) ([]transcript.Ref, error)
}

// Records reads what is kept beside the messages.
type Records interface {
	// Records yields those of a kind, in the order in which they were stored,
	// or the newest first; an empty kind means all.
	Records(ctx context.Context, id, kind string, newestFirst bool) iter.Seq2[Record, error]
	// States returns the named states.
	States(ctx context.Context, id string) (map[string][]byte, error)
	// Removed yields what truncations took out of the session, oldest first.
	Removed(ctx context.Context, id string) iter.Seq2[Removed, error]
}

// An Index finds messages by words. It is made when it is first asked, and
// may lag behind the messages.
type Index interface {
	// Indexed returns how many messages are in it.
	Indexed(ctx context.Context, id string) (int, error)
	// AddWords adds the messages from index from on, the words of each
	// separated by spaces. Without effect when Indexed is not from.
	AddWords(ctx context.Context, id string, from int, words []string) error
	// WithWords yields the indexes of messages that hold all the words,
	// newest first, and maybe some that do not.
	WithWords(ctx context.Context, id string, words []string) iter.Seq2[int, error]
}

// A Locker gives sessions to writers.
type Locker interface {
	// Acquire makes the caller the one writer of a session, which need not
	// exist yet, until the Writer is closed or its process ends. ErrLocked
	// when there is one.
	Acquire(ctx context.Context, id string) (Writer, error)
}

// A Writer changes one session.
type Writer interface {
	// Apply stores the whole change or nothing. When it returns nil, the
	// change is durable. ErrConflict when the session is not at c.Version.
	Apply(ctx context.Context, c Change) error
	// Close gives the session back.
	Close() error
}

// A Row is a message as it is stored.
type Row struct {
	Index    int
	ID       string
	Status   Status
	Authored bool
	// Time is RFC 3339 in UTC, empty for none.
	Time  string
	Model string
	// Body is the canonical encoding, Hash its SHA-256, Prefix RangeHash(0,
	// Index+1). Sum guards the other fields.
	Body         []byte
	Hash, Prefix message.Hash
	Sum          uint32
	// Calls are the tool calls in it, by block; Answers are the calls that
	// its results answer. Both are for the store's table of pending calls and
	// are empty when a row is read.
	Calls   []int
	Answers []transcript.Ref
}

// A Record is something kept beside the messages.
type Record struct {
	// Kind says what it is, see Kind….
	Kind string
	// At is how many messages came before it.
	At int
	// Body is JSON, Sum guards it.
	Body []byte
	Sum  uint32
}

// The kinds of Record.
const (
	KindCheckpoint   = "checkpoint"   // checkpoint.Checkpoint
	KindRequest      = "request"      // Request
	KindMark         = "mark"         // Mark
	KindLoss         = "loss"         // Loss
	KindInstructions = "instructions" // []message.Message
	KindTools        = "tools"        // []message.ToolDefinition
	KindRemoved      = "removed"      // Line, what had been truncated before an export
)

// A Removed is a row or record that a truncation took out. Nothing that was
// said is deleted (F-SEC-06).
type Removed struct {
	// Removal counts the truncations of a session from 1.
	Removal int
	// Row is set for a message, Record for anything else.
	Row    *Row
	Record *Record
}

// A Change is one step of a session, stored whole or not at all.
type Change struct {
	// Version is that of the session before; zero makes a new session.
	Version int64
	// Info is the new description.
	Info Info
	// Copy and Truncate come before Rows.
	Copy     *Copy
	Truncate *Truncation
	// Rows are appended; an error that the sequence yields undoes the change.
	Rows iter.Seq2[Row, error]
	// Statuses are set after that.
	Statuses []StatusRange
	// Records are added.
	Records []Record
	// States are replaced; an empty value removes one.
	States map[string][]byte
}

// A Copy takes the beginning of another session: messages with their statuses,
// and records but checkpoints.
type Copy struct {
	From string
	// Messages is how many, Hash is RangeHash over them: ErrConflict when
	// that is no longer so.
	Messages int
	Hash     message.Hash
}

// A Truncation takes the end out of a session.
type Truncation struct {
	// Messages is how many stay, Hash is RangeHash over them. Records that
	// stand after them go too, and every checkpoint: those that stay are
	// among the Records of the change.
	Messages int
	Hash     message.Hash
}

// A StatusRange sets the status of the messages [From, To).
type StatusRange struct {
	From, To int
	Status   Status
}
