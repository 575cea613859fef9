package budget_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/budget"
)

func newBudget(t interface {
	Helper()
	Fatalf(string, ...any)
}, window, maxOutput int, s budget.Settings) budget.Budget {
	t.Helper()
	b, err := budget.New(window, maxOutput, s)
	if err != nil {
		t.Fatalf("New(%d, %d, %+v): %v", window, maxOutput, s, err)
	}
	return b
}

// F-BUD-01, F-BUD-04, F-TST-01, resolution C3: each number worked out by hand
// from reserve = max(output, buffer, min(16384, w/2), min(max output, w/4),
// 5 % of w), at most w/2.
func TestReserve(t *testing.T) {
	for _, test := range []struct {
		what              string
		window, maxOutput int
		settings          budget.Settings
		want              budget.Budget
	}{
		// B7 and the golden values of PI-Desktop.
		{"256k window, 32k output", 256_000, 32_000, budget.Settings{}, budget.Budget{WindowTokens: 256_000, ReserveTokens: 32_000, AvailableTokens: 224_000, OutputTokens: 4096}},
		{"32k window, 8k output (B7)", 32_000, 8_000, budget.Settings{}, budget.Budget{WindowTokens: 32_000, ReserveTokens: 16_000, AvailableTokens: 16_000, OutputTokens: 4096}},

		{"the smallest window", 1024, 0, budget.Settings{}, budget.Budget{WindowTokens: 1024, ReserveTokens: 512, AvailableTokens: 512, OutputTokens: 512}},
		{"an odd window keeps the larger half for input", 1025, 0, budget.Settings{}, budget.Budget{WindowTokens: 1025, ReserveTokens: 512, AvailableTokens: 513, OutputTokens: 512}},
		{"half the window below 32768", 32_766, 0, budget.Settings{}, budget.Budget{WindowTokens: 32_766, ReserveTokens: 16_383, AvailableTokens: 16_383, OutputTokens: 4096}},
		{"half the window and 16384 meet", 32_768, 0, budget.Settings{}, budget.Budget{WindowTokens: 32_768, ReserveTokens: 16_384, AvailableTokens: 16_384, OutputTokens: 4096}},
		{"16384 above it", 32_769, 0, budget.Settings{}, budget.Budget{WindowTokens: 32_769, ReserveTokens: 16_384, AvailableTokens: 16_385, OutputTokens: 4096}},
		{"5 % is still 16384", 327_699, 0, budget.Settings{}, budget.Budget{WindowTokens: 327_699, ReserveTokens: 16_384, AvailableTokens: 311_315, OutputTokens: 4096}},
		{"5 % takes over", 327_700, 0, budget.Settings{}, budget.Budget{WindowTokens: 327_700, ReserveTokens: 16_385, AvailableTokens: 311_315, OutputTokens: 4096}},
		{"a million", 1_000_000, 0, budget.Settings{}, budget.Budget{WindowTokens: 1_000_000, ReserveTokens: 50_000, AvailableTokens: 950_000, OutputTokens: 4096}},
		{"max output below the floor", 200_000, 16_384, budget.Settings{}, budget.Budget{WindowTokens: 200_000, ReserveTokens: 16_384, AvailableTokens: 183_616, OutputTokens: 4096}},
		{"max output one above it", 200_000, 16_385, budget.Settings{}, budget.Budget{WindowTokens: 200_000, ReserveTokens: 16_385, AvailableTokens: 183_615, OutputTokens: 4096}},
		{"max output of exactly a quarter", 200_000, 50_000, budget.Settings{}, budget.Budget{WindowTokens: 200_000, ReserveTokens: 50_000, AvailableTokens: 150_000, OutputTokens: 4096}},
		{"max output above a quarter counts as a quarter", 200_000, 64_000, budget.Settings{}, budget.Budget{WindowTokens: 200_000, ReserveTokens: 50_000, AvailableTokens: 150_000, OutputTokens: 4096}},
		{"max output as large as an int", 200_000, math.MaxInt, budget.Settings{}, budget.Budget{WindowTokens: 200_000, ReserveTokens: 50_000, AvailableTokens: 150_000, OutputTokens: 4096}},

		{"requested output above the floor", 200_000, 0, budget.Settings{ReservedOutputTokens: 20_000}, budget.Budget{WindowTokens: 200_000, ReserveTokens: 20_000, AvailableTokens: 180_000, OutputTokens: 20_000}},
		{"buffer above the floor", 200_000, 0, budget.Settings{BufferTokens: 20_000}, budget.Budget{WindowTokens: 200_000, ReserveTokens: 20_000, AvailableTokens: 180_000, OutputTokens: 4096}},
		{"both: the larger, not the sum (F-BUD-03)", 200_000, 0, budget.Settings{ReservedOutputTokens: 30_000, BufferTokens: 20_000}, budget.Budget{WindowTokens: 200_000, ReserveTokens: 30_000, AvailableTokens: 170_000, OutputTokens: 30_000}},
		{"small settings do not lower the floor", 200_000, 0, budget.Settings{ReservedOutputTokens: 1, BufferTokens: 1}, budget.Budget{WindowTokens: 200_000, ReserveTokens: 16_384, AvailableTokens: 183_616, OutputTokens: 1}},
		{"exactly half", 200_000, 0, budget.Settings{ReservedOutputTokens: 100_000}, budget.Budget{WindowTokens: 200_000, ReserveTokens: 100_000, AvailableTokens: 100_000, OutputTokens: 100_000}},
		{"never more than half", 200_000, 0, budget.Settings{ReservedOutputTokens: 100_001}, budget.Budget{WindowTokens: 200_000, ReserveTokens: 100_000, AvailableTokens: 100_000, OutputTokens: 100_000}},
		{"the output cap keeps to the model's limit", 200_000, 3000, budget.Settings{}, budget.Budget{WindowTokens: 200_000, ReserveTokens: 16_384, AvailableTokens: 183_616, OutputTokens: 3000}},
		{"settings as large as an int", 200_000, 0, budget.Settings{ReservedOutputTokens: math.MaxInt, BufferTokens: math.MaxInt}, budget.Budget{WindowTokens: 200_000, ReserveTokens: 100_000, AvailableTokens: 100_000, OutputTokens: 100_000}},
	} {
		got := newBudget(t, test.window, test.maxOutput, test.settings)
		test.want.BufferTokens = min(or(test.settings.BufferTokens, budget.DefaultBufferTokens), test.want.ReserveTokens)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", test.what, diff)
		}
	}
}

