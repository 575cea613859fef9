package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/forge-agent/forge/internal/eval/estimate"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer"
)

// layout assigns each fitted parameter of each variant its place in the
// vector of unknowns.
type layout struct {
	index   [][paramCount]int // by variant; -1 for a parameter that stays zero
	beliefs []belief
}

func layOut(g group) layout {
	var l layout
	shared := [paramCount]int{}
	for q := range param(paramCount) {
		shared[q] = -1
		if b, ok := g.beliefs[q]; ok {
			shared[q] = len(l.beliefs)
			l.beliefs = append(l.beliefs, b)
		}
	}
	for _, v := range g.variants {
		index := shared
		for q := range param(paramCount) {
			if b, ok := v.own[q]; ok {
				index[q] = len(l.beliefs)
				l.beliefs = append(l.beliefs, b)
			}
		}
		l.index = append(l.index, index)
	}
	return l
}

// equation places what was measured of a variant.
func (l layout) equation(variant int, v vector, reported float64) equation {
	e := equation{weights: make([]float64, len(l.beliefs)), reported: reported}
	for q, i := range l.index[variant] {
		if i < 0 && param(q) == pSchema {
			i = l.index[variant][pText] // a schema is text like any other
		}
		if i >= 0 {
			e.weights[i] += v[q]
		}
	}
	return e
}

// A fitter fits one group. It measures every request and step once.
type fitter struct {
	group    group
	text     tokenizer.Counter
	layout   layout
	requests []sample
	steps    []sample
}

// A sample is a request or a step of growth with its equation.
type sample struct {
	variant  int
	request  estimate.Recorded // of a request
	growth   growth            // of a step
	equation equation
}

func newFitter(text tokenizer.Counter, g group, rows []estimate.Recorded, steps []growth) *fitter {
	f := &fitter{group: g, text: text, layout: layOut(g)}
	probe := make([]*probes, len(g.variants))
	for i := range g.variants {
		probe[i] = newProbes(text, g.skeletonOf(i))
	}
	for _, r := range rows {
		if i := g.variantOf(r.Route); i >= 0 {
			v, fixed := probe[i].measure(r.Request)
			f.requests = append(f.requests, sample{variant: i, request: r, equation: f.layout.equation(i, v, float64(r.Reported)-fixed)})
		}
	}
	for _, s := range steps {
		if i := g.variantOf(s.route); i >= 0 && !hasImage(s.messages) {
			v, fixed := probe[i].growth(s.messages)
			f.steps = append(f.steps, sample{variant: i, growth: s, equation: f.layout.equation(i, v, float64(s.reported())-fixed)})
		}
	}
	return f
}

// fit returns the profiles of the group's variants, fitted on the requests
// that learn accepts and on the steps that are meant for it. Their number is
// returned too.
func (f *fitter) fit(learn func(estimate.Recorded) bool) (profiles []tokencount.Profile, requests, steps int) {
	var eqs []equation
	for _, s := range f.requests {
		if learn(s.request) && fits(s.request) {
			eqs = append(eqs, s.equation)
			requests++
		}
	}
	for _, s := range f.steps {
		if s.growth.learn {
			eqs = append(eqs, s.equation)
			steps++
		}
	}
	x := solve(eqs, f.layout.beliefs)
	for i := range f.group.variants {
		profiles = append(profiles, f.group.profile(i, f.layout, x))
	}
	return profiles, requests, steps
}

// fits says whether a request can teach anything: it holds all that its
// report counts.
func fits(r estimate.Recorded) bool {
	switch r.Kind {
	case estimate.KindImage, estimate.KindAnswerSchema, estimate.KindUncounted, estimate.KindServerContent:
		return false
	}
	return true
}

// profile builds the profile of a variant from the solution. Additions become
// whole tokens, ratios keep four digits.
func (g group) profile(variant int, l layout, x []float64) tokencount.Profile {
	p := g.skeletonOf(variant)
	value := func(q param) (float64, bool) {
		i := l.index[variant][q]
		if i < 0 {
			return 0, false
		}
		return x[i], true
	}
	for q := range param(paramCount) {
		if f := field(&p, q); f != nil {
			n, _ := value(q)
			*f = math.Round(n) + 0 // no negative zero
		}
	}
	ratio, _ := value(pText)
	p.TextRatio = digits(ratio)
	if schema, ok := value(pSchema); ok {
		p.SchemaRatio = digits(schema / ratio)
	}
	if n, ok := value(pSealed); ok && n > 0 {
		p.Sealed.BytesPerToken = digits(1 / n)
	}
	return p
}

func digits(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// skeletonOf is the group's skeleton as a variant counts.
func (g group) skeletonOf(variant int) tokencount.Profile {
	p := g.skeleton
	if v := g.variants[variant]; v.adapt != nil {
		v.adapt(&p)
	}
	return p
}

// variantOf returns the variant that a route goes by, as tokencount.ProfileOf
// finds it; -1 for none.
func (g group) variantOf(r tokencount.Route) int {
	if r.Family != g.skeleton.Family {
		return -1
	}
	for i, v := range slices.Backward(g.variants) {
		if v.match.Covers(r) {
			return i
		}
	}
	return -1
}

// Constants of the error bands: the constant part is the difference that is
// not held against an estimate either, the share covers nearly all of what a
// variant's requests are short by beyond it.
const (
	bandTokens   = freeTokens
	mostBand     = 0.25
	bandQuantile = 0.95
)

// band returns the half-width of a variant's band as a share of the estimate.
func (f *fitter) band(variant int, p tokencount.Profile) float64 {
	var short []float64
	for _, s := range f.requests {
		if s.variant != variant || estimate.InTest(s.request.TestCase) || !fits(s.request) {
			continue
		}
		got := tokencount.New(f.text, p).Request(s.request.Request).Estimate.Tokens
		short = append(short, max(0, float64(s.request.Reported-got-bandTokens))/float64(got))
	}
	return min(mostBand, max(f.group.floor, math.Ceil(100*quantile(short, bandQuantile))/100))
}

// entries fits the group on the part of the requests that is for it and
// returns its lines of the table.
func (f *fitter) entries() []entry {
	profiles, requests, steps := f.fit(func(r estimate.Recorded) bool { return !estimate.InTest(r.TestCase) })
	source := f.group.source
	if steps > 0 {
		source = fmt.Sprintf("%s; %d steps of growth", source, steps)
	}
	var out []entry
	for i, v := range f.group.variants {
		p := profiles[i]
		p.BandFraction, p.BandTokens, p.Requests, p.Source = f.band(i, p), bandTokens, requests, source
		out = append(out, entry{name: v.name, match: v.match, profile: p})
	}
	for _, d := range f.group.derived {
		p := out[0].profile
		p.Family, p.Source, p.Requests = d.family, d.source, 0
		d.adapt(&p)
		out = append(out, entry{name: "like " + f.group.skeleton.Family, profile: p})
	}
	return out
}

func hasImage(ms []message.Message) bool {
	return slices.ContainsFunc(ms, func(m message.Message) bool {
		return slices.ContainsFunc(m.Blocks, func(b message.Block) bool { return estimate.KindOf(b) == estimate.KindImage })
	})
}
