package clearing

import (
	"fmt"
	"time"

	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

// A Sheet is a set of prices with its name.
type Sheet struct {
	// Name says whose prices they are.
	Name string
	// Prices and Cache are as the catalog has them.
	Prices catalog.Prices
	Cache  catalog.CacheRules
}

// Rate returns what a token read from and written to the cache costs in a
// request of this size. It repeats what package projection computes, on
// purpose: the evaluation must not trust what it evaluates.
func (p Sheet) Rate(tokens int) (read, write float64) {
	r := p.Prices.RatesFor(tokens)
	write = r.InputUSDPerMillion.V
	if r.CacheWriteUSDPerMillion.Known {
		write = r.CacheWriteUSDPerMillion.V
	}
	return r.CachedInputUSDPerMillion.V, write
}

// Cost is what the input of one request costs in US dollars.
func (p Sheet) Cost(tokens, cached int) float64 {
	read, write := p.Rate(tokens)
	return (read*float64(cached) + write*float64(tokens-cached)) / 1e6
}

// Expired reports whether the cache is gone after a pause.
func (p Sheet) Expired(idle time.Duration) bool {
	life, known := p.Cache.TTL.Get()
	if !known {
		life = 24 * time.Hour
	}
	return idle > life
}

// A View is what the items weigh at one moment.
type View struct {
	// Tokens holds what each item weighs, as it is in the view.
	Tokens []int
	// results are the item indexes of the tool results that have come, sent
	// how many items the last request saw, answer how many results the model
	// has answered.
	results []int
	sent    int
	answer  int
	idle    time.Duration
}

// A Policy names the items to clear before a request, given the view and the
// number of items in it.
type Policy func(v *View, items int) ([]int, error)

// Play replays a series and returns the total cost after each request.
func Play(s *Series, p Sheet, clear Policy) ([]float64, error) {
	v := &View{Tokens: make([]int, len(s.Items))}
	for i, it := range s.Items {
		v.Tokens[i] = it.Tokens
	}
	var totals []float64
	total, next := 0.0, 0
	for _, st := range s.Steps {
		v.idle = st.Idle
		for ; next < st.Items; next++ {
			if s.Items[next].Result != nil {
				v.results = append(v.results, next)
			}
		}
		cleared, err := clear(v, st.Items)
		if err != nil {
			return nil, err
		}
		changed := v.sent
		for _, i := range cleared {
			v.Tokens[i] = s.Items[i].Result.StandInTokens
			changed = min(changed, i)
		}
		cached := 0
		if v.sent > 0 && !p.Expired(st.Idle) {
			cached = s.Front + sum(v.Tokens[:changed])
		}
		total += p.Cost(s.Front+sum(v.Tokens[:st.Items]), cached)
		totals = append(totals, total)
		v.sent, v.answer = st.Items, len(v.results)
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

// AppendOnly clears nothing.
func AppendOnly(*View, int) ([]int, error) { return nil, nil }

// scheduled asks the scheduler.
func scheduled(s *Series, p Sheet, o projection.Options) (Policy, *projection.Scheduler, error) {
	o.Prices, o.Cache = p.Prices, p.Cache
	scheduler, err := projection.New(o)
	if err != nil {
		return nil, nil, err
	}
	at := map[transcript.Ref]int{}
	taken := 0
	return func(v *View, items int) ([]int, error) {
		if taken > 0 {
			scheduler.Sent()
		}
		for ; taken < items; taken++ {
			it := s.Items[taken]
			if it.Result == nil {
				scheduler.Extend(it.Tokens)
				continue
			}
			at[it.Result.Ref] = taken
			if err := scheduler.Admit(*it.Result); err != nil {
				return nil, err
			}
		}
		d := scheduler.Decide(projection.Query{FrontTokens: s.Front, Idle: v.idle})
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

// PlayOurs replays a series with the scheduler and checks its own account.
func PlayOurs(s *Series, p Sheet, o projection.Options) ([]float64, error) {
	clear, scheduler, err := scheduled(s, p, o)
	if err != nil {
		return nil, err
	}
	totals, err := Play(s, p, clear)
	if err != nil || len(totals) == 0 {
		return totals, err
	}
	scheduler.Sent()
	if own := scheduler.Spent().USD; !close(own, totals[len(totals)-1]) {
		return nil, fmt.Errorf("replay %s at %s: the scheduler accounts for $%.9f, the replay for $%.9f", s.Name, p.Name, own, totals[len(totals)-1])
	}
	return totals, nil
}

func close(a, b float64) bool { return a-b <= 1e-9*(a+b) && b-a <= 1e-9*(a+b) }

// RollingMask keeps the newest observations and clears every older one with
// each request.
func RollingMask(s *Series, newest int) Policy {
	return func(v *View, _ int) ([]int, error) { return olderThan(s, v, newest), nil }
}

// ClearAt clears all but the newest observations when a request weighs more
// than tokens.
func ClearAt(s *Series, tokens, newest int) Policy {
	return func(v *View, items int) ([]int, error) {
		if s.Front+sum(v.Tokens[:items]) <= tokens {
			return nil, nil
		}
		return olderThan(s, v, newest), nil
	}
}

// olderThan returns the results in the view that are not among the newest and
// that the model has answered.
func olderThan(s *Series, v *View, newest int) []int {
	var out []int
	for _, i := range v.results[:max(0, min(len(v.results)-newest, v.answer))] {
		if v.Tokens[i] > s.Items[i].Result.StandInTokens {
			out = append(out, i)
		}
	}
	return out
}
