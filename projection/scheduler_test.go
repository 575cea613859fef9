package projection_test

import (
	"errors"
	"testing"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

const front = 10_000

// agent plays a session: one tool result with each step.
type agent struct {
	t         *testing.T
	scheduler *projection.Scheduler
	steps     int
}

func newAgent(t *testing.T, o projection.Options) *agent {
	t.Helper()
	s, err := projection.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &agent{t: t, scheduler: s}
}

// result is an observation of this weight from a call of its own.
func (a *agent) result(tokens int) projection.Observation {
	return projection.Observation{
		Ref: transcript.Ref{Message: 2*a.steps + 1}, Tokens: tokens, StandInTokens: min(tokens, 50),
		Call: hashOf(1000 + a.steps), Content: hashOf(1000 + a.steps), Outcome: message.OutcomeSuccess,
	}
}

// take lets the model say 100 tokens and its tool answer.
func (a *agent) take(o projection.Observation) {
	a.t.Helper()
	a.steps++
	a.scheduler.Extend(100)
	if err := a.scheduler.Admit(o); err != nil {
		a.t.Fatal(err)
	}
}

// ask decides, applies and sends.
func (a *agent) ask(idle time.Duration) projection.Decision {
	a.t.Helper()
	d := a.scheduler.Decide(projection.Query{FrontTokens: front, Idle: idle})
	a.apply(d)
	a.scheduler.Sent()
	return d
}

func (a *agent) apply(d projection.Decision) {
	a.t.Helper()
	if err := a.scheduler.Apply(d.Clear); err != nil {
		a.t.Fatal(err)
	}
}

// work takes n steps with results of this weight and returns the decisions
// that cleared something.
func (a *agent) work(n, tokens int) (cleared []projection.Decision) {
	for range n {
		a.take(a.result(tokens))
		if d := a.ask(0); len(d.Clear) > 0 {
			cleared = append(cleared, d)
		}
	}
	return cleared
}

func fable() projection.Options {
	return projection.Options{Prices: prices(0.05, 1.25), Cache: ttlOf(5 * time.Minute), KeepNewest: 5}
}

// The first clearing waits until it pays, and says what it means in tokens
// and money.
func TestDecideWaitsUntilItPays(t *testing.T) {
	a := newAgent(t, fable())
	cleared := a.work(200, 1000)
	if len(cleared) == 0 {
		t.Fatal("200 steps of 1,000 tokens, nothing is cleared")
	}
	first := cleared[0]
	if len(first.Clear) < 10 || first.Reason != projection.ReasonPaysBack || !first.PricesKnown {
		t.Errorf("first clearing: %+v", first)
	}
	if first.SavedTokens() != 950*len(first.Clear) || first.LossUSD() <= 0 || first.SavedUSDPerRequest <= 0 {
		t.Errorf("saves %d tokens with %d results, loses $%g", first.SavedTokens(), len(first.Clear), first.LossUSD())
	}
	if n := first.PaybackRequests(); n < 1 || n > 40 {
		t.Errorf("pays back after %.1f requests", n)
	}
	if s := a.scheduler.Spent(); s.USD > 0.8*s.AppendOnlyUSD || s.Requests != 200 {
		t.Errorf("spent %+v", s)
	}
}

// The newest stay, three where nobody says how many, and what the model has not
// answered (F-RUN-03).
func TestKeepsTheNewest(t *testing.T) {
	o := fable()
	for keep, cleared := range map[int]int{0: 7, 5: 5} {
		o.KeepNewest = keep
		a := newAgent(t, o)
		a.work(9, 20_000)
		a.take(a.result(20_000))
		d := a.scheduler.Decide(projection.Query{FrontTokens: front, Idle: time.Hour})
		if len(d.Clear) != cleared || d.Clear[cleared-1] != (transcript.Ref{Message: 2*cleared - 1}) {
			t.Errorf("keeping %d of 10 results: %v are cleared", keep, d.Clear)
		}
	}

	a := newAgent(t, fable())
	a.work(1, 20_000)
	for block := range 9 { // nine at once, not answered yet
		o := a.result(20_000)
		o.Ref = transcript.Ref{Message: 99, Block: block}
		o.Call, o.Content = hashOf(block), hashOf(block)
		a.take(o)
	}
	if d := a.scheduler.Decide(projection.Query{FrontTokens: front, Idle: time.Hour}); len(d.Clear) != 1 || d.Clear[0].Message == 99 {
		t.Errorf("results that the model has not seen: %v are cleared", d.Clear)
	}
	if d := a.scheduler.Relieve(projection.Query{FrontTokens: front}, 1_000_000); len(d.Clear) != 1 {
		t.Errorf("under pressure %v are cleared", d.Clear)
	}
}

// A cache that has expired or is broken makes clearing free: everything goes
// at once.
func TestColdAndBrokenCache(t *testing.T) {
	q := projection.Query{FrontTokens: front}
	cases := []struct {
		name   string
		break_ func(*agent) projection.Query
		want   projection.Reason
	}{
		{"warm", func(*agent) projection.Query { return q }, projection.ReasonNotYet},
		{"idle up to the lifetime", func(*agent) projection.Query { return projection.Query{FrontTokens: front, Idle: 5 * time.Minute} }, projection.ReasonNotYet},
		{"idle longer", func(*agent) projection.Query { return projection.Query{FrontTokens: front, Idle: 5*time.Minute + 1} }, projection.ReasonCold},
		{"other tools", func(*agent) projection.Query { return projection.Query{FrontTokens: front + 7} }, projection.ReasonBroken},
		{"another model", func(a *agent) projection.Query { a.scheduler.CacheBroken(); return q }, projection.ReasonBroken},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := newAgent(t, fable())
			a.work(12, 1000)
			a.take(a.result(1000))
			d := a.scheduler.Decide(c.break_(a))
			if d.Reason != c.want {
				t.Fatalf("reason %q, want %q", d.Reason, c.want)
			}
			if free := c.want != projection.ReasonNotYet; (len(d.Clear) == 8) != free || free && d.LossUSD() >= 0 {
				t.Errorf("%d results cleared, loss $%g", len(d.Clear), d.LossUSD())
			}
		})
	}
}

