package tokencount

import (
	"math"
	"math/bits"
	"slices"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model"
)

// Constants of the calibration. They were chosen on the sessions of the
// corpus; `go run ./internal/fit -sessions` shows what they do there.
const (
	// ratioPriorTokens is how much evidence the profile's own ratio weighs;
	// that of a count by bytes, which is high on purpose, weighs less.
	ratioPriorTokens, bytesPriorTokens = 4000, 400
	// ratioMemoryTokens is how much of the latest growth the ratio remembers.
	ratioMemoryTokens = 60000
	// ratioClip bounds what one step may say: growth beyond it came from
	// content that is not in the count. Counts by bytes may be off by more.
	ratioClip, bytesClip = 1.5, 2.5
	// growthFloorTokens is added to the growth before errors are compared, so
	// that small steps do not look wildly wrong.
	growthFloorTokens = 200
	// priorScore is the error band of growth, as a share of it, before there
	// are errors of its own to learn from.
	priorScore = 0.5
	// rebuiltShare is the least band of a request that is not the former one
	// with more at the end, as a share of the estimate.
	rebuiltShare = 0.12
	// restructuredShare is how much of the last request must still be there
	// for its unseen part to be there too.
	restructuredShare = 0.5
	// scoreMemory is how many errors the band remembers.
	scoreMemory = 50
	// bandMargin widens the largest remembered error.
	bandMargin = 1.25
	// blockWindow and blockCount: three undercounts beyond the buffer among
	// the last ten block a model (resolution C15).
	blockWindow, blockCount = 10, 3
	// Usage is suspicious when it is below the estimate by more than
	// suspectTokens and more than a share of it: suspectShare once a usage is
	// known, suspectFirstShare before. A byte count may be off by more, so
	// both shares are wider for it.
	suspectTokens                   = 1000
	suspectShare, suspectFirstShare = 0.35, 0.5
	suspectBytes                    = 0.25
)

// A Sample is a request as counted locally.
type Sample struct {
	// Counted is the request by category.
	Counted budget.Breakdown
	// Generation changes whenever the request is not the former one with more
	// at the end: after a compaction, a projection, other instructions.
	Generation int
	// Complete says that Counted holds everything that the provider sees.
	Complete bool
}

// A Calibration learns, from the usage that a provider reports, how far the
// local count of one model is off, and corrects later estimates (F-EST-01). It
// takes the last reported usage for what was sent and estimates only what came
// after. It holds numbers only, none of them about single messages (F-EST-02).
//
// The zero value has learned nothing. Its JSON form keeps what holds for other
// conversations with the model: the ratio and the errors. A Calibration
// belongs to one goroutine.
type Calibration struct {
	learned learned
	// anchor is the last request with usage.
	anchor observation
	// smallest is the smallest request with usage: what the provider counts
	// besides known content shows best there.
	smallest   observation
	suspicious bool
}

// learned is what is kept between conversations.
type learned struct {
	// ReportedTokens over CountedTokens is the ratio of growth.
	ReportedTokens float64 `json:"reportedTokens"`
	CountedTokens  float64 `json:"countedTokens"`
	// Scores are the latest undercounts of growth as a share of it, newest
	// last.
	Scores []float64 `json:"scores,omitempty"`
	// Undercounts are the latest undercounts in tokens, newest last.
	Undercounts []int `json:"undercounts,omitempty"`
	// Observed is how many usages were taken in.
	Observed int `json:"observed"`
}

type observation struct {
	known      bool
	generation int
	counted    int
	reported   int
}

// unseen is what the provider counted besides the counted content; never
// negative.
func (o observation) unseen(ratio float64) int {
	return round(float64(o.reported) - ratio*float64(o.counted))
}

// Ratio returns how many reported tokens a token counted with profile p is
// worth.
func (k *Calibration) Ratio(p Profile) float64 {
	prior := float64(ratioPriorTokens)
	if p.Method == model.MethodConservativeFallback {
		prior = bytesPriorTokens
	}
	return (k.learned.ReportedTokens + prior) / (k.learned.CountedTokens + prior)
}

// Observed returns how many usages were taken in.
func (k *Calibration) Observed() int { return k.learned.Observed }

// Estimate corrects the local count of a request. The returned breakdown has
// no negative part and sums to the estimate. What the provider counts besides
// the known content is shown as instructions when the sample is not complete,
// and as framing when it is.
func (k *Calibration) Estimate(p Profile, s Sample) (budget.Breakdown, model.Estimate) {
	e := k.expect(p, s)
	unseen := budget.Framing
	if !s.Complete {
		unseen = budget.Instructions
	}
	out := apportion(s.Counted, e.tokens-e.unseen)
	out[unseen] += e.unseen
	estimate := p.Estimate(e.tokens)
	estimate.BandTokens = e.band
	return out, estimate
}

// expectation is an estimate before it is laid out by category.
type expectation struct {
	tokens int
	// unseen is the part of tokens that is not in the count; never negative.
	// What the smallest request had besides its content (system text, tools)
	// is taken to be there still when later ones shrink: then it was content
	// that the agent dropped without a trace.
	unseen int
	band   int
	// scale is what an error is compared with, zero when the estimate is not
	// one of growth.
	scale float64
}

