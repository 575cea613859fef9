// Command genvocab turns a published vocabulary into a merge file, the form
// that package bpe reads.
//
//	go run ./tokenizer/internal/genvocab -out o200k.merges o200k_base.tiktoken
//	go run ./tokenizer/internal/genvocab -out qwen3.merges tokenizer.json
//
// It is run by hand when a vocabulary is added; the SOURCE.md beside each
// merge file says from what. A merge file holds only the merges, six bytes
// each, because the bytes of a token follow from the two that it is made of.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

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
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || flags.NArg() != 1 {
		return errors.New("name the merge file with -out and one .tiktoken or tokenizer.json file")
	}
	source, err := os.ReadFile(flags.Arg(0))
	if err != nil {
		return fmt.Errorf("read vocabulary: %w", err)
	}
	convert := mergefile.FromTiktoken
	if strings.HasSuffix(flags.Arg(0), ".json") {
		convert = mergefile.FromTokenizerJSON
	}
	merges, err := convert(source)
	if err != nil {
		return fmt.Errorf("convert %s: %w", flags.Arg(0), err)
	}
	if err := os.WriteFile(*out, merges, 0o644); err != nil {
		return fmt.Errorf("write merge file: %w", err)
	}
	return nil
}
