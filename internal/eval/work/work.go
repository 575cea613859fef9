// Package work runs the pieces of an evaluation on all processors and tells
// how far it is.
package work

import (
	"context"
	"runtime"
	"sync"

	"github.com/forge-agent/forge/tokenizer"
)

// Progress hears how far something is; nil for nobody. It is called by one
// goroutine at a time.
type Progress func(what string, done, total int)

// Each calls do for 0 to n−1, on as many goroutines as there are processors,
// and returns the first error. do gets the number of its worker, below
// Workers, for what a worker keeps to itself.
func Each(ctx context.Context, what string, n int, p Progress, do func(ctx context.Context, worker, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var first error
	next, done := 0, 0
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if first != nil || next == n || ctx.Err() != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	finish := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil && first == nil {
			first = err
			cancel()
		}
		done++
		if p != nil {
			p(what, done, n)
		}
	}
	var all sync.WaitGroup
	for worker := range Workers() {
		all.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				finish(do(ctx, worker, i))
			}
		})
	}
	all.Wait()
	if first == nil {
		first = ctx.Err()
	}
	return first
}

// Workers is how many goroutines Each uses.
func Workers() int { return runtime.GOMAXPROCS(0) }

// Remember returns a counter that counts each text once. It belongs to one
// goroutine.
func Remember(c tokenizer.Counter) tokenizer.Counter {
	return &memo{c, map[string]int{}}
}

type memo struct {
	tokenizer.Counter
	counts map[string]int
}

func (m *memo) Count(text string) int {
	n, ok := m.counts[text]
	if !ok {
		n = m.Counter.Count(text)
		m.counts[text] = n
	}
	return n
}