// A lifetime that nobody states is taken to be a day.
func TestUnknownLifetime(t *testing.T) {
	o := fable()
	o.Cache = catalog.CacheRules{}
	for idle, want := range map[time.Duration]projection.Reason{23 * time.Hour: projection.ReasonNotYet, 25 * time.Hour: projection.ReasonCold} {
		a := newAgent(t, o) // a cache that is lost stays lost
		a.work(9, 1000)
		a.take(a.result(1000))
		if d := a.scheduler.Decide(projection.Query{FrontTokens: front, Idle: idle}); d.Reason != want {
			t.Errorf("after %v: %q, want %q", idle, d.Reason, want)
		}
	}
}

// An error stays until the same call has succeeded; another call does not
// count. The budget alone may take it.
func TestErrorsThatStand(t *testing.T) {
	a := newAgent(t, fable())
	failed := a.result(2000)
	failed.Outcome, failed.Call = message.OutcomeFailure, hashOf(1)
	a.take(failed)
	a.ask(0)
	a.work(9, 1000)
	cold := projection.Query{FrontTokens: front, Idle: time.Hour}
	d := a.scheduler.Decide(cold)
	if len(d.Clear) != 4 || d.Clear[0] == failed.Ref {
		t.Fatalf("cleared %v, the error among them", d.Clear)
	}
	pressed := a.scheduler.Relieve(projection.Query{FrontTokens: front}, 5000)
	if len(pressed.Clear) != 5 || pressed.Clear[0] != failed.Ref || pressed.Reason != projection.ReasonBudget {
		t.Errorf("the budget takes %v: %s", pressed.Clear, pressed.Reason)
	}
	if part := a.scheduler.Relieve(projection.Query{FrontTokens: front}, 3000); len(part.Clear) != 4 || part.Clear[0] == failed.Ref {
		t.Errorf("the error goes although the rest is enough: %v", part.Clear)
	}
	fixed := a.result(1000)
	fixed.Call = failed.Call
	a.take(fixed)
	if d := a.scheduler.Decide(cold); len(d.Clear) != 6 || d.Clear[0] != failed.Ref {
		t.Errorf("resolved, cleared %v", d.Clear)
	}
}

