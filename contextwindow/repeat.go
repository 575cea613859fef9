package contextwindow

import (
	"fmt"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// A Repeat is a tool result with the content of an earlier one that the window
// showed when it came. A pointer stands for it from its first request on, so
// that no cache is broken (F-RUN-01, F-RUN-05).
type Repeat struct {
	// Result is where it stands in the transcript, SameAs the earlier one.
	Result transcript.Ref `json:"result"`
	SameAs transcript.Ref `json:"sameAs"`
}

// A repeater puts a pointer in place of a result that repeats an earlier one,
// and returns the observation as it is then.
type repeater func(t *transcript.Transcript, o projection.Observation) (projection.Observation, error)

// newRepeats looks for repeats among new results and keeps a record of them.
func (m *Manager) newRepeats(in Input, record *[]Repeat, f *Fit) repeater {
	return func(t *transcript.Transcript, o projection.Observation) (projection.Observation, error) {
		sameAs, ok := m.scheduler.Shown(o.Content)
		if !ok || o.Ref.Message < m.before || m.view.Hidden(sameAs.Message) || m.compactionIsNear(in, f) {
			return o, nil
		}
		text, worth, err := m.pointer(t, o, sameAs)
		if err != nil || !worth {
			return o, err
		}
		repeated, err := m.repeat(o, sameAs, text)
		if err != nil {
			return o, err
		}
		*record = append(*record, Repeat{Result: o.Ref, SameAs: sameAs})
		f.Projections = append(f.Projections, ProjectionReport{Result: o.Ref, TokensBefore: o.Tokens, TokensAfter: repeated.Tokens})
		return repeated, nil
	}
}

// compactionIsNear reports whether the window is nearly full, by the estimate,
// or a new one was asked for. What a pointer names may be inside a checkpoint
// then before the model is done with it.
func (m *Manager) compactionIsNear(in Input, f *Fit) bool {
	_, estimate := m.calibration(f.Model).Estimate(m.counter.Profile(), tokencount.Sample{
		Counted: m.view.Breakdown(), Generation: m.sampleGeneration(m.view.Generation()), Complete: in.Complete})
	return m.newContext || estimate.Tokens > m.budget.AvailableTokens*3/4
}

// recordedRepeats does again what is recorded, and nothing else.
func (m *Manager) recordedRepeats(record []Repeat) repeater {
	sameAs := make(map[transcript.Ref]transcript.Ref, len(record))
	for _, r := range record {
		sameAs[r.Result] = r.SameAs
	}
	return func(t *transcript.Transcript, o projection.Observation) (projection.Observation, error) {
		first, recorded := sameAs[o.Ref]
		if !recorded {
			return o, nil
		}
		text, _, err := m.pointer(t, o, first)
		if err != nil || text == "" {
			return o, err
		}
		return m.repeat(o, first, text)
	}
}

// pointer returns the text that stands for a repeat, and whether it is worth
// its place.
func (m *Manager) pointer(t *transcript.Transcript, o projection.Observation, sameAs transcript.Ref) (text string, worth bool, err error) {
	source, _, err := projection.SourceAt(t, o.Ref)
	if err != nil {
		return "", false, fmt.Errorf("point to an earlier tool result: %w", err)
	}
	text, ok := projection.Repeat(source, sameAs)
	if !ok {
		return "", false, nil
	}
	return text, o.Tokens-m.counter.Text(text) >= projection.MinRepeatSavedTokens, nil
}

func (m *Manager) repeat(o projection.Observation, sameAs transcript.Ref, text string) (projection.Observation, error) {
	if err := m.view.Project(o.Ref, text, activeview.ReasonRepeated); err != nil {
		return o, fmt.Errorf("point to an earlier tool result: %w", err)
	}
	return o.AsRepeat(sameAs, m.view.BlockTokens(o.Ref)), nil
}