// or returns the setting, or the default when it is zero.
func or(setting, standard int) int {
	if setting == 0 {
		return standard
	}
	return setting
}

func TestImpossibleBudgetsAreRefused(t *testing.T) {
	for _, test := range []struct {
		window, maxOutput int
		settings          budget.Settings
		want              string
	}{
		{1023, 0, budget.Settings{}, "a window of 1023 tokens is too small, use at least 1024"},
		{0, 0, budget.Settings{}, "a window of 0 tokens"},
		{math.MinInt, 0, budget.Settings{}, "too small"},
		{200_000, -1, budget.Settings{}, "output limit is -1"},
		{200_000, 0, budget.Settings{ReservedOutputTokens: -1}, "reservedOutputTokens is -1"},
		{200_000, 0, budget.Settings{BufferTokens: -1}, "bufferTokens is -1"},
	} {
		b, err := budget.New(test.window, test.maxOutput, test.settings)
		if !errors.Is(err, budget.ErrInvalid) || !strings.Contains(err.Error(), test.want) || b != (budget.Budget{}) {
			t.Errorf("New(%d, %d, %+v) = %+v, %v", test.window, test.maxOutput, test.settings, b, err)
		}
	}
}

// F-CFG-01.
func TestZeroSettingsAreTheDefaults(t *testing.T) {
	zero := newBudget(t, 200_000, 0, budget.Settings{})
	stated := newBudget(t, 200_000, 0, budget.Settings{ReservedOutputTokens: 4096, BufferTokens: 8192})
	if zero != stated {
		t.Errorf("zero settings %+v, defaults %+v", zero, stated)
	}
}

