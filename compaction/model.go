package compaction

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/forge-agent/forge/checkpoint"
)

// Model lets a model write the checkpoint. The user's statements and the runs
// stand above what it wrote, taken by the extractive strategy, and each of its
// lines is checked against the source. When it fails, the fallbacks of
// resolution C7 follow: once more, in chunks, the extractive strategy, the
// checkpoint in force. A manual compaction fails at once (P-MAN-01).
type Model struct {
	// Summarizer writes. Required.
	Summarizer Summarizer
	// Fallback is used when the model gives nothing usable; nil means
	// Extractive.
	Fallback Strategy
	// OnAttempt, when set, hears of every way that was tried, for events and
	// notices.
	OnAttempt func(Attempt)
}

// Way is one of the ways to a checkpoint that Model tries.
type Way string

// The ways, in their order.
const (
	WayModel    Way = "model"
	WayRetry    Way = "retry"
	WayChunked  Way = "chunked"
	WayFallback Way = "fallback"
	WayCarried  Way = "carried"
)

// Attempt tells how one way went.
type Attempt struct {
	Way Way
	// Err is nil when the way led to a checkpoint.
	Err error
}

// ExhaustedError: no way led to a checkpoint. What was in force still is.
type ExhaustedError struct{ Attempts []Attempt }

// Error names every way and its failure.
func (e *ExhaustedError) Error() string {
	var b strings.Builder
	b.WriteString("compact with a model: every way failed")
	for _, a := range e.Attempts {
		fmt.Fprintf(&b, "; %s: %v", a.Way, a.Err)
	}
	return b.String()
}

// Unwrap returns the failures.
func (e *ExhaustedError) Unwrap() []error {
	errs := make([]error, len(e.Attempts))
	for i, a := range e.Attempts {
		errs[i] = a.Err
	}
	return errs
}

const (
	// minChunkTokens is the least that a summarizer must be able to read at
	// once.
	minChunkTokens = 512
	// maxMergeRounds bounds how often summaries of chunks are summarized.
	maxMergeRounds = 6
	// parsedShare is the percentage of the target for what is not the
	// model's: the user's statements and the runs.
	parsedShare = 55
)

// Compact makes a checkpoint with the model, or by the fallbacks.
func (m Model) Compact(ctx context.Context, in Input) (*checkpoint.Checkpoint, error) {
	in, err := in.resolve()
	if err != nil {
		return nil, err
	}
	if m.Summarizer == nil {
		return nil, fmt.Errorf("compact with a model: %w: there is no summarizer", ErrInvalid)
	}
	w, err := newWriting(ctx, in, m.Summarizer)
	if err != nil {
		return nil, err
	}
	ways := []struct {
		way Way
		try func() (*checkpoint.Checkpoint, error)
	}{
		{WayModel, func() (*checkpoint.Checkpoint, error) { return w.write(ctx, w.readTokens) }},
		{WayRetry, func() (*checkpoint.Checkpoint, error) { return w.write(ctx, w.readTokens) }},
		{WayChunked, func() (*checkpoint.Checkpoint, error) { return w.write(ctx, w.readTokens/3) }},
		{WayFallback, func() (*checkpoint.Checkpoint, error) { return m.fallback().Compact(ctx, in) }},
		{WayCarried, func() (*checkpoint.Checkpoint, error) { return carry(in) }},
	}
	if in.Manual {
		ways = ways[:1]
	}
	failed := &ExhaustedError{}
	for _, way := range ways {
		made, err := way.try()
		if m.OnAttempt != nil {
			m.OnAttempt(Attempt{way.way, err})
		}
		if err == nil {
			return made, nil
		}
		failed.Attempts = append(failed.Attempts, Attempt{way.way, err})
		if ctx.Err() != nil || errors.Is(err, ErrNoGain) {
			break // cancelled, or nothing to win: another way changes neither
		}
	}
	return nil, failed
}

func (m Model) fallback() Strategy {
	if m.Fallback == nil {
		return Extractive{}
	}
	return m.Fallback
}

// carry keeps the text of the checkpoint in force, for its own range: the
// messages since then stay verbatim, so the tail is never empty (fault B25).
func carry(in Input) (*checkpoint.Checkpoint, error) {
	prev := in.Previous
	switch {
	case prev == nil:
		return nil, errors.New("carry checkpoint: there is none in force")
	case prev.Strategy != checkpoint.ForgeSummary:
		return nil, fmt.Errorf("carry checkpoint %s: only its provider can read it", prev.ID)
	case prev.SummarizedThroughMessageIndex >= in.Transcript.Len():
		return nil, fmt.Errorf("carry checkpoint %s: no message would stay verbatim", prev.ID)
	}
	if err := prev.Validate(in.Transcript); err != nil {
		return nil, fmt.Errorf("carry checkpoint: %w", err)
	}
	in.Through, in.RangeTokens = prev.SummarizedThroughMessageIndex, prev.TokensBefore
	c := in.record(prev.Method)
	c.CarriedFrom = prev.ID
	c.Provider, c.ModelID, c.Prompt, c.Grounding = prev.Provider, prev.ModelID, prev.Prompt, prev.Grounding
	c.Pins, c.Ledgers, c.Summary = prev.Pins, prev.Ledgers, prev.Summary
	c.EstimatedCheckpointTokens, c.TokensAfter = prev.EstimatedCheckpointTokens, prev.TokensAfter
	return checkpoint.New(c, in.Now)
}