func (k *Calibration) expect(p Profile, s Sample) expectation {
	counted := s.Counted.Total()
	base, grown := k.anchor, true
	if !base.known || base.generation != s.Generation || counted < base.counted {
		grown = false
		// Most of the last request is still there after old output was
		// cleared, and so is what it holds besides the count. A compaction
		// leaves little but what the smallest request had too.
		if !base.known || float64(counted) < restructuredShare*float64(base.counted) {
			base = k.smallest
		}
	}
	if !base.known {
		e := p.Estimate(counted)
		return expectation{tokens: e.Tokens, band: e.BandTokens}
	}
	ratio := k.Ratio(p)
	tokens := max(0, round(float64(base.reported)+ratio*float64(counted-base.counted)))
	e := expectation{tokens: tokens, unseen: min(tokens, max(base.unseen(ratio), min(k.smallest.unseen(ratio), tokens/2)))}
	if grown {
		e.scale = ratio*float64(counted-base.counted) + growthFloorTokens
		e.band = int(math.Ceil(k.score() * e.scale))
		return e
	}
	// The request was put together anew: any part of it may be off.
	e.band = p.BandTokens + int(math.Ceil(max(p.BandFraction, rebuiltShare)*float64(tokens)))
	return e
}

// score is the half-width of the band of growth, as a share of it.
func (k *Calibration) score() float64 {
	own := 0.0
	if n := len(k.learned.Scores); n > 0 {
		own = bandMargin * slices.Max(k.learned.Scores)
	}
	// The prior fades as own errors come in.
	weight := max(0, 1-float64(len(k.learned.Scores))/scoreMemory)
	return max(own, priorScore*(1+weight)/2)
}

// Observe takes in the usage of the request that s counted. Call it with the
// sample and the profile that the estimate was made from.
func (k *Calibration) Observe(p Profile, s Sample, u message.Usage) {
	if u.InputTokens <= 0 {
		return
	}
	e := k.expect(p, s)
	counted := s.Counted.Total()
	short := e.tokens - u.InputTokens
	k.suspicious = k.suspects(p, e.tokens, short)
	if k.suspicious {
		return // nothing to learn from usage that cannot be of this request
	}
	k.learned.Observed++
	if k.anchor.known || s.Complete {
		k.learned.Undercounts = keep(append(k.learned.Undercounts, max(0, -short)), blockWindow)
	}
	if e.scale > 0 {
		k.learned.Scores = keep(append(k.learned.Scores, max(0, -float64(short))/e.scale), scoreMemory)
		k.learnRatio(p, float64(counted-k.anchor.counted), float64(u.InputTokens-k.anchor.reported))
	}
	now := observation{known: true, generation: s.Generation, counted: counted, reported: u.InputTokens}
	k.anchor = now
	if !k.smallest.known || counted < k.smallest.counted {
		k.smallest = now
	}
}

func (k *Calibration) suspects(p Profile, estimated, short int) bool {
	share := suspectFirstShare
	if k.anchor.known {
		share = suspectShare
	}
	if p.Method == model.MethodConservativeFallback {
		share += suspectBytes
	}
	return float64(short) > max(suspectTokens, share*float64(estimated))
}

// learnRatio takes in one step of growth.
func (k *Calibration) learnRatio(p Profile, counted, reported float64) {
	if counted <= 0 {
		return
	}
	clip := float64(ratioClip)
	if p.Method == model.MethodConservativeFallback {
		clip = bytesClip
	}
	expected := k.Ratio(p) * counted
	reported = min(max(reported, expected/clip), expected*clip)
	k.learned.CountedTokens += counted
	k.learned.ReportedTokens += reported
	if k.learned.CountedTokens > ratioMemoryTokens {
		f := ratioMemoryTokens / k.learned.CountedTokens
		k.learned.CountedTokens *= f
		k.learned.ReportedTokens *= f
	}
}

func keep[T any](xs []T, n int) []T {
	if len(xs) > n {
		return append(xs[:0:0], xs[len(xs)-n:]...)
	}
	return xs
}

// Blocked reports whether the model is kept from automatic compaction: at
// least three of its last ten estimates were below the usage by more than the
// buffer (F-EST-03, resolution C15).
func (k *Calibration) Blocked(bufferTokens int) bool {
	n := 0
	for _, u := range k.learned.Undercounts {
		if u > bufferTokens {
			n++
		}
	}
	return n >= blockCount
}

// Suspicious reports whether the usage observed last can hardly be of the
// request that was sent: it is below the estimate by more than 1,000 tokens
// and by more than 35 % (50 % for the first usage of a model; 60 % and 75 %
// where the count is one of bytes). That is how a server looks that cuts the
// request in silence, or a proxy that leaves cached tokens out. Nothing is
// learned from such usage.
func (k *Calibration) Suspicious() bool { return k.suspicious }

// apportion scales a breakdown so that it sums to total, each part rounded
// down and the rest given to the parts with the largest remainders.
func apportion(b budget.Breakdown, total int) budget.Breakdown {
	var out budget.Breakdown
	for i, n := range b {
		b[i] = max(0, n)
	}
	sum := b.Total()
	if sum == total || sum == 0 {
		b[budget.Framing] += total - sum
		return b
	}
	var rest [budget.CategoryCount]int
	left := total
	for i, n := range b {
		high, low := bits.Mul64(uint64(n), uint64(total))
		quotient, remainder := bits.Div64(high, low, uint64(sum)) // n ≤ sum, so it cannot overflow
		out[i], rest[i] = int(quotient), int(remainder)
		left -= out[i]
	}
	for ; left > 0; left-- {
		best := 0
		for i := range rest {
			if rest[i] > rest[best] {
				best = i
			}
		}
		out[best]++
		rest[best] = -1
	}
	return out
}
