// Command genclasses builds the character class table of package bpe from the
// checked-in list of ranges.
//
//	go run ./tokenizer/internal/genclasses -in classes.txt -out classes.bin
//
// With -pin it writes that list anew from the Unicode tables of the Go release
// that runs it, which is how the list is moved to another Unicode version.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "genclasses:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("genclasses", flag.ContinueOnError)
	in := flags.String("in", "", "list of ranges to read")
	out := flags.String("out", "", "table to write")
	pin := flags.Bool("pin", false, "print a new list of ranges and stop")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *pin {
		_, err := stdout.Write(Ranges())
		return err
	}
	if *in == "" || *out == "" {
		return errors.New("name the list with -in and the table with -out")
	}
	list, err := os.ReadFile(*in)
	if err != nil {
		return fmt.Errorf("read ranges: %w", err)
	}
	table, err := Table(string(list))
	if err != nil {
		return fmt.Errorf("build table from %s: %w", *in, err)
	}
	if err := os.WriteFile(*out, table, 0o644); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}
