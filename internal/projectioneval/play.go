package main

import (
	"fmt"
	"time"

	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

// A sheet is a set of prices with its name.
type sheet struct {
	name   string
	prices catalog.Prices
	cache  catalog.CacheRules
}

// rate returns what a token read from and written to the cache costs in a
// request of this size. It repeats what package projection computes, on
// purpose: the evaluation must not trust what it evaluates.
func (p sheet) rate(tokens int) (read, write float64) {
	r := p.prices.RatesFor(tokens)
	write = r.InputUSDPerMillion.V
	if r.CacheWriteUSDPerMillion.Known {
		write = r.CacheWriteUSDPerMillion.V
	}
	return r.CachedInputUSDPerMillion.V, write
}

func (p sheet) cost(tokens, cached int) float64 {
	read, write := p.rate(tokens)
	return (read*float64(cached) + write*float64(tokens-cached)) / 1e6
}

// expired reports whether the cache is gone after a pause.
func (p sheet) expired(idle time.Duration) bool {
	life, known := p.cache.TTL.Get()
	if !known {
		life = 24 * time.Hour
	}
	return idle > life
}

// A view is what the items weigh at one moment.
type view struct {
	tokens  []int // of each item, as it is in the view
	results []int // item indexes of the tool results that have come
	sent    int   // how many items the last request saw
	answer  int   // how many results the model has answered
	idle    time.Duration
}

// A policy names the items to clear before a request, given the view and the
// number of items in it.
type policy func(v *view, items int) ([]int, error)

// play replays a series and returns the total cost after each request.
func play(s *series, p sheet, clear policy) ([]float64, error) {
	v := &view{tokens: make([]int, len(s.items))}
	for i, it := range s.items {
		v.tokens[i] = it.tokens
	}
	var totals []float64
	total, next := 0.0, 0
	for _, st := range s.steps {
		v.idle = st.idle
		for ; next < st.items; next++ {
			if s.items[next].result != nil {
				v.results = append(v.results, next)
			}
		}
		cleared, err := clear(v, st.items)
		if err != nil {
			return nil, err
		}
		changed := v.sent
		for _, i := range cleared {
			v.tokens[i] = s.items[i].result.StandInTokens
			changed = min(changed, i)
		}
		cached := 0
		if v.sent > 0 && !p.expired(st.idle) {
			cached = s.front + sum(v.tokens[:changed])
		}
		total += p.cost(s.front+sum(v.tokens[:st.items]), cached)
		totals = append(totals, total)
		v.sent, v.answer = st.items, len(v.results)
	}
	return totals, nil
}

func sum(ns []int) int {
	total := 0
	for _, n := range ns {
		total += n
	}
	return total
}

// appendOnly clears nothing.
func appendOnly(*view, int) ([]int, error) { return nil, nil }

// scheduled asks the scheduler.
func scheduled(s *series, p sheet, o projection.Options) (policy, *projection.Scheduler, error) {
	o.Prices, o.Cache = p.prices, p.cache
	scheduler, err := projection.New(o)
	if err != nil {
		return nil, nil, err
	}
	at := map[transcript.Ref]int{}
	taken := 0
	return func(v *view, items int) ([]int, error) {
		if taken > 0 {
			scheduler.Sent()
		}
		for ; taken < items; taken++ {
			it := s.items[taken]
			if it.result == nil {
				scheduler.Extend(it.tokens)
				continue
			}
			at[it.result.Ref] = taken
			if err := scheduler.Admit(*it.result); err != nil {
				return nil, err
			}
		}
		d := scheduler.Decide(projection.Query{FrontTokens: s.front, Idle: v.idle})
		if err := scheduler.Apply(d.Clear); err != nil {
			return nil, err
		}
		var out []int
		for _, ref := range d.Clear {
			out = append(out, at[ref])
		}
		return out, nil
	}, scheduler, nil
}

// playOurs replays a series with the scheduler and checks its own account.
func playOurs(s *series, p sheet, o projection.Options) ([]float64, error) {
	clear, scheduler, err := scheduled(s, p, o)
	if err != nil {
		return nil, err
	}
	totals, err := play(s, p, clear)
	if err != nil || len(totals) == 0 {
		return totals, err
	}
	scheduler.Sent()
	if own := scheduler.Spent().USD; !close(own, totals[len(totals)-1]) {
		return nil, fmt.Errorf("replay %s at %s: the scheduler accounts for $%.9f, the replay for $%.9f", s.name, p.name, own, totals[len(totals)-1])
	}
	return totals, nil
}

func close(a, b float64) bool { return a-b <= 1e-9*(a+b) && b-a <= 1e-9*(a+b) }

// rollingMask keeps the newest observations and clears every older one with
// each request.
func rollingMask(s *series, newest int) policy {
	return func(v *view, _ int) ([]int, error) { return olderThan(s, v, newest), nil }
}

// clearAt clears all but the newest observations when a request weighs more
// than tokens.
func clearAt(s *series, tokens, newest int) policy {
	return func(v *view, items int) ([]int, error) {
		if s.front+sum(v.tokens[:items]) <= tokens {
			return nil, nil
		}
		return olderThan(s, v, newest), nil
	}
}

// olderThan returns the results in the view that are not among the newest and
// that the model has answered.
func olderThan(s *series, v *view, newest int) []int {
	var out []int
	for _, i := range v.results[:max(0, min(len(v.results)-newest, v.answer))] {
		if v.tokens[i] > s.items[i].result.StandInTokens {
			out = append(out, i)
		}
	}
	return out
}
