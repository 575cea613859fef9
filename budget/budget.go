// Package budget is the arithmetic of the context window: how many tokens a
// request may weigh, what it does weigh by category, and whether it fits.
//
// It works on plain numbers. Counting is tokencount's, deciding what to do
// about a verdict is contextwindow's.
package budget

import (
	"errors"
	"fmt"
)

// Defaults of the settings (requirement F-CFG-01).
const (
	DefaultReservedOutputTokens = 4096
	DefaultBufferTokens         = 8192
)

// MinWindowTokens is the smallest window that New accepts. Below it the
// reserve leaves no room for instructions and a request.
const MinWindowTokens = 1024

// ErrInvalid is wrapped by every error of this package.
var ErrInvalid = errors.New("invalid budget")

// Settings are the two reserves that a user can set. The zero value stands
// for the defaults.
type Settings struct {
	// ReservedOutputTokens is how much the model may write. Zero means
	// DefaultReservedOutputTokens; negative is an error.
	ReservedOutputTokens int
	// BufferTokens is kept free for estimation error. It is never added on
	// top of the output: the larger of the two counts (F-BUD-03). Zero means
	// DefaultBufferTokens; negative is an error.
	BufferTokens int
}

// A Budget says how many input tokens a request may have.
type Budget struct {
	// WindowTokens is everything the model accepts, input and output.
	WindowTokens int
	// ReserveTokens is kept free: for the answer, or for estimation error if
	// that is more. At most half the window, unless WithMaxInput says
	// otherwise.
	ReserveTokens int
	// AvailableTokens is WindowTokens − ReserveTokens: the most that a
	// request may weigh.
	AvailableTokens int
	// OutputTokens is the cap that must go to the provider with the request,
	// so that the answer cannot outgrow the reserve.
	OutputTokens int
	// BufferTokens is the part of the reserve that was asked for against
	// estimation error.
	BufferTokens int
}

// New computes the budget of a window.
//
// windowTokens is the model's window, at least MinWindowTokens.
// maxOutputTokens is the model's own output limit, zero when unknown.
//
// The reserve is max(reserved output, buffer, floor), at most half the
// window, where floor = max(min(16384, w/2), min(max output, w/4), 5 % of w)
// (resolution C3). The floor holds in every mode, so that a large window is
// never filled to the last token and a small one keeps half for input.
func New(windowTokens, maxOutputTokens int, s Settings) (Budget, error) {
	if windowTokens < MinWindowTokens {
		return Budget{}, fmt.Errorf("%w: a window of %d tokens is too small, use at least %d", ErrInvalid, windowTokens, MinWindowTokens)
	}
	if maxOutputTokens < 0 {
		return Budget{}, fmt.Errorf("%w: the model's output limit is %d tokens, use 0 for unknown", ErrInvalid, maxOutputTokens)
	}
	s, err := s.withDefaults()
	if err != nil {
		return Budget{}, err
	}
	w := windowTokens
	floor := max(min(16384, w/2), min(maxOutputTokens, w/4), w/20)
	reserve := min(max(s.ReservedOutputTokens, s.BufferTokens, floor), w/2)
	output := min(s.ReservedOutputTokens, reserve)
	if maxOutputTokens > 0 {
		output = min(output, maxOutputTokens)
	}
	return Budget{WindowTokens: w, ReserveTokens: reserve, AvailableTokens: w - reserve, OutputTokens: output, BufferTokens: min(s.BufferTokens, reserve)}, nil
}

// WithMaxInput returns the budget of a provider that accepts at most
// maxInputTokens in one request, whatever the window (OpenAI: window less
// output limit). What this takes from AvailableTokens goes to ReserveTokens,
// which may then be more than half the window: the provider's bound is no
// choice of ours. Zero or less means that the provider states none.
func (b Budget) WithMaxInput(maxInputTokens int) Budget {
	if maxInputTokens > 0 && maxInputTokens < b.AvailableTokens {
		b.AvailableTokens = maxInputTokens
		b.ReserveTokens = b.WindowTokens - maxInputTokens
	}
	return b
}

func (s Settings) withDefaults() (Settings, error) {
	if s.ReservedOutputTokens < 0 {
		return s, fmt.Errorf("%w: reservedOutputTokens is %d, use 0 for the default of %d", ErrInvalid, s.ReservedOutputTokens, DefaultReservedOutputTokens)
	}
	if s.BufferTokens < 0 {
		return s, fmt.Errorf("%w: bufferTokens is %d, use 0 for the default of %d", ErrInvalid, s.BufferTokens, DefaultBufferTokens)
	}
	if s.ReservedOutputTokens == 0 {
		s.ReservedOutputTokens = DefaultReservedOutputTokens
	}
	if s.BufferTokens == 0 {
		s.BufferTokens = DefaultBufferTokens
	}
	return s, nil
}

// RemainingTokens is what is left for older conversation once the mandatory
// part is in: available − mandatory (F-BUD-02). Negative means that the
// mandatory part alone does not fit.
func (b Budget) RemainingTokens(mandatoryTokens int) int {
	return b.AvailableTokens - mandatoryTokens
}

// Verdict says whether a request fits.
type Verdict string

const (
	// Fits: the request weighs at most AvailableTokens. The exact boundary
	// fits.
	Fits Verdict = "fits"
	// Overflow: the request is over budget, but its mandatory part is not;
	// something can be left out.
	Overflow Verdict = "overflow"
	// MandatoryOverflow: instructions, current request, tools and required
	// continuation alone are over budget. Such a request is never sent.
	MandatoryOverflow Verdict = "mandatory-overflow"
)

// Check judges a request by its whole weight and the weight of its mandatory
// part, which is contained in the whole.
func (b Budget) Check(totalTokens, mandatoryTokens int) Verdict {
	switch {
	case mandatoryTokens > b.AvailableTokens:
		return MandatoryOverflow
	case totalTokens > b.AvailableTokens:
		return Overflow
	}
	return Fits
}
