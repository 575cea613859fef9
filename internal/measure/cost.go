package main

import (
	"context"
	"fmt"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/replay"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/model/catalog"
)

// measureCost replays every session with known prices in the mode compact, in
// its own window, and compares what it would cost with sending the whole
// transcript each time, never cleared. Both are simulated with a warm cache
// where the session's times allow one.
func measureCost(ctx context.Context) error {
	files, err := sessionFiles()
	if err != nil {
		return err
	}
	fmt.Println("cost of a session in the mode compact against append-only, list prices:")
	var own, whole, worst float64
	n := 0
	for _, path := range files {
		s, err := open(path)
		if err != nil {
			return err
		}
		r, err := replay.Run(ctx, path, s, replay.Options{Mode: contextwindow.Compact, Catalog: catalog.Default(), Counter: vocabulary.Counter})
		if err != nil {
			return err
		}
		if r.CostUSD == nil || r.CostAppendOnlyUSD == nil || *r.CostAppendOnlyUSD == 0 {
			continue
		}
		share := *r.CostUSD / *r.CostAppendOnlyUSD
		fmt.Printf("  %-55s %4d requests  $%7.3f of $%7.3f  %.2f x  %d over budget\n", short(path), r.Requests, *r.CostUSD, *r.CostAppendOnlyUSD, share, r.OverBudgetRequests)
		own, whole, worst, n = own+*r.CostUSD, whole+*r.CostAppendOnlyUSD, max(worst, share), n+1
	}
	fmt.Printf("  %d sessions: $%.2f of $%.2f, %.2f x; the worst session %.3f x\n", n, own, whole, own/max(whole, 1e-9), worst)
	return nil
}
