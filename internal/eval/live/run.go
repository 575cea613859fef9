package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// maxBegins is how often a trial is begun before it is given up.
const maxBegins = 3

// scheduler hands trials out, as long as there is money for one.
type scheduler struct {
	o      *Options
	mu     sync.Mutex
	ledger *Ledger
	queue  []Trial
	going  int
	total  int
	why    string
	err    error
	freed  *sync.Cond // a trial has ended
}

// Run makes the trials that the ledger does not have yet. It returns what is
// there in the end also when money ran out or a trial could not be made.
func Run(ctx context.Context, o Options, l *Ledger) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &scheduler{o: &o, ledger: l}
	s.freed = sync.NewCond(&s.mu)
	for _, t := range o.all() {
		s.total++
		if _, done := l.Ended(t); !done {
			s.queue = append(s.queue, t)
		}
	}
	stop := context.AfterFunc(ctx, s.freed.Broadcast)
	defer stop()
	var all sync.WaitGroup
	for range max(1, o.Workers) {
		all.Go(func() {
			for job, ok := s.next(ctx); ok; job, ok = s.next(ctx) {
				out, err := o.Runner.Run(ctx, job)
				s.ended(ctx, job, out, err)
			}
		})
	}
	all.Wait()
	r := &Result{Setting: o.Setting, Outcomes: l.Outcomes(), Open: []Trial{}, Why: s.why, SpentUSD: l.SpentUSD(), Lost: l.lost}
	for _, t := range o.all() {
		if _, done := l.Ended(t); !done {
			r.Open = append(r.Open, t)
		}
	}
	if s.err == nil {
		s.err = ctx.Err()
	}
	return r, s.err
}

// next waits for a trial that may begin, and notes that it does.
func (s *scheduler) next(ctx context.Context) (Job, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.err != nil || ctx.Err() != nil || len(s.queue) == 0 && s.going == 0 {
			return Job{}, false
		}
		affordable := s.ledger.SpentUSD()+s.o.Setting.reserve() <= s.o.MaxUSD
		switch {
		case len(s.queue) > 0 && affordable:
			t := s.queue[0]
			s.queue = s.queue[1:]
			n, err := s.ledger.Begin(t)
			if err != nil {
				s.fail(err)
				return Job{}, false
			}
			s.going++
			return Job{Setting: s.o.Setting, Trial: t, Attempt: n}, true
		case s.going == 0:
			s.why = fmt.Sprintf("a trial may cost $%.2f, and of $%.2f only $%.2f are left", s.o.Setting.reserve(), s.o.MaxUSD, max(0, s.o.MaxUSD-s.ledger.SpentUSD()))
			s.queue = nil
			s.freed.Broadcast()
			return Job{}, false
		}
		s.freed.Wait() // a trial that ends cheaper than it might leaves money
	}
}

func (s *scheduler) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.freed.Broadcast()
}

// ended notes what became of a trial.
func (s *scheduler) ended(ctx context.Context, j Job, out Outcome, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.going--
	defer s.freed.Broadcast()
	if err != nil {
		if lost := s.ledger.Lose(j.Trial); lost != nil {
			s.fail(lost)
		}
		switch {
		case ctx.Err() != nil:
		case errors.Is(err, ErrLost) && j.Attempt < maxBegins:
			s.queue = append(s.queue, j.Trial)
		default:
			s.fail(fmt.Errorf("try %s: %w", j.Trial, err))
		}
		return
	}
	out.Trial = j.Trial
	if err := s.ledger.End(out); err != nil {
		s.fail(err)
		return
	}
	if s.o.Progress != nil {
		s.o.Progress(len(s.ledger.ended), s.total, s.ledger.SpentUSD(), out)
	}
}