func drawSettings(t *rapid.T) budget.Settings {
	return budget.Settings{
		ReservedOutputTokens: rapid.IntRange(0, 400_000).Draw(t, "output"),
		BufferTokens:         rapid.IntRange(0, 400_000).Draw(t, "buffer"),
	}
}

func drawWindow(t *rapid.T) int {
	return rapid.OneOf(rapid.IntRange(budget.MinWindowTokens, 40_000), rapid.IntRange(40_000, 3_000_000)).Draw(t, "window")
}

// F-BUD-01, F-BUD-03: what holds for every window and every setting.
func TestReserveProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, maxOutput, s := drawWindow(t), rapid.IntRange(0, 1_000_000).Draw(t, "maxOutput"), drawSettings(t)
		b := newBudget(t, w, maxOutput, s)
		if b.WindowTokens != w || b.AvailableTokens+b.ReserveTokens != w {
			t.Fatalf("%+v does not add up to %d", b, w)
		}
		if b.ReserveTokens < 1 || b.ReserveTokens > w/2 {
			t.Fatalf("reserve of %+v is not between 1 and half the window", b)
		}
		// The answer can be as long as asked for and never outgrows the
		// reserve or the model's limit.
		if b.OutputTokens < 1 || b.OutputTokens > b.ReserveTokens || maxOutput > 0 && b.OutputTokens > maxOutput {
			t.Fatalf("output cap of %+v", b)
		}
		asked := max(s.ReservedOutputTokens, s.BufferTokens)
		if asked > 0 && asked <= w/2 && b.ReserveTokens < asked {
			t.Fatalf("reserve of %+v is below the %d asked for", b, asked)
		}
		// Never on top of each other: with the smaller of the two settings at
		// the least that can be stated, the reserve is the same.
		if s.ReservedOutputTokens > 0 && s.BufferTokens > 0 {
			alone := s
			if s.BufferTokens <= s.ReservedOutputTokens {
				alone.BufferTokens = 1
			} else {
				alone.ReservedOutputTokens = 1
			}
			if other := newBudget(t, w, maxOutput, alone); other.ReserveTokens != b.ReserveTokens {
				t.Fatalf("reserve %d with both, %d with the larger alone", b.ReserveTokens, other.ReserveTokens)
			}
		}
	})
}

// A larger window never leaves less for input, and a larger setting never
// lowers the reserve.
func TestReserveIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, maxOutput, s := drawWindow(t), rapid.IntRange(0, 1_000_000).Draw(t, "maxOutput"), drawSettings(t)
		b := newBudget(t, w, maxOutput, s)
		wider := newBudget(t, w+rapid.IntRange(1, 5000).Draw(t, "more"), maxOutput, s)
		if wider.AvailableTokens < b.AvailableTokens || wider.ReserveTokens < b.ReserveTokens {
			t.Fatalf("window %+v, wider %+v", b, wider)
		}
		more := s
		if s.ReservedOutputTokens > 0 {
			more.ReservedOutputTokens += rapid.IntRange(0, 100_000).Draw(t, "moreOutput")
		}
		if s.BufferTokens > 0 {
			more.BufferTokens += rapid.IntRange(0, 100_000).Draw(t, "moreBuffer")
		}
		if stricter := newBudget(t, w, maxOutput, more); stricter.ReserveTokens < b.ReserveTokens {
			t.Fatalf("%+v reserves %d, %+v only %d", s, b.ReserveTokens, more, stricter.ReserveTokens)
		}
		if larger := newBudget(t, w, maxOutput+1000, s); maxOutput > 0 && larger.ReserveTokens < b.ReserveTokens {
			t.Fatalf("a longer possible answer lowers the reserve from %d to %d", b.ReserveTokens, larger.ReserveTokens)
		}
	})
}

