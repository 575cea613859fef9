package recall

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/forge-agent/forge/internal/eval/corpus"
)

func TestTry(t *testing.T) {
	c, err := corpus.Load(os.Getenv("FORGE_CORPUS"), 1)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	last := ""
	r, err := Evaluate(context.Background(), c, Options{Sets: []string{"heldout", "blind5"}, Seeds: 500, First: 1, RangeTokens: 100_000, Chatter: 3, BudgetsPercent: []float64{0.5, 1, 2, 5, 10, 20}, Attacks: 10_000, SurvivalRanges: 1, Horizons: []int{5, 20, 0},
		Progress: func(what string, d, n int) {
			if what != last {
				t.Logf("%v %s", time.Since(start), what)
				last = what
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Sets {
		t.Logf("%s: %d ranges %d rules, %d tokens user %.3f rules %d", s.Set, s.Ranges, s.Rules, s.RangeTokens, s.UserShare, s.RuleTokens)
		for i := 0; i < len(s.Cells); i += 6 {
			row := ""
			for _, c := range s.Cells[i : i+6] {
				row += " " + pct(c.Recall) + "(" + pct(c.Low) + "-" + pct(c.High) + ")"
			}
			t.Logf("%-14s %s area %.3f", s.Cells[i].Policy, row, s.Area(s.Cells[i].Policy))
		}
	}
	t.Logf("%+v %+v", r.Survival, r.Attacks)
	for _, f := range r.Future {
		t.Logf("horizon %d cuts %d refs %d unshown %d", f.Horizon, f.Cuts, f.References, f.UnshownReferences)
		for i := 0; i < len(f.Cells); i += 6 {
			row, row2 := "", ""
			for j, c := range f.Cells[i : i+6] {
				row += " " + pct(c.Recall)
				row2 += " " + pct(f.Unshown[i+j].Recall)
			}
			t.Logf("%-14s %s | %s", f.Cells[i].Policy, row, row2)
		}
	}
	t.Logf("%+v fid %v rest %v", r.Faith, r.Faith.Fidelity(), r.Faith.Restorable())
	t.Logf("%v", time.Since(start))
}
func pct(x float64) string {
	return string(rune('0'+int(x*1000)/1000)) + string(rune('0'+int(x*1000)/100%10)) + string(rune('0'+int(x*1000)/10%10)) + string(rune('0'+int(x*1000)%10))
}
