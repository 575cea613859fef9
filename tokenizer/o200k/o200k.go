// Package o200k counts tokens with o200k_base, the vocabulary of GPT-4o and
// the OpenAI models since.
//
// Where the vocabulary comes from stands in SOURCE.md, its licence in LICENSE.
package o200k

import (
	_ "embed"
	"sync"

	"github.com/forge-agent/forge/tokenizer/bpe"
)

// Name is the name of the vocabulary.
const Name = "o200k_base"

//go:embed o200k.merges
var merges string

var vocabulary = sync.OnceValue(func() *bpe.Vocabulary {
	v, err := bpe.NewVocabulary(bpe.Definition{Name: Name, Pattern: bpe.PatternO200K, MergeFile: merges})
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
