package inspect

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed page assets/uPlot.iife.min.js assets/uPlot.min.css assets/uPlot.LICENSE
var files embed.FS

// scriptFiles are the parts of the page's program in the order in which they
// are put together.
func scriptFiles() []string {
	return []string{"page/data.js", "page/ledger.js", "page/build.js", "page/draw.js", "page/charts.js", "page/detail.js",
		"page/compare.js", "page/tables.js", "page/main.js"}
}

// htmlPage is what the template is given.
type htmlPage struct {
	Policy   string
	Title    string
	Facts    []string
	Peak     htmlFigure
	Budget   htmlFigure
	Over     htmlFigure
	More     [][2]string
	Problems []string
	Summary  string
	HasCost  bool
	CostNote string
	HasUsage bool
	HasError bool
	HasMarks string
	Forge    string
	Style    template.CSS
	Data     template.JS
	Chart    template.JS
	Program  template.JS
}

// htmlFigure is one of the numbers that matter.
type htmlFigure struct {
	Number, Unit, Note string
	Alarm              bool
}

// WriteHTML writes the run as one page that needs nothing else: no network,
// no other file. The page holds what the trace holds: ids, labels, hashes and
// numbers.
func (r *Run) WriteHTML(w io.Writer) error {
	p, err := r.htmlPage()
	if err != nil {
		return err
	}
	t, err := template.ParseFS(files, "page/page.html")
	if err != nil {
		return fmt.Errorf("parse page template: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, p); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

func (r *Run) htmlPage() (*htmlPage, error) {
	data, err := json.Marshal(r.pageData())
	if err != nil {
		return nil, fmt.Errorf("encode page data: %w", err)
	}
	program, err := program()
	if err != nil {
		return nil, err
	}
	chart, err := asset("assets/uPlot.iife.min.js")
	if err != nil {
		return nil, err
	}
	licence, err := asset("assets/uPlot.LICENSE")
	if err != nil {
		return nil, err
	}
	chart = "/*!\n" + licence + "*/\n" + chart
	style, err := asset("assets/uPlot.min.css")
	if err != nil {
		return nil, err
	}
	own, err := asset("page/page.css")
	if err != nil {
		return nil, err
	}
	style += "\n" + own
	p := &htmlPage{
		Policy: policy(style, chart, program), Style: template.CSS(style), Chart: template.JS(chart), Program: template.JS(program),
		Data: template.JS(data), Forge: clean(r.Start.Forge), HasMarks: r.markLegend(),
	}
	r.fillFigures(p)
	return p, nil
}

// fillFigures says in words and numbers what the page shows.
func (r *Run) fillFigures(p *htmlPage) {
	s := &r.Summary
	peak, last := r.Requests[s.PeakIndex].Budgeted, r.Requests[r.Last()].Budgeted
	p.Title, p.Facts = r.title()
	for i := range r.Problems {
		p.Problems = append(p.Problems, clean(r.Problems[i]))
	}
	p.Peak = htmlFigure{Number: tokens(s.PeakInputTokens), Unit: "tokens at the peak",
		Note: fmt.Sprintf("request %d, %s of the window", s.PeakRequest, share(s.PeakInputTokens, peak.WindowTokens))}
	p.Budget = htmlFigure{Number: tokens(last.AvailableTokens), Unit: "tokens of budget",
		Note: fmt.Sprintf("window %s (%s) less reserve %s", tokens(last.WindowTokens), windowSource(string(last.WindowSource)), tokens(last.ReserveTokens))}
	unit := "requests over budget"
	if s.OverBudgetRequests == 1 {
		unit = "request over budget"
	}
	p.Over = htmlFigure{Number: tokens(s.OverBudgetRequests), Unit: unit, Note: "of " + tokens(len(r.Requests)), Alarm: s.OverBudgetRequests > 0}
	if s.OverBudgetRequests > 0 {
		p.Over.Note = fmt.Sprintf("of %s; %s sent", tokens(len(r.Requests)), tokens(s.OverBudgetSent))
	}
	p.More = r.figures()[3:] // the first three are the numbers above
	p.HasUsage, p.HasError, p.HasCost = s.WithUsage > 0, s.Estimate.ComparedRequests > 0, s.WithUsage > 0 && r.priced()
	p.CostNote = "US dollars"
	if s.CostUSD == nil {
		p.CostNote = "US dollars, as long as every price is known"
	}
	p.Summary = r.sentence()
}

// priced reports whether any request has a cost.
func (r *Run) priced() bool {
	for i := range r.Requests {
		if c := r.Requests[i].Completed; c != nil && c.CostUSD != nil {
			return true
		}
	}
	return false
}

// sentence is the text alternative of the chart of the window.
func (r *Run) sentence() string {
	s := &r.Summary
	first, last := &r.Requests[0], &r.Requests[r.Last()]
	var parts []string
	for _, c := range order() {
		if n := s.PeakCategories[c]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", categoryTitle(c), share(n, s.PeakInputTokens)))
		}
	}
	return fmt.Sprintf("Stacked chart of the tokens in the window before each of %s. It begins with %s tokens, peaks with %s at request %d and ends with %s; the budget is %s. At the peak: %s. The table of requests below has every number.",
		plural(len(r.Requests), "request"), tokens(first.InputTokens()), tokens(s.PeakInputTokens), s.PeakRequest, tokens(last.InputTokens()),
		tokens(last.Budgeted.AvailableTokens), strings.Join(parts, ", "))
}

// program puts the page's own script together.
func program() (string, error) {
	var b strings.Builder
	b.WriteString("(() => {\n'use strict';\n")
	for _, name := range scriptFiles() {
		text, err := asset(name)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	b.WriteString("})();\n")
	return b.String(), nil
}

func asset(name string) (string, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read page part: %w", err)
	}
	return string(data), nil
}

// policy lets the page run its own two scripts and its own style and nothing
// else: nothing is loaded, and text that got into the page cannot run.
func policy(style string, scripts ...string) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	var b strings.Builder
	b.WriteString("default-src 'none'; style-src " + hash(style) + "; script-src")
	for _, s := range scripts {
		b.WriteString(" " + hash(s))
	}
	return b.String() + "; base-uri 'none'; form-action 'none'"
}