// The budget takes stale reads and repeated output first, then what commands
// printed when they succeeded, then the rest (B21).
func TestReliefTakesTheStaleFirstB21(t *testing.T) {
	a := newAgent(t, projection.Options{Cache: ttlOf(time.Hour), KeepNewest: 5}) // no prices: only what is lost counts
	kinds := map[string]transcript.Ref{}
	add := func(kind string, change func(*projection.Observation)) {
		o := a.result(4000)
		o.Effect = projection.EffectRead
		change(&o)
		kinds[kind] = o.Ref
		a.take(o)
		a.ask(0)
	}
	add("plain", func(*projection.Observation) {})
	add("log", func(o *projection.Observation) { o.Effect = projection.EffectRun })
	add("read twice", func(o *projection.Observation) { o.Call = hashOf(1) })
	add("edited since", func(o *projection.Observation) { o.Path = "a.go" })
	add("printed twice", func(o *projection.Observation) { o.Content = hashOf(3) })
	add("again", func(o *projection.Observation) { o.Call = hashOf(1) })
	add("edit", func(o *projection.Observation) { o.Path, o.Effect = "a.go", projection.EffectWrite })
	add("copy", func(o *projection.Observation) { o.Content = hashOf(3) })
	a.work(5, 4000)
	q := projection.Query{FrontTokens: front}
	names := func(refs []transcript.Ref) (out []string) {
		for _, ref := range refs {
			for name, at := range kinds {
				if at == ref {
					out = append(out, name)
				}
			}
		}
		return out
	}
	stale := map[string]bool{"read twice": true, "edited since": true, "printed twice": true}
	for _, need := range []int{2000, 8000} {
		got := names(a.scheduler.Relieve(q, need).Clear)
		for _, n := range got {
			if !stale[n] {
				t.Errorf("need of %d tokens takes %v", need, got)
			}
		}
	}
	if got := names(a.scheduler.Relieve(q, 30_000).Clear); len(got) != 8 {
		t.Errorf("a need for everything takes %v", got)
	}
}

// What was cleared and is read again, unchanged, must be earned before the
// next clearing.
func TestRereadsRaiseTheThreshold(t *testing.T) {
	run := func(again bool) (rereads, second int) {
		a := newAgent(t, fable())
		first := a.work(60, 1000)
		for step := range 60 {
			o := a.result(1000)
			if again {
				o.Call, o.Content = hashOf(1000+step), hashOf(1000+step)
			}
			a.take(o)
			rereads = max(rereads, a.scheduler.RereadTokens())
			if d := a.ask(0); len(d.Clear) > 0 && second == 0 {
				second = step
			}
		}
		if len(first) == 0 {
			t.Fatal("nothing was cleared at first")
		}
		return rereads, second
	}
	rereads, later := run(true)
	none, sooner := run(false)
	if none != 0 || rereads == 0 || later <= sooner {
		t.Errorf("rereads of %d tokens: next clearing after %d steps; %d tokens: after %d", rereads, later, none, sooner)
	}
}

// A price step ahead is reason enough: the request stays below it.
func TestStaysBelowPriceSteps(t *testing.T) {
	for _, above := range []int{100_000, 200_000, 272_000} {
		o := fable()
		o.Prices = withStep(o.Prices, above, 5)
		a := newAgent(t, o)
		var over int
		for range above / 1500 {
			a.take(a.result(2000))
			d := a.ask(0)
			if d.TokensAfter > above {
				over++
			}
		}
		if s := a.scheduler.Spent(); over > 0 || s.USD > 0.6*s.AppendOnlyUSD {
			t.Errorf("step at %d: %d requests above it, spent %+v", above, over, s)
		}
	}
	o := fable()
	o.Prices = withStep(o.Prices, 60_000, 5)
	a := newAgent(t, o)
	a.take(a.result(1500))
	a.ask(0)
	for range 20 { // mostly text that cannot be cleared
		a.scheduler.Extend(2000)
		a.take(a.result(300))
		a.ask(0)
	}
	a.scheduler.Extend(8000) // over the step by more than there is to clear
	if d := a.ask(0); d.TokensAfter <= 60_000 || d.Reason == projection.ReasonPriceStep {
		t.Errorf("a step out of reach: %+v", d)
	}
}

