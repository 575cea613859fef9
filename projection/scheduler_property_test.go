package projection_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

// driver drives a scheduler, its twin and the naive model with the same calls.
type driver struct {
	t         *rapid.T
	options   projection.Options
	scheduler *projection.Scheduler
	twin      *projection.Scheduler
	model     *naive
	message   int
	front     int
	relieved  bool
	unbound   bool // a clearing whose request failed
}

func newDriver(t *rapid.T) *driver {
	p := prices(rapid.SampledFrom([]float64{0.02, 0.05, 0.1, 0.25, 1}).Draw(t, "read"), rapid.SampledFrom([]float64{1, 1.25, 2}).Draw(t, "write"))
	if rapid.Bool().Draw(t, "step") {
		p = withStep(p, rapid.IntRange(5_000, 200_000).Draw(t, "above"), rapid.SampledFrom([]float64{1.5, 2, 5}).Draw(t, "factor"))
	}
	d := &driver{t: t, front: rapid.IntRange(0, 20_000).Draw(t, "front"), model: &naive{prices: p}}
	d.options = projection.Options{Prices: p, Cache: ttlOf(5 * time.Minute), KeepNewest: rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "keep")}
	d.scheduler, d.twin = d.make(), d.make()
	d.model.keep = d.keep()
	return d
}

func (d *driver) make() *projection.Scheduler {
	s, err := projection.New(d.options)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d *driver) keep() int {
	if d.options.KeepNewest == 0 {
		return projection.DefaultKeepNewest
	}
	return d.options.KeepNewest
}

// grow lets the model speak and its tools answer.
func (d *driver) grow() {
	t := d.t
	said := rapid.IntRange(0, 3000).Draw(t, "said")
	d.scheduler.Extend(said)
	d.twin.Extend(said)
	d.model.add(d.message, said, nil)
	d.message++
	for block := range rapid.SampledFrom([]int{0, 1, 1, 1, 2, 7}).Draw(t, "results") {
		o := observation(t, transcript.Ref{Message: d.message, Block: block})
		if sameAs, ok := d.scheduler.Shown(o.Content); ok && rapid.Bool().Draw(t, "repeats") {
			o = o.AsRepeat(sameAs, 40)
		}
		for _, s := range []*projection.Scheduler{d.scheduler, d.twin} {
			if err := s.Admit(o); err != nil {
				t.Fatal(err)
			}
		}
		d.model.add(d.message, o.Tokens, &o)
	}
	d.message++
}

func observation(t *rapid.T, ref transcript.Ref) projection.Observation {
	o := projection.Observation{
		Ref: ref, Tokens: rapid.OneOf(rapid.IntRange(0, 60), rapid.IntRange(0, 1500), rapid.IntRange(0, 30_000)).Draw(t, "tokens"),
		Call: hashOf(rapid.IntRange(0, 6).Draw(t, "call")), Content: hashOf(rapid.IntRange(0, 9).Draw(t, "content")),
		Outcome: outcomes().Draw(t, "outcome"), Path: rapid.SampledFrom([]string{"", "a.go", "b.go"}).Draw(t, "path"),
		Effect: rapid.SampledFrom([]projection.Effect{"", projection.EffectRead, projection.EffectWrite, projection.EffectRun}).Draw(t, "effect"),
	}
	o.StandInTokens = min(o.Tokens, rapid.IntRange(30, 90).Draw(t, "stand-in"))
	return o
}

func hashOf(n int) message.Hash { return sha256.Sum256(fmt.Append(nil, n)) }