// writing is one compaction by a model.
type writing struct {
	in         Input
	summarizer Summarizer
	info       SummarizerInfo
	parsed     *Plan // what is not the model's
	source     *source
	entries    []string
	prompt     string
	output     int // tokens left for the model's lines
	readTokens int // of source that fit into one request
}

func newWriting(ctx context.Context, in Input, s Summarizer) (*writing, error) {
	in.Index.Extend(in.Transcript)
	parsed := in
	parsed.TargetTokens, parsed.Reduction = in.TargetTokens*parsedShare/100, 0
	w := &writing{in: in, summarizer: s, info: s.Describe()}
	var err error
	if w.parsed, err = statementsAndRuns(ctx, parsed); err != nil {
		return nil, err
	}
	w.output = in.TargetTokens - w.parsed.CheckpointTokens
	w.prompt = fmt.Sprintf(summaryPrompt, w.output)
	// A tenth of the window stays free: the summarizer's own count may differ.
	w.readTokens = w.info.WindowTokens*9/10 - w.output - in.Counter.Text(w.prompt) - 64
	w.source = newSource(in.Transcript, in.Through)
	w.entries = serialize(in.Transcript, in.Through)
	return w, nil
}

// statementsAndRuns plans the part of a checkpoint that a model does not write.
func statementsAndRuns(ctx context.Context, in Input) (*Plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("plan compaction: %w", err)
	}
	s := newSelection(in)
	for name := range s.ledgers {
		if name != LedgerRuns && name != LedgerErrors {
			delete(s.ledgers, name)
		}
	}
	s.chooseLedgers()
	s.choosePins(100)
	return s.plan()
}

// write lets the model summarize, reading at most readTokens at once.
func (w *writing) write(ctx context.Context, readTokens int) (*checkpoint.Checkpoint, error) {
	if readTokens < minChunkTokens {
		return nil, fmt.Errorf("compact with a model: %w: a window of %d tokens leaves %d to read, at least %d are needed",
			ErrInvalid, w.info.WindowTokens, readTokens, minChunkTokens)
	}
	chunks := chunk(w.entries, readTokens, w.in.Counter.Text)
	first := len(chunks)
	for round := 0; len(chunks) > 1; round++ {
		if round == maxMergeRounds {
			return nil, fmt.Errorf("compact with a model: %w: the summaries of %d pieces did not get shorter", ErrBadSummary, len(chunks))
		}
		// A partial summary may take a third of what one request reads, so
		// that each round leaves at most half as many pieces.
		limit := min(max(w.output, 256), readTokens/3)
		var partial []string
		for _, c := range chunks {
			lines, err := w.ask(ctx, c, limit)
			if err != nil {
				return nil, err
			}
			partial = append(partial, renderSummary(lines))
		}
		chunks = chunk(partial, readTokens, w.in.Counter.Text)
	}
	lines, err := w.ask(ctx, chunks[0], w.output)
	if err != nil {
		return nil, err
	}
	return w.finish(lines, first)
}

// ask makes one request and validates the answer.
func (w *writing) ask(ctx context.Context, source string, limit int) ([]summaryLine, error) {
	answer, err := w.summarizer.Summarize(ctx, SummaryRequest{
		Instructions: fmt.Sprintf(summaryPrompt, limit),
		Source:       "<<<\n" + source + "\n>>>",
		OutputTokens: limit + limit/4 + 32,
	})
	if err != nil {
		return nil, err
	}
	return checkSummary(answer, w.in.Counter.Text(answer), limit+limit/4)
}

// finish grounds the lines and makes the record.
func (w *writing) finish(lines []summaryLine, chunks int) (*checkpoint.Checkpoint, error) {
	kept, grounding := w.source.ground(lines)
	if len(kept) == 0 {
		return nil, fmt.Errorf("compact with a model: %w: nothing in it stands in the source", ErrBadSummary)
	}
	text := ""
	tokens := 0
	for ; len(kept) > 0; kept = kept[:len(kept)-1] {
		text = w.parsed.Text + headingModel + renderSummary(kept)
		if tokens = w.in.Counter.Text(text); tokens <= w.in.TargetTokens {
			break
		}
	}
	switch {
	case len(kept) == 0:
		return nil, fmt.Errorf("compact with a model: %w: no line of it fits the %d tokens that are left", ErrBadSummary, w.output)
	case tokens >= w.in.RangeTokens:
		return nil, noGain(tokens, w.in.RangeTokens)
	}
	c := w.in.record(checkpoint.MethodModel)
	c.Provider, c.ModelID = w.info.Provider, w.info.Model
	c.Prompt = &checkpoint.Prompt{Hash: sha256.Sum256([]byte(w.prompt)), WindowTokens: w.info.WindowTokens, OutputTokens: w.output, Chunks: chunks}
	c.Grounding = grounding
	c.Pins, c.Ledgers, c.Summary = w.parsed.Pins, w.parsed.Ledgers, text
	c.EstimatedCheckpointTokens, c.TokensAfter = tokens, tokens
	return checkpoint.New(c, w.in.Now)
}
