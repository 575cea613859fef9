package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/bpe"
	"github.com/forge-agent/forge/tokenizer/cl100k"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/tokenizer/qwen3"
)

func qwen3Merges() string { return mergeFile("tokenizer/qwen3/qwen3.merges") }

// mergeFile reads a merge file; the program runs in the root of the repository.
func mergeFile(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		abort{}.Fatal(err)
	}
	return string(content)
}

// printOvercounts prints how far the conservative counter is above the largest
// of the exact ones, for several numbers of merges. It needs FORGE_CORPUS.
func printOvercounts(out io.Writer) error {
	var texts []string
	var largest []int
	exact := []*bpe.Counter{o200k.New(), cl100k.New(), qwen3.New()}
	total := 0
	for text := range tokentest.CorpusTexts(abort{}) {
		n := 0
		for _, counter := range exact {
			n = max(n, counter.Count(text))
		}
		texts, largest = append(texts, text), append(largest, n)
		total += n
	}
	fmt.Fprintf(out, "%d texts of the shared session files; count over the largest of the three\n", len(texts))
	fmt.Fprintln(out, "merges   median    p95   200 bytes and more: median   total   below")
	o200kFile, qwen3File := mergeFile("tokenizer/o200k/o200k.merges"), qwen3Merges()
	for merges := 256; merges <= 1<<15; merges *= 2 {
		counters, err := heads(merges, o200kFile, qwen3File)
		if err != nil {
			return err
		}
		var overcounts, long []float64
		sum, below := 0, 0
		for i, text := range texts {
			n := 0
			for _, counter := range counters {
				n = max(n, counter.Count(text))
			}
			sum += n
			if n < largest[i] {
				below++
			}
			overcount := float64(n) / float64(largest[i])
			overcounts = append(overcounts, overcount)
			if len(text) >= 200 {
				long = append(long, overcount)
			}
		}
		slices.Sort(overcounts)
		fmt.Fprintf(out, "%6d %8.2f %6.2f %28.2f %7.2f %7d\n", merges, median(overcounts),
			overcounts[len(overcounts)*95/100], median(long), float64(sum)/float64(total), below)
	}
	return nil
}

// heads returns counters with the first merges of the two vocabularies.
func heads(merges int, o200kFile, qwen3File string) ([]*bpe.Counter, error) {
	const mergeBytes = 6
	var counters []*bpe.Counter
	for _, definition := range []bpe.Definition{
		{Pattern: bpe.PatternO200K, MergeFile: o200kFile},
		{Pattern: bpe.PatternQwen2, MergeFile: qwen3File, NFC: true},
		{Pattern: bpe.PatternCL100K, MergeFile: qwen3File},
	} {
		definition.MergeFile = definition.MergeFile[:merges*mergeBytes]
		v, err := bpe.NewVocabulary(definition)
		if err != nil {
			return nil, err
		}
		counters = append(counters, bpe.NewCounter(v))
	}
	return counters, nil
}