// step prepares a request, checks what is decided, applies it, and lets the
// provider answer.
func (d *driver) step(relieve bool) {
	t := d.t
	if rapid.IntRange(0, 19).Draw(t, "new tools") == 0 {
		d.front = rapid.IntRange(0, 20_000).Draw(t, "new front")
	}
	q := projection.Query{FrontTokens: d.front, Idle: rapid.SampledFrom([]time.Duration{0, time.Second, 0, 5 * time.Minute, time.Hour}).Draw(t, "idle")}
	cold := q.Idle > 5*time.Minute
	tokens, usd := d.model.request(d.front, cold)
	wasWarm := d.model.warm
	decision := d.scheduler.Decide(q)
	d.same(decision, d.twin.Decide(q))
	d.check(decision, tokens, usd, false)
	if decision.Reason == projection.ReasonPaysBack && !wasWarm {
		t.Fatalf("cold cache, reason %q", decision.Reason)
	}
	d.apply(decision)
	if relieve {
		d.relieved = true
		need := rapid.IntRange(-5, 60_000).Draw(t, "need")
		tokens, usd := d.model.price()
		relief := d.scheduler.Relieve(q, need)
		d.same(relief, d.twin.Relieve(q, need))
		d.checkRelief(relief, need, tokens, usd)
		d.apply(relief)
	}
	if relieve && rapid.IntRange(0, 5).Draw(t, "compact before it is sent") == 0 {
		d.compact()
		d.model.price()
	}
	if rapid.IntRange(0, 9).Draw(t, "failed") == 0 {
		// What was cleared for a request that did not go out is written with
		// the next one, which may stand above a price step.
		d.unbound = d.unbound || len(decision.Clear) > 0
		return
	}
	d.scheduler.Sent()
	d.twin.Sent()
	d.model.answer()
	spent := d.scheduler.Spent()
	if !near(spent.USD, d.model.usd) || !near(spent.AppendOnlyUSD, d.model.appendOnlyUSD) {
		t.Fatalf("scheduler spent %g of %g, the model %g of %g", spent.USD, spent.AppendOnlyUSD, d.model.usd, d.model.appendOnlyUSD)
	}
	if limit := 1 + projection.DefaultMostOverspend; !d.relieved && !d.unbound && spent.USD > limit*spent.AppendOnlyUSD*(1+1e-9) {
		t.Fatalf("spent %g, never clearing costs %g", spent.USD, spent.AppendOnlyUSD)
	}
}

func (d *driver) same(a, b projection.Decision) {
	if diff := cmp.Diff(a, b); diff != "" {
		d.t.Fatalf("two schedulers with the same calls differ: %s", diff)
	}
}

// check compares a decision with the model, which does not apply it yet.
func (d *driver) check(p projection.Decision, tokens int, usd float64, errors bool) {
	t := d.t
	if p.TokensBefore != tokens || !near(p.KeepUSD, usd) {
		t.Fatalf("request of %d tokens for %g, the model has %d for %g", p.TokensBefore, p.KeepUSD, tokens, usd)
	}
	if p.TokensAfter > p.TokensBefore || len(p.Clear) == 0 && p.TokensAfter != p.TokensBefore {
		t.Fatalf("%d tokens become %d by clearing %d results", p.TokensBefore, p.TokensAfter, len(p.Clear))
	}
	if !slices.IsSortedFunc(p.Clear, func(a, b transcript.Ref) int {
		return 1000*(a.Message-b.Message) + a.Block - b.Block
	}) {
		t.Fatalf("out of order: %v", p.Clear)
	}
	for _, ref := range p.Clear {
		i := d.model.find(ref)
		if i < 0 || !errors && (!d.model.mayClear(i, d.keep()) || d.model.standing(i)) {
			t.Fatalf("%v must not be cleared (%s)", ref, p.Reason)
		}
	}
}

func (d *driver) checkRelief(p projection.Decision, need int, tokens int, usd float64) {
	d.check(p, tokens, usd, true)
	keep := d.keep()
	all := 0
	for i := range d.model.items {
		if d.model.mayClear(i, keep) {
			all += d.model.items[i].tokens - d.model.items[i].result.StandInTokens
		}
	}
	for _, ref := range p.Clear {
		if !d.model.mayClear(d.model.find(ref), keep) {
			d.t.Fatalf("%v must not be cleared", ref)
		}
	}
	switch {
	case need <= 0 && len(p.Clear) > 0:
		d.t.Fatalf("nothing is needed, %d results go", len(p.Clear))
	case all >= need && p.SavedTokens() < need:
		d.t.Fatalf("%d tokens of %d needed are reclaimed, %d could be", p.SavedTokens(), need, all)
	case all < need && p.SavedTokens() != all:
		d.t.Fatalf("%d tokens are reclaimed, all would be %d", p.SavedTokens(), all)
	}
}

