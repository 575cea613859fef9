package compaction

import (
	"context"
	"fmt"

	"github.com/forge-agent/forge/checkpoint"
)

// Extractive is the default strategy: no model call, no randomness, the same
// bytes every time (F-SUM-06). It parses first and ranks last: the user's
// statements are pinned verbatim, tool calls become ledgers, what is left of
// the target goes to the user's other words, and what is left then to the names
// that occur in the range. It renders from the transcript
// each time and never reads an earlier checkpoint, so that the fiftieth
// compaction remembers what the first did.
type Extractive struct{}

// A Plan is what the extractive strategy would keep. Making it changes
// nothing.
type Plan struct {
	// Through is the number of messages summarized.
	Through int
	// RangeTokens, TargetTokens, CheckpointTokens: the weight of the range,
	// the most the text may weigh, and what it weighs.
	RangeTokens, TargetTokens, CheckpointTokens int
	// PinsFound and PinsKept count the user's statements; PinsLeftOut is the
	// difference, never silent: the weakest preferences go first,
	// prohibitions last.
	PinsFound, PinsKept, PinsLeftOut int
	// UserFound and UserKept count the user's other sentences.
	UserFound, UserKept int
	// CoverPercent is how much of the best value that any choice of the
	// user's other words could have had is certainly reached, 100 when all
	// fit.
	CoverPercent int
	// Text is the checkpoint's text; Pins and Ledgers are what it shows.
	Text    string
	Pins    []checkpoint.Pin
	Ledgers map[string][]checkpoint.Entry
}

// Compact makes the checkpoint that Plan describes.
func (e Extractive) Compact(ctx context.Context, in Input) (*checkpoint.Checkpoint, error) {
	in, err := in.resolve()
	if err != nil {
		return nil, err
	}
	p, err := e.Plan(ctx, in)
	if err != nil {
		return nil, err
	}
	c := in.record(checkpoint.MethodExtractive)
	c.Pins, c.Ledgers, c.Summary = p.Pins, p.Ledgers, p.Text
	c.EstimatedCheckpointTokens, c.TokensAfter = p.CheckpointTokens, p.CheckpointTokens
	return checkpoint.New(c, in.Now)
}

// Plan returns what Compact would keep. It returns ErrNoGain when the range
// weighs no more than its checkpoint would.
func (e Extractive) Plan(ctx context.Context, in Input) (*Plan, error) {
	in, err := in.resolve()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("plan compaction: %w", err)
	}
	in.Index.Extend(in.Transcript)
	s := newSelection(in)
	s.choosePins(pinShare)
	s.chooseLedgers()
	s.choosePins(100)
	s.chooseCover()
	s.fillUser()
	s.fillRest()
	return s.plan()
}
