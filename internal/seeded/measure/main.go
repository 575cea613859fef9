// Command measure measures how much of what a user stated an extractive
// checkpoint keeps: it plants rules in real sessions, in many phrasings,
// places and languages, among small talk, pasted logs and look-alikes, and
// compacts the whole by 98 %.
//
//	FORGE_CORPUS=… go run ./internal/seeded/measure [-ranges 30] [-seed 1] [-tokens 100000] [-chatter 3] [-sets dev,heldout] [-misses]
//	FORGE_CORPUS=… go run ./internal/seeded/measure -speed [-reduction 0.98]
//
// A rule counts as kept when one line of the checkpoint comes from its message
// and holds all of its discriminative words. The phrasings come in two sets:
// those the classifier was tuned with, and those held out.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/forge-agent/forge/internal/seeded"
)

func main() {
	ranges := flag.Int("ranges", 30, "ranges to make for each set of phrasings")
	first := flag.Uint64("seed", 1, "seed of the first range")
	tokens := flag.Int("tokens", 100_000, "least weight of a range")
	small := flag.Int("chatter", 3, "weight of the small talk, in multiples of the checkpoint's")
	sets := flag.String("sets", "dev,heldout", "sets of phrasings, by the names of their files")
	talk := flag.String("talk", "", "the set that the small talk is from; empty for each set's own")
	misses := flag.Bool("misses", false, "print the rules that were lost, of all sets but the held-out one")
	fast := flag.Bool("speed", false, "measure the time of a checkpoint instead")
	reduction := flag.Float64("reduction", 0.98, "share of the range that the checkpoint whose time is measured takes away")
	flag.Parse()
	if *fast {
		if err := runSpeed(os.Stdout, os.Getenv("FORGE_CORPUS"), *small, *reduction); err != nil {
			fmt.Fprintln(os.Stderr, "seeded:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(os.Stdout, os.Getenv("FORGE_CORPUS"), strings.Split(*sets, ","), *talk, *ranges, *first, *tokens, *small, *misses); err != nil {
		fmt.Fprintln(os.Stderr, "seeded:", err)
		os.Exit(1)
	}
}

func runSpeed(out io.Writer, corpus string, small int, reduction float64) error {
	sessions, err := seeded.LoadSessions(corpus)
	if err != nil {
		return err
	}
	w, err := seeded.Read("dev", "")
	if err != nil {
		return err
	}
	return speed(out, sessions, w, small, reduction)
}

func run(out io.Writer, corpus string, sets []string, talk string, ranges int, first uint64, tokens, small int, misses bool) error {
	sessions, err := seeded.LoadSessions(corpus)
	if err != nil {
		return err
	}
	for _, name := range sets {
		w, err := seeded.Read(name, talk)
		if err != nil {
			return err
		}
		res, err := seeded.Measure(sessions, w, ranges, first, tokens, small)
		if err != nil {
			return err
		}
		res.Print(out, misses && name != "heldout")
		l, err := seeded.Survival(sessions, w, max(1, ranges/10), first, tokens, small)
		if err != nil {
			return err
		}
		l.Print(out, w.Name)
	}
	return nil
}
