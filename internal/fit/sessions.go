package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/forge-agent/forge/internal/eval/estimate"
	"github.com/forge-agent/forge/model/catalog"
)

// reportSessions prints the growth errors of each file and format.
func reportSessions(w io.Writer, sessions []loaded, models *catalog.Catalog) error {
	byFormat := map[string][]estimate.Compared{}
	fmt.Fprintln(w, "| session | requests Compared | error of growth: forge | bytes/4 | error of the request: forge, median | p95 | bytes/4, median | short beyond the band | band, median |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	for _, l := range sessions {
		cs, err := estimate.Judge(l.session, models)
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

func writeCompared(w io.Writer, name string, cs []estimate.Compared) {
	var own, peer, ownTotal, peerTotal, band []float64
	short := 0
	for _, c := range cs {
		own = append(own, math.Abs(float64(c.OwnStep-c.Growth))/math.Abs(float64(c.Growth)+1e-9))
		peer = append(peer, math.Abs(float64(c.BytesGrowth-c.Growth))/math.Abs(float64(c.Growth)+1e-9))
		ownTotal = append(ownTotal, math.Abs(float64(c.Estimate-c.Reported))/float64(c.Reported))
		peerTotal = append(peerTotal, math.Abs(float64(c.BytesGrowth-c.Growth))/float64(c.Reported))
		band = append(band, float64(c.Band)/float64(c.Estimate))
		if c.Reported > c.Estimate+c.Band {
			short++
		}
	}
	fmt.Fprintf(w, "| %s | %d | %.1f %% | %.1f %% | %.3f %% | %.3f %% | %.3f %% | %d | %.2f %% |\n", name, len(cs), 100*quantile(own, .5), 100*quantile(peer, .5),
		100*quantile(ownTotal, .5), 100*quantile(ownTotal, .95), 100*quantile(peerTotal, .5), short, 100*quantile(band, .5))
}
