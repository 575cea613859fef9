package tokencount_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
)

func counted(c budget.Category, tokens int) budget.Breakdown {
	var b budget.Breakdown
	b[c] = tokens
	return b
}

func usage(input int) message.Usage { return message.Usage{InputTokens: input} }

func profile() tokencount.Profile {
	return tokencount.Profile{Family: "test", Method: "sdk", BandFraction: 0.1, BandTokens: 10}
}

// F-BUD-05: whatever is observed and in whatever order, a corrected breakdown
// has no negative part and sums to its estimate.
func TestCalibratedCategoriesSumToTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var k tokencount.Calibration
		p := profile()
		sample := tokencount.Sample{}
		for range rapid.IntRange(1, 30).Draw(t, "requests") {
			if rapid.IntRange(0, 5).Draw(t, "rebuilt") == 0 {
				sample.Counted = budget.Breakdown{}
				sample.Generation++
			}
			sample.Complete = rapid.Bool().Draw(t, "complete")
			for i := range sample.Counted {
				sample.Counted[i] += rapid.OneOf(rapid.IntRange(0, 50), rapid.IntRange(0, 200_000)).Draw(t, "growth")
			}
			b, e := k.Estimate(p, sample)
			if b.Total() != e.Tokens || e.Tokens < 0 || e.BandTokens < 0 {
				t.Fatalf("categories %v sum to %d, the estimate is %+v", b, b.Total(), e)
			}
			for c, n := range b {
				if n < 0 {
					t.Fatalf("%s is %d", budget.Category(c), n)
				}
			}
			if rapid.Bool().Draw(t, "reported") {
				k.Observe(p, sample, usage(rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 2_000_000)).Draw(t, "usage")))
			}
			if r := k.Ratio(p); !(r > 0.1 && r < 10) {
				t.Fatalf("ratio %v", r)
			}
		}
	})
}

// F-EST-01: what was sent is taken from the last usage, only growth is
// estimated, and the ratio of growth is learned.
func TestEstimateIsAnchoredOnUsage(t *testing.T) {
	var k tokencount.Calibration
	p := profile()
	s := tokencount.Sample{Counted: counted(budget.Conversation, 1000), Complete: false}
	true_ := func(c int) int { return 20_000 + c*130/100 }
	k.Observe(p, s, usage(true_(1000)))
	first := 0
	for step := range 60 {
		s.Counted[budget.ToolResults] += 2000
		total := s.Counted.Total()
		b, e := k.Estimate(p, s)
		off := e.Tokens - true_(total)
		if step == 0 {
			first = off
		}
		if b[budget.Instructions] < 15_000 {
			t.Fatalf("step %d: %d tokens of instructions, 20000 are not in the file", step, b[budget.Instructions])
		}
		k.Observe(p, s, usage(true_(total)))
		if step > 40 && math.Abs(float64(off)) > 0.02*2000 {
			t.Fatalf("step %d: off by %d of 2600 tokens of growth", step, off)
		}
	}
	if first != -600 {
		t.Errorf("the first step is off by %d, want −600: nothing was known of the ratio", first)
	}
	if r := k.Ratio(p); r < 1.27 || r > 1.31 {
		t.Errorf("ratio %.3f, want about 1.3", r)
	}
}

// B32: after a compaction the part that the file does not hold, system prompt
// and tools, is still in the estimate.
func TestUnseenPartSurvivesCompaction(t *testing.T) {
	var k tokencount.Calibration
	p := profile()
	s := tokencount.Sample{Counted: counted(budget.Conversation, 500)}
	for range 20 {
		k.Observe(p, s, usage(25_000+s.Counted.Total()))
		s.Counted[budget.ToolResults] += 5000
	}
	s = tokencount.Sample{Counted: counted(budget.Memory, 1500), Generation: 1}
	b, e := k.Estimate(p, s)
	if e.Tokens < 26_000 || e.Tokens > 27_000 {
		t.Errorf("after the compaction %d tokens are estimated, want 26500", e.Tokens)
	}
	if b[budget.Memory] < 1400 || b[budget.Memory] > 1600 || b[budget.Instructions] < 24_500 {
		t.Errorf("after the compaction: %v", b)
	}
}

