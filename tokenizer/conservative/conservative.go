// Package conservative counts tokens for models whose vocabulary nobody knows:
// never fewer than o200k_base, cl100k_base and Qwen 3, and as a rule some more.
//
// # How
//
// It counts with the first 4,096 merges of o200k_base and the first 4,096 of
// Qwen 3 and takes the larger count. A byte-pair encoding applies its merges in
// order, and a later merge never makes an earlier one possible again. So the
// tokens after the first merges are what the whole vocabulary goes on from: it
// can only join them. A head of a vocabulary therefore never counts fewer
// tokens than the vocabulary, on any text.
//
// cl100k_base needs no head of its own. Up to the merges of digits, which
// Qwen 3 has none of, its merges are those of Qwen 3 in the same order, and it
// cuts text at the same places except between digits. Qwen 3 reads text in
// Unicode normalization form C and cl100k_base as it is, so where that makes a
// difference both are counted.
//
// # How many merges
//
// The fewer merges, the safer for a vocabulary that is not one of the three,
// and the larger the overcount. On the shared session files (12,835 different
// texts, count over the largest of the three):
//
//	merges   median    p95   200 bytes and more: median   total
//	 1,024     1.33   2.35                         1.81    1.72
//	 2,048     1.30   2.06                         1.60    1.57
//	 4,096     1.24   1.88                         1.42    1.41
//	 8,192     1.18   1.65                         1.29    1.30
//
// 4,096 is the smallest power of two that keeps every median well under 1.6.
// The command go run ./internal/tokenbench -conservative prints the table.
package conservative

import (
	_ "embed"
	"sync"

	"github.com/forge-agent/forge/tokenizer/bpe"
)

//go:generate go run ../internal/genvocab -head 4096 -out o200k-head.merges ../o200k/o200k.merges
//go:generate go run ../internal/genvocab -head 4096 -out qwen3-head.merges ../qwen3/qwen3.merges

// Name is the name that a Counter reports.
const Name = "conservative"

// The heads of o200k.merges and qwen3.merges; the tests compare them. Sources
// and licences stand beside the whole files.
var (
	//go:embed o200k-head.merges
	o200kHead string
	//go:embed qwen3-head.merges
	qwen3Head string
)

type vocabularies struct {
	o200k, qwen3, cl100k *bpe.Vocabulary
}

var load = sync.OnceValue(func() vocabularies {
	must := func(d bpe.Definition) *bpe.Vocabulary {
		v, err := bpe.NewVocabulary(d)
		if err != nil {
			panic(err) // the embedded files are checked by a test
		}
		return v
	}
	return vocabularies{
		o200k:  must(bpe.Definition{Name: Name, Pattern: bpe.PatternO200K, MergeFile: o200kHead}),
		qwen3:  must(bpe.Definition{Name: Name, Pattern: bpe.PatternQwen2, NFC: true, MergeFile: qwen3Head}),
		cl100k: must(bpe.Definition{Name: Name, Pattern: bpe.PatternCL100K, MergeFile: qwen3Head}),
	}
})

// A Counter counts conservatively. It implements tokenizer.Counter and, like
// [bpe.Counter], is not safe for concurrent use.
type Counter struct {
	o200k, qwen3, cl100k *bpe.Counter
}

// New returns a counter. The first call builds the tables, which all counters
// share.
func New() *Counter {
	v := load()
	return &Counter{
		o200k:  bpe.NewCounter(v.o200k),
		qwen3:  bpe.NewCounter(v.qwen3),
		cl100k: bpe.NewCounter(v.cl100k),
	}
}

// Name returns "conservative".
func (c *Counter) Name() string { return Name }

// Count returns a number of tokens that is not below the count of o200k_base,
// cl100k_base or Qwen 3. Like theirs, it counts one text: the larger of two
// vocabularies is chosen for the whole of it.
func (c *Counter) Count(text string) int {
	count := max(c.o200k.Count(text), c.qwen3.Count(text))
	if !bpe.IsNormal(text) {
		count = max(count, c.cl100k.Count(text))
	}
	return count
}
