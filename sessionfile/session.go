// Package sessionfile reads session files of other agents into a transcript:
// everything the file tells about messages, requests, usage and what the
// agent did to its own context.
//
// Reading never loses anything in silence. What cannot be kept is named as a
// Loss with its line. One format to a package stands below (claudecode,
// codex, …); package formats lists them all. The package writes nothing.
package sessionfile

import (
	"time"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// A Session is what a file told.
type Session struct {
	// Format is the name of the format, for example "claude-code".
	Format string
	// Version is the version of the agent or format that wrote the file,
	// empty when the file does not say.
	Version string
	// ID is the agent's own id of the session, empty when absent.
	ID string
	// Provider and Model are those of the last request; empty when unknown.
	Provider, Model string
	// WindowTokens is the context window that the file states, zero when it
	// states none.
	WindowTokens int
	// Instructions is system text that stands outside the messages. A system
	// message inside the conversation stays in the transcript.
	Instructions []message.Message
	// Tools are the advertised tools, if the file holds them.
	Tools []message.ToolDefinition
	// Complete is true when the file holds everything that the provider saw:
	// instructions, tools and messages. Otherwise only growth between
	// requests can be compared with usage.
	Complete bool
	// UsageSynthetic says why the usage in the file is not a provider's, for
	// example a scripted server; empty when it is believed. Synthetic usage
	// is never compared with an estimate.
	UsageSynthetic string
	// Transcript holds the messages. It is never nil.
	Transcript *transcript.Transcript
	// Requests are the model requests that the agent made, in order.
	Requests []Request
	// Marks are what the agent did to its context, in order.
	Marks []Mark
	// Losses are what could not be kept, in file order.
	Losses []Loss
}

// A Request is one model request that the agent made. It saw the view over
// transcript messages [0,At), and [At,End) is what came back.
type Request struct {
	// At is the number of transcript messages before the reply.
	At int
	// End is the number of messages after the reply; End > At unless the
	// reply left nothing in the file.
	End int
	// Model is the model that answered, empty when unknown.
	Model string
	// Usage is what the provider reported, nil when the file has none.
	Usage *message.Usage
	// LongCacheWriteTokens is the part of the usage's CacheWriteInputTokens
	// that was written with the long lifetime, which costs more; zero when
	// the file does not say.
	LongCacheWriteTokens int
	// Time is when the reply was recorded, zero when unknown.
	Time time.Time
	// Line is the line of the file where the reply begins, counted from 1;
	// zero when it stands in another file of the session.
	Line int
	// Compaction is true when the request asked for a summary of the context
	// and not for the next step. Its reply is in a Mark, not in the
	// transcript, and the wording of the request is not in the file: count
	// its cost, and do not compare its usage with an estimate.
	Compaction bool
	// Failed says why the request failed; empty for success. Such a request
	// has no reply.
	Failed string
}

// MarkKind says what an agent did.
type MarkKind string

// The kinds of mark.
const (
	// MarkCompaction: earlier messages were replaced by a summary.
	MarkCompaction MarkKind = "compaction"
	// MarkProjection: old tool results were cleared.
	MarkProjection MarkKind = "projection"
	// MarkOverflow: the provider refused a request as too long.
	MarkOverflow MarkKind = "overflow"
	// MarkInterrupted: a compaction or a run was started and not finished.
	MarkInterrupted MarkKind = "interrupted"
)

// A Mark is one event in the life of the agent's context.
type Mark struct {
	// At is the number of transcript messages before the mark.
	At int
	// Kind says what happened.
	Kind MarkKind
	// Line is the line of the file, counted from 1; zero when it stands in
	// another file of the session.
	Line int
	// Trigger is the agent's own word for the cause ("auto", "manual"),
	// empty when the file does not say.
	Trigger string
	// TokensBefore and TokensAfter are what the agent recorded, zero when it
	// did not.
	TokensBefore, TokensAfter int
	// Detail is a short text for people: an error message, a note.
	Detail string
	// Change is the effect on the agent's view, nil when there was none.
	Change *activeview.Change
}

// A Loss is something in the file that the Session does not hold, or holds
// in a changed form.
type Loss struct {
	// Line is where it stood, counted from 1; zero when it concerns the whole
	// file.
	Line int `json:"line"`
	// What says what was lost or changed, in one line.
	What string `json:"what"`
}
