// Package estimate compares estimates with what providers reported, on
// recorded requests and on sessions with real usage, with the heuristics of
// other agents beside.
package estimate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"

	"github.com/forge-agent/forge/internal/eval/corpus"
	"github.com/forge-agent/forge/internal/eval/work"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

// A Report holds the errors.
type Report struct {
	// Requests are recorded requests by provider family: the whole request
	// against what the provider counted.
	Requests []Row `json:"requests"`
	// Growth are the sessions by the format of their files: what came in
	// since the request before, against what the provider counted more.
	Growth []Row `json:"growth"`
}

// A Row is one group. Errors are medians of |estimate − reported| over
// reported.
type Row struct {
	// Group is the family or the format, Compared how many were compared, and
	// Unseen how many of them the fitted profiles were not made from; the
	// errors are of these where there are any.
	Group    string `json:"group"`
	Compared int    `json:"compared"`
	Unseen   int    `json:"unseen"`
	// Forge, Bytes4 and Bytes3 are the median errors of Forge's estimate and
	// of a fourth and a third of the bytes; P95 is Forge's 95th percentile.
	Forge  float64 `json:"forge"`
	P95    float64 `json:"forgeP95"`
	Bytes4 float64 `json:"bytes4"`
	Bytes3 float64 `json:"bytes3"`
	// Short counts reports above estimate plus band.
	Short int `json:"shortBeyondBand"`
}

// FreeTokens is the difference that is not held against an estimate of a whole
// recorded request: those can be so small that a single token is several
// percent.
const FreeTokens = 4

// pair is one comparison.
type pair struct {
	own, bytes4, bytes3 float64
	short, unseen       bool
}

// Evaluate compares everything that a corpus holds: the recorded requests
// below dir, where there are any, and the sessions.
func Evaluate(ctx context.Context, dir string, c *corpus.Corpus, p work.Progress) (*Report, error) {
	models := catalog.Default()
	r := &Report{Requests: []Row{}, Growth: []Row{}}
	rows, err := ReadRequests(dir, models)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	text := work.Remember(o200k.New())
	requests := map[string][]pair{}
	for _, q := range rows {
		if q.Kind == KindServerContent || q.Route.Family == "" {
			continue
		}
		requests[q.Route.Family] = append(requests[q.Route.Family], compareRequest(q, tokencount.New(text, tokencount.ProfileOf(q.Route)).Request(q.Request).Estimate))
	}
	results := make([][]Compared, len(c.Sessions))
	err = work.Each(ctx, "estimates", len(c.Sessions), p, func(_ context.Context, _, i int) error {
		s := c.Sessions[i].Session
		if s.UsageSynthetic != "" {
			return nil
		}
		var err error
		if results[i], err = Judge(s, models); err != nil {
			return fmt.Errorf("estimate %s: %w", c.Sessions[i].Name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	growth := map[string][]pair{}
	for i, cs := range results {
		for _, one := range cs {
			if one.Growth > 0 {
				f := c.Sessions[i].Session.Format
				growth[f] = append(growth[f], compareGrowth(one))
			}
		}
	}
	r.Requests, r.Growth = rowsOf(requests), rowsOf(growth)
	return r, nil
}

func compareRequest(q Recorded, e model.Estimate) pair {
	bytes := requestBytes(q.Request)
	beyond := func(estimate int) float64 {
		return max(0, off(estimate, q.Reported)-FreeTokens/float64(q.Reported))
	}
	return pair{own: beyond(e.Tokens), bytes4: beyond(bytes / 4), bytes3: beyond(bytes / 3),
		short: q.Reported > e.Tokens+e.BandTokens, unseen: InTest(q.TestCase)}
}

func compareGrowth(c Compared) pair {
	return pair{own: off(c.OwnStep, c.Growth), bytes4: off(c.AddedBytes/4, c.Growth), bytes3: off(c.AddedBytes/3, c.Growth), short: c.Reported > c.Estimate+c.Band}
}

func off(estimate, reported int) float64 {
	return math.Abs(float64(estimate-reported)) / float64(reported)
}

// requestBytes are the bytes of a request's texts, arguments and schemas.
func requestBytes(r model.Request) int {
	n := 0
	for _, m := range slices.Concat(r.Instructions, r.Messages) {
		n += textBytes(m)
	}
	for _, d := range r.Tools {
		n += len(d.Name) + len(d.Description) + len(d.Parameters)
	}
	return n
}

func rowsOf(groups map[string][]pair) []Row {
	out := []Row{}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, rowOf(name, groups[name]))
	}
	return out
}

func rowOf(name string, ps []pair) Row {
	r := Row{Group: name, Compared: len(ps)}
	judged := slices.DeleteFunc(slices.Clone(ps), func(p pair) bool { return !p.unseen })
	if r.Unseen = len(judged); r.Unseen == 0 {
		judged = ps
	}
	take := func(q float64, of func(pair) float64) float64 {
		var xs []float64
		for _, p := range judged {
			xs = append(xs, of(p))
		}
		slices.SortFunc(xs, cmp.Compare[float64])
		return xs[max(0, int(math.Ceil(q*float64(len(xs))))-1)]
	}
	own := func(p pair) float64 { return p.own }
	r.Forge, r.P95 = take(0.5, own), take(0.95, own)
	r.Bytes4 = take(0.5, func(p pair) float64 { return p.bytes4 })
	r.Bytes3 = take(0.5, func(p pair) float64 { return p.bytes3 })
	for _, p := range judged {
		if p.short {
			r.Short++
		}
	}
	return r
}

// textBytes is what a count of bytes sees of a message.
func textBytes(m message.Message) int { return blockBytes(m.Blocks) }

func blockBytes(bs []message.Block) int {
	n := 0
	for _, b := range bs {
		switch b := b.(type) {
		case message.Text:
			n += len(b.Text)
		case message.Reasoning:
			n += len(b.Text)
		case message.ToolCall:
			n += len(b.Name) + len(b.Arguments)
		case message.ToolResult:
			n += blockBytes(b.Content)
		}
	}
	return n
}
