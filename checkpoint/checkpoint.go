// Package checkpoint is the derived memory of a range of a transcript, with
// its provenance: what it stands for, by index, message id and hash, who made
// it and how, and what it says.
//
// A checkpoint is never the record. It can be thrown away and made again from
// the transcript, and Verify says what about it no longer holds. Package
// compaction makes checkpoints; this package does no input or output and
// calls no model.
package checkpoint

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"github.com/forge-agent/forge/message"
)

// SchemaVersion is the version of the JSON form (F-CKP-02).
const SchemaVersion = 1

// Strategy is the seed's name of what the payload is (resolution C22).
type Strategy string

// The strategies.
const (
	// ForgeSummary: a text that anybody can read.
	ForgeSummary Strategy = "forge-summary"
	// ProviderNative: an opaque item that only its provider can read.
	ProviderNative Strategy = "provider-native"
)

// Method says how the payload was made.
type Method string

// The methods.
const (
	MethodExtractive  Method = "extractive"
	MethodModel       Method = "model"
	MethodNative      Method = "native"
	MethodFreshWindow Method = "fresh-window"
)

// SafetyLabels are the three fixed labels that every checkpoint carries
// (F-CKP-02, F-SUM-05).
type SafetyLabels [3]string

// Labels returns the only valid value of SafetyLabels.
func Labels() SafetyLabels {
	return SafetyLabels{"untrusted-conversation-memory", "no-approval-state", "no-policy-authority"}
}

// A Checkpoint stands for the messages [0, SummarizedThroughMessageIndex) of a
// transcript. It is treated as immutable once New has given it its id.
//
// The zero Checkpoint is invalid.
type Checkpoint struct {
	SchemaVersion int `json:"schemaVersion"`
	// ID is derived from everything else but the time: see ContentID.
	ID string `json:"id"`
	// Parent is the id of the checkpoint before this one in its chain, empty
	// for the first. Nothing of the parent's text is in this one unless
	// CarriedFrom says so.
	Parent string `json:"parent,omitempty"`
	// Generation counts checkpoints of the chain from 1.
	Generation int      `json:"generation"`
	Strategy   Strategy `json:"strategy"`
	Method     Method   `json:"method"`

	// SummarizedThroughMessageIndex is the number of messages summarized: the
	// range is [0, this).
	SummarizedThroughMessageIndex int `json:"summarizedThroughMessageIndex"`
	// RetainedTailStartIndex is the first message of the verbatim tail. It
	// equals SummarizedThroughMessageIndex: no message is in neither.
	RetainedTailStartIndex int `json:"retainedTailStartIndex"`
	// SourceMessageCount is how many messages the transcript had then.
	SourceMessageCount int `json:"sourceMessageCount"`
	// SourceHash is transcript.RangeHash of the range, RetainedTailHash that
	// of [RetainedTailStartIndex, SourceMessageCount). Both are as of the
	// creation, so that later turns do not invalidate them (resolution C6).
	SourceHash       message.Hash `json:"sourceHash"`
	RetainedTailHash message.Hash `json:"retainedTailHash"`
	// Anchors are the ids of the messages at the borders.
	Anchors Anchors `json:"anchors"`

	// Provider and ModelID are who made the payload; empty for the
	// extractive and fresh-window methods, required for an opaque item.
	Provider string `json:"provider,omitempty"`
	ModelID  string `json:"compactionModelId"`
	// Prompt is what a model was asked, nil where none wrote the payload.
	Prompt *Prompt `json:"prompt,omitempty"`
	// EstimatedCheckpointTokens is the weight of the payload, TokensBefore of
	// the summarized range, TokensAfter of what stands in its place.
	EstimatedCheckpointTokens int `json:"estimatedCheckpointTokens"`
	TokensBefore              int `json:"tokensBefore"`
	TokensAfter               int `json:"tokensAfter"`
	// Grounding is the result of the grounding check, nil when none was made.
	Grounding *Grounding `json:"grounding,omitempty"`
	// CarriedFrom is the id of the checkpoint whose text was carried over when
	// no new one could be made (resolution C7); empty otherwise.
	CarriedFrom string `json:"carriedFrom,omitempty"`
	// PairedWith is the id of the readable checkpoint of the same range that
	// goes with an opaque item; empty for every other.
	PairedWith string `json:"pairedWith,omitempty"`

	// Pins are the user's statements that the text keeps verbatim.
	Pins []Pin `json:"pins,omitempty"`
	// Ledgers are the facts that the text keeps by parsing tool calls, by
	// name of the ledger.
	Ledgers map[string][]Entry `json:"ledgers,omitempty"`
	// Summary is the readable payload. Exactly one of Summary and
	// OpaqueProviderItem is set (F-CKP-03).
	Summary            string          `json:"summary,omitempty"`
	OpaqueProviderItem json.RawMessage `json:"opaqueProviderItem,omitempty"`

	// CreatedAt is when it was made. It is not part of the id.
	CreatedAt    time.Time    `json:"createdAt"`
	SafetyLabels SafetyLabels `json:"safetyLabels"`
}

// Anchors are message ids: they find a range again where indexes moved.
type Anchors struct {
	// First and Last are the ids of the first and last summarized message.
	First string `json:"firstMessageId"`
	Last  string `json:"lastMessageId"`
	// TailStart is the id of the first retained message, empty when the tail
	// was empty.
	TailStart string `json:"tailStartMessageId,omitempty"`
}

// A Prompt is what a model was asked for a checkpoint.
type Prompt struct {
	// Hash is the SHA-256 of the prompt text.
	Hash message.Hash `json:"hash"`
	// WindowTokens and OutputTokens are the summarizer's window and the cap
	// on its answer; Chunks is in how many pieces the range was read.
	WindowTokens int `json:"windowTokens"`
	OutputTokens int `json:"outputTokens"`
	Chunks       int `json:"chunks"`
}

// Grounding is what the grounding check found.
type Grounding struct {
	// CheckedLines, StruckLines: lines of the answer, and how many of them
	// claimed something that the source does not hold and were struck.
	CheckedLines int `json:"checkedLines"`
	StruckLines  int `json:"struckLines"`
	// Reasons counts the struck lines by what was not found: "path",
	// "number", "identifier", "quote", "authority".
	Reasons map[string]int `json:"reasons,omitempty"`
}

// A Pin is a statement of the user, kept verbatim.
type Pin struct {
	// Text is the statement as it stands in the message, white space folded.
	Text string `json:"text"`
	// MessageID is the message that holds it.
	MessageID string `json:"messageId"`
	// Kind says what it is, for example "prohibition" or "preference".
	Kind string `json:"kind,omitempty"`
	// SupersededBy is the id of the message with a newer statement on the
	// same subject; empty while it is live.
	SupersededBy string `json:"supersededBy,omitempty"`
	// Source is "user" or, for a system message inside an imported
	// transcript, "system".
	Source string `json:"source"`
}

// An Entry is one line of a ledger.
type Entry struct {
	// Text is the entry as it stands in the summary, without the reference.
	Text string `json:"text"`
	// MessageID is the message that it was read from.
	MessageID string `json:"messageId"`
}

// FoldSpace returns s with each run of white space and control characters as
// one space, none at the ends, and bytes that are no UTF-8 replaced: the form
// in which a quoted line is shown and compared with its source.
func FoldSpace(s string) string {
	parts := strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	})
	return strings.Join(parts, " ")
}