// B4: usage reported for what has been replaced since says nothing about the
// new request.
func TestOldUsageIsNotCurrent(t *testing.T) {
	var k tokencount.Calibration
	p := profile()
	s := tokencount.Sample{Counted: counted(budget.Conversation, 2000), Complete: true}
	k.Observe(p, s, usage(2100))
	s.Counted[budget.ToolResults] += 150_000
	k.Observe(p, s, usage(155_000))
	s = tokencount.Sample{Counted: counted(budget.Memory, 3000), Generation: 1, Complete: true}
	if _, e := k.Estimate(p, s); e.Tokens > 4000 {
		t.Errorf("a request of 3000 counted tokens is estimated at %d", e.Tokens)
	}
}

// A correction below the count takes from every category in proportion.
func TestNegativeCorrectionKeepsCategories(t *testing.T) {
	var k tokencount.Calibration
	p := profile()
	s := tokencount.Sample{Counted: counted(budget.Conversation, 10_000), Complete: true}
	k.Observe(p, s, usage(8000))
	s.Counted[budget.ToolResults] += 10_000
	b, e := k.Estimate(p, s)
	if e.Tokens >= 20_000 || e.Tokens < 17_000 || b.Total() != e.Tokens {
		t.Fatalf("estimate %+v of %v", e, b)
	}
	if d := b[budget.Conversation] - b[budget.ToolResults]; d < -1 || d > 1 {
		t.Errorf("equal parts became %v", b)
	}
}

// F-EST-01: the band holds: growth with honest noise is beyond it in at most
// 2 % of the requests, and it is narrow beside the request.
func TestBandHolds(t *testing.T) {
	short, total := 0, 0
	for seed := range 40 {
		r := uint64(seed)*2654435761 + 12345
		next := func(n int) int { r = r*6364136223846793005 + 1442695040888963407; return int(r>>33) % n }
		var k tokencount.Calibration
		p := profile()
		s := tokencount.Sample{Counted: counted(budget.Conversation, 3000), Complete: true}
		reported := 3100
		k.Observe(p, s, usage(reported))
		for range 100 {
			grown := 50 + next(4000)
			s.Counted[budget.ToolResults] += grown
			reported += grown * (88 + next(25)) / 100 // −12 % to +12 %
			_, e := k.Estimate(p, s)
			if reported > e.Tokens+e.BandTokens {
				short++
			}
			if total++; e.BandTokens > e.Tokens {
				t.Fatalf("band %d of %d", e.BandTokens, e.Tokens)
			}
			k.Observe(p, s, usage(reported))
		}
	}
	if float64(short) > 0.02*float64(total) {
		t.Errorf("%d of %d estimates were short beyond the band", short, total)
	}
}

// F-EST-03, resolution C15: three undercounts beyond the buffer among the last
// ten block a model; two do not, and old ones are forgotten.
func TestBlockedAfterRepeatedUndercounts(t *testing.T) {
	const buffer = 1000
	var k tokencount.Calibration
	p := profile()
	s := tokencount.Sample{Counted: counted(budget.Conversation, 1000), Complete: true}
	reported := 1000
	k.Observe(p, s, usage(reported))
	step := func(unseen int) {
		s.Counted[budget.Conversation] += 10
		reported += 10 + unseen
		k.Observe(p, s, usage(reported))
	}
	step(5000)
	step(5000)
	if k.Blocked(buffer) {
		t.Fatal("blocked after two undercounts")
	}
	step(5000)
	if !k.Blocked(buffer) {
		t.Fatal("not blocked after three undercounts")
	}
	if k.Blocked(6000) {
		t.Error("blocked with a buffer that was not exceeded")
	}
	for range 10 {
		step(0)
	}
	if k.Blocked(buffer) {
		t.Error("still blocked after ten good estimates")
	}
}

// Usage far below the estimate is suspicious, and nothing is learned from it.
func TestSilentTruncation(t *testing.T) {
	var k tokencount.Calibration
	p := profile()
	s := tokencount.Sample{Counted: counted(budget.Conversation, 30_000), Complete: true}
	k.Observe(p, s, usage(31_000))
	if k.Suspicious() {
		t.Fatal("ordinary usage is suspicious")
	}
	s.Counted[budget.ToolResults] += 3000
	k.Observe(p, s, usage(4096))
	if !k.Suspicious() {
		t.Fatal("4096 tokens reported for a request of 34000 are not suspicious")
	}
	s.Counted[budget.ToolResults] += 1000
	if _, e := k.Estimate(p, s); e.Tokens < 34_000 {
		t.Errorf("the next estimate is %d: the cut request was believed", e.Tokens)
	}
	k.Observe(p, s, usage(35_200))
	if k.Suspicious() {
		t.Error("the alarm stays on after ordinary usage")
	}
	var first tokencount.Calibration
	first.Observe(p, tokencount.Sample{Counted: counted(budget.Conversation, 9000), Complete: true}, usage(2048))
	if !first.Suspicious() {
		t.Error("2048 tokens reported for a first request of 9000 are not suspicious")
	}
	var small tokencount.Calibration
	small.Observe(p, tokencount.Sample{Counted: counted(budget.Conversation, 900), Complete: true}, usage(50))
	if small.Suspicious() {
		t.Error("a difference of 850 tokens is suspicious")
	}
}