// F-BUD-04, F-TST-01, F-TST-12: the exact boundary fits, one token more does
// not.
func TestVerdictAtEveryBoundary(t *testing.T) {
	b := budget.Budget{WindowTokens: 1000, ReserveTokens: 400, AvailableTokens: 600}
	for _, test := range []struct {
		total, mandatory int
		want             budget.Verdict
	}{
		{0, 0, budget.Fits},
		{599, 0, budget.Fits},
		{600, 0, budget.Fits},
		{600, 600, budget.Fits},
		{601, 0, budget.Overflow},
		{601, 600, budget.Overflow},
		{601, 601, budget.MandatoryOverflow},
		{1000, 601, budget.MandatoryOverflow},
		{1000, 600, budget.Overflow},
		{1_000_000, 1_000_000, budget.MandatoryOverflow},
	} {
		if got := b.Check(test.total, test.mandatory); got != test.want {
			t.Errorf("Check(%d, %d) = %s, want %s", test.total, test.mandatory, got, test.want)
		}
	}
}

// F-BUD-02: instructions, request, tools and required continuation come first,
// older conversation gets what they leave.
func TestRemainingIsWhatTheMandatoryPartLeaves(t *testing.T) {
	b := newBudget(t, 32_000, 8_000, budget.Settings{})
	var mandatory budget.Breakdown
	mandatory[budget.Instructions] = 2_000
	mandatory[budget.CurrentRequest] = 500
	mandatory[budget.ToolSchemas] = 3_000
	mandatory[budget.Reasoning] = 500
	for extra, want := range map[int]int{0: 10_000, 9_999: 1, 10_000: 0, 10_001: -1} {
		if got := b.RemainingTokens(mandatory.Total() + extra); got != want {
			t.Errorf("RemainingTokens with %d more = %d, want %d", extra, got, want)
		}
	}
	// Negative exactly when the verdict says that the mandatory part is over.
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.IntRange(0, 40_000).Draw(t, "mandatory")
		if (b.RemainingTokens(tokens) < 0) != (b.Check(tokens, tokens) == budget.MandatoryOverflow) {
			t.Fatalf("remaining %d, verdict %s", b.RemainingTokens(tokens), b.Check(tokens, tokens))
		}
	})
}

// F-BUD-05, F-BUD-06: the whole request is judged, schemas and instructions in
// categories of their own, and so is the wrapper that carries a conversation
// into another engine.
func TestWholeRequestIsJudgedWithItsWrapper(t *testing.T) {
	b := newBudget(t, 32_000, 8_000, budget.Settings{})
	var request budget.Breakdown
	request[budget.Conversation] = 12_000
	request[budget.Instructions] = 1_000
	request[budget.ToolSchemas] = 2_000
	var wrapper budget.Breakdown
	wrapper[budget.Wrapper] = 1000
	whole := request.Plus(wrapper)
	if whole.Total() != 16_000 || b.Check(whole.Total(), 0) != budget.Fits {
		t.Fatalf("%d tokens: %s", whole.Total(), b.Check(whole.Total(), 0))
	}
	wrapper[budget.Wrapper]++
	whole = request.Plus(wrapper)
	if got := b.Check(whole.Total(), 0); got != budget.Overflow {
		t.Errorf("one token of wrapper more: %s", got)
	}
	if whole[budget.Instructions] != 1_000 || whole[budget.Wrapper] != 1_001 || whole[budget.ToolSchemas] != 2_000 {
		t.Errorf("breakdown %v", whole)
	}
}

// A provider's bound on input holds even where the window would allow more.
func TestWithMaxInput(t *testing.T) {
	b := newBudget(t, 400_000, 128_000, budget.Settings{})
	if b.AvailableTokens != 300_000 {
		t.Fatalf("available = %d", b.AvailableTokens)
	}
	for maxInput, want := range map[int]int{-1: 300_000, 0: 300_000, 300_001: 300_000, 300_000: 300_000, 299_999: 299_999, 272_000: 272_000, 128_000: 128_000, 1: 1} {
		got := b.WithMaxInput(maxInput)
		if got.AvailableTokens != want || got.ReserveTokens != 400_000-want || got.WindowTokens != 400_000 || got.OutputTokens != b.OutputTokens {
			t.Errorf("WithMaxInput(%d) = %+v", maxInput, got)
		}
	}
	if b.AvailableTokens != 300_000 {
		t.Error("WithMaxInput changed the budget it was called on")
	}
}
