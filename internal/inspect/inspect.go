// Package inspect shows what a trace tells: the window before every request,
// how far the estimates were off, what it cost, what stands in the ledger of
// a request and how two requests differ; as text, as JSON and as one HTML
// page.
//
// It reads traces only. It counts nothing itself, it never sees content, and
// it decides nothing; where a trace does not add up, it says so and shows the
// rest.
package inspect

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/trace"
)

// ErrEmpty: the trace holds no request.
var ErrEmpty = errors.New("the trace holds no request")

// A Run is one run of a trace, ready to be looked at. Make one with Load.
type Run struct {
	// Start is what the run began with; the zero value when the trace does
	// not say.
	Start trace.RunStarted
	// Requests are the requests in order, every physical attempt an entry of
	// its own. There is at least one.
	Requests []Request
	// MarksAfter are marks that no request followed.
	MarksAfter []Mark
	// End is what the run ended with, nil when the trace does not say.
	End *trace.RunCompleted
	// Engine is how the newest turn was carried into another engine, nil for
	// runs of Forge's own.
	Engine *trace.EngineTurn
	// Problems are what was wrong with the trace, in one line each.
	Problems []string
	// Summary holds the figures of the whole run.
	Summary Summary

	versions []version
}

// A Request is one physical attempt of a model request.
type Request struct {
	// Budgeted is what was known before it. Its ledger change is taken out:
	// see Run.Ledger.
	Budgeted *trace.ContextBudgeted
	// Time is when it was budgeted, zero when unknown.
	Time time.Time
	// Completed is what came back, nil when the trace does not say.
	Completed *trace.RequestCompleted
	// Overflow is the provider's refusal, Limit a stop by Forge; nil when
	// there was none.
	Overflow *trace.ContextOverflow
	Limit    *trace.LimitReached
	// Warnings are what the user was told.
	Warnings []trace.WarningCode
	// MarksBefore are what happened to the context between the request before
	// and this one.
	MarksBefore []Mark
	// LedgerLines is how many lines the ledger has, LedgerTotals what they
	// weigh by category; see BesidesTokens for the difference to the estimate.
	LedgerLines  int
	LedgerTotals budget.Breakdown
	// LedgerFault says why the ledger does not match its hash, empty when it
	// does.
	LedgerFault string
	// CumulativeUSD is the cost of the run up to and including this request;
	// nil once a price is unknown.
	CumulativeUSD *float64
}

// Number is the request's number, as people see it.
func (q *Request) Number() int { return q.Budgeted.Request }

// InputTokens is the estimate of the request's weight.
func (q *Request) InputTokens() int { return q.Budgeted.Estimate.Tokens }

// OverBudget reports whether the request weighs more than is available.
func (q *Request) OverBudget() bool { return q.Budgeted.Verdict != budget.Fits }

// Sent reports whether the request went out.
func (q *Request) Sent() bool {
	return q.Limit == nil && (q.Completed == nil || q.Completed.Outcome != trace.OutcomeStopped)
}

// ReportedTokens is what the provider counted, and whether it did.
func (q *Request) ReportedTokens() (int, bool) {
	if q.Completed == nil || q.Completed.Usage == nil {
		return 0, false
	}
	return q.Completed.Usage.InputTokens, true
}

// Comparison sets estimate and report side by side, nil when they are not
// comparable.
func (q *Request) Comparison() *trace.Comparison {
	if q.Completed == nil {
		return nil
	}
	return q.Completed.Comparison
}

// BesidesTokens is what the request weighs besides the lines of its ledger:
// fixed framing, and what the provider was seen to count on top. It is
// negative when the provider counts less than the lines were counted.
func (q *Request) BesidesTokens() int { return q.InputTokens() - q.LedgerTotals.Total() }

// MarkKind says what happened to a context.
type MarkKind string

// The kinds of mark.
const (
	MarkCompaction       MarkKind = "compaction"        // earlier messages were replaced
	MarkProjection       MarkKind = "projection"        // old tool output was cleared
	MarkOverflow         MarkKind = "overflow"          // the provider refused a request
	MarkInterrupted      MarkKind = "interrupted"       // something was begun and not ended
	MarkCompactionFailed MarkKind = "compaction-failed" // a compaction had no effect
	MarkOther            MarkKind = "other"             // something this version has no word for
)

// A Mark is something that happened to a context.
type Mark struct {
	// Kind says what.
	Kind MarkKind `json:"kind"`
	// Source says that the agent whose session was replayed did it; otherwise
	// Forge did.
	Source bool `json:"source"`
	// Cause is a word for why: the agent's trigger, a failure's code, the
	// method of a compaction.
	Cause string `json:"cause,omitempty"`
	// Line is the line of the session file, zero when there is none.
	Line int `json:"line,omitempty"`
	// TokensBefore and TokensAfter are the weight of the request, zero when
	// unknown.
	TokensBefore int `json:"tokensBefore,omitempty"`
	TokensAfter  int `json:"tokensAfter,omitempty"`
	// Opaque says that the replacement is encrypted by its provider.
	Opaque bool `json:"opaque,omitempty"`
}

// Load reads the last run of a trace; earlier ones are named as a problem.
// It takes a trace in memory or the events of a trace.Reader, whose Problems
// the caller adds. It returns ErrEmpty when there is no request, and the
// error of the events when they end with one.
func Load(events iter.Seq2[trace.Event, error]) (*Run, error) {
	runs, err := LoadAll(events)
	if err != nil {
		return nil, err
	}
	last := runs[len(runs)-1]
	if n := len(runs); n > 1 {
		last.Problems = append(last.Problems, fmt.Sprintf("the trace holds %d runs: this is the last", n))
	}
	return last, nil
}

// LoadAll reads every run of a trace that has a request, in order.
func LoadAll(events iter.Seq2[trace.Event, error]) ([]*Run, error) {
	var runs []*Run
	l := newLoader()
	next := func() {
		if run := l.finish(); run != nil {
			runs = append(runs, run)
		}
	}
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		if _, ok := e.Payload.(*trace.RunStarted); ok && l.seen {
			next()
			l = newLoader()
		}
		l.take(e)
	}
	next()
	if len(runs) == 0 {
		return nil, ErrEmpty
	}
	return runs, nil
}

// Find returns the index of the last attempt of the request with this number.
func (r *Run) Find(number int) (int, error) {
	for i := len(r.Requests) - 1; i >= 0; i-- {
		if r.Requests[i].Number() == number {
			return i, nil
		}
	}
	return 0, fmt.Errorf("find request %d: there are the requests %d to %d", number,
		r.Requests[0].Number(), r.Requests[len(r.Requests)-1].Number())
}

// Last returns the index of the last request.
func (r *Run) Last() int { return len(r.Requests) - 1 }
