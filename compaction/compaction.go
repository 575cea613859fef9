// Package compaction makes checkpoints: bounded memories of the older part of
// a transcript. There are four strategies, one to a file: extractive (the
// default, no model call), model, native and fresh window; and a grounding
// check for what a model wrote.
//
// A strategy reads a transcript and returns a checkpoint. It decides nothing
// about when to compact, what stays verbatim or whether the result fits a
// budget (package contextwindow does), stores nothing, and reads no clock. The
// input is taken as redacted already.
package compaction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// DefaultSummaryTargetTokens is the weight of a checkpoint when nothing else is
// asked for (F-CFG-01).
const DefaultSummaryTargetTokens = 1200

// Errors that strategies return.
var (
	// ErrInvalid: the input is wrong in itself; the text says what to change.
	ErrInvalid = errors.New("invalid compaction input")
	// ErrNoGain: the checkpoint would weigh as much as what it stands for
	// (weak spot 5). Nothing should be replaced.
	ErrNoGain = errors.New("compaction gains nothing")
)

// A Strategy makes a checkpoint of the beginning of a transcript (resolution
// C12). The input stays as it is. An error means that nothing was made; what
// was active before stays active (F-CKP-08).
type Strategy interface {
	Compact(ctx context.Context, in Input) (*checkpoint.Checkpoint, error)
}

// Input is what a strategy works on.
type Input struct {
	// Transcript is the record. Required.
	Transcript *transcript.Transcript
	// Through is the number of messages to summarize: the range is
	// [0, Through), the rest is the verbatim tail. 1 ≤ Through ≤ Len.
	Through int
	// Counter weighs texts for the model that will read the checkpoint.
	// Required.
	Counter *tokencount.Counter
	// RangeTokens is the weight of the range as the caller counted it; zero
	// lets the strategy count it with Counter.
	RangeTokens int
	// TargetTokens is the most that the checkpoint may weigh; zero means
	// DefaultSummaryTargetTokens.
	TargetTokens int
	// Reduction is the share of RangeTokens to take away, 0.98 for example.
	// With both set, the smaller result counts. Zero means not set.
	Reduction float64
	// Request is the current request. It lifts what shares words with it by
	// 30 % at most. Empty for none.
	Request string
	// Index is what was parsed so far; it is extended. Nil parses from the
	// start.
	Index *Index
	// Parent and Generation place the record in its chain, see
	// checkpoint.Chain.Next. Generation 0 means 1.
	Parent     string
	Generation int
	// Previous is the checkpoint in force, nil for none. The extractive
	// strategy does not read it: it renders from the transcript again.
	Previous *checkpoint.Checkpoint
	// Manual: a person asked for it, so that a strategy fails at once instead
	// of falling back (P-MAN-01).
	Manual bool
	// Now is the time to record.
	Now time.Time
}

// resolve checks the input and fills in what zero values stand for.
func (in Input) resolve() (Input, error) {
	bad := func(format string, args ...any) (Input, error) {
		return Input{}, fmt.Errorf("plan compaction: %w: %s", ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch {
	case in.Transcript == nil:
		return bad("there is no transcript")
	case in.Counter == nil:
		return bad("there is no counter to weigh the checkpoint with")
	case in.Through < 1 || in.Through > in.Transcript.Len():
		return bad("it covers %d messages of %d; give 1 to %d", in.Through, in.Transcript.Len(), in.Transcript.Len())
	case in.TargetTokens < 0 || in.RangeTokens < 0 || in.Generation < 0:
		return bad("negative tokens or generation")
	case in.Reduction < 0 || in.Reduction >= 1:
		return bad("reduction %v; give a share below 1, such as 0.98", in.Reduction)
	}
	if in.Index == nil {
		in.Index = &Index{}
	}
	if in.RangeTokens == 0 {
		for i, m := range in.Transcript.All() {
			if i == in.Through {
				break
			}
			in.RangeTokens += in.Counter.Message(m).Total()
		}
	}
	byReduction := in.RangeTokens - int(float64(in.RangeTokens)*in.Reduction+0.999999)
	switch {
	case in.Reduction > 0 && (in.TargetTokens == 0 || byReduction < in.TargetTokens):
		in.TargetTokens = byReduction
	case in.TargetTokens == 0:
		in.TargetTokens = DefaultSummaryTargetTokens
	}
	in.Generation = max(1, in.Generation)
	return in, nil
}

// record fills in the provenance that every strategy's checkpoint has.
func (in Input) record(method checkpoint.Method) checkpoint.Checkpoint {
	t, count := in.Transcript, in.Transcript.Len()
	return checkpoint.Checkpoint{
		Parent: in.Parent, Generation: in.Generation,
		Strategy: checkpoint.ForgeSummary, Method: method,
		SummarizedThroughMessageIndex: in.Through, RetainedTailStartIndex: in.Through, SourceMessageCount: count,
		SourceHash: t.RangeHash(0, in.Through), RetainedTailHash: t.RangeHash(in.Through, count),
		Anchors:      checkpoint.AnchorsOf(t, in.Through, count),
		TokensBefore: in.RangeTokens,
	}
}

func noGain(checkpointTokens, rangeTokens int) error {
	return fmt.Errorf("compact: %w: the checkpoint would weigh %d tokens, the %d it stands for are better kept",
		ErrNoGain, checkpointTokens, rangeTokens)
}