// apply does what a decision says and compares what it promised.
func (d *driver) apply(p projection.Decision) {
	for _, s := range []*projection.Scheduler{d.scheduler, d.twin} {
		if err := s.Apply(p.Clear); err != nil {
			d.t.Fatal(err)
		}
	}
	tokens, usd := d.model.clear(p.Clear)
	if tokens != p.TokensAfter || !near(usd, p.ClearUSD) {
		d.t.Fatalf("%s: promised %d tokens for %g, the model has %d for %g", p.Reason, p.TokensAfter, p.ClearUSD, tokens, usd)
	}
	if got := d.scheduler.ConversationTokens() + d.front; got != tokens {
		d.t.Fatalf("the view weighs %d, the scheduler says %d", tokens, got)
	}
}

func (d *driver) compact() {
	from := rapid.IntRange(0, d.message).Draw(d.t, "compact to")
	tokens := d.model.compact(from)
	d.scheduler.Compacted(from, tokens, d.front)
	d.twin.Compacted(from, tokens, d.front)
	d.relieved = true // from here on the model's own account differs in what it leaves out
}

// Any conversation: tokens and money as promised, nothing cleared that must
// stay (F-RUN-03, F-SEL-11), the same calls lead to the same decisions, and
// never above the bound at any moment.
func TestSchedulerAgreesWithNaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t)
		relieves := rapid.Bool().Draw(t, "relieves")
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			d.grow()
			d.step(relieves && rapid.IntRange(0, 5).Draw(t, "relieve") == 0)
			if relieves && rapid.IntRange(0, 29).Draw(t, "compact") == 0 {
				d.compact()
			}
		}
	})
}

// A restart makes the same calls again, recorded clearings instead of
// decisions, and goes on with the same decisions.
func TestSchedulerAfterRestart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t)
		var calls []func(*projection.Scheduler)
		record := func(f func(*projection.Scheduler)) {
			calls = append(calls, f)
			f(d.scheduler)
		}
		for i := range rapid.IntRange(5, 60).Draw(t, "steps") {
			said := rapid.IntRange(0, 2000).Draw(t, "said")
			record(func(s *projection.Scheduler) { s.Extend(said) })
			o := observation(t, transcript.Ref{Message: i})
			if sameAs, ok := d.scheduler.Shown(o.Content); ok {
				o = o.AsRepeat(sameAs, 40)
			}
			record(func(s *projection.Scheduler) { _ = s.Admit(o) })
			q := projection.Query{FrontTokens: d.front}
			decision := d.scheduler.Decide(q)
			calls = append(calls, func(s *projection.Scheduler) { s.Decide(q) })
			record(func(s *projection.Scheduler) { _ = s.Apply(decision.Clear) })
			record(func(s *projection.Scheduler) { s.Sent() })
		}
		again := d.make()
		for _, call := range calls {
			call(again)
		}
		q := projection.Query{FrontTokens: d.front}
		d.same(d.scheduler.Decide(q), again.Decide(q))
		if d.scheduler.Spent() != again.Spent() || d.scheduler.RereadTokens() != again.RereadTokens() {
			t.Fatal("the accounts differ")
		}
	})
}

// A model whose prices nobody states: nothing is cleared of the scheduler's
// own accord while the cache is warm.
func TestSchedulerWithoutPrices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDriver(t)
		d.options.Prices = rapid.SampledFrom([]catalog.Prices{
			{}, {Rates: catalog.Rates{InputUSDPerMillion: known(1.0)}}, {Rates: catalog.Rates{CachedInputUSDPerMillion: known(0.1)}},
		}).Draw(t, "prices")
		d.options.Cache = catalog.CacheRules{}
		d.scheduler, d.twin = d.make(), d.make()
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			d.grow()
			p := d.scheduler.Decide(projection.Query{FrontTokens: 1000, Idle: time.Hour})
			if len(p.Clear) > 0 || p.PricesKnown || p.Reason != projection.ReasonNoPrices && p.Reason != projection.ReasonNothing {
				t.Fatalf("%+v", p)
			}
			d.scheduler.Sent()
		}
		cold := d.scheduler.Decide(projection.Query{FrontTokens: 1000, Idle: 25 * time.Hour})
		if len(cold.Clear) == 0 && cold.Reason != projection.ReasonNothing || len(cold.Clear) > 0 && cold.Reason != projection.ReasonCold {
			t.Fatalf("cold: %+v", cold)
		}
	})
}
