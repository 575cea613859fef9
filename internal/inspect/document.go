package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/trace"
)

// Names of the JSON forms. Members are only added under the same name; a
// change of meaning gets a new number.
const (
	SchemaRun     = "forge.inspect/1"
	SchemaRequest = "forge.inspect.request/1"
	SchemaDiff    = "forge.inspect.diff/1"
)

// RunDocument is the JSON form of a run.
type RunDocument struct {
	// Schema is SchemaRun.
	Schema string `json:"schema"`
	// Run is what the run began with.
	Run trace.RunStarted `json:"run"`
	// Summary holds the figures of the whole run.
	Summary Summary `json:"summary"`
	// Requests has one entry for each physical attempt, in order.
	Requests []RequestDocument `json:"requests"`
	// MarksAfter are marks that no request followed.
	MarksAfter []Mark `json:"marksAfter"`
	// Status is how the run ended, empty when the trace does not say.
	Status trace.Status `json:"status,omitempty"`
	// Problems are what was wrong with the trace.
	Problems []string `json:"problems"`
}

// RequestDocument is the JSON form of one physical attempt. Null stands for
// what is not known.
type RequestDocument struct {
	Request     int        `json:"request"`
	Attempt     int        `json:"attempt"`
	RetryReason string     `json:"retryReason,omitempty"`
	Time        *time.Time `json:"time"`
	Model       string     `json:"model,omitempty"`

	WindowTokens    int                `json:"windowTokens"`
	WindowSource    model.WindowSource `json:"windowSource"`
	ReserveTokens   int                `json:"reserveTokens"`
	AvailableTokens int                `json:"availableTokens"`

	// InputTokens is the estimate, the sum of the categories.
	InputTokens      int              `json:"inputTokens"`
	BandTokens       int              `json:"bandTokens"`
	Method           model.Method     `json:"method"`
	Confidence       model.Confidence `json:"confidence"`
	Categories       budget.Breakdown `json:"categories"`
	MandatoryTokens  int              `json:"mandatoryTokens"`
	Verdict          budget.Verdict   `json:"verdict"`
	Action           string           `json:"action"`
	RetainedMessages int              `json:"retainedMessages"`
	// PrefixTokens is the unchanged beginning, as counted; ReclaimedTokens is
	// what Forge freed for this request.
	PrefixTokens    int  `json:"prefixTokens"`
	ReclaimedTokens int  `json:"reclaimedTokens"`
	Restructured    bool `json:"restructured"`

	Marks    []Mark              `json:"marks"`
	Warnings []trace.WarningCode `json:"warnings"`
	// Refused is true when the provider said that the request is too long.
	Refused bool `json:"refused"`

	Usage *trace.Usage `json:"usage"`
	// ErrorTokens is the estimate minus the report, ErrorPercent the same as
	// a percentage of the report.
	ErrorTokens   *int     `json:"errorTokens"`
	ErrorPercent  *float64 `json:"errorPercent"`
	WithinBand    *bool    `json:"withinBand"`
	CostUSD       *float64 `json:"costUSD"`
	CumulativeUSD *float64 `json:"cumulativeUSD"`

	LedgerLines int    `json:"ledgerLines"`
	LedgerHash  string `json:"ledgerHash"`
	// LedgerFault is set when the ledger does not match its hash.
	LedgerFault string `json:"ledgerFault,omitempty"`
	// Heaviest are the three heaviest items.
	Heaviest []activeview.Line `json:"heaviest"`
}

// LedgerDocument is the JSON form of one request with its whole ledger.
type LedgerDocument struct {
	// Schema is SchemaRequest.
	Schema string `json:"schema"`
	RequestDocument
	// BesidesTokens is what the request weighs besides the lines, see
	// Request.BesidesTokens.
	BesidesTokens int `json:"besidesTokens"`
	// Ledger has every line in the order in which it came.
	Ledger []activeview.Line `json:"ledger"`
}

