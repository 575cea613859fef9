// Package gate decides from journeys through the real program whether the
// mode compact may be the default (F-EVL, F-PHA-E).
//
// A journey is one fixture played in one mode; whoever plays it hands the
// results in. What nobody measured is not passed, and while any gate is open
// or failed the default stays warn.
package gate

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/verdict"
)

// A Journey is a fixture played in a mode (F-EVL-01).
type Journey struct {
	// Fixture is the requirement that it stands for, "F-E2E-01" to
	// "F-E2E-09". FixtureHash stands for its content: the modes can be
	// compared only where it is the same (F-EVL-09).
	Fixture     string `json:"fixture"`
	FixtureHash string `json:"fixtureHash"`
	// Mode is the mode it was played in.
	Mode contextwindow.Mode `json:"mode"`
	// WindowTokens is the window that the user set. Long marks a session that
	// outgrows it when nothing is done.
	WindowTokens int  `json:"windowTokens"`
	Long         bool `json:"long"`
	// Passed says that the fixture's own checks held.
	Passed bool `json:"passed"`
	// Runs counts starts of the program, Requests what the server got.
	Runs     int `json:"runs"`
	Requests int `json:"requests"`
	// ProviderInputTokens, the part of them that its cache held, and
	// ProviderOutputTokens are the scripted server's count with its own
	// tokenizer, never Forge's estimate. PeakInputTokens is its heaviest
	// request.
	ProviderInputTokens  int `json:"providerInputTokens"`
	ProviderCachedTokens int `json:"providerCachedTokens"`
	ProviderOutputTokens int `json:"providerOutputTokens"`
	PeakInputTokens      int `json:"peakInputTokens"`
	// EstimateTokens is what Forge estimated, ComparedTokens what the server
	// counted of the same, EstimateErrorTokens the sum of the differences by
	// request, each without its sign.
	EstimateTokens      int `json:"estimateTokens"`
	ComparedTokens      int `json:"comparedTokens"`
	EstimateErrorTokens int `json:"estimateErrorTokens"`
	// OverBudget counts requests that the server received above the budget
	// declared for them.
	// OverBudgetTokens is by how much the worst of them was above it.
	OverBudget       int `json:"overBudget"`
	OverBudgetTokens int `json:"overBudgetTokens"`
	// SummaryTokens, SummaryMillis and SummaryFailures are those of summaries.
	SummaryTokens   int `json:"summaryTokens"`
	SummaryMillis   int `json:"summaryMillis"`
	SummaryFailures int `json:"summaryFailures"`
	// Compactions and SummarizedMessages count checkpoints and what they
	// stand for, VerbatimTurns the turns that stayed.
	Compactions        int `json:"compactions"`
	SummarizedMessages int `json:"summarizedMessages"`
	VerbatimTurns      int `json:"verbatimTurns"`
	// LimitStops counts stops because nothing fitted, ContextErrors the
	// server's refusals as too long, Recoveries those that were recovered
	// from, NoProgressStops stops without progress.
	LimitStops      int `json:"limitStops"`
	ContextErrors   int `json:"contextErrors"`
	Recoveries      int `json:"recoveries"`
	NoProgressStops int `json:"noProgressStops"`
	// Duplicates counts effects that happened twice.
	Duplicates int `json:"duplicates"`
	// SchemaTokens is what tools and schemas weigh in a request,
	// ReclaimedTokens what was freed.
	SchemaTokens    int `json:"schemaTokens"`
	ReclaimedTokens int `json:"reclaimedTokens"`
	// ProviderSchemaTokens is the server's count of the tools, where a fixture
	// asks for it.
	ProviderSchemaTokens int `json:"providerSchemaTokens,omitempty"`
	// SeedsKept of Seeds planted constraints were recalled at the end.
	SeedsKept int `json:"seedsKept"`
	Seeds     int `json:"seeds"`
	// Problems says why it did not pass, empty when it did; SafetyFailures
	// and Corruptions are reasons too.
	Problems []string `json:"problems"`
	// SafetyFailures names the safety invariants that did not hold,
	// Corruptions what was damaged by failure, cancellation or resume.
	SafetyFailures []string `json:"safetyFailures"`
	Corruptions    []string `json:"corruptions"`
}

// Fixtures are the nine fixtures.
func Fixtures() []string {
	var out []string
	for i := range 9 {
		out = append(out, fmt.Sprintf("F-E2E-%02d", i+1))
	}
	return out
}

// Modes are the modes that are compared.
func Modes() []contextwindow.Mode {
	return []contextwindow.Mode{contextwindow.Off, contextwindow.Warn, contextwindow.Compact}
}

// A Live is the outcome of live trials.
type Live struct {
	// Commit is what was tried.
	Commit string `json:"commit"`
	// Trials and Passed count by mode.
	Trials map[contextwindow.Mode]int `json:"trials"`
	Passed map[contextwindow.Mode]int `json:"passed"`
}

// Evidence is everything that the gates look at.
type Evidence struct {
	// Commit is the commit that the journeys were made with.
	Commit string `json:"commit"`
	// Journeys are the results, nil for none.
	Journeys []Journey `json:"journeys"`
	// Missing says of fixtures that were not played why.
	Missing map[string]string `json:"missing,omitempty"`
	// Live is nil without a live report.
	Live *Live `json:"live,omitempty"`
}

// Read reads evidence as JSON.
func Read(r io.Reader) (Evidence, error) {
	var e Evidence
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return e, fmt.Errorf("read journeys: %w", err)
	}
	for i, j := range e.Journeys {
		if !slices.Contains(Fixtures(), j.Fixture) || !slices.Contains(Modes(), j.Mode) {
			return e, fmt.Errorf("read journeys: journey %d is %q in the mode %q: fixtures are F-E2E-01 to F-E2E-09, modes off, warn and compact", i+1, j.Fixture, j.Mode)
		}
	}
	return e, nil
}

// A Decision is the verdict of all gates and what follows.
type Decision struct {
	// Gates are F-EVL-02 to F-EVL-07, and F-EVL-09 before them.
	Gates []verdict.Verdict `json:"gates"`
	// Default is the mode that the evidence allows, Why says it in words.
	Default contextwindow.Mode `json:"default"`
	Why     string             `json:"why"`
}
