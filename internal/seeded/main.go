// Command seeded measures how much of what a user stated an extractive
// checkpoint keeps: it plants rules in real sessions, in many phrasings,
// places and languages, among small talk, pasted logs and look-alikes, and
// compacts the whole by 98 %.
//
//	FORGE_CORPUS=… go run ./internal/seeded [-ranges 30] [-seed 1] [-tokens 100000] [-chatter 3] [-sets dev,heldout] [-misses]
//
// A rule counts as kept when one line of the checkpoint comes from its message
// and holds all of its discriminative words. The phrasings come in two sets:
// those the classifier was tuned with, and those held out.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/sessionfile/formats"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
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
	flag.Parse()
	if *fast {
		if err := runSpeed(os.Stdout, os.Getenv("FORGE_CORPUS"), *small); err != nil {
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

func runSpeed(out io.Writer, corpus string, small int) error {
	sessions, err := loadSessions(corpus)
	if err != nil {
		return err
	}
	w, err := readWording("dev", "dev.txt", "chatter_dev.txt")
	if err != nil {
		return err
	}
	return speed(out, sessions, w, small)
}

func run(out io.Writer, corpus string, sets []string, talk string, ranges int, first uint64, tokens, small int, misses bool) error {
	sessions, err := loadSessions(corpus)
	if err != nil {
		return err
	}
	for _, name := range sets {
		w, err := readWording(name, name+".txt", "chatter_"+cmp.Or(talk, name)+".txt")
		if err != nil {
			return err
		}
		res, err := measure(sessions, w, ranges, first, tokens, small)
		if err != nil {
			return err
		}
		res.print(out, misses && name != "heldout")
		if _, err := survival(out, sessions, w, max(1, ranges/10), first, tokens, small); err != nil {
			return err
		}
	}
	return nil
}

// loadSessions reads every session file below dir that an importer knows.
func loadSessions(dir string) ([][]message.Message, error) {
	if dir == "" {
		return nil, fmt.Errorf("set FORGE_CORPUS to a folder with session files")
	}
	var sessions [][]message.Message
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		s, err := sessionfile.Open(path, formats.All(), nil)
		if err != nil || s.Transcript.Len() < 4 {
			return nil // not a session, or nothing in it
		}
		var ms []message.Message
		for _, m := range s.Transcript.All() {
			ms = append(ms, m)
		}
		sessions = append(sessions, withoutOpenCalls(ms))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(sessions) == 0 {
		return nil, fmt.Errorf("no session files in %s", dir)
	}
	return sessions, nil
}

// withoutOpenCalls cuts a session before the first call that never got a
// result, so that others can follow it.
func withoutOpenCalls(ms []message.Message) []message.Message {
	answered := map[string]bool{}
	for _, m := range ms {
		for _, b := range m.Blocks {
			if r, ok := b.(message.ToolResult); ok {
				answered[r.CallID] = true
			}
		}
	}
	for i, m := range ms {
		for _, b := range m.Blocks {
			if c, ok := b.(message.ToolCall); ok && !answered[c.ID] {
				return ms[:i]
			}
		}
	}
	return ms
}

// result is what was measured with one set of phrasings.
type result struct {
	wording                                  string
	ranges, kept, total                      int
	pinsNotPlanted, pins                     int
	rangeTokens, textTokens, planted         int
	byFamily, byLanguage, byPosition, byName map[string]*share
	lost                                     []seed
}

type share struct{ kept, total int }

func measure(sessions [][]message.Message, w wording, ranges int, first uint64, tokens, small int) (*result, error) {
	res := &result{wording: w.name, byFamily: map[string]*share{}, byLanguage: map[string]*share{}, byPosition: map[string]*share{}, byName: map[string]*share{}}
	for i := range ranges {
		r := rand.New(rand.NewPCG(first+uint64(i), 98))
		counter := tokencount.New(o200k.New(), tokencount.Profile{})
		p, err := plant(r, sessions, w, counter, tokens, small)
		if err != nil {
			return nil, fmt.Errorf("plant range %d: %w", i, err)
		}
		if err := res.add(p, counter); err != nil {
			return nil, fmt.Errorf("compact range %d: %w", i, err)
		}
	}
	return res, nil
}

// lineTexts compacts a range by 98 % and returns the lines by message id.
func lineTexts(p *planted, counter *tokencount.Counter) (map[string][]string, *compaction.Plan, error) {
	plan, err := compaction.Extractive{}.Plan(context.Background(), compaction.Input{Transcript: p.transcript, Through: p.transcript.Len(),
		Counter: counter, RangeTokens: p.rangeTokens, Reduction: 0.98, Now: time.Unix(0, 0)})
	if err != nil {
		return nil, nil, err
	}
	lines, err := byMessage(p, plan)
	return lines, plan, err
}

func byMessage(p *planted, plan *compaction.Plan) (map[string][]string, error) {
	lines, err := compaction.Lines(plan.Text)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, l := range lines {
		id := p.transcript.At(l.Message).ID
		out[id] = append(out[id], l.Text)
	}
	return out, nil
}

func (res *result) add(p *planted, counter *tokencount.Counter) error {
	lines, plan, err := lineTexts(p, counter)
	if err != nil {
		return err
	}
	res.ranges++
	res.rangeTokens += p.rangeTokens
	res.textTokens += plan.CheckpointTokens
	res.planted += p.seedTokens
	rules := map[string]bool{}
	for _, s := range p.seeds {
		if s.keys == nil || s.messageID == "" {
			continue
		}
		rules[s.messageID], rules[s.replaced] = true, true
		kept := s.kept(lines)
		res.total++
		if kept {
			res.kept++
		} else {
			res.lost = append(res.lost, s)
		}
		for m, key := range map[*map[string]*share]string{&res.byFamily: s.family, &res.byLanguage: s.language,
			&res.byName: s.naming, &res.byPosition: fmt.Sprintf("%.0f%%", math.Floor(s.position*5)*20)} {
			if (*m)[key] == nil {
				(*m)[key] = &share{}
			}
			(*m)[key].total++
			if kept {
				(*m)[key].kept++
			}
		}
	}
	for _, pin := range plan.Pins {
		res.pins++
		if !rules[pin.MessageID] {
			res.pinsNotPlanted++
		}
	}
	return nil
}

// wilson returns the 95 % interval of a share.
func wilson(kept, total int) (low, high float64) {
	if total == 0 {
		return 0, 1
	}
	const z = 1.959964
	n, p := float64(total), float64(kept)/float64(total)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return middle - half, middle + half
}

func (res *result) recall() float64 { return float64(res.kept) / float64(max(1, res.total)) }

func (res *result) print(out io.Writer, misses bool) {
	low, high := wilson(res.kept, res.total)
	fmt.Fprintf(out, "%s: %d of %d rules kept, %.2f %% (95 %%: %.2f to %.2f)\n", res.wording, res.kept, res.total, 100*res.recall(), 100*low, 100*high)
	fmt.Fprintf(out, "  %d ranges, %d tokens each, checkpoint %d tokens (reduction %.2f %%), planted %.0f %% of it\n", res.ranges, res.rangeTokens/res.ranges,
		res.textTokens/res.ranges, 100-100*float64(res.textTokens)/float64(res.rangeTokens), 100*float64(res.planted)/float64(res.textTokens))
	fmt.Fprintf(out, "  %d pins, %d of them from messages where nothing was planted\n", res.pins/res.ranges, res.pinsNotPlanted/res.ranges)
	for _, m := range []map[string]*share{res.byFamily, res.byLanguage, res.byPosition, res.byName} {
		var parts []string
		for _, k := range sortedKeys(m) {
			parts = append(parts, fmt.Sprintf("%s %d/%d", k, m[k].kept, m[k].total))
		}
		fmt.Fprintf(out, "  %s\n", strings.Join(parts, ", "))
	}
	if misses {
		for _, s := range res.lost {
			fmt.Fprintf(out, "  lost [%s %s] %s\n", s.family, s.language, s.text)
		}
	}
}

func sortedKeys(m map[string]*share) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
