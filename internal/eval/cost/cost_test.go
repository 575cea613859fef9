package cost_test

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/forge-agent/forge/internal/eval/clearing"
	"github.com/forge-agent/forge/internal/eval/corpus"
	"github.com/forge-agent/forge/internal/eval/corpustest"
	"github.com/forge-agent/forge/internal/eval/cost"
	"github.com/forge-agent/forge/internal/eval/verdict"
)

func evaluate(t *testing.T, o cost.Options) *cost.Report {
	t.Helper()
	dir := t.TempDir()
	if err := corpustest.Write(dir, 4, 2); err != nil {
		t.Fatal(err)
	}
	c, err := corpus.Load(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := cost.Evaluate(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func small() cost.Options {
	return cost.Options{Long: 2, Seed: 3, LongLeastTokens: 60_000, LongMostTokens: 70_000, Sheets: cost.RoundSheets()}
}

// Issue behaviour 3: every policy is played on the same sessions, append-only
// costs what it costs, nobody is cheaper than the offline optimum by more than
// other ways of clearing can be, and the figures are the same each time.
func TestEvaluate(t *testing.T) {
	r := evaluate(t, small())
	if r.Recorded != 4 || r.Long != 2 || len(r.Sheets) != 6 || len(r.LongTokens) != 2 {
		t.Fatalf("%d recorded, %d long, %d sheets", r.Recorded, r.Long, len(r.Sheets))
	}
	for _, s := range r.Sheets {
		for _, set := range []cost.SetReport{s.Recorded, s.Long} {
			if len(set.Policies) != len(r.Policies)+1 || set.Policies[0].Policy != cost.Forge || set.Policies[1].Policy != "append-only" {
				t.Fatalf("%s: rows %d", s.Name, len(set.Policies))
			}
			if a := set.Policies[1]; a.ToAppendOnly != 1 || a.WorstToAppendOnly != 1 || a.Compactions != 0 {
				t.Errorf("%s: append-only %+v", s.Name, a)
			}
			for _, p := range set.Policies {
				if p.MeanUSD <= 0 || p.HitRate < 0 || p.HitRate > 1 || math.IsNaN(p.ToAppendOnly) || p.WorstSession == "" {
					t.Errorf("%s: %+v", s.Name, p)
				}
			}
		}
	}
	first, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(evaluate(t, small()))
	if string(first) != string(again) {
		t.Error("the same sessions gave other figures")
	}
}

// Where nothing can be cleared, the gate's own account of requests and cache
// is that of sending everything.
func TestForgeCountsLikeTheOthers(t *testing.T) {
	o := small()
	never := clearing.Sheet{Name: "reading is free", Prices: clearing.Flat(0, 1)}
	o.Sheets = []cost.Sheet{{Sheet: never, Limits: cost.RoundSheets()[0].Limits}}
	for _, p := range evaluate(t, o).Sheets[0].All.Policies[:1] {
		if math.Abs(p.ToAppendOnly-1) > 1e-6 || p.Compactions != 0 || p.WorstToAppendOnly > 1+1e-6 {
			t.Errorf("with cached reads for nothing: %+v", p)
		}
	}
}

// The catalog's sheets are dated, and stand for every model with known prices.
func TestCatalogSheets(t *testing.T) {
	models := 0
	for _, s := range cost.CatalogSheets() {
		models += s.Models
		if s.Source == "" || s.Date == "" || s.Limits.Input() <= 0 {
			t.Errorf("%s: source %q, date %q, input %d", s.Name, s.Source, s.Date, s.Limits.Input())
		}
	}
	if models < 100 {
		t.Errorf("%d models", models)
	}
}

// A verdict says what was asked for and what was found; what was not played is
// open.
func TestVerdicts(t *testing.T) {
	row := func(policy string, ratio, worst float64) cost.Row {
		return cost.Row{Policy: policy, MeanUSD: ratio, ToAppendOnly: ratio, WorstToAppendOnly: worst, RegretSessions: 1, MeanRegret: 0.05, WorstRegret: 0.1}
	}
	set := cost.SetReport{Policies: []cost.Row{row(cost.Forge, 0.59, 1.01)}, Cheapest: cost.Forge}
	r := cost.Report{Long: 24, Sheets: []cost.SheetReport{
		{Name: "read 0.050 write 1.25, window 1000000", Long: set, Recorded: set, All: set},
		{Name: "some-model", Models: 1, Long: set, Recorded: set, All: set}}}
	for _, v := range r.Verdicts() {
		if v.State != verdict.Reached {
			t.Errorf("%+v", v)
		}
	}
	r.Long, r.Sheets[1].All.Cheapest, set.Policies[0].WorstToAppendOnly, set.Policies[0].WorstRegret = 23, "another", 1.03, 0.21
	for _, v := range r.Verdicts() {
		if v.State != verdict.NotReached {
			t.Errorf("%+v", v)
		}
	}
	for _, v := range (&cost.Report{}).Verdicts() {
		if v.State != verdict.NotMeasured {
			t.Errorf("%+v", v)
		}
	}
}
