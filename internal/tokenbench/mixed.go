package main

import (
	"fmt"
	"io"
	"time"

	"github.com/tiktoken-go/tokenizer"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/bpe"
	"github.com/forge-agent/forge/tokenizer/cl100k"
	"github.com/forge-agent/forge/tokenizer/conservative"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/tokenizer/qwen3"
)

// A contender is one counter of a comparison.
type contender struct {
	name string
	// fresh returns a counting function with nothing cached.
	fresh func() func(string) int
	// exact says that its counts are expected to equal those of the first.
	exact bool
}

// A comparison is a group of counters of one vocabulary, ours first.
type comparison struct {
	name       string
	contenders []contender
}

func comparisons() []comparison {
	return []comparison{
		{"o200k_base", []contender{
			{"forge", func() func(string) int { return o200k.New().Count }, true},
			{"tiktoken-go/tokenizer", tiktokenGo(tokenizer.O200kBase), false},
			{"pkoukk/tiktoken-go", shared(tokentest.Tiktoken(abort{}, o200k.Name)), true},
		}},
		{"cl100k_base", []contender{
			{"forge", func() func(string) int { return cl100k.New().Count }, true},
			{"tiktoken-go/tokenizer", tiktokenGo(tokenizer.Cl100kBase), false},
			{"pkoukk/tiktoken-go", shared(tokentest.Tiktoken(abort{}, cl100k.Name)), true},
		}},
		{"Qwen 3", []contender{
			{"forge", func() func(string) int { return qwen3.New().Count }, true},
			{"interpreted regex", shared(tokentest.Qwen2(abort{}, qwen3Merges())), true},
		}},
		// DeepSeek's own vocabulary is not in the repository.
		{"DeepSeek cuts", []contender{
			{"forge", deepSeek(), true},
			{"interpreted regex", shared(tokentest.DeepSeek(abort{}, qwen3Merges())), true},
		}},
		{"conservative", []contender{
			{"forge", func() func(string) int { return conservative.New().Count }, true},
		}},
	}
}

// deepSeek counts with the pattern of DeepSeek V3 and the merges of Qwen 3.
func deepSeek() func() func(string) int {
	v, err := bpe.NewVocabulary(bpe.Definition{Name: "deepseek", Pattern: bpe.PatternDeepSeek, MergeFile: qwen3Merges()})
	if err != nil {
		abort{}.Fatal(err)
	}
	return func() func(string) int { return bpe.NewCounter(v).Count }
}

func tiktokenGo(encoding tokenizer.Encoding) func() func(string) int {
	return func() func(string) int {
		codec, err := tokenizer.Get(encoding)
		if err != nil {
			abort{}.Fatal(err)
		}
		return func(text string) int {
			n, err := codec.Count(text)
			if err != nil {
				abort{}.Fatal(err)
			}
			return n
		}
	}
}

func shared(count tokentest.Reference) func() func(string) int {
	return func() func(string) int { return count }
}

// printMixed prints throughput on mixed text. Ours starts each round with an
// empty cache; "again" is the same text a second time.
func printMixed(out io.Writer, texts []string, rounds int) {
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	fmt.Fprintf(out, "mixed agent text, %d texts, %.1f MB\n", len(texts), float64(size)/1e6)
	for _, c := range comparisons() {
		times := make([][]time.Duration, len(c.contenders))
		var again []time.Duration
		tokens := make([]int, len(c.contenders))
		for _, contender := range c.contenders {
			contender.fresh()(texts[0]) // tables are built outside the measurement
		}
		for range rounds {
			for i, contender := range c.contenders {
				count := contender.fresh()
				times[i] = append(times[i], cpuOf(func() { tokens[i] = countAll(count, texts) }))
				if i == 0 {
					again = append(again, cpuOf(func() { countAll(count, texts) }))
				}
			}
		}
		ours := median(times[0])
		fmt.Fprintf(out, "  %-14s %-22s %7.1f MB/s, again %.1f MB/s, %d tokens\n", c.name, "forge",
			megabytesPerSecond(size, ours), megabytesPerSecond(size, median(again)), tokens[0])
		for i, contender := range c.contenders[1:] {
			d := median(times[i+1])
			fmt.Fprintf(out, "  %-14s %-22s %7.1f MB/s, forge is %.1f x as fast%s\n", "", contender.name,
				megabytesPerSecond(size, d), d.Seconds()/ours.Seconds(), difference(contender, tokens[i+1]-tokens[0]))
		}
	}
	fmt.Fprintln(out)
}

func difference(c contender, tokens int) string {
	switch {
	case tokens == 0:
		return ", same count"
	case c.exact:
		return fmt.Sprintf(", COUNT DIFFERS BY %d", tokens)
	}
	return fmt.Sprintf(", miscounts by %+d", tokens)
}

func countAll(count func(string) int, texts []string) int {
	total := 0
	for _, text := range texts {
		total += count(text)
	}
	return total
}
