package projection_test

import (
	"math"
	"slices"
	"time"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/projection"
	"github.com/forge-agent/forge/transcript"
)

// known is a value that somebody stated.
func known[T any](v T) catalog.Value[T] { return catalog.Value[T]{V: v, Known: true} }

// prices are for an input price of one dollar for a million tokens.
func prices(read, write float64) catalog.Prices {
	return catalog.Prices{Rates: catalog.Rates{
		InputUSDPerMillion: known(1.0), CachedInputUSDPerMillion: known(read), CacheWriteUSDPerMillion: known(write),
	}}
}

// withStep adds a price step: everything dearer by a factor above a size.
func withStep(p catalog.Prices, above int, factor float64) catalog.Prices {
	p.Tiers = append(p.Tiers, catalog.Tier{AboveInputTokens: above, Rates: catalog.Rates{
		InputUSDPerMillion: known(factor), CachedInputUSDPerMillion: known(factor * p.CachedInputUSDPerMillion.V),
		CacheWriteUSDPerMillion: known(factor * p.CacheWriteUSDPerMillion.V),
	}})
	return p
}

func ttlOf(d time.Duration) catalog.CacheRules { return catalog.CacheRules{TTL: known(d)} }

// A naive model of a conversation: a list of items, priced anew for each
// request. It is what the scheduler's bookkeeping must agree with.
type naive struct {
	prices  catalog.Prices
	keep    int // of the newest, whose pointers hold what they point to
	items   []naiveItem
	results int

	front, sentFront       int
	sent                   int // items that the last answered request saw
	answered               int // results among them
	changed                int // first item changed since
	warm                   bool
	usd, appendOnlyUSD     float64
	nextUSD, nextAppendUSD float64
	nextItems, nextResults int
}

type naiveItem struct {
	message int
	tokens  int
	result  *projection.Observation
	number  int // of the result, from 0
	cleared bool
}

func (n *naive) add(messageIndex, tokens int, o *projection.Observation) {
	it := naiveItem{message: messageIndex, tokens: tokens, result: o}
	if o != nil {
		it.number = n.results
		n.results++
	}
	n.items = append(n.items, it)
}

func (n *naive) rate(tokens int) (read, write float64) {
	r := n.prices.RatesFor(tokens)
	return r.CachedInputUSDPerMillion.V / 1e6, r.CacheWriteUSDPerMillion.V / 1e6
}

func (n *naive) cost(tokens, cached int) float64 {
	read, write := n.rate(tokens)
	return read*float64(cached) + write*float64(tokens-cached)
}

// weight returns the tokens of items [0,end) with the front.
func (n *naive) weight(end int, appendOnly bool) int {
	total := n.front
	for _, it := range n.items[:end] {
		if it.cleared && !appendOnly {
			total += it.result.StandInTokens
		} else {
			total += it.tokens
		}
	}
	return total
}

// request prices the request over everything that has come, given whether the
// provider still has its cache.
func (n *naive) request(front int, cold bool) (tokens int, usd float64) {
	n.front = front
	if cold || front != n.sentFront {
		n.warm = false
	}
	return n.price()
}

func (n *naive) price() (tokens int, usd float64) {
	tokens = n.weight(len(n.items), false)
	appendOnly := n.weight(len(n.items), true)
	cached, appendCached := 0, 0
	if n.warm {
		cached, appendCached = n.weight(min(n.sent, n.changed), false), n.weight(n.sent, true)
	}
	n.nextUSD, n.nextAppendUSD = n.cost(tokens, cached), n.cost(appendOnly, appendCached)
	n.nextItems, n.nextResults = len(n.items), n.results
	return tokens, n.nextUSD
}

func (n *naive) find(ref transcript.Ref) int {
	return slices.IndexFunc(n.items, func(it naiveItem) bool { return it.result != nil && it.result.Ref == ref })
}

// clear puts stand-ins in and returns the new price of the request.
func (n *naive) clear(refs []transcript.Ref) (tokens int, usd float64) {
	for _, ref := range refs {
		i := n.find(ref)
		n.items[i].cleared = true
		n.changed = min(n.changed, i)
	}
	return n.price()
}

func (n *naive) answer() {
	n.usd += n.nextUSD
	n.appendOnlyUSD += n.nextAppendUSD
	n.sent, n.answered, n.sentFront, n.warm, n.changed = n.nextItems, n.nextResults, n.front, true, math.MaxInt
}

// compact takes the items before a message away.
func (n *naive) compact(from int) (tokens int) {
	gone := 0
	for gone < len(n.items) && n.items[gone].message < from {
		if n.items[gone].result != nil {
			n.answered--
			n.results--
		}
		gone++
	}
	n.items = n.items[gone:]
	n.sent, n.answered, n.warm = max(0, n.sent-gone), max(0, n.answered), false
	number := 0
	for i := range n.items {
		if it := &n.items[i]; it.result != nil {
			it.number = number
			number++
			if it.cleared { // as if it had never been more
				it.tokens = it.result.StandInTokens
			}
		}
		tokens += n.items[i].tokens
	}
	return tokens
}

// standing reports whether the failure at i still stands.
func (n *naive) standing(i int) bool {
	o := n.items[i].result
	if o.Outcome != message.OutcomeFailure {
		return false
	}
	for _, it := range n.items[i+1:] {
		if it.result != nil && it.result.Call == o.Call && it.result.Outcome == message.OutcomeSuccess {
			return false
		}
	}
	return true
}

// mayClear reports whether a result may get its stand-in, errors that stand
// aside.
func (n *naive) mayClear(i, keep int) bool {
	it := n.items[i]
	return it.result != nil && !it.cleared && it.number < n.results-keep && it.number < n.answered &&
		it.result.Tokens-it.result.StandInTokens >= 16 && !n.held(i)
}

// held reports whether one of the newest results points to the one at i.
func (n *naive) held(i int) bool {
	for _, it := range n.items[i+1:] {
		newest := it.number >= n.results-n.keep || it.number >= n.answered
		if it.result != nil && newest && it.result.SameAs != nil && *it.result.SameAs == n.items[i].result.Ref {
			return true
		}
	}
	return false
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(math.Abs(a)+math.Abs(b))+1e-18 }
