// Package seeded plants rules in real sessions, in many phrasings, places and
// languages, among small talk, pasted logs and look-alikes, and measures how
// many of them a checkpoint keeps.
//
// A rule counts as kept when one retained unit comes from its message and
// holds all of its discriminative words. The phrasings come in sets: those
// that the classifier was tuned with (dev), and those held out from it. The
// program in measure prints the figures.
package seeded

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
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

// LoadSessions reads every session file below dir that an importer knows.
func LoadSessions(dir string) ([][]message.Message, error) {
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
		sessions = append(sessions, WithoutOpenCalls(ms))
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

// WithoutOpenCalls cuts a session before the first call that never got a
// result, so that others can follow it.
func WithoutOpenCalls(ms []message.Message) []message.Message {
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

// A Result is what was measured with one set of phrasings.
type Result struct {
	Wording                                  string
	Ranges, Kept, Total                      int
	PinsNotPlanted, Pins                     int
	RangeTokens, TextTokens, PlantedTokens   int
	byFamily, byLanguage, byPosition, byName map[string]*share
	lost                                     []Seed
}

type share struct{ kept, total int }

// Measure plants a set of rules in ranges, the seed of the first being first,
// and compacts each by 98 %.
func Measure(sessions [][]message.Message, w Wording, ranges int, first uint64, tokens, small int) (*Result, error) {
	res := &Result{Wording: w.Name, byFamily: map[string]*share{}, byLanguage: map[string]*share{}, byPosition: map[string]*share{}, byName: map[string]*share{}}
	for i := range ranges {
		r := rand.New(rand.NewPCG(first+uint64(i), 98))
		counter := tokencount.New(o200k.New(), tokencount.Profile{})
		p, err := Plant(r, sessions, w, counter, tokens, small)
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
func lineTexts(p *Range, counter *tokencount.Counter) (map[string][]string, *compaction.Plan, error) {
	plan, err := compaction.Extractive{}.Plan(context.Background(), compaction.Input{Transcript: p.Transcript, Through: p.Transcript.Len(),
		Counter: counter, RangeTokens: p.RangeTokens, Reduction: 0.98, Now: time.Unix(0, 0)})
	if err != nil {
		return nil, nil, err
	}
	lines, err := byMessage(p, plan)
	return lines, plan, err
}

func byMessage(p *Range, plan *compaction.Plan) (map[string][]string, error) {
	lines, err := compaction.Lines(plan.Text)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, l := range lines {
		if l.Names() {
			continue // they state nothing
		}
		id := p.Transcript.At(l.Message).ID
		out[id] = append(out[id], l.Text)
	}
	return out, nil
}

func (res *Result) add(p *Range, counter *tokencount.Counter) error {
	lines, plan, err := lineTexts(p, counter)
	if err != nil {
		return err
	}
	res.Ranges++
	res.RangeTokens += p.RangeTokens
	res.TextTokens += plan.CheckpointTokens
	res.PlantedTokens += p.SeedTokens
	rules := map[string]bool{}
	for _, s := range p.Seeds {
		if s.Keys == nil || s.MessageID == "" {
			continue
		}
		rules[s.MessageID], rules[s.Replaced] = true, true
		kept := s.Kept(lines)
		res.Total++
		if kept {
			res.Kept++
		} else {
			res.lost = append(res.lost, s)
		}
		for m, key := range map[*map[string]*share]string{&res.byFamily: s.Family, &res.byLanguage: s.Language,
			&res.byName: s.Naming, &res.byPosition: fmt.Sprintf("%.0f%%", math.Floor(s.Position*5)*20)} {
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
		res.Pins++
		if !rules[pin.MessageID] {
			res.PinsNotPlanted++
		}
	}
	return nil
}

// Wilson returns the 95 % interval of a share.
func Wilson(kept, total int) (low, high float64) {
	if total == 0 {
		return 0, 1
	}
	const z = 1.959964
	n, p := float64(total), float64(kept)/float64(total)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return middle - half, middle + half
}

// Recall is the share of the rules that were kept.
func (res *Result) Recall() float64 { return float64(res.Kept) / float64(max(1, res.Total)) }

// Print writes the figures, and the rules that were lost where misses is set.
func (res *Result) Print(out io.Writer, misses bool) {
	low, high := Wilson(res.Kept, res.Total)
	fmt.Fprintf(out, "%s: %d of %d rules kept, %.2f %% (95 %%: %.2f to %.2f)\n", res.Wording, res.Kept, res.Total, 100*res.Recall(), 100*low, 100*high)
	fmt.Fprintf(out, "  %d ranges, %d tokens each, checkpoint %d tokens (reduction %.2f %%), planted %.0f %% of it\n", res.Ranges, res.RangeTokens/res.Ranges,
		res.TextTokens/res.Ranges, 100-100*float64(res.TextTokens)/float64(res.RangeTokens), 100*float64(res.PlantedTokens)/float64(res.TextTokens))
	fmt.Fprintf(out, "  %d pins, %d of them from messages where nothing was planted\n", res.Pins/res.Ranges, res.PinsNotPlanted/res.Ranges)
	for _, m := range []map[string]*share{res.byFamily, res.byLanguage, res.byPosition, res.byName} {
		var parts []string
		for _, k := range sortedKeys(m) {
			parts = append(parts, fmt.Sprintf("%s %d/%d", k, m[k].kept, m[k].total))
		}
		fmt.Fprintf(out, "  %s\n", strings.Join(parts, ", "))
	}
	if misses {
		for _, s := range res.lost {
			fmt.Fprintf(out, "  lost [%s %s] %s\n", s.Family, s.Language, s.Text)
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
