// Command genvocab turns a published vocabulary into a merge file, the form
// that package bpe reads.
//
//	go run ./tokenizer/internal/genvocab -out o200k.merges o200k_base.tiktoken
//	go run ./tokenizer/internal/genvocab -out qwen3.merges tokenizer.json
//
// That is done by hand when a vocabulary is added; the SOURCE.md beside each
// merge file says from what. A merge file holds only the merges, six bytes
// each, because the bytes of a token follow from the two that it is made of.
//
// From a merge file it takes the first merges, as go generate does:
//
//	go run ./tokenizer/internal/genvocab -head 4096 -out head.merges o200k.merges
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/forge-agent/forge/tokenizer/internal/mergefile"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "genvocab:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("genvocab", flag.ContinueOnError)
	out := flags.String("out", "", "merge file to write")
	head := flags.Int("head", 0, "write only so many merges of a merge file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || flags.NArg() != 1 {
		return errors.New("name the merge file with -out and one .tiktoken, tokenizer.json or .merges file")
	}
	path := flags.Arg(0)
	source, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read vocabulary: %w", err)
	}
	merges, err := convert(path, source, *head)
	if err != nil {
		return fmt.Errorf("convert %s: %w", path, err)
	}
	if err := os.WriteFile(*out, merges, 0o644); err != nil {
		return fmt.Errorf("write merge file: %w", err)
	}
	return nil
}

func convert(path string, source []byte, head int) ([]byte, error) {
	switch filepath.Ext(path) {
	case ".tiktoken":
		return mergefile.FromTiktoken(source)
	case ".json":
		return mergefile.FromTokenizerJSON(source)
	case ".merges":
		return mergefile.Head(source, head)
	}
	return nil, errors.New("the name ends in none of .tiktoken, .json and .merges")
}
