package queue_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/forge-agent/forge/internal/eval/gate"
	"github.com/forge-agent/forge/internal/eval/live"
	"github.com/forge-agent/forge/internal/eval/live/queue"
	"github.com/forge-agent/forge/session"
)

// fresh names a schema of its own and drops it with the test.
func fresh(t *testing.T) queue.Options {
	t.Helper()
	d := os.Getenv("FORGE_POSTGRES_DSN")
	if d == "" {
		t.Skip("FORGE_POSTGRES_DSN is unset: needs a PostgreSQL server; make test-postgres starts one")
	}
	schema := "forge_" + strings.ReplaceAll(session.NewID(), "-", "")
	t.Cleanup(func() {
		db, err := sql.Open("pgx", d)
		if err != nil {
			t.Error(err)
			return
		}
		defer db.Close()
		if _, err := db.Exec("DROP SCHEMA IF EXISTS " + schema + " CASCADE"); err != nil {
			t.Error(err)
		}
	})
	return queue.Options{DSN: d, Schema: schema, Poll: 20 * time.Millisecond}
}

// made is a runner without a program.
type made struct {
	mu   sync.Mutex
	jobs []live.Job
	err  func(live.Job) error
	hold bool // until the context is done
}

func (m *made) Run(ctx context.Context, j live.Job) (live.Outcome, error) {
	m.mu.Lock()
	m.jobs = append(m.jobs, j)
	m.mu.Unlock()
	if m.hold {
		<-ctx.Done()
		return live.Outcome{}, errors.Join(live.ErrLost, ctx.Err())
	}
	if m.err != nil {
		if err := m.err(j); err != nil {
			return live.Outcome{}, err
		}
	}
	usd := 0.01
	return live.Outcome{Trial: j.Trial, Passed: true, Status: "completed", InputTokens: 7, CostUSD: &usd}, nil
}

func (m *made) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.jobs)
}

// works starts a worker and stops it with the test.
func works(t *testing.T, o queue.Options, commit string, seconds int, m *made) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- queue.Work(ctx, o, commit, 2, seconds, m, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func setting(commit string) live.Setting {
	return live.Setting{Commit: commit, Tasks: "t", Provider: "p", Model: "m", WindowTokens: 1000, TrialUSD: 0.1, OverrunUSD: 0.1, Steps: 5, Seconds: 60}
}

func run(t *testing.T, o queue.Options, dir string, s live.Setting) (*live.Result, error) {
	t.Helper()
	d, err := queue.Dispatch(t.Context(), o, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	l, err := live.OpenLedger(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return live.Run(t.Context(), live.Options{Setting: s, Tasks: []string{"go-lru"}, Modes: gate.Modes(), Trials: 3, MaxUSD: 50, Workers: 4, Runner: d}, l)
}

// Issue behaviour 6: several workers share the trials of one run; each trial is
// made once, and workers of another commit take none.
func TestWorkersShareTrials(t *testing.T) {
	o := fresh(t)
	a, b, other := &made{}, &made{}, &made{}
	works(t, o, "abc1", 60, a)
	works(t, o, "abc1", 60, b)
	works(t, o, "def2", 60, other)
	r, err := run(t, o, t.TempDir(), setting("abc1"))
	if err != nil || len(r.Outcomes) != 9 || len(r.Open) != 0 || r.Lost != 0 {
		t.Fatalf("%+v %v", r, err)
	}
	if a.count()+b.count() != 9 || other.count() != 0 {
		t.Errorf("%d and %d trials, %d by a worker of another commit", a.count(), b.count(), other.count())
	}
	for _, x := range r.Outcomes {
		if !x.Passed || x.InputTokens != 7 || x.CostUSD == nil {
			t.Errorf("%+v", x)
		}
	}
}

// A trial that a worker lost is begun again by whoever pays; one that cannot be
// made ends the run with the worker's reason.
func TestTrialsThatFailInAWorker(t *testing.T) {
	o := fresh(t)
	works(t, o, "abc1", 60, &made{err: func(j live.Job) error {
		if j.Attempt == 1 {
			return live.ErrLost
		}
		return nil
	}})
	r, err := run(t, o, t.TempDir(), setting("abc1"))
	if err != nil || len(r.Outcomes) != 9 || r.Lost != 9 {
		t.Fatalf("%+v %v", r, err)
	}
	works(t, o, "def2", 60, &made{err: func(live.Job) error { return errors.New("there is no model of this name") }})
	if _, err := run(t, o, t.TempDir(), setting("def2")); err == nil || !strings.Contains(err.Error(), "there is no model of this name") {
		t.Errorf("%v", err)
	}
	works(t, o, "ghi3", 10, &made{})
	if _, err := run(t, o, t.TempDir(), setting("ghi3")); err == nil || !strings.Contains(err.Error(), "--max-trial-seconds 60") {
		t.Errorf("%v", err)
	}
}

// When a run is ended, its jobs are taken back: waiting ones are not made
// later, and one that a worker is making is told to end. A later run of the
// same ledger goes on.
func TestRunThatIsEnded(t *testing.T) {
	o := fresh(t)
	dir := t.TempDir()
	s := setting("abc1")
	d, err := queue.Dispatch(t.Context(), o, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	holds := &made{hold: true}
	ctx, cancel := context.WithCancel(t.Context())
	began := make(chan struct{})
	stopped, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- queue.Work(stopped, o, "abc1", 1, 60, tell{holds, sync.OnceFunc(func() { close(began) })}, nil)
	}()
	var sent atomic.Int32
	allSent := make(chan struct{})
	counted := tell{d, func() {
		if sent.Add(1) == 3 {
			close(allSent)
		}
	}}
	go func() {
		<-began
		<-allSent
		cancel()
	}()
	l, err := live.OpenLedger(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	_, err = live.Run(ctx, live.Options{Setting: s, Tasks: []string{"go-lru"}, Modes: gate.Modes(), Trials: 3, MaxUSD: 50, Workers: 3, Runner: counted}, l)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	after := &made{}
	works(t, o, "abc1", 60, after)
	r, err := run(t, o, dir, s)
	if err != nil || len(r.Outcomes) != 9 || after.count() != 9 || r.Lost != 3 {
		t.Errorf("%d outcomes, %d made, %d lost: %v", len(r.Outcomes), after.count(), r.Lost, err)
	}
}

// tell calls a function before each trial.
type tell struct {
	live.Runner
	before func()
}

func (x tell) Run(ctx context.Context, j live.Job) (live.Outcome, error) {
	x.before()
	return x.Runner.Run(ctx, j)
}

// No error shows the password.
func TestErrorsHideThePassword(t *testing.T) {
	const word = "a-pass-word"
	for _, d := range []string{"postgres://u:" + word + "@127.0.0.1:1/x", "postgres://u:" + word + "@%zz"} {
		if _, err := queue.Dispatch(t.Context(), queue.Options{DSN: d}, "x"); err == nil || strings.Contains(err.Error(), word) {
			t.Errorf("%v", err)
		}
	}
}
