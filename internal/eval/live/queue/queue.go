// Package queue shares live trials between machines, as jobs in a PostgreSQL
// database: one process hands them out and keeps the ledger, workers on any
// machine make them.
//
// A job names a trial and holds no key; each worker brings its own. Workers
// take only jobs of their own commit. A job is tried once: whether a trial that
// was lost is begun again is decided by whoever pays for it, so that the bound
// in money holds.
package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/forge-agent/forge/internal/eval/live"
)

// Options say where the queue is.
type Options struct {
	// DSN is the database. It is never part of an error.
	DSN string
	// Schema holds the tables; empty means the database's usual one.
	Schema string
	// Poll is how often the process that hands out looks for results; zero
	// means a second.
	Poll time.Duration
}

// margin is what a trial may take beyond what the program is given: to end,
// and for the grader.
const margin = 6 * time.Minute

// limit is when a trial is ended from outside.
func limit(s live.Setting) time.Duration { return time.Duration(s.Seconds)*time.Second + margin }

// rescue is when a job of a worker that is gone is given up: later than any
// trial may take.
func rescue(s live.Setting) time.Duration { return limit(s) + margin }

// job is a trial in the queue.
type job struct {
	Job live.Job `json:"job"`
}

// Kind names the jobs in the database.
func (job) Kind() string { return "forge_live_trial" }

// notName is what a queue's name cannot hold.
var notName = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// queueName is the queue of a commit.
func queueName(commit string) string {
	name := "forge_live_" + notName.ReplaceAllString(commit, "_")
	return name[:min(len(name), 60)]
}

// connect opens the database and brings its tables up to date.
func connect(ctx context.Context, o Options) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(o.DSN)
	if err != nil {
		return nil, errors.New("connect to the queue: the DSN cannot be read; give postgres://user:password@host/database")
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, errors.New("connect to the queue: the database cannot be opened")
	}
	fail := func(err error) (*pgxpool.Pool, error) {
		pool.Close()
		return nil, fmt.Errorf("connect to the queue at %s:%d: %w", config.ConnConfig.Host, config.ConnConfig.Port, err)
	}
	if err := migrate(ctx, pool, o.Schema); err != nil {
		return fail(err)
	}
	return pool, nil
}

// migrationLock keeps two processes from making the tables at once.
const migrationLock = 0x666f7267655f7175

// migrate brings the tables up to date, one process after the other.
func migrate(ctx context.Context, pool *pgxpool.Pool, schema string) (err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrationLock)); err != nil {
		return err
	}
	defer func() {
		_, unlocked := conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(migrationLock))
		err = errors.Join(err, unlocked)
	}()
	if schema != "" {
		if _, err := conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{schema}.Sanitize()); err != nil {
			return err
		}
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: schema, Logger: quiet()})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// quiet logs nothing: what matters is returned.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// A Dispatcher hands trials out. It is the live.Runner of a run.
type Dispatcher struct {
	options Options
	folder  string
	pool    *pgxpool.Pool
	client  *river.Client[pgx.Tx]
}

// Dispatch connects to a queue. folder names the ledger that results go to.
// Close ends it.
func Dispatch(ctx context.Context, o Options, folder string) (*Dispatcher, error) {
	pool, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Schema: o.Schema, Logger: quiet()})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the queue: %w", err)
	}
	if o.Poll <= 0 {
		o.Poll = time.Second
	}
	d := &Dispatcher{options: o, folder: folder, pool: pool, client: client}
	if err := d.takeBack(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return d, nil
}

// metadata marks the jobs of a ledger.
func (d *Dispatcher) metadata() []byte {
	data, err := json.Marshal(map[string]string{"folder": d.folder})
	if err != nil {
		return []byte("{}") // a text always encodes
	}
	return data
}

// takeBack cancels what an earlier run of the same ledger left in the queue:
// the ledger counts it as lost.
func (d *Dispatcher) takeBack(ctx context.Context) error {
	params := river.NewJobListParams().Kinds(job{}.Kind()).Metadata(string(d.metadata())).First(1000).
		States(rivertype.JobStateAvailable, rivertype.JobStateRunning, rivertype.JobStateRetryable, rivertype.JobStateScheduled, rivertype.JobStatePending)
	list, err := d.client.JobList(ctx, params)
	if err != nil {
		return fmt.Errorf("look for earlier jobs in the queue: %w", err)
	}
	for _, row := range list.Jobs {
		if _, err := d.client.JobCancel(ctx, row.ID); err != nil {
			return fmt.Errorf("take an earlier job out of the queue: %w", err)
		}
	}
	return nil
}

// Close closes the connections. Jobs stay.
func (d *Dispatcher) Close() { d.pool.Close() }

