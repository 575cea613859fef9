// Package vocabulary maps the vocabulary and family that the catalog names to
// a counter. It is the one place of the program that links all embedded
// vocabularies; a library user links only what they import.
package vocabulary

import (
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/cl100k"
	"github.com/forge-agent/forge/tokenizer/conservative"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/tokenizer/qwen3"
)

// Text returns a counter for plain text of a model, and whether it is exact:
// whether the model's own vocabulary is public and built in.
//
// A known family without one is counted with o200k_base, on which the family's
// profile is fitted. A model of which nothing is known is counted by bytes,
// conservatively.
func Text(m catalog.Model) (tokenizer.Counter, bool) {
	switch m.Vocabulary.V {
	case o200k.Name:
		return o200k.New(), true
	case cl100k.Name:
		return cl100k.New(), true
	case qwen3.Name:
		return qwen3.New(), true
	}
	if m.Family != "" {
		return o200k.New(), false
	}
	return conservative.New(), false
}

// Counter returns a counter for requests that go to a model on a route. The
// route's family is the model's; its name, where it has none, the catalog's.
func Counter(m catalog.Model, r tokencount.Route) *tokencount.Counter {
	text, _ := Text(m)
	r.Family = string(m.Family)
	if r.Model == "" {
		r.Model = m.ID
	}
	return tokencount.New(text, tokencount.ProfileOf(r))
}
