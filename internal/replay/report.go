package replay

import (
	"fmt"
	"math"
	"slices"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/transcript"
)

// A Report is the outcome of one replay; its JSON form is what
// "forge replay --json" prints.
type Report struct {
	// File is the name as the user gave it.
	File string `json:"file"`
	// Format is the session format.
	Format string `json:"format"`
	// Model is the model that the replay counts for; empty when unknown.
	Model string `json:"model"`
	// Messages, Turns and Requests count what the file holds.
	Messages int `json:"messages"`
	Turns    int `json:"turns"`
	Requests int `json:"requests"`
	// WindowTokens and WindowSource are the window that was assumed.
	WindowTokens int                `json:"windowTokens"`
	WindowSource model.WindowSource `json:"windowSource"`
	// ReserveTokens is kept free of the window, AvailableTokens is left.
	ReserveTokens   int `json:"reserveTokens"`
	AvailableTokens int `json:"availableTokens"`
	// Mode is the mode of the gate.
	Mode contextwindow.Mode `json:"mode"`
	// PeakInputTokens is the heaviest request's estimate, PeakRequest its
	// number from 1 (zero when there was none).
	PeakInputTokens int `json:"peakInputTokens"`
	PeakRequest     int `json:"peakRequest"`
	// OverBudgetRequests were over budget, OverBudgetSent of them were sent,
	// MandatoryOverflows were stopped because what cannot be left out was
	// over budget alone.
	OverBudgetRequests int `json:"overBudgetRequests"`
	OverBudgetSent     int `json:"overBudgetSent"`
	MandatoryOverflows int `json:"mandatoryOverflows"`
	// TotalInputTokens is what all requests read together: reported where the
	// file has real usage, estimated elsewhere.
	TotalInputTokens int `json:"totalInputTokens"`
	// CachedInputTokens is the part that the provider read from its cache,
	// null when the file has no real usage.
	CachedInputTokens *int `json:"cachedInputTokens"`
	// UsageRequests is how many requests have real usage.
	UsageRequests int `json:"usageRequests"`
	// CostUSD is what the requests with real usage cost at list prices, null
	// when a price is unknown or the file has no real usage. In the mode
	// compact it is simulated: see CompactReport.
	CostUSD *float64 `json:"costUSD"`
	// Categories describe the peak request and sum to PeakInputTokens.
	Categories budget.Breakdown `json:"categories"`
	// Estimate says how good the estimates were.
	Estimate EstimateReport `json:"estimate"`
	// SourceCompactions, SourceProjections and SourceOverflows count what the
	// source agent did or met.
	SourceCompactions int `json:"sourceCompactions"`
	SourceProjections int `json:"sourceProjections"`
	SourceOverflows   int `json:"sourceOverflows"`
	// UsageSynthetic says why the file's usage was not believed; empty when
	// it was, or when there is none.
	UsageSynthetic string `json:"usageSynthetic,omitempty"`
	// Losses are what the importer could not keep. Never null.
	Losses []sessionfile.Loss `json:"losses"`
	// CompactReport is nil unless the mode is compact; its fields stand in
	// the same JSON object.
	*CompactReport

	restructured int
	errorsPct    []float64
	bytesPct     []float64
	growthPct    []float64
	growthBytes  []float64
	cached       int
	output       int
	cost         float64
	costUnknown  bool
	withinBand   int
}

// An EstimateReport compares estimates with real usage. The percentages are
// null when nothing could be compared.
type EstimateReport struct {
	// Method and Confidence are those of the last request.
	Method     model.Method     `json:"method"`
	Confidence model.Confidence `json:"confidence"`
	// Basis says what was compared: "total" when the file holds everything
	// that the provider saw, "growth" when a request is anchored on the usage
	// before it, empty when nothing was compared.
	Basis string `json:"basis"`
	// ComparedRequests is how many requests were compared.
	ComparedRequests int `json:"comparedRequests"`
	// MedianAbsErrorPercent and P95AbsErrorPercent are |estimate − reported|
	// in percent of reported input tokens.
	MedianAbsErrorPercent *float64 `json:"medianAbsErrorPercent"`
	P95AbsErrorPercent    *float64 `json:"p95AbsErrorPercent"`
	// MaxUndercountTokens is the largest reported − estimate.
	MaxUndercountTokens int `json:"maxUndercountTokens"`
	// WithinBandPercent is how many of the compared requests lay inside their
	// error band or below it.
	WithinBandPercent *float64 `json:"withinBandPercent"`
	// BytesMedianAbsErrorPercent is the same as MedianAbsErrorPercent for a
	// count of bytes/4 on the same footing, which is what most agents use.
	BytesMedianAbsErrorPercent *float64 `json:"bytesMedianAbsErrorPercent"`
	// GrowthMedianAbsErrorPercent is the error in percent of the growth since
	// the request before, BytesGrowthMedianAbsErrorPercent that of bytes/4;
	// null for the basis "total".
	GrowthMedianAbsErrorPercent      *float64 `json:"growthMedianAbsErrorPercent"`
	BytesGrowthMedianAbsErrorPercent *float64 `json:"bytesGrowthMedianAbsErrorPercent"`
}