// A strict bound holds at every moment.
func TestMostOverspend(t *testing.T) {
	o := fable()
	o.MostOverspend = 0.02
	a := newAgent(t, o)
	cleared := 0
	for step := range 400 {
		a.take(a.result(1 + step*7919%3000))
		if d := a.ask(0); len(d.Clear) > 0 {
			cleared++
		}
		if s := a.scheduler.Spent(); s.USD > 1.02*s.AppendOnlyUSD*(1+1e-12) {
			t.Fatalf("step %d: spent %+v", step, s)
		}
	}
	if cleared == 0 {
		t.Error("nothing was ever cleared")
	}
}

// A compaction takes observations away; the rest goes on.
func TestCompacted(t *testing.T) {
	a := newAgent(t, projection.Options{KeepNewest: 5})
	a.work(30, 1000)
	from := 2*20 + 1
	a.scheduler.Compacted(from, 10*1100, front)
	if got := a.scheduler.ConversationTokens(); got != 11_000 {
		t.Errorf("%d tokens are left", got)
	}
	a.take(a.result(1000))
	d := a.scheduler.Decide(projection.Query{FrontTokens: front})
	if len(d.Clear) != 6 || d.Clear[0].Message != from || d.Reason != projection.ReasonBroken {
		t.Errorf("cleared %v: %s", d.Clear, d.Reason)
	}
	if d.TokensBefore != front+12*1000+100 {
		t.Errorf("%d tokens", d.TokensBefore)
	}
}

func TestSchedulerRefuses(t *testing.T) {
	for _, o := range []projection.Options{{KeepNewest: -1}, {MostOverspend: -0.1}, {MostOverspend: 1.5}} {
		if _, err := projection.New(o); !errors.Is(err, projection.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	a := newAgent(t, fable())
	a.work(10, 1000)
	before := a.scheduler.ConversationTokens()
	bad := a.result(10)
	bad.Tokens = -1
	for _, o := range []projection.Observation{bad, {Ref: transcript.Ref{Message: 1}}} {
		if err := a.scheduler.Admit(o); !errors.Is(err, projection.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, refs := range [][]transcript.Ref{{{Message: 999}}, {{Message: 1}, {Message: 1}}} {
		if err := a.scheduler.Apply(refs); !errors.Is(err, projection.ErrInvalid) {
			t.Errorf("%v: %v", refs, err)
		}
	}
	if got := a.scheduler.ConversationTokens(); got != before || a.scheduler.Cleared(transcript.Ref{Message: 1}) {
		t.Error("a refused call changed something")
	}
}

// A step looks at a bounded number of items however long the conversation is
// (must reach 3), clearings included. The number is not quite the same in each
// step, since groups come and go.
func TestStepIsFlat(t *testing.T) {
	visits := func(steps int) (mean float64, most int) {
		sum := 0
		a := newAgent(t, fable())
		for i := range steps {
			o := a.result(1 + i*7919%900)
			if i%9 == 0 {
				o.Outcome = message.OutcomeFailure
			}
			before := a.scheduler.Visited()
			a.take(o)
			d := a.ask(0)
			// What is cleared is visited a fixed number of times, once for all.
			if n := a.scheduler.Visited() - before - 3*len(d.Clear); i > steps/2 {
				most = max(most, n)
				sum += n
			}
		}
		return float64(sum) / float64(steps-steps/2), most
	}
	for _, steps := range []int{4000, 16_000, 64_000} {
		// The groups are gone through once to find a cut, and once to merge two.
		if mean, most := visits(steps); mean > projection.MaxGroups || most > 2*projection.MaxGroups+8 {
			t.Errorf("%d steps: %.1f items in a step, %d at most", steps, mean, most)
		}
	}
}
