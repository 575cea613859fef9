package estimate

import (
	"context"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// A Compared is one request of a session whose estimate can be judged by its
// growth since the request before.
type Compared struct {
	// Format is that of the session's file, Model what answered.
	Format, Model string
	// Estimate, Band and Reported are those of the whole request, in tokens.
	Estimate, Band, Reported int
	// Growth is what came in since the request before, as reported, OwnStep
	// as estimated; AddedBytes are its bytes, BytesGrowth a fourth of them.
	Growth, BytesGrowth, OwnStep, AddedBytes int
}

// Judge plays a session through the gate that live runs use and compares each
// estimate with the usage.
func Judge(s *sessionfile.Session, models *catalog.Catalog) ([]Compared, error) {
	m, _ := models.Resolve(s.Model)
	counter := vocabulary.Counter(m, tokencount.Route{Model: s.Model})
	manager, err := contextwindow.New(model.Capabilities{Model: s.Model, WindowTokens: 100_000_000}, counter, &contextwindow.Options{Mode: contextwindow.Off})
	if err != nil {
		return nil, err
	}
	var out []Compared
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
			out = append(out, Compared{Format: s.Format, Model: r.Model, Estimate: rec.EstimatedTokens, Band: rec.BandTokens, Reported: rec.ReportedTokens,
				Growth: rec.ReportedTokens - before.reported, OwnStep: rec.EstimatedTokens - before.reported, BytesGrowth: (bytes - before.bytes) / 4, AddedBytes: bytes - before.bytes})
		}
		last[r.Model] = seen{true, rec.ReportedTokens, bytes, restructurings}
	}
	return out, nil
}