func newReport(file string, s *sessionfile.Session, setup Setup) *Report {
	r := &Report{
		File: file, Format: s.Format, Model: setup.Capabilities.Model,
		Messages: s.Transcript.Len(), Turns: s.Transcript.TurnCount(), Requests: len(s.Requests),
		WindowTokens: setup.Capabilities.WindowTokens, WindowSource: setup.Capabilities.WindowSource,
		UsageSynthetic: s.UsageSynthetic,
	}
	r.Losses = append([]sessionfile.Loss{}, s.Losses...)
	if n := s.WindowTokens; n > 0 && n < budget.MinWindowTokens {
		r.Losses = append(r.Losses, sessionfile.Loss{What: fmt.Sprintf("a window of %d tokens: none is so small, it is not used", n)})
	}
	for _, m := range s.Marks {
		switch m.Kind {
		case sessionfile.MarkCompaction:
			r.SourceCompactions++
		case sessionfile.MarkProjection:
			r.SourceProjections++
		case sessionfile.MarkOverflow:
			r.SourceOverflows++
		}
	}
	return r
}

func (r *Report) budget(b budget.Budget, mode string) {
	r.ReserveTokens, r.AvailableTokens, r.Mode = b.ReserveTokens, b.AvailableTokens, contextwindow.Mode(mode)
}

// add takes one played request in.
func (r *Report) add(st step) {
	f := st.fit
	tokens := f.Estimate.Tokens
	if tokens > r.PeakInputTokens || r.PeakRequest == 0 {
		r.PeakInputTokens, r.PeakRequest, r.Categories = tokens, f.Step, f.Breakdown
	}
	if f.Verdict != budget.Fits {
		r.OverBudgetRequests++
	}
	switch f.Action {
	case contextwindow.SendOverBudget:
		r.OverBudgetSent++
	case contextwindow.Stop:
		if f.Verdict == budget.MandatoryOverflow {
			r.MandatoryOverflows++
		}
	}
	if r.CompactReport != nil {
		r.CompactReport.addFit(f)
	}
	r.Estimate.Method, r.Estimate.Confidence = f.Estimate.Method, f.Estimate.Confidence
	if !st.billed || r.CompactReport != nil {
		r.TotalInputTokens += tokens
	} else {
		r.TotalInputTokens += st.usage.InputTokens
		r.UsageRequests++
		r.cached += st.usage.CachedInputTokens
		r.output += st.usage.OutputTokens
	}
	if st.costUSD != nil {
		r.cost += *st.costUSD
	} else if st.billed {
		r.costUnknown = true
	}
	if st.compared {
		r.compare(st)
	}
}

func (r *Report) compare(st step) {
	rec := *st.reconciliation
	reported := float64(rec.ReportedTokens)
	miss := math.Abs(float64(rec.EstimatedTokens) - reported)
	missBytes := math.Abs(float64(st.bytesTokens) - reported)
	r.errorsPct = append(r.errorsPct, 100*miss/reported)
	r.bytesPct = append(r.bytesPct, 100*missBytes/reported)
	if st.growthTokens > 0 {
		r.growthPct = append(r.growthPct, 100*miss/float64(st.growthTokens))
		r.growthBytes = append(r.growthBytes, 100*missBytes/float64(st.growthTokens))
	}
	if rec.UndercountTokens() <= rec.BandTokens {
		r.withinBand++
	}
	r.Estimate.MaxUndercountTokens = max(r.Estimate.MaxUndercountTokens, rec.UndercountTokens())
}

func (r *Report) finish(complete bool) {
	if r.UsageRequests > 0 {
		r.CachedInputTokens = &r.cached
	}
	if r.UsageRequests > 0 && !r.costUnknown {
		r.CostUSD = &r.cost
	}
	e := &r.Estimate
	e.ComparedRequests = len(r.errorsPct)
	if e.ComparedRequests == 0 {
		return
	}
	e.Basis = "growth"
	if complete {
		e.Basis = "total"
	}
	e.MedianAbsErrorPercent, e.P95AbsErrorPercent = quantile(r.errorsPct, 0.5), quantile(r.errorsPct, 0.95)
	e.BytesMedianAbsErrorPercent = quantile(r.bytesPct, 0.5)
	e.GrowthMedianAbsErrorPercent, e.BytesGrowthMedianAbsErrorPercent = quantile(r.growthPct, 0.5), quantile(r.growthBytes, 0.5)
	within := 100 * float64(r.withinBand) / float64(e.ComparedRequests)
	e.WithinBandPercent = &within
}

// quantile returns the q-quantile by nearest rank, rounded to four digits
// after the point; nil for no values.
func quantile(values []float64, q float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	rank := int(math.Ceil(q*float64(len(sorted)))) - 1
	v := math.Round(sorted[max(rank, 0)]*1e4) / 1e4
	return &v
}

// textBytes is what a byte count of the blocks sees: texts, arguments and
// visible reasoning. Images and opaque items have no text.
func textBytes(bs []message.Block) int {
	n := 0
	for _, b := range bs {
		switch b := b.(type) {
		case message.Text:
			n += len(b.Text)
		case message.Reasoning:
			n += len(b.Text)
		case message.ToolCall:
			n += len(b.Name) + len(b.Arguments)
		case message.ToolResult:
			n += textBytes(b.Content)
		}
	}
	return n
}

func textBytesOf(t *transcript.Transcript, from, to int) int {
	n := 0
	for i := from; i < to; i++ {
		n += textBytes(t.At(i).Blocks)
	}
	return n
}

func instructionBytes(s *sessionfile.Session) int {
	n := 0
	for _, m := range s.Instructions {
		n += textBytes(m.Blocks)
	}
	for _, d := range s.Tools {
		n += len(d.Name) + len(d.Description) + len(d.Parameters)
	}
	return n
}

// Errors returns the errors of all compared requests in percent of reported
// input, ours and those of bytes/4, for pooling over files.
func (r *Report) Errors() (own, bytes []float64) { return r.errorsPct, r.bytesPct }
