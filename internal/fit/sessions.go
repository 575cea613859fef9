package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// A compared is one request of a session whose estimate can be judged by its
// growth since the request before.
type compared struct {
	format                       string
	estimate, band, reported     int
	growth, bytesGrowth, ownStep int
}

// judge plays a session through the gate that live runs use and compares each
// estimate with the usage.
func judge(l loaded, models *catalog.Catalog) ([]compared, error) {
	s := l.session
	m, _ := models.Resolve(s.Model)
	counter := vocabulary.Counter(m, tokencount.Route{Model: s.Model})
	manager, err := contextwindow.New(model.Capabilities{Model: s.Model, WindowTokens: 100_000_000}, counter, &contextwindow.Options{Mode: contextwindow.Off})
	if err != nil {
		return nil, err
	}
	var out []compared
	var tr transcript.Transcript
	var changes []activeview.Change
	type seen struct {
		known                           bool
		reported, bytes, restructurings int
	}
	last := map[string]seen{}
	marks, bytes, restructurings := 0, 0, 0
	for _, r := range s.Requests {
		for tr.Len() < r.At {
			m := s.Transcript.At(tr.Len())
			if err := tr.Append(m); err != nil {
				return nil, err
			}
			bytes += textBytes(m)
		}
		for ; marks < len(s.Marks) && s.Marks[marks].At <= r.At; marks++ {
			if c := s.Marks[marks].Change; c != nil {
				changes = append(changes, *c)
			}
		}
		fit, err := manager.Fit(context.Background(), contextwindow.Input{Instructions: s.Instructions, Tools: s.Tools, Transcript: &tr, Changes: changes, Model: r.Model, Complete: s.Complete})
		if fit == nil {
			return nil, err
		}
		if fit.Restructured {
			restructurings++
		}
		if r.Usage == nil || r.Usage.InputTokens <= 0 || r.Failed != "" {
			continue
		}
		rec, err := manager.Reconcile(*r.Usage)
		if err != nil {
			return nil, err
		}
		before := last[r.Model]
		if before.known && before.restructurings == restructurings {
			out = append(out, compared{format: s.Format, estimate: rec.EstimatedTokens, band: rec.BandTokens, reported: rec.ReportedTokens,
				growth: rec.ReportedTokens - before.reported, ownStep: rec.EstimatedTokens - before.reported, bytesGrowth: (bytes - before.bytes) / 4})
		}
		last[r.Model] = seen{true, rec.ReportedTokens, bytes, restructurings}
	}
	return out, nil
}

func textBytes(m message.Message) int {
	total := 0
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case message.Text:
			total += len(b.Text)
		case message.Reasoning:
			total += len(b.Text)
		case message.ToolCall:
			total += len(b.Name) + len(b.Arguments)
		case message.ToolResult:
			total += textBytes(message.Message{Blocks: b.Content})
		}
	}
	return total
}

// reportSessions prints the growth errors of each file and format.
func reportSessions(w io.Writer, sessions []loaded, models *catalog.Catalog) error {
	byFormat := map[string][]compared{}
	fmt.Fprintln(w, "| session | requests compared | error of growth: forge | bytes/4 | error of the request: forge, median | p95 | bytes/4, median | short beyond the band | band, median |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	for _, l := range sessions {
		cs, err := judge(l, models)
		if err != nil {
			return fmt.Errorf("judge %s: %w", l.file, err)
		}
		if len(cs) == 0 {
			continue
		}
		byFormat[l.session.Format] = append(byFormat[l.session.Format], cs...)
		writeCompared(w, l.file, cs)
	}
	for _, f := range slices.Sorted(maps.Keys(byFormat)) {
		writeCompared(w, "all "+f, byFormat[f])
	}
	return nil
}

func writeCompared(w io.Writer, name string, cs []compared) {
	var own, peer, ownTotal, peerTotal, band []float64
	short := 0
	for _, c := range cs {
		own = append(own, math.Abs(float64(c.ownStep-c.growth))/math.Abs(float64(c.growth)+1e-9))
		peer = append(peer, math.Abs(float64(c.bytesGrowth-c.growth))/math.Abs(float64(c.growth)+1e-9))
		ownTotal = append(ownTotal, math.Abs(float64(c.estimate-c.reported))/float64(c.reported))
		peerTotal = append(peerTotal, math.Abs(float64(c.bytesGrowth-c.growth))/float64(c.reported))
		band = append(band, float64(c.band)/float64(c.estimate))
		if c.reported > c.estimate+c.band {
			short++
		}
	}
	fmt.Fprintf(w, "| %s | %d | %.1f %% | %.1f %% | %.3f %% | %.3f %% | %.3f %% | %d | %.2f %% |\n", name, len(cs), 100*quantile(own, .5), 100*quantile(peer, .5),
		100*quantile(ownTotal, .5), 100*quantile(ownTotal, .95), 100*quantile(peerTotal, .5), short, 100*quantile(band, .5))
}
