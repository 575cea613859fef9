package recall_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/forge-agent/forge/internal/eval/corpus"
	"github.com/forge-agent/forge/internal/eval/corpustest"
	"github.com/forge-agent/forge/internal/eval/dataset"
	"github.com/forge-agent/forge/internal/eval/recall"
	"github.com/forge-agent/forge/internal/eval/verdict"
)

func evaluate(t *testing.T) *recall.Report {
	t.Helper()
	dir := t.TempDir()
	if err := corpustest.Write(dir, 6, 4); err != nil {
		t.Fatal(err)
	}
	c, err := corpus.Load(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	data, err := dataset.Read([]byte(`[{"preference":"I have a strong dislike for spicy peppers in noodle soups.","question":"Which soup?"}]`), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := recall.Evaluate(context.Background(), c, recall.Options{Sets: []string{"heldout"}, Seeds: 30, First: 5, RangeTokens: 40_000, Chatter: 2,
		BudgetsPercent: []float64{1, 2, 10, 20}, Attacks: 300, SurvivalRanges: 1, Horizons: []int{3, 0}, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Issue behaviour 2: seeded and deterministic; every policy is asked the same;
// no pin comes from tool
// output; what is quoted was said, and what is cleared comes back (F-EVL-01).
func TestEvaluate(t *testing.T) {
	r := evaluate(t)
	set := r.Sets[0]
	if set.Rules < 30 || len(set.Cells) != 4*len(r.Policies) {
		t.Fatalf("%d rules, %d cells", set.Rules, len(set.Cells))
	}
	for _, c := range set.Cells {
		if c.Total != set.Rules || c.Kept > c.Total || c.Low > c.Recall || c.High < c.Recall {
			t.Errorf("%+v", c)
		}
	}
	if a := r.Attacks; a.Attacks != 300 || a.Pins != 0 || a.Shown != 0 {
		t.Errorf("attacks %+v", a)
	}
	if s := r.Survival[0]; s.Rules == 0 || s.Kept1 == 0 {
		t.Errorf("survival %+v", s)
	}
	if f := r.Faith; f.Sessions == 0 || f.Fidelity() != 1 || f.Findings != 0 || f.Restorable() != 1 {
		t.Errorf("faith %+v", f)
	}
	if len(r.Data) != 1 || r.Data[0].Set != "PrefEval" || r.Data[0].Rules != 1 {
		t.Errorf("public sets %+v", r.Data)
	}
	first, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(evaluate(t)); string(first) != string(again) {
		t.Error("the same seeds gave other figures")
	}
}

// A verdict is open when its budget was not asked for, and reached or not by
// the numbers of the issue.
func TestVerdicts(t *testing.T) {
	cell := func(policy string, percent, share, low, high float64) recall.Cell {
		return recall.Cell{Policy: policy, BudgetPercent: percent, Share: recall.Share{Kept: int(share * 600), Total: 600, Recall: share, Low: low, High: high}}
	}
	report := func(forge, low, high float64) *recall.Report {
		s := recall.SetReport{Set: "heldout"}
		f := recall.FutureReport{References: 10}
		for _, b := range []float64{0.5, 1, 2, 5, 10, 20} {
			s.Cells = append(s.Cells, cell(recall.Forge, b, forge, low, high), cell("recency", b, 0.90, 0.88, 0.92))
			f.Cells = append(f.Cells, cell(recall.Forge, b, 0.5, 0.4, 0.6), cell(recall.Checkpoint, b, forge, low, high), cell("recency", b, 0.5, 0.4, 0.6))
		}
		return &recall.Report{Sets: []recall.SetReport{s}, Future: []recall.FutureReport{f}, Survival: []recall.Survival{{Set: "heldout", Rules: 5, Kept1: 5, Kept50: 5}},
			Attacks: recall.AttackReport{Attacks: 10_000}, Faith: recall.FaithReport{Sessions: 1}}
	}
	for _, v := range report(0.995, 0.99, 0.999).Verdicts() {
		if v.State != verdict.Reached {
			t.Errorf("%+v", v)
		}
	}
	bad := report(0.88, 0.86, 0.90)
	bad.Survival[0].Lost, bad.Attacks.Pins, bad.Faith.Findings = 1, 1, 1
	for _, v := range bad.Verdicts() {
		if v.State != verdict.NotReached {
			t.Errorf("%+v", v)
		}
	}
	open := &recall.Report{Sets: []recall.SetReport{{Set: "blind1"}}}
	for _, v := range open.Verdicts() {
		if v.State != verdict.NotMeasured {
			t.Errorf("%+v", v)
		}
	}
	if dev := (&recall.Report{Sets: []recall.SetReport{{Set: "dev"}}}).Verdicts(); slices.ContainsFunc(dev, func(v verdict.Verdict) bool { return v.ID == "1, F-EVL-07" }) {
		t.Error("the set that the classifier was tuned with is judged")
	}
}
