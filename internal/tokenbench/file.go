package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/forge-agent/forge/tokenizer"
	"github.com/forge-agent/forge/tokenizer/bpe"
	"github.com/forge-agent/forge/tokenizer/hfjson"
)

// printFile prints how long a tokenizer.json takes to read and how fast its
// vocabulary counts.
func printFile(out io.Writer, path string, texts []string, rounds int) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	var v *bpe.Vocabulary
	reading := cpuOf(func() { v, err = hfjson.Read(file, filepath.Base(path)) })
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	size, tokens := 0, 0
	for _, text := range texts {
		size += len(text)
	}
	var times []time.Duration
	for range rounds {
		counter := bpe.NewCounter(v)
		times = append(times, cpuOf(func() { tokens = countAll(counter.Count, texts) }))
	}
	fmt.Fprintf(out, "read in %.2f s of CPU time, %d MB from the system\n", reading.Seconds(), memory.Sys>>20)
	fmt.Fprintf(out, "mixed agent text, %.1f MB: %.1f MB/s, %d tokens\n\n", float64(size)/1e6, megabytesPerSecond(size, median(times)), tokens)
	printHostile(out, []func() tokenizer.Counter{func() tokenizer.Counter { return bpe.NewCounter(v) }})
	return nil
}
