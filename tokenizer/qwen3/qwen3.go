// Package qwen3 counts tokens with the vocabulary of Qwen 3, which Qwen 2 and
// 2.5 share.
//
// Where the vocabulary comes from stands in SOURCE.md, its licence in LICENSE.
package qwen3

import (
	_ "embed"
	"sync"

	"github.com/forge-agent/forge/tokenizer/bpe"
)

// Name is the name of the vocabulary.
const Name = "qwen3"

//go:embed qwen3.merges
var merges string

var vocabulary = sync.OnceValue(func() *bpe.Vocabulary {
	v, err := bpe.NewVocabulary(bpe.Definition{Name: Name, Pattern: bpe.PatternQwen2, NFC: true, MergeFile: merges})
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
