package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/internal/seeded"
	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
	"github.com/forge-agent/forge/transcript"
)

// speed compares the CPU time of a checkpoint of growing transcripts, parsed
// from the start each time, with the time that pkoukk/tiktoken-go takes to
// count the same text, and prints how the time grows for each doubling.
func speed(out io.Writer, sessions [][]message.Message, w seeded.Wording, small int, reduction float64) error {
	reference := tokentest.Tiktoken(fatal{}, o200k.Name)
	reference("warm up")
	counter := tokencount.New(o200k.New(), tokencount.Profile{})
	counter.Text("warm up")
	last := time.Duration(0)
	for _, tokens := range []int{125_000, 250_000, 500_000, 1_000_000} {
		p, err := seeded.Plant(rand.New(rand.NewPCG(1, 98)), sessions, w, counter, tokens, small)
		if err != nil {
			return err
		}
		took, err := fastest(p, p.RangeTokens, reduction)
		if err != nil {
			return err
		}
		counted, err := fastest(p, 0, reduction)
		if err != nil {
			return err
		}
		text := wholeText(p.Transcript)
		start := cpuTime()
		n := reference(text)
		theirs := cpuTime() - start
		growth := ""
		if last > 0 {
			growth = fmt.Sprintf(", %.2f × the one before", float64(took)/float64(last))
		}
		last = took
		fmt.Fprintf(out, "%8d tokens (%d counted by pkoukk/tiktoken-go in %d ms): checkpoint in %d ms = %.3f of that%s; %d ms with counting the range\n",
			p.RangeTokens, n, theirs.Milliseconds(), took.Milliseconds(), float64(took)/float64(theirs), growth, counted.Milliseconds())
	}
	return nil
}

// fastest returns the least CPU time of five checkpoints.
func fastest(p *seeded.Range, rangeTokens int, reduction float64) (time.Duration, error) {
	var times []time.Duration
	for range 5 {
		counter := tokencount.New(o200k.New(), tokencount.Profile{})
		start := cpuTime()
		_, err := compaction.Extractive{}.Compact(context.Background(), compaction.Input{Transcript: p.Transcript, Through: p.Transcript.Len(),
			Counter: counter, RangeTokens: rangeTokens, Reduction: reduction, Now: time.Unix(0, 0)})
		if err != nil {
			return 0, err
		}
		times = append(times, cpuTime()-start)
	}
	return slices.Min(times), nil
}

func wholeText(t *transcript.Transcript) string {
	var b strings.Builder
	for _, m := range t.All() {
		for _, block := range m.Blocks {
			switch block := block.(type) {
			case message.Text:
				b.WriteString(block.Text)
			case message.ToolCall:
				b.WriteString(block.Arguments)
			case message.ToolResult:
				b.WriteString(block.Text())
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// fatal ends the program where a test would fail.
type fatal struct{}

func (fatal) Helper()           {}
func (fatal) Fatal(args ...any) { panic(fmt.Sprint(args...)) }
func (fatal) Skip(args ...any)  { panic(fmt.Sprint(args...)) }
