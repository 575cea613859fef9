package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/forge-agent/forge/internal/replay"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/model/catalog"
)

// measureEstimate prints the error of the estimates on every session with
// real usage, beside that of bytes/4.
func measureEstimate(ctx context.Context) error {
	files, err := sessionFiles()
	if err != nil {
		return err
	}
	fmt.Println("estimate against usage, median error in % of reported input, and in % of growth (bytes/4 beside it):")
	fmt.Printf("  %-55s %8s %6s %8s %8s %8s %8s %8s %7s\n", "file", "compared", "basis", "total", "bytes/4", "growth", "bytes/4", "p95", "in band")
	pooled := map[string]*pool{}
	for _, path := range files {
		s, err := open(path)
		if err != nil {
			return err
		}
		r, err := replay.Run(ctx, path, s, replay.Options{Catalog: catalog.Default(), Counter: vocabulary.Counter})
		if err != nil {
			return err
		}
		e := r.Estimate
		if e.ComparedRequests == 0 {
			continue
		}
		fmt.Printf("  %-55s %8d %6s %8s %8s %8s %8s %8s %7s\n", short(path), e.ComparedRequests, e.Basis, percent(e.MedianAbsErrorPercent),
			percent(e.BytesMedianAbsErrorPercent), percent(e.GrowthMedianAbsErrorPercent), percent(e.BytesGrowthMedianAbsErrorPercent),
			percent(e.P95AbsErrorPercent), percent(e.WithinBandPercent))
		p := pooled[r.Format]
		if p == nil {
			p = &pool{}
			pooled[r.Format] = p
		}
		own, bytes := r.Errors()
		p.own, p.bytes = append(p.own, own...), append(p.bytes, bytes...)
	}
	for _, format := range slices.Sorted(maps.Keys(pooled)) {
		p := pooled[format]
		fmt.Printf("  pooled %-48s %8d        %8.2f %8.2f\n", format, len(p.own), middle(p.own), middle(p.bytes))
	}
	return nil
}

type pool struct{ own, bytes []float64 }

func middle(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

func percent(p *float64) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *p)
}
