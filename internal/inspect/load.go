package inspect

import (
	"fmt"
	"slices"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/trace"
)

// loader takes the events of one run.
type loader struct {
	run     *Run
	ledger  trace.Ledger
	open    map[string][]int // line id → its present versions, oldest first
	pending []Mark
	seen    bool // any event was taken
	began   bool
	faults  int
	orphans int
	cost    float64
	unknown bool // a price was unknown
}

func newLoader() *loader { return &loader{run: &Run{}, open: map[string][]int{}} }

func (l *loader) take(e trace.Event) {
	l.seen = true
	switch p := e.Payload.(type) {
	case *trace.RunStarted:
		l.run.Start, l.began = *p, true
	case *trace.ContextBudgeted:
		l.budgeted(e, p)
	case *trace.RequestCompleted:
		l.spend(p.CostUSD, p.Usage != nil)
		if q := l.find(p.Request, p.Attempt); q != nil {
			q.Completed, q.CumulativeUSD = p, l.spent()
		}
	case *trace.ContextOverflow:
		if q := l.find(p.Request, p.Attempt); q != nil {
			q.Overflow = p
		}
	case *trace.LimitReached:
		if q := l.find(p.Request, 0); q != nil {
			q.Limit = p
		}
	case *trace.ContextWarning:
		if q := l.find(p.Request, 0); q != nil {
			q.Warnings = append(q.Warnings, p.Code)
		}
	case *trace.ContextMark:
		l.pending = append(l.pending, Mark{Kind: sourceKind(p.Kind), Source: true, Cause: p.Trigger, Line: p.Line,
			TokensBefore: p.TokensBefore, TokensAfter: p.TokensAfter, Opaque: p.Opaque})
	case *trace.CompactionCompleted:
		l.pending = append(l.pending, Mark{Kind: MarkCompaction, Cause: p.Method, TokensBefore: p.TokensBefore, TokensAfter: p.TokensAfter, Opaque: p.Opaque})
		l.spend(p.CostUSD, p.Usage != nil)
	case *trace.CompactionFailed:
		l.pending = append(l.pending, Mark{Kind: MarkCompactionFailed, Cause: p.Code})
		l.spend(p.CostUSD, false)
	case *trace.RunCompleted:
		l.run.End = p
	case *trace.EngineTurn:
		l.run.Engine = p
	case *trace.CompactionStarted, *trace.EngineUsage, *trace.Unknown:
	}
}

// sourceKind maps the word of a session file.
func sourceKind(kind string) MarkKind {
	switch k := MarkKind(kind); k {
	case MarkCompaction, MarkProjection, MarkOverflow, MarkInterrupted:
		return k
	}
	return MarkOther
}

// spend adds a cost. billed says that something was used: without a price the
// total is unknown from then on.
func (l *loader) spend(usd *float64, billed bool) {
	switch {
	case usd != nil:
		l.cost += *usd
	case billed:
		l.unknown = true
	}
}

func (l *loader) spent() *float64 {
	if l.unknown {
		return nil
	}
	usd := l.cost
	return &usd
}

func (l *loader) budgeted(e trace.Event, p *trace.ContextBudgeted) {
	at := len(l.run.Requests)
	if p.ReclaimedTokens > 0 && !slices.ContainsFunc(l.pending, func(m Mark) bool { return m.Kind == MarkCompaction && !m.Source }) {
		l.pending = append(l.pending, Mark{Kind: MarkProjection, TokensBefore: p.Estimate.Tokens + p.ReclaimedTokens, TokensAfter: p.Estimate.Tokens})
	}
	q := Request{Time: e.Time, MarksBefore: l.pending, CumulativeUSD: l.spent()}
	l.pending = nil
	if err := l.ledger.Apply(p); err != nil {
		q.LedgerFault = err.Error()
		l.faults++
	}
	l.follow(&p.Ledger, at)
	q.LedgerLines, q.LedgerTotals = l.ledger.Len(), l.ledger.Totals()
	slim := *p
	slim.Ledger = trace.LedgerChange{Whole: p.Ledger.Whole, Hash: p.Ledger.Hash}
	q.Budgeted = &slim
	l.run.Requests = append(l.run.Requests, q)
}

// find returns the last attempt of a request; attempt zero means any.
func (l *loader) find(number, attempt int) *Request {
	for i := len(l.run.Requests) - 1; i >= 0 && i >= len(l.run.Requests)-64; i-- {
		q := &l.run.Requests[i]
		if q.Number() == number && (attempt == 0 || q.Budgeted.Attempt == attempt) {
			return q
		}
	}
	l.orphans++
	return nil
}

// finish closes the run; nil when it has no request.
func (l *loader) finish() *Run {
	r := l.run
	if len(r.Requests) == 0 {
		return nil
	}
	l.close(len(r.Requests))
	r.MarksAfter = l.pending
	if !l.began {
		r.Problems = append(r.Problems, "the trace does not say how the run began")
	}
	if l.faults > 0 {
		first := ""
		for _, q := range r.Requests {
			if q.LedgerFault != "" {
				first = q.LedgerFault
				break
			}
		}
		r.Problems = append(r.Problems, fmt.Sprintf("%s; %d of %s affected", first, l.faults, plural(len(r.Requests), "request")))
	}
	if l.orphans > 0 {
		r.Problems = append(r.Problems, plural(l.orphans, "event")+" of requests that the trace does not hold")
	}
	r.Summary = summarize(r)
	return r
}

// heaviest returns the heaviest category of a breakdown.
func heaviest(b budget.Breakdown) budget.Category {
	best := budget.Category(0)
	for c, n := range b {
		if n > b[best] {
			best = budget.Category(c)
		}
	}
	return best
}
