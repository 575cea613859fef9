package inspect

import (
	"time"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/budget"
)

// pageData is what the page's script reads: columns rather than objects, so
// that thousands of requests stay small. Null stands for what is not known.
type pageData struct {
	Categories []pageCategory `json:"categories"`
	Requests   pageRequests   `json:"requests"`
	Marks      []pageMark     `json:"marks"`
	Lines      pageLines      `json:"lines"`
	Peak       int            `json:"peak"`
}

type pageCategory struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Light string `json:"light"`
	Dark  string `json:"dark"`
}

// pageRequests has one value a request in every column. Tokens has a column
// for each category, in drawing order.
type pageRequests struct {
	Number    []int          `json:"number"`
	Attempt   []int          `json:"attempt"`
	Time      []*int64       `json:"time"`
	Model     []int          `json:"model"`
	Models    []string       `json:"models"`
	Tokens    [][]int        `json:"tokens"`
	Total     []int          `json:"total"`
	Band      []int          `json:"band"`
	Window    []int          `json:"window"`
	Reserve   []int          `json:"reserve"`
	Available []int          `json:"available"`
	Over      []int          `json:"over"` // 0 fits, 1 over budget, 2 the mandatory part is
	Besides   []int          `json:"besides"`
	Reported  []*int         `json:"reported"`
	Cached    []*int         `json:"cached"`
	Output    []*int         `json:"output"`
	Cost      []*float64     `json:"cost"`
	Spent     []*float64     `json:"spent"`
	Compared  []*[2]int      `json:"compared"` // estimate, band
	Notes     map[int]string `json:"notes"`
}

type pageMark struct {
	At    int    `json:"at"` // index of the request that follows
	Kind  string `json:"kind"`
	Glyph string `json:"glyph"`
	Text  string `json:"text"`
}

// pageLines has one value a version of a ledger line in every column; see
// version. Labels, decisions and reasons are indexes into Words.
type pageLines struct {
	ID       []string `json:"id"`
	Hash     []string `json:"hash"`
	Words    []string `json:"words"`
	Label    []int    `json:"label"`
	Decision []int    `json:"decision"`
	Reason   []int    `json:"reason"`
	Category []int    `json:"category"`
	Section  []int    `json:"section"`
	Sent     []int    `json:"sent"` // 0 not in the request, 1 kept, 2 projected
	Tokens   []int    `json:"tokens"`
	Framing  []int    `json:"framing"`
	Place    []int    `json:"place"`
	From     []int    `json:"from"`
	To       []int    `json:"to"`
}

// words gives each text a number.
type words struct {
	index map[string]int
	list  []string
}

func (w *words) of(text string) int {
	i, ok := w.index[text]
	if !ok {
		if w.index == nil {
			w.index = map[string]int{}
		}
		i = len(w.list)
		w.index[text], w.list = i, append(w.list, text)
	}
	return i
}

func (r *Run) pageData() *pageData {
	d := &pageData{Peak: r.Summary.PeakIndex, Marks: []pageMark{}}
	for _, c := range order() {
		d.Categories = append(d.Categories, pageCategory{Name: c.String(), Title: categoryTitle(c), Light: colourOf(c, false), Dark: colourOf(c, true)})
	}
	models := &words{}
	q := &d.Requests
	q.Tokens = make([][]int, budget.CategoryCount)
	q.Notes = map[int]string{}
	for i := range r.Requests {
		q.add(&r.Requests[i], models)
		if note := r.Requests[i].note(); note != "" {
			q.Notes[i] = note
		}
		d.addMarks(i, r.Requests[i].marks())
	}
	d.addMarks(len(r.Requests), r.MarksAfter)
	q.Models = models.list
	d.Lines = r.pageLines()
	return d
}

func (d *pageData) addMarks(at int, marks []Mark) {
	for _, m := range marks {
		d.Marks = append(d.Marks, pageMark{At: at, Kind: string(m.Kind), Glyph: glyph(m.Kind), Text: m.sentence()})
	}
}

func (q *pageRequests) add(r *Request, models *words) {
	b := r.Budgeted
	q.Number, q.Attempt = append(q.Number, b.Request), append(q.Attempt, b.Attempt)
	q.Time = append(q.Time, milliseconds(r.Time))
	q.Model = append(q.Model, models.of(clean(b.Model)))
	for k, c := range order() {
		q.Tokens[k] = append(q.Tokens[k], b.Categories[c])
	}
	q.Total, q.Band = append(q.Total, b.Estimate.Tokens), append(q.Band, b.Estimate.BandTokens)
	q.Window, q.Reserve, q.Available = append(q.Window, b.WindowTokens), append(q.Reserve, b.ReserveTokens), append(q.Available, b.AvailableTokens)
	over := 0
	switch b.Verdict {
	case budget.Overflow:
		over = 1
	case budget.MandatoryOverflow:
		over = 2
	case budget.Fits:
	}
	q.Over, q.Besides = append(q.Over, over), append(q.Besides, r.BesidesTokens())
	var reported, cached, output *int
	var cost *float64
	if c := r.Completed; c != nil {
		cost = c.CostUSD
		if u := c.Usage; u != nil {
			reported, cached, output = &u.InputTokens, &u.CachedInputTokens, &u.OutputTokens
		}
	}
	q.Reported, q.Cached, q.Output = append(q.Reported, reported), append(q.Cached, cached), append(q.Output, output)
	q.Cost, q.Spent = append(q.Cost, cost), append(q.Spent, r.CumulativeUSD)
	var compared *[2]int
	if c := r.Comparison(); c != nil {
		compared = &[2]int{c.EstimatedTokens, c.BandTokens}
	}
	q.Compared = append(q.Compared, compared)
}

func milliseconds(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

func (r *Run) pageLines() pageLines {
	w := &words{}
	place := [budget.CategoryCount]int{}
	for k, c := range order() {
		place[c] = k
	}
	var p pageLines
	for i := range r.versions {
		v := &r.versions[i]
		l := v.line
		p.ID, p.Hash = append(p.ID, clean(l.ID)), append(p.Hash, l.Hash.String()[:12])
		p.Label = append(p.Label, w.of(name(l)))
		p.Decision, p.Reason = append(p.Decision, w.of(clean(string(l.Decision)))), append(p.Reason, w.of(clean(l.Reason)))
		p.Category, p.Section = append(p.Category, place[l.Category]), append(p.Section, section(l))
		p.Sent = append(p.Sent, sentCode(l))
		p.Tokens, p.Framing = append(p.Tokens, l.Tokens), append(p.Framing, l.FramingTokens)
		p.Place, p.From, p.To = append(p.Place, v.place), append(p.From, v.from), append(p.To, v.to)
	}
	p.Words = w.list
	return p
}

func sentCode(l activeview.Line) int {
	switch l.Decision {
	case activeview.Kept:
		return 1
	case activeview.Projected:
		return 2
	case activeview.Summarized, activeview.Dropped:
	}
	return 0
}
