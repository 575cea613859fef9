// Package cl100k counts tokens with cl100k_base, the vocabulary of GPT-4 and
// GPT-3.5.
//
// Where the vocabulary comes from stands in SOURCE.md, its licence in LICENSE.
package cl100k

import (
	_ "embed"
	"sync"

	"github.com/forge-agent/forge/tokenizer/bpe"
)

// Name is the name of the vocabulary.
const Name = "cl100k_base"

//go:embed cl100k.merges
var merges string

var vocabulary = sync.OnceValue(func() *bpe.Vocabulary {
	v, err := bpe.NewVocabulary(bpe.Definition{Name: Name, Pattern: bpe.PatternCL100K, MergeFile: merges})
	if err != nil {
		panic(err) // the embedded file is checked by a test
	}
	return v
})

// New returns a counter. The first call builds the tables, which all counters
// share; a counter itself is not safe for concurrent use.
func New() *bpe.Counter {
	return bpe.NewCounter(vocabulary())
}
