package projection_test

import (
	"testing"

	"github.com/forge-agent/forge/projection"
)

// Text between the results is written anew with each clearing and never gets
// less. It makes clearings rarer, and does not put an end to them: a
// conversation with much of it would otherwise never be cleared, since what a
// clearing breaks grows as fast as what it saves.
func TestTextBetweenResultsDoesNotStopClearing(t *testing.T) {
	apart := func(text int) int {
		a := newAgent(t, projection.Options{Prices: prices(0.1, 1.25)})
		last, between := 0, 0
		for n := range 250 {
			a.scheduler.Extend(text)
			a.take(a.result(1000))
			if d := a.ask(0); len(d.Clear) > 0 {
				last, between = n, n-last
			}
		}
		return between
	}
	if bare, wordy := apart(0), apart(600); bare == 0 || wordy < bare || wordy > 3*bare {
		t.Errorf("the last clearings are %d requests apart without text in between, %d with it", bare, wordy)
	}
}

// No clearing takes more than 100 requests to pay back, however much was saved
// before and however long little old output has stood in front of much text.
func TestNothingThatPaysBackLate(t *testing.T) {
	a := newAgent(t, projection.Options{Prices: prices(0.02, 1.25)})
	a.work(40, 10_000)
	for range 12 {
		a.take(a.result(400))
		a.scheduler.Extend(8000)
		a.ask(0)
	}
	for n := range 2500 {
		a.scheduler.Extend(20)
		if d := a.ask(0); d.PaybackRequests() > 100 {
			t.Fatalf("request %d: %d results are cleared, back after %.0f requests", n, len(d.Clear), d.PaybackRequests())
		}
	}
	if s := a.scheduler.Spent(); s.USD > 0.9*s.AppendOnlyUSD {
		t.Errorf("spent %+v: nothing was saved before, so that the bound on overspending did it", s)
	}
}
