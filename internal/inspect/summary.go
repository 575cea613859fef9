package inspect

import (
	"math"
	"slices"
	"time"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/trace"
)

// Summary holds the figures of a run. Sums of usage are over the requests
// whose usage is known.
type Summary struct {
	// Requests counts requests, Attempts every physical attempt.
	Requests int `json:"requests"`
	Attempts int `json:"attempts"`
	// PeakRequest is the number of the heaviest request, PeakIndex its index;
	// PeakInputTokens is its estimate and PeakCategories what it is made of.
	PeakRequest     int              `json:"peakRequest"`
	PeakIndex       int              `json:"-"`
	PeakInputTokens int              `json:"peakInputTokens"`
	PeakCategories  budget.Breakdown `json:"peakCategories"`
	// OverBudgetRequests weigh more than is available; OverBudgetSent of them
	// were sent.
	OverBudgetRequests int `json:"overBudgetRequests"`
	OverBudgetSent     int `json:"overBudgetSent"`
	// Compactions, Projections and Overflows count marks, the source agent's
	// and Forge's.
	Compactions int `json:"compactions"`
	Projections int `json:"projections"`
	Overflows   int `json:"overflows"`
	OtherMarks  int `json:"otherMarks"`

	// WithUsage is how many requests have a reported usage.
	WithUsage         int `json:"withUsage"`
	InputTokens       int `json:"inputTokens"`
	CachedInputTokens int `json:"cachedInputTokens"`
	OutputTokens      int `json:"outputTokens"`
	// CostUSD is null when a price is unknown, or nothing was used.
	CostUSD *float64 `json:"costUSD"`

	// Estimate compares estimates with reports.
	Estimate EstimateSummary `json:"estimate"`
	// LedgerVerified says that every ledger matches its hash.
	LedgerVerified bool `json:"ledgerVerified"`
	// Began and Ended are the first and last known times, zero when unknown.
	Began time.Time `json:"-"`
	Ended time.Time `json:"-"`
}

// EstimateSummary says how far estimates were off. Percentages are of the
// reported tokens; null without a comparison.
type EstimateSummary struct {
	ComparedRequests      int      `json:"comparedRequests"`
	WithinBand            int      `json:"withinBand"`
	MedianAbsErrorPercent *float64 `json:"medianAbsErrorPercent"`
	P95AbsErrorPercent    *float64 `json:"p95AbsErrorPercent"`
	MaxUndercountTokens   int      `json:"maxUndercountTokens"`
}

func summarize(r *Run) Summary {
	s := Summary{Attempts: len(r.Requests), LedgerVerified: true}
	numbers := map[int]bool{}
	var errorPercents []float64
	for i := range r.Requests {
		q := &r.Requests[i]
		numbers[q.Number()] = true
		if i == 0 || q.InputTokens() > s.PeakInputTokens {
			s.PeakRequest, s.PeakIndex, s.PeakInputTokens, s.PeakCategories = q.Number(), i, q.InputTokens(), q.Budgeted.Categories
		}
		if q.OverBudget() {
			s.OverBudgetRequests++
			if q.Sent() {
				s.OverBudgetSent++
			}
		}
		if q.LedgerFault != "" {
			s.LedgerVerified = false
		}
		if q.Overflow != nil {
			s.Overflows++
		}
		s.countMarks(q.MarksBefore)
		s.addUsage(q)
		s.addTime(q.Time)
		if c := q.Comparison(); c != nil && c.ReportedTokens > 0 {
			errorPercents = append(errorPercents, math.Abs(c.ErrorPercent()))
			s.Estimate.add(*c)
		}
	}
	s.countMarks(r.MarksAfter)
	s.Requests = len(numbers)
	if s.WithUsage > 0 {
		s.CostUSD = r.Requests[len(r.Requests)-1].CumulativeUSD
	}
	s.Estimate.finish(errorPercents)
	return s
}

func (s *Summary) countMarks(marks []Mark) {
	for _, m := range marks {
		switch m.Kind {
		case MarkCompaction:
			s.Compactions++
		case MarkProjection:
			s.Projections++
		case MarkOverflow:
			s.Overflows++
		case MarkInterrupted, MarkCompactionFailed, MarkOther:
			s.OtherMarks++
		}
	}
}

func (s *Summary) addUsage(q *Request) {
	if q.Completed == nil || q.Completed.Usage == nil {
		return
	}
	u := q.Completed.Usage
	s.WithUsage++
	s.InputTokens += u.InputTokens
	s.CachedInputTokens += u.CachedInputTokens
	s.OutputTokens += u.OutputTokens
}

func (s *Summary) addTime(t time.Time) {
	if t.IsZero() {
		return
	}
	if s.Began.IsZero() || t.Before(s.Began) {
		s.Began = t
	}
	if t.After(s.Ended) {
		s.Ended = t
	}
}

func (e *EstimateSummary) add(c trace.Comparison) {
	e.ComparedRequests++
	if c.WithinBand() {
		e.WithinBand++
	}
	e.MaxUndercountTokens = max(e.MaxUndercountTokens, -c.ErrorTokens())
}

func (e *EstimateSummary) finish(percents []float64) {
	if len(percents) == 0 {
		return
	}
	slices.Sort(percents)
	median, p95 := quantile(percents, 0.5), quantile(percents, 0.95)
	e.MedianAbsErrorPercent, e.P95AbsErrorPercent = &median, &p95
}

// quantile interpolates between the two nearest ranks of sorted values.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 == len(sorted) {
		return sorted[low]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// CachedShare is the part of the reported input that was read from a cache,
// 0 to 1.
func (s Summary) CachedShare() float64 {
	if s.InputTokens == 0 {
		return 0
	}
	return float64(s.CachedInputTokens) / float64(s.InputTokens)
}
