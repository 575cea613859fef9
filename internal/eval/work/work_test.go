package work_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/forge-agent/forge/internal/eval/work"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

// Each piece runs once, and progress goes from 1 to all.
func TestEach(t *testing.T) {
	var ran [100]atomic.Int32
	last := 0
	err := work.Each(context.Background(), "pieces", len(ran), func(what string, done, total int) {
		if what != "pieces" || done != last+1 || total != len(ran) {
			t.Errorf("%s %d of %d after %d", what, done, total, last)
		}
		last = done
	}, func(_ context.Context, worker, i int) error {
		if worker < 0 || worker >= work.Workers() {
			t.Errorf("worker %d", worker)
		}
		ran[i].Add(1)
		return nil
	})
	if err != nil || last != len(ran) {
		t.Fatalf("error %v after %d", err, last)
	}
	for i := range ran {
		if n := ran[i].Load(); n != 1 {
			t.Errorf("piece %d ran %d times", i, n)
		}
	}
}

// The first error ends it, and so does the caller.
func TestEachStops(t *testing.T) {
	broken := errors.New("broken")
	if err := work.Each(context.Background(), "", 50, nil, func(_ context.Context, _, i int) error {
		if i == 3 {
			return broken
		}
		return nil
	}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := work.Each(ctx, "", 5, nil, func(context.Context, int, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// What is remembered is what the counter says.
func TestRemember(t *testing.T) {
	c := o200k.New()
	m := work.Remember(c)
	for _, text := range []string{"", "one two", "日本語", "one two"} {
		if got, want := m.Count(text), c.Count(text); got != want {
			t.Errorf("%q counts %d, want %d", text, got, want)
		}
	}
}
