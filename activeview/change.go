// Package activeview derives what a model will see from a transcript: an
// ordered list of items, each with its tokens, the decision taken about it
// and the reason.
//
// The view is derived and can be thrown away; the transcript is the record.
package activeview

import (
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// ChangeKind says what a Change does to a view.
type ChangeKind string

// The kinds of change.
const (
	// ChangeCompaction replaces what stood in the view.
	ChangeCompaction ChangeKind = "compaction"
	// ChangeProjection puts a stand-in in place of tool results.
	ChangeProjection ChangeKind = "projection"
)

// A Change is something that another agent did to its own view of the
// conversation, as its session file records it. The transcript is not
// touched by it.
type Change struct {
	// At is the number of transcript messages that came before the change.
	At int
	// Kind says which of the fields below count.
	Kind ChangeKind

	// Replacement stands at the front of the view after a compaction: the
	// summary, and messages that the agent retained in an edited form. These
	// messages are not part of the transcript.
	Replacement []message.Message
	// KeepFrom is the first transcript message that stays in the view after
	// a compaction: [KeepFrom, At) follow Replacement. Equal to At when
	// none stays.
	KeepFrom int
	// Opaque is true when the replacement is encrypted by its provider.
	Opaque bool

	// Results names the tool results that a projection replaces.
	Results []transcript.Ref
	// StandIn is what the model sees in place of each of them.
	StandIn string
}