// Run puts a trial into the queue and waits until a worker has made it. When
// the context is done the job is taken back; a worker that has begun is told to
// end.
func (d *Dispatcher) Run(ctx context.Context, j live.Job) (live.Outcome, error) {
	var out live.Outcome
	put, err := d.client.Insert(ctx, job{Job: j}, &river.InsertOpts{Queue: queueName(j.Setting.Commit), MaxAttempts: 1, Metadata: d.metadata()})
	if err != nil {
		return out, fmt.Errorf("put %s into the queue: %w", j.Trial, err)
	}
	tick := time.NewTicker(d.options.Poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			back, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			return out, errors.Join(ctx.Err(), d.withdraw(back, put.Job.ID, tick.C))
		case <-tick.C:
		}
		row, err := d.client.JobGet(ctx, put.Job.ID)
		if ctx.Err() != nil {
			continue
		}
		if err != nil {
			return out, fmt.Errorf("%w: look for %s in the queue: %w", live.ErrLost, j.Trial, err)
		}
		switch row.State {
		case rivertype.JobStateCompleted:
			if err := json.Unmarshal(row.Output(), &out); err != nil {
				return out, fmt.Errorf("%w: the worker left no outcome: %w", live.ErrLost, err)
			}
			return out, nil
		case rivertype.JobStateDiscarded, rivertype.JobStateCancelled:
			return out, ended(row)
		}
	}
}

// withdraw takes a job back and tells a worker that has begun to end, until it
// has or the context is done: a worker that was just about to begin does not
// hear it at first. What is left then is taken back by the next Dispatch.
func (d *Dispatcher) withdraw(ctx context.Context, id int64, again <-chan time.Time) error {
	for {
		row, err := d.client.JobCancel(ctx, id)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("take a job out of the queue: %w", err)
		case row.FinalizedAt != nil:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again:
		}
	}
}

// refusedMark begins the error of a trial that no repetition can make.
const refusedMark = "refused: "

// ended is the error of a job that will not be made.
func ended(row *rivertype.JobRow) error {
	why := string(row.State)
	if n := len(row.Errors); n > 0 {
		why = row.Errors[n-1].Error
	}
	if len(why) > len(refusedMark) && why[:len(refusedMark)] == refusedMark {
		return errors.New(why)
	}
	return fmt.Errorf("%w: %.400s", live.ErrLost, why)
}

// worker makes the trials of jobs.
type worker struct {
	river.WorkerDefaults[job]
	runner  live.Runner
	seconds int
	heard   func(live.Job, live.Outcome, error)
}

// Timeout ends a trial that does not end by itself.
func (w *worker) Timeout(r *river.Job[job]) time.Duration { return limit(r.Args.Job.Setting) }

// Work makes one trial.
func (w *worker) Work(ctx context.Context, r *river.Job[job]) error {
	var out live.Outcome
	var err error
	if s := r.Args.Job.Setting; s.Seconds > w.seconds {
		err = fmt.Errorf("the trial may take %d seconds, this worker gives %d: start it with --max-trial-seconds %d", s.Seconds, w.seconds, s.Seconds)
	} else {
		out, err = w.runner.Run(ctx, r.Args.Job)
	}
	if w.heard != nil {
		w.heard(r.Args.Job, out, err)
	}
	switch {
	case errors.Is(err, live.ErrLost):
		return err
	case err != nil:
		return fmt.Errorf("%s%w", refusedMark, err)
	}
	return river.RecordOutput(ctx, out)
}

// Work makes trials of a commit until the context is done, n at a time. heard
// is told about each; it may be nil. seconds is the longest trial that is
// taken.
func Work(ctx context.Context, o Options, commit string, n, seconds int, runner live.Runner, heard func(live.Job, live.Outcome, error)) error {
	pool, err := connect(ctx, o)
	if err != nil {
		return err
	}
	defer pool.Close()
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &worker{runner: runner, seconds: seconds, heard: heard}); err != nil {
		return fmt.Errorf("begin to work: %w", err)
	}
	longest := live.Setting{Seconds: seconds}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema: o.Schema, Logger: quiet(), Workers: workers, Queues: map[string]river.QueueConfig{queueName(commit): {MaxWorkers: max(1, n)}},
		JobTimeout: limit(longest), RescueStuckJobsAfter: rescue(longest), MaxAttempts: 1,
		// Results are wanted for longer than a run may be interrupted.
		CompletedJobRetentionPeriod: 30 * 24 * time.Hour, SoftStopTimeout: 30 * time.Second,
	})
	if err != nil {
		return fmt.Errorf("begin to work: %w", err)
	}
	if err := client.Start(ctx); err != nil {
		return fmt.Errorf("begin to work: %w", err)
	}
	<-client.Stopped()
	return nil
}
