package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/tiktoken-go/tokenizer"

	"github.com/forge-agent/forge/internal/tokentest"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

const firstText = "What fills this context window, and what does it cost?\n\n\tif err != nil {\n\t\treturn err\n\t}\n"

// firstCounters are what a fresh process can count its first text with.
var firstCounters = []string{"forge", "tiktoken-go/tokenizer", "pkoukk/tiktoken-go"}

// firstCount counts one text, tables included, and prints the CPU time.
func firstCount(name string, out io.Writer) error {
	var d time.Duration
	switch name {
	case "forge":
		d = cpuOf(func() { o200k.New().Count(firstText) })
	case "tiktoken-go/tokenizer":
		d = cpuOf(func() { tiktokenGo(tokenizer.O200kBase)()(firstText) })
	case "pkoukk/tiktoken-go":
		d = cpuOf(func() { tokentest.Tiktoken(abort{}, o200k.Name)(firstText) })
	default:
		return fmt.Errorf("no counter %q: one of %s", name, strings.Join(firstCounters, ", "))
	}
	_, err := fmt.Fprintln(out, d.Nanoseconds())
	return err
}

// printFirst prints the first count of fresh processes.
func printFirst(out io.Writer, rounds int) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	times := make([][]time.Duration, len(firstCounters))
	for range rounds {
		for i, name := range firstCounters {
			printed, err := exec.Command(program, "-first", name).Output()
			if err != nil {
				return fmt.Errorf("count in a fresh process: %w", err)
			}
			n, err := strconv.ParseInt(strings.TrimSpace(string(printed)), 10, 64)
			if err != nil {
				return fmt.Errorf("read time of a fresh process: %w", err)
			}
			times[i] = append(times[i], time.Duration(n))
		}
	}
	fmt.Fprintln(out, "first count in a fresh process, o200k_base")
	ours := median(times[0])
	for i, name := range firstCounters {
		d := median(times[i])
		fmt.Fprintf(out, "  %-22s %6.1f ms, forge takes %.3f of it\n", name, float64(d.Microseconds())/1e3, ours.Seconds()/d.Seconds())
	}
	fmt.Fprintln(out)
	return nil
}
