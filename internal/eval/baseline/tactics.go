package baseline

import "slices"

// summaryTokens is what a peer's summary is taken to weigh where the peer
// states no bound: as much as Forge's checkpoint by default.
const summaryTokens = 1_200

// noTactic sends everything.
func noTactic() Tactic { return Tactic{} }

// AppendOnly sends the whole conversation with each request.
func AppendOnly() Policy {
	return Policy{ID: "append-only", Title: "append-only", Source: "nothing is ever left out", Tactic: noTactic}
}

func tacticCodex() Tactic {
	compact := func(v *View) {
		v.asked(v.tokens-v.track.FrontTokens, summaryTokens) // no tools: the prefix is another one
		v.replace(append(v.userParts(20_000), text(summaryTokens)))
	}
	return atShare(0.9, compact)
}

// atShare acts when the request weighs a share of the window, after a step and
// between turns, and once more on an overflow.
func atShare(share float64, act func(*View)) Tactic {
	check := func(v *View) {
		if float64(v.tokens) >= share*float64(v.Limits.WindowTokens) {
			act(v)
		}
	}
	return Tactic{After: check, TurnEnd: check, Overflow: act}
}

func tacticFresh() Tactic {
	return atShare(0.9, func(v *View) { v.replace([]part{text(60)}) })
}

func tacticOpenCode1() Tactic {
	usable := func(l Limits) int {
		if l.MaxInputTokens > 0 {
			return l.MaxInputTokens - min(20_000, l.output())
		}
		return l.WindowTokens - l.output()
	}
	byChars := func(v *View) func(int) int { return func(i int) int { return v.parts[i].chars / 4 } }
	compact := func(v *View) {
		start := v.tailStart(min(15_000, max(2_000, usable(v.Limits)/4)), byChars(v))
		v.asked(v.flat(0, start, 2_000), summaryTokens)
		v.replace(append([]part{text(summaryTokens)}, v.parts[start:]...))
	}
	return Tactic{
		After: func(v *View) {
			if v.tokens >= usable(v.Limits) {
				compact(v)
			}
		},
		TurnEnd:  pruneOpenCode,
		Overflow: compact,
	}
}

// pruneOpenCode clears old tool output at the end of a run: the newest two
// turns and the newest 40,000 tool tokens stay, and fewer than 20,000 are left
// alone.
func pruneOpenCode(v *View) {
	turns, protected, reclaim := 0, 0, 0
	var clear []int
	for i := len(v.parts) - 1; i >= 0; i-- {
		it := v.item(i)
		if it.Authored && it.Starts {
			turns++
		}
		if turns < 2 || !it.Result || v.parts[i].cleared {
			continue
		}
		n := v.parts[i].chars / 4
		if protected += n; protected > 40_000 {
			clear = append(clear, i)
			reclaim += n
		}
	}
	if reclaim <= 20_000 {
		return
	}
	for _, i := range clear {
		v.cut(i, noticeTokens, 4*noticeTokens)
	}
}

func tacticOpenCode2() Tactic {
	compact := func(v *View) {
		weigh := func(i int) int { return cutPart(v, i, 2_000).chars / 4 }
		start := v.tailStart(8_000, weigh)
		call := v.flat(0, start, 2_000)
		if call+promptTokens > v.Limits.Input() {
			return // its own prompt does not fit: the call goes ahead
		}
		v.asked(call, min(4_096, summaryTokens))
		recent := v.flat(start, len(v.parts), 2_000) // as text in one message
		v.replace([]part{text(summaryTokens), text(recent)})
	}
	return Tactic{
		Before: func(v *View) {
			if v.chars/4 > v.Limits.WindowTokens-max(v.Limits.output(), 20_000) {
				compact(v)
			}
		},
		Overflow: compact,
	}
}

func tacticPi() Tactic {
	compact := func(v *View) {
		start := v.tailStart(20_000, v.asIs)
		v.asked(v.flat(0, start, 2_000), summaryTokens)
		v.replace(append([]part{text(summaryTokens)}, v.parts[start:]...))
	}
	return Tactic{
		TurnEnd: func(v *View) {
			if v.tokens > v.Limits.WindowTokens-16_384 {
				compact(v)
			}
		},
		Overflow: compact,
	}
}

func tacticClear() Tactic {
	return Tactic{Before: func(v *View) {
		if v.tokens > 100_000 {
			clearOld(v, 3)
		}
	}}
}

func tacticMask() Tactic {
	return Tactic{Before: func(v *View) { clearOld(v, 10) }}
}

// clearOld puts a notice in place of all tool results but the newest.
func clearOld(v *View, newest int) {
	rs := v.results(true)
	for _, i := range rs[:max(0, len(rs)-newest)] {
		v.cut(i, noticeTokens, 4*noticeTokens)
	}
}

func tacticGemini() Tactic {
	compress := func(v *View) {
		start := geminiSplit(v)
		if start == 0 {
			return
		}
		call := v.flat(0, start, 1<<30)
		v.asked(call, summaryTokens)
		v.asked(call+summaryTokens, summaryTokens) // the second pass verifies
		v.replace(append([]part{text(summaryTokens)}, v.parts[start:]...))
	}
	return Tactic{
		Before: func(v *View) {
			maskGemini(v)
			if float64(v.tokens) >= 0.5*float64(v.Limits.Input()) {
				compress(v)
			}
		},
		Overflow: compress,
	}
}

// geminiSplit returns where the history is split: the first user turn after
// 70 % of the characters, else the last one before.
func geminiSplit(v *View) int {
	total, before, split := 0, 0, 0
	for _, p := range v.parts {
		total += p.chars
	}
	for i, p := range v.parts {
		if it := v.item(i); it.Authored && it.Starts {
			split = i
			if 10*before >= 7*total {
				return split
			}
		}
		before += p.chars
	}
	return split
}

// maskGemini cuts tool output beyond the newest 50,000 tokens to 250
// characters at each end, once that frees 30,000.
func maskGemini(v *View) {
	rs := v.results(false)
	slices.Reverse(rs)
	protected, reclaim := 0, 0
	var old []int
	for _, i := range rs {
		if protected += v.parts[i].tokens; protected > 50_000 {
			old = append(old, i)
			reclaim += v.parts[i].tokens
		}
	}
	if reclaim < 30_000 {
		return
	}
	for _, i := range old {
		v.cut(i, 150, 600)
	}
}

func tacticCrush() Tactic {
	summarize := func(v *View) {
		v.asked(v.tokens, summaryTokens)
		v.replace(append([]part{text(summaryTokens)}, lastPrompt(v)...))
	}
	return Tactic{
		After: func(v *View) {
			left := v.Limits.WindowTokens - v.tokens
			if v.Limits.WindowTokens > 200_000 && left <= 20_000 || v.Limits.WindowTokens <= 200_000 && 5*left <= v.Limits.WindowTokens {
				summarize(v)
			}
		},
		Overflow: summarize,
	}
}

// lastPrompt returns what the person said last.
func lastPrompt(v *View) []part {
	for i := len(v.parts) - 1; i >= 0; i-- {
		if v.item(i).Authored && !v.item(i).Starts {
			return []part{v.parts[i]}
		}
	}
	return nil
}

func tacticRecent() Tactic {
	trim := func(v *View) {
		target := v.Limits.Input() * 3 / 4
		start := v.tailStart(target-v.track.FrontTokens, v.asIs)
		v.replace(slices.Clone(v.parts[start:]))
	}
	return Tactic{
		Before: func(v *View) {
			if v.tokens > v.Limits.Input()*3/4 {
				trim(v)
			}
		},
	}
}
