// Package session keeps conversations: every admitted message with its
// status, the chain of checkpoints, what was asked and reported, and the state
// of the context window, in a store that survives a crash at any point.
//
// A Session is what a run works with. It admits messages (secrets out first,
// then stored, then acknowledged), and it opens at the cost of its active view:
// messages before the active checkpoint stay in the store until they are asked
// for. Stores are packages of their own (sqlitestore, pgstore); package
// sessiontest is the suite that each of them passes. This package decides
// nothing about the context window.
package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/forge-agent/forge/message"
)

// Status is what became of a message (resolution C16).
type Status string

// The statuses.
const (
	// Admitted: stored, its turn has not ended. After a crash it stays so.
	Admitted Status = "admitted"
	// Completed: its turn ended well. Only such turns cross runs (F-SEC-04).
	Completed Status = "completed"
	// Failed: its turn ended with a fault, a denial or a limit.
	Failed Status = "failed"
	// Cancelled: somebody ended its turn.
	Cancelled Status = "cancelled"
)

func (s Status) valid() bool {
	return s == Admitted || s == Completed || s == Failed || s == Cancelled
}

// Errors, wrapped with the session and what to do.
var (
	// ErrNotFound: no session, message or state has this name.
	ErrNotFound = errors.New("not found")
	// ErrAmbiguous: several sessions begin with this prefix.
	ErrAmbiguous = errors.New("more than one session begins so")
	// ErrExists: a session with this id is there already.
	ErrExists = errors.New("session exists")
	// ErrLocked: another process, or another Session here, writes to it.
	ErrLocked = errors.New("session is in use")
	// ErrConflict: the store holds something else than the change is based
	// on. Open the session again.
	ErrConflict = errors.New("session has changed")
	// ErrReadOnly: the store, or the Session, cannot be written.
	ErrReadOnly = errors.New("read-only")
	// ErrNoSpace: the disk, or the room that the store may take, is full.
	// What was acknowledged before is stored.
	ErrNoSpace = errors.New("no space left")
	// ErrDamaged is wrapped by *DamageError, and by stores whose file is no
	// longer one.
	ErrDamaged = errors.New("stored data is damaged")
	// ErrUnavailable: the store cannot be reached or written; whether the last change
	// was stored is not known until the session is opened again.
	ErrUnavailable = errors.New("store cannot be reached or written")
)

// A DamageError names what of a session cannot be trusted.
type DamageError struct {
	// Session is the id.
	Session string
	// Index is the first message that is damaged: those before it are whole.
	// It is -1 when the damage is not in a message.
	Index int
	// What says what is wrong.
	What string
}

// Error says where and what, and what can be done.
func (e *DamageError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("session %s: %s: %s", e.Session, ErrDamaged, e.What)
	}
	return fmt.Sprintf("session %s: %s at message %d: %s; \"forge sessions export\" still writes the %d messages before it",
		e.Session, ErrDamaged, e.Index, e.What, e.Index)
}

// Unwrap returns ErrDamaged.
func (e *DamageError) Unwrap() error { return ErrDamaged }

// A Header is what is known about a session without reading it.
type Header struct {
	// ID is unique in a store.
	ID string
	// Version counts the changes to the session from 1.
	Version int64
	// Messages is how many it has, Hash is transcript.RangeHash over all.
	Messages int
	Hash     message.Hash
	// Checkpoints is the length of its chain.
	Checkpoints int
	// Info is the rest.
	Info Info
}

// Info describes a session.
type Info struct {
	// CreatedAt and UpdatedAt are by the clock of whoever wrote; UpdatedAt
	// never goes back.
	CreatedAt time.Time `json:"createdAt,omitzero"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	// Title is the first words of the first request.
	Title string `json:"title,omitempty"`
	// Workspace is the folder it works in, Directory where it was started.
	Workspace string `json:"workspace,omitempty"`
	Directory string `json:"directory,omitempty"`
	// Parent is the session that it was forked from after ForkedAt messages;
	// empty for none.
	Parent   string `json:"parent,omitempty"`
	ForkedAt int    `json:"forkedAt,omitempty"`
	// Source is what it was imported from, nil for a session of Forge.
	Source *Source `json:"source,omitempty"`
	// Provider and Model are those of the last request; WindowTokens is the
	// window that a source stated, zero for none.
	Provider     string `json:"provider,omitempty"`
	Model        string `json:"model,omitempty"`
	WindowTokens int    `json:"windowTokens,omitempty"`
	// Endpoint is where the user had the provider's form spoken to, empty for
	// the provider's own. Nothing is sent there because a session says so.
	Endpoint string `json:"endpoint,omitempty"`
	// Complete: instructions, tools and messages are all that the provider
	// saw. UsageSynthetic says why reported usage is not a provider's.
	Complete       bool   `json:"complete,omitempty"`
	UsageSynthetic string `json:"usageSynthetic,omitempty"`
	// ShownBytes is how much text of a tool's result a model sees first, and
	// so how much of it a transcript of the session holds; the store keeps
	// whole results. It is settled when the session is made. Zero holds
	// results whole.
	ShownBytes int `json:"shownBytes,omitempty"`
	// LastRun is how the newest turn ended; empty while none has.
	LastRun Status `json:"lastRun,omitempty"`
}

// Source says where an imported session comes from.
type Source struct {
	// Format and Version are those of the file, ID the other agent's own.
	Format  string `json:"format"`
	Version string `json:"version,omitempty"`
	ID      string `json:"id,omitempty"`
	// File is the base name.
	File string `json:"file,omitempty"`
}

// An Entry is a stored message.
type Entry struct {
	// Index is its place in the transcript.
	Index int
	// Status is what became of it.
	Status Status
	// Message is the message itself.
	Message message.Message
	// Hash is the message's, Prefix is RangeHash(0, Index+1).
	Hash, Prefix message.Hash
}