// F-EST-02: only numbers are kept; they survive a round trip, and impossible
// ones are refused.
func TestCalibrationIsStored(t *testing.T) {
	var k tokencount.Calibration
	p := profile()
	s := tokencount.Sample{Counted: counted(budget.Conversation, 5000)}
	for i := range 80 {
		k.Observe(p, s, usage(5000+s.Counted.Total()*12/10+i))
		s.Counted[budget.ToolResults] += 1500
	}
	data, err := json.Marshal(&k)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 2500 {
		t.Errorf("%d bytes are stored", len(data))
	}
	var back tokencount.Calibration
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if back.Ratio(p) != k.Ratio(p) || back.Observed() != k.Observed() || back.Blocked(0) != k.Blocked(0) {
		t.Errorf("ratio %v of %d became %v of %d", k.Ratio(p), k.Observed(), back.Ratio(p), back.Observed())
	}
	again, err := json.Marshal(&back)
	if err != nil || string(again) != string(data) {
		t.Errorf("stored again as %s, %v", again, err)
	}
	for _, bad := range []string{`{"countedTokens": -1}`, `{"reportedTokens": 1e300}`, `{"scores": [-1]}`, `{"undercounts": [-5]}`, `{"observed": -1}`, `[]`,
		fmt.Sprintf(`{"undercounts": %s}`, manyZeros(1000))} {
		before := back.Ratio(p)
		if err := json.Unmarshal([]byte(bad), &back); err == nil || back.Ratio(p) != before {
			t.Errorf("%.40s: error %v, ratio %v", bad, err, back.Ratio(p))
		}
	}
}

func manyZeros(n int) string {
	b, _ := json.Marshal(make([]int, n))
	return string(b)
}

// The same observations give the same numbers.
func TestCalibrationIsDeterministic(t *testing.T) {
	run := func() string {
		var k tokencount.Calibration
		s := tokencount.Sample{Counted: counted(budget.Conversation, 100)}
		for i := range 200 {
			k.Observe(profile(), s, usage(1000+s.Counted.Total()+i%7))
			s.Counted[budget.Category(i%10)] += 17 * i
		}
		data, _ := json.Marshal(&k)
		b, e := k.Estimate(profile(), s)
		return fmt.Sprint(string(data), b, e)
	}
	first := run()
	for range 20 {
		if got := run(); got != first {
			t.Fatalf("got %s\nthen %s", first, got)
		}
	}
}

// After old output was cleared, most of the last request and what it held
// besides the count are still there; after a compaction little is left but
// what the smallest request had too.
func TestRestructuredRequests(t *testing.T) {
	sample := func(counted, generation int) tokencount.Sample {
		var b budget.Breakdown
		b[budget.ToolResults] = counted
		return tokencount.Sample{Counted: b, Generation: generation}
	}
	var k tokencount.Calibration
	p := tokencount.Profile{}
	k.Observe(p, sample(1_000, 0), message.Usage{InputTokens: 6_000})   // 5,000 unseen
	k.Observe(p, sample(50_000, 0), message.Usage{InputTokens: 51_000}) // the agent dropped some of it
	ratio := k.Ratio(p)
	if _, e := k.Estimate(p, sample(40_000, 1)); math.Abs(float64(e.Tokens)-(51_000-10_000*ratio)) > 1 {
		t.Errorf("after clearing: %d tokens with a ratio of %.3f", e.Tokens, ratio)
	}
	if _, e := k.Estimate(p, sample(2_000, 1)); math.Abs(float64(e.Tokens)-(6_000+1_000*ratio)) > 1 {
		t.Errorf("after a compaction: %d tokens with a ratio of %.3f", e.Tokens, ratio)
	}
}