// DiffDocument is the JSON form of a comparison of two requests.
type DiffDocument struct {
	// Schema is SchemaDiff.
	Schema string          `json:"schema"`
	Before RequestDocument `json:"before"`
	After  RequestDocument `json:"after"`
	// Categories is After minus Before.
	ChangeTokens int               `json:"changeTokens"`
	Categories   budget.Breakdown  `json:"categories"`
	Prefix       Prefix            `json:"prefix"`
	Added        []activeview.Line `json:"added"`
	Removed      []activeview.Line `json:"removed"`
	Changed      []ChangedLine     `json:"changed"`
	Same         int               `json:"same"`
}

// Document returns the JSON form of the run.
func (r *Run) Document() RunDocument {
	d := RunDocument{Schema: SchemaRun, Run: r.Start, Summary: r.Summary, MarksAfter: list(r.MarksAfter), Problems: list(r.Problems),
		Requests: make([]RequestDocument, len(r.Requests))}
	if r.End != nil {
		d.Status = r.End.Status
	}
	r.eachHeaviest(3, func(i int, lines []activeview.Line) {
		d.Requests[i] = r.Requests[i].document()
		d.Requests[i].Heaviest = list(lines)
	})
	return d
}

// LedgerDocument returns the JSON form of the request at this index.
func (r *Run) LedgerDocument(index int) LedgerDocument {
	q := &r.Requests[index]
	d := LedgerDocument{Schema: SchemaRequest, RequestDocument: q.document(), BesidesTokens: q.BesidesTokens(), Ledger: list(r.Ledger(index))}
	d.Heaviest = list(r.Heaviest(index, 3))
	return d
}

// DiffDocument returns the JSON form of a comparison.
func (r *Run) DiffDocument(before, after int) DiffDocument {
	d := r.Diff(before, after)
	out := DiffDocument{Schema: SchemaDiff, Before: d.Before.document(), After: d.After.document(),
		ChangeTokens: d.After.InputTokens() - d.Before.InputTokens(),
		Categories:   d.After.Budgeted.Categories.Minus(d.Before.Budgeted.Categories), Prefix: d.Prefix,
		Added: list(d.Added), Removed: list(d.Removed), Changed: list(d.Changed), Same: d.Same}
	out.Before.Heaviest = list(r.Heaviest(before, 3))
	out.After.Heaviest = list(r.Heaviest(after, 3))
	return out
}

func (q *Request) document() RequestDocument {
	b := q.Budgeted
	d := RequestDocument{
		Request: b.Request, Attempt: b.Attempt, RetryReason: b.RetryReason, Model: b.Model,
		WindowTokens: b.WindowTokens, WindowSource: b.WindowSource, ReserveTokens: b.ReserveTokens, AvailableTokens: b.AvailableTokens,
		InputTokens: b.Estimate.Tokens, BandTokens: b.Estimate.BandTokens, Method: b.Estimate.Method, Confidence: b.Estimate.Confidence,
		Categories: b.Categories, MandatoryTokens: b.MandatoryTokens, Verdict: b.Verdict, Action: string(b.Action),
		RetainedMessages: b.RetainedMessages, PrefixTokens: b.PrefixTokens, ReclaimedTokens: b.ReclaimedTokens, Restructured: b.Restructured,
		Marks: list(q.MarksBefore), Warnings: list(q.Warnings), Refused: q.Overflow != nil, CumulativeUSD: q.CumulativeUSD,
		LedgerLines: q.LedgerLines, LedgerHash: b.Ledger.Hash.String(), LedgerFault: q.LedgerFault, Heaviest: []activeview.Line{},
	}
	if !q.Time.IsZero() {
		at := q.Time.UTC()
		d.Time = &at
	}
	if q.Completed != nil {
		d.Usage, d.CostUSD = q.Completed.Usage, q.Completed.CostUSD
	}
	if c := q.Comparison(); c != nil {
		tokens, percent, within := c.ErrorTokens(), c.ErrorPercent(), c.WithinBand()
		d.ErrorTokens, d.ErrorPercent, d.WithinBand = &tokens, &percent, &within
	}
	return d
}

// list makes an empty list of a nil one: JSON readers expect [].
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// WriteJSON writes a document of this package, indented, with a newline.
func WriteJSON(w io.Writer, document any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(document); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
