package live_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/eval/gate"
	"github.com/forge-agent/forge/internal/eval/live"
	"github.com/forge-agent/forge/session/filelock"
)

// made is a runner without a program: each trial costs what it says.
type made struct {
	mu    sync.Mutex
	jobs  []live.Job
	usd   func(live.Job) *float64
	fails func(live.Job) error
}

func (m *made) Run(_ context.Context, j live.Job) (live.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.jobs = append(m.jobs, j)
	if m.fails != nil {
		if err := m.fails(j); err != nil {
			return live.Outcome{}, err
		}
	}
	return live.Outcome{Passed: j.Trial.Mode != contextwindow.Off, Status: "completed", CostUSD: m.usd(j)}, nil
}

func costs(usd float64) func(live.Job) *float64 { return func(live.Job) *float64 { return &usd } }

func options(r live.Runner, max float64) live.Options {
	return live.Options{Setting: live.Setting{Commit: "c", Tasks: "t", Provider: "p", Model: "m", WindowTokens: 1000, TrialUSD: 0.5, OverrunUSD: 0.5},
		Tasks: []string{"go-lru", "go-allocate"}, Modes: gate.Modes(), Trials: 3, MaxUSD: max, Workers: 2, Runner: r}
}

func run(t *testing.T, ctx context.Context, dir string, o live.Options) (*live.Result, error) {
	t.Helper()
	l, err := live.OpenLedger(dir, o.Setting)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return live.Run(ctx, o, l)
}

// F-EVL-09: each task is tried in each mode, as often as asked.
func TestRunMakesAllTrials(t *testing.T) {
	m := &made{usd: costs(0.1)}
	r, err := run(t, t.Context(), t.TempDir(), options(m, 100))
	if err != nil || len(r.Outcomes) != 18 || len(r.Open) != 0 || r.Why != "" {
		t.Fatalf("%+v %v", r, err)
	}
	g := r.Gate()
	for _, mode := range gate.Modes() {
		if g.Trials[mode] != 6 || mode == contextwindow.Off && g.Passed[mode] != 0 || mode != contextwindow.Off && g.Passed[mode] != 6 {
			t.Errorf("%s: %d of %d", mode, g.Passed[mode], g.Trials[mode])
		}
	}
	if g.Commit != "c" {
		t.Error(g.Commit)
	}
}

// Issue behaviour 6: a run goes on where an earlier one was ended, and what was
// going on then counts as spent.
func TestRunGoesOn(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	first := &made{usd: costs(0.1)}
	first.fails = func(live.Job) error {
		if len(first.jobs) == 5 {
			cancel()
			return ctx.Err()
		}
		return nil
	}
	o := options(first, 100)
	o.Workers = 1
	r, err := run(t, ctx, dir, o)
	if !errors.Is(err, context.Canceled) || len(r.Outcomes) != 4 || r.Lost != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	// A crash: begun, not ended, and half a line.
	f, err := os.OpenFile(filepath.Join(dir, live.LedgerFile), os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"begin":{"task":"go-lru","mode":"off","number":2}}` + "\n" + `{"end":{"ta`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	second := &made{usd: costs(0.1)}
	r, err = run(t, t.Context(), dir, options(second, 100))
	if err != nil || len(r.Outcomes) != 18 || len(second.jobs) != 14 || r.Lost != 2 {
		t.Fatalf("%d outcomes, %d trials, %d lost: %v", len(r.Outcomes), len(second.jobs), r.Lost, err)
	}
	if want := 18*0.1 + 2*1.0; r.SpentUSD < want-1e-9 || r.SpentUSD > want+1e-9 {
		t.Errorf("spent %f, want %f", r.SpentUSD, want)
	}
}

// A folder of another commit, model or bound is refused.
func TestLedgerOfAnotherSetting(t *testing.T) {
	dir := t.TempDir()
	if _, err := run(t, t.Context(), dir, options(&made{usd: costs(0.1)}, 1)); err != nil {
		t.Fatal(err)
	}
	other := options(nil, 1).Setting
	other.Commit = "d"
	if _, err := live.OpenLedger(dir, other); !errors.Is(err, live.ErrOther) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, live.LedgerFile), []byte("{}\nx\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := live.OpenLedger(dir, other); err == nil {
		t.Error("a damaged ledger is used")
	}
}

// Two runs on one folder would each spend what is left, and take the other's
// open trials for lost.
func TestLedgerIsForOneRun(t *testing.T) {
	dir, s := t.TempDir(), options(nil, 1).Setting
	l, err := live.OpenLedger(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.OpenLedger(dir, s); !errors.Is(err, filelock.ErrLocked) || !strings.Contains(err.Error(), "name another folder") {
		t.Errorf("a second run: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = live.OpenLedger(dir, s); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// Issue behaviour 6: whatever trials cost, up to what one may cost, the bound
// in money holds, also over several runs and with trials that are lost.
func TestMoneyBound(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		max := rapid.Float64Range(0.1, 8).Draw(rt, "max")
		real := 0.0
		prices := rapid.SliceOfN(rapid.Float64Range(0, 1), 64, 64).Draw(rt, "prices")
		lose := rapid.SliceOfN(rapid.IntRange(0, 9), 64, 64).Draw(rt, "lose")
		n := 0
		for range rapid.IntRange(1, 3).Draw(rt, "runs") {
			m := &made{}
			m.fails = func(live.Job) error {
				n++
				real += prices[n%64]
				if lose[n%64] == 0 {
					return fmt.Errorf("%w: gone", live.ErrLost)
				}
				return nil
			}
			m.usd = func(live.Job) *float64 {
				if lose[n%64] == 1 {
					return nil
				}
				v := prices[n%64]
				return &v
			}
			o := options(m, max)
			o.Workers = rapid.IntRange(1, 4).Draw(rt, "workers")
			r, err := run(t, context.Background(), dir, o)
			if r == nil || err != nil && !errors.Is(err, live.ErrLost) {
				rt.Fatal(err)
			}
			if real > max+1e-9 || r.SpentUSD > max+1e-9 {
				rt.Fatalf("spent %f, counted %f, bound %f", real, r.SpentUSD, max)
			}
			if err == nil && len(r.Open) > 0 && r.Why == "" {
				rt.Fatal("trials are open and nobody says why")
			}
		}
	})
}

// A trial that cannot be made ends the run; one that is lost is made again,
// and given up in the end.
func TestTrialsThatCannotBeMade(t *testing.T) {
	refused := errors.New("refused")
	m := &made{usd: costs(0.1), fails: func(live.Job) error { return refused }}
	if r, err := run(t, t.Context(), t.TempDir(), options(m, 100)); !errors.Is(err, refused) || len(r.Outcomes) != 0 || len(m.jobs) > 2 {
		t.Errorf("%v, %d trials", err, len(m.jobs))
	}
	m = &made{usd: costs(0.1), fails: func(j live.Job) error {
		if j.Attempt < 3 && j.Trial.Number == 1 {
			return live.ErrLost
		}
		return nil
	}}
	if r, err := run(t, t.Context(), t.TempDir(), options(m, 100)); err != nil || len(r.Outcomes) != 18 || r.Lost != 12 {
		t.Errorf("%+v %v", r, err)
	}
}
