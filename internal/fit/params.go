package main

import (
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer"
)

// A param is a number of a profile that can be fitted. The estimate is linear
// in all of them.
type param int

const (
	pRequest param = iota
	pMessage
	pCall
	pResult
	pArgument
	pParallel
	pReasoning
	pTools
	pTool
	pProperty
	pProviderTool
	pText   // TextRatio
	pSchema // TextRatio × SchemaRatio
	pSealed // 1 ÷ Sealed.BytesPerToken

	paramCount = int(pSealed) + 1
)

// field returns where a parameter stands in a profile; nil for the three that
// are not plain additions.
func field(p *tokencount.Profile, q param) *float64 {
	switch q {
	case pRequest:
		return &p.RequestTokens
	case pMessage:
		return &p.MessageTokens
	case pCall:
		return &p.ToolCallTokens
	case pResult:
		return &p.ToolResultTokens
	case pArgument:
		return &p.ArgumentTokens
	case pParallel:
		return &p.ParallelTokens
	case pReasoning:
		return &p.ReasoningTokens
	case pTools:
		return &p.ToolsTokens
	case pTool:
		return &p.ToolTokens
	case pProperty:
		return &p.PropertyTokens
	case pProviderTool:
		return &p.ProviderToolTokens
	}
	return nil
}

// A vector holds one value for each parameter.
type vector [paramCount]float64

// probes measure how much each parameter counts in a request, by counting
// with the product's own counter and one parameter turned up. So the fit
// cannot disagree with the counter about what a parameter means.
type probes struct {
	base     *tokencount.Counter
	params   [paramCount]*tokencount.Counter
	sealed   *tokencount.Counter
	skeleton tokencount.Profile
}

// turned is how far a parameter is turned up; rounding is then negligible.
const turned = 1000

func newProbes(text tokenizer.Counter, skeleton tokencount.Profile) *probes {
	p := &probes{skeleton: skeleton}
	skeleton.TextRatio, skeleton.SchemaRatio = 1, 1
	skeleton.Vocabulary = "" // so that the ratio can be turned up in any vocabulary
	provided := skeleton.ProviderToolTokens > 0
	for q := range param(paramCount) {
		if f := field(&skeleton, q); f != nil {
			*f = 0
		}
	}
	if provided {
		skeleton.ProviderToolTokens = 1e-9 // such tools are told apart, and weigh nothing yet
	}
	p.base = tokencount.New(text, skeleton)
	for q := range param(paramCount) {
		s := skeleton
		switch f := field(&s, q); {
		case q == pProviderTool && !provided:
			continue
		case f != nil:
			*f = turned
		case q == pText:
			s.TextRatio = 1 + turned
		case q == pSchema:
			s.SchemaRatio = 1 + turned
		case q == pSealed && s.Sealed.BytesPerToken > 0:
			s.Sealed.BytesPerToken = 1.0 / (2 * turned)
			p.params[q] = tokencount.New(text, s)
			s.Sealed.BytesPerToken = 1.0 / turned
			p.sealed = tokencount.New(text, s)
			continue
		}
		p.params[q] = tokencount.New(text, s)
	}
	return p
}

// measure returns the weight of each parameter in a request and the part that
// no parameter moves.
func (p *probes) measure(r model.Request) (v vector, fixed float64) {
	bare := r
	bare.Tools = nil
	total := func(c *tokencount.Counter, r model.Request) float64 { return float64(c.Request(r).Breakdown.Total()) }
	base, bareBase := total(p.base, r), total(p.base, bare)
	for q := range param(paramCount) {
		switch {
		case p.params[q] == nil:
		case q == pText:
			v[q] = (total(p.params[q], bare) - bareBase) / turned
		case q == pSchema:
			v[q] = (total(p.params[q], r) - base) / turned
		case q == pSealed:
			if p.sealed != nil {
				v[q] = (total(p.params[q], bare) - total(p.sealed, bare)) / turned
			}
		default:
			v[q] = (total(p.params[q], r) - base) / turned
		}
	}
	fixed = float64(p.base.Request(r).Breakdown[budget.Images])
	return v, fixed
}

// growth is measure for messages alone.
func (p *probes) growth(ms []message.Message) (vector, float64) {
	v, fixed := p.measure(model.Request{Messages: ms})
	v[pRequest] = 0
	return v, fixed
}

// A memo counts each text once: the probes of a group differ in what they make
// of a count, not in the count.
type memo struct {
	tokenizer.Counter
	counts map[string]int
}

func newMemo(c tokenizer.Counter) *memo { return &memo{c, map[string]int{}} }

func (m *memo) Count(text string) int {
	n, ok := m.counts[text]
	if !ok {
		n = m.Counter.Count(text)
		m.counts[text] = n
	}
	return n
}
