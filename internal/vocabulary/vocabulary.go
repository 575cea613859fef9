// Package vocabulary maps the vocabulary and family that the catalog names to
// a counter. It is the one place of the program that links all embedded
// vocabularies; a library user links only what they import.
package vocabulary

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/bpe"
	"github.com/forge-agent/forge/tokenizer/cl100k"
	"github.com/forge-agent/forge/tokenizer/conservative"
	"github.com/forge-agent/forge/tokenizer/hfjson"
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

// A Source chooses the text counter of each model. The zero Source takes the
// built-in vocabularies.
type Source struct {
	file *bpe.Vocabulary
}

// Open returns a source that counts every model with the tokenizer.json at
// path, for models whose vocabulary is not built in (Llama, Gemma, DeepSeek
// and others).
func Open(path string) (Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return Source{}, fmt.Errorf("open tokenizer: %w", err)
	}
	defer f.Close()
	v, err := hfjson.Read(f, filepath.Base(path))
	if err != nil {
		return Source{}, fmt.Errorf("read tokenizer %q: %w", path, err)
	}
	return Source{file: v}, nil
}

// Text is the function Text with this source.
func (s Source) Text(m catalog.Model) (tokenizer.Counter, bool) {
	if s.file != nil {
		return bpe.NewCounter(s.file), true
	}
	return Text(m)
}

// Counter is the function Counter with this source.
func (s Source) Counter(m catalog.Model, r tokencount.Route) *tokencount.Counter {
	if s.file == nil {
		return Counter(m, r)
	}
	r.Family = string(m.Family)
	if r.Model == "" {
		r.Model = m.ID
	}
	text, profile := bpe.NewCounter(s.file), tokencount.ProfileOf(r)
	profile.Vocabulary = text.Name() // the user says that it is the model's own
	return tokencount.New(text, profile)
}
