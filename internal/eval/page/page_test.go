package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/corpus"
	"github.com/forge-agent/forge/internal/eval/corpustest"
	"github.com/forge-agent/forge/internal/eval/cost"
	"github.com/forge-agent/forge/internal/eval/estimate"
	"github.com/forge-agent/forge/internal/eval/gate"
	"github.com/forge-agent/forge/internal/eval/page"
	"github.com/forge-agent/forge/internal/eval/recall"
)

func bundles(t *testing.T) []*page.Bundle {
	t.Helper()
	dir := t.TempDir()
	if err := corpustest.Write(dir, 4, 6); err != nil {
		t.Fatal(err)
	}
	c, err := corpus.Load(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	h := page.Header{Commit: "abc123", Command: "forge eval", Sessions: len(c.Sessions), Skipped: c.Skipped}
	ctx := context.Background()
	kept, err := recall.Evaluate(ctx, c, recall.Options{Sets: []string{"heldout"}, Seeds: 10, First: 1, RangeTokens: 30_000, Chatter: 1, BudgetsPercent: []float64{2, 10}, Attacks: 100, SurvivalRanges: 1, Horizons: []int{3, 0}})
	if err != nil {
		t.Fatal(err)
	}
	spent, err := cost.Evaluate(ctx, c, cost.Options{Long: 1, Seed: 1, LongLeastTokens: 30_000, LongMostTokens: 31_000, Sheets: append(cost.RoundSheets(), cost.CatalogSheets()[:2]...)})
	if err != nil {
		t.Fatal(err)
	}
	off, err := estimate.Evaluate(ctx, dir, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := gate.Evidence{Commit: "abc123", Journeys: []gate.Journey{{Fixture: "F-E2E-01", Mode: contextwindow.Compact, ProviderInputTokens: 900, EstimateTokens: 990}}}
	var out []*page.Bundle
	for _, make := range []func() (*page.Bundle, error){
		func() (*page.Bundle, error) { return page.Recall(h, kept) },
		func() (*page.Bundle, error) { return page.Cost(h, spent) },
		func() (*page.Bundle, error) { return page.Estimate(h, off) },
		func() (*page.Bundle, error) { return page.Context(h, e, gate.Decide(e)) },
	} {
		b, err := make()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// F-EVL-08: a report is JSON and a page that names the commit, says what was
// asked for and what was found, and shows pictures that lie beside it. No text
// of a session and no file's name gets into any of them.
func TestReports(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "reports")
	for _, b := range bundles(t) {
		if err := b.Write(dir); err != nil {
			t.Fatal(err)
		}
		var pageText string
		for _, name := range b.Names {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !bytes.Equal(data, b.File(name)) {
				t.Fatalf("%s was not written: %v", name, err)
			}
			if bytes.Contains(data, []byte(corpustest.Secret)) || bytes.Contains(data, []byte("handle_")) {
				t.Errorf("%s holds text of a session", name)
			}
			if bytes.Contains(data, []byte("NaN")) {
				t.Errorf("%s holds what is no number", name)
			}
			switch filepath.Ext(name) {
			case ".json":
				var v struct{ Commit string }
				if err := json.Unmarshal(data, &v); err != nil || v.Commit != "abc123" {
					t.Errorf("%s: commit %q, error %v", name, v.Commit, err)
				}
			case ".md":
				pageText = string(data)
			}
		}
		if !strings.Contains(pageText, "at commit abc123") {
			t.Errorf("the page names no commit:\n%.300s", pageText)
		}
		for line := range strings.Lines(pageText) {
			if _, after, ok := strings.Cut(line, "]("); ok && strings.HasPrefix(line, "![") {
				picture, _, _ := strings.Cut(after, ")")
				if b.File(picture) == nil {
					t.Errorf("the page shows %s, which is not written", picture)
				}
			}
		}
	}
}

// A table has as many cells in each row as in its head.
func TestTablesAreWhole(t *testing.T) {
	for _, b := range bundles(t) {
		text := string(b.File(b.Names[len(b.Names)-1]))
		cells := 0
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "|") {
				cells = 0
				continue
			}
			n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			if cells == 0 {
				cells = n
			}
			if n != cells {
				t.Errorf("%d cells instead of %d: %s", n, cells, line)
			}
		}
	}
}
