package baseline

// tacticCline is Cline's deterministic strategy: see the policy's source.
func tacticCline() Tactic {
	compact := func(v *View) {
		trigger := clineTrigger(v.Limits)
		compactCline(v, trigger*7/10)
	}
	return Tactic{
		Before: func(v *View) {
			if v.chars/3 >= clineTrigger(v.Limits) {
				compact(v)
			}
		},
		Overflow: compact,
	}
}

func clineTrigger(l Limits) int {
	if l.MaxInputTokens > 0 {
		return l.Input() * 9 / 10
	}
	return l.WindowTokens * 81 / 100 // 0.9 of the input, which is 0.9 of the window
}

// group is a message, and an answer with the results of its calls.
type group struct {
	from, to, chars int
	authored        bool
}

// compactCline cuts tool results to 2,000 characters and drops groups, oldest
// first, until characters/3 are at most target: answers before the newest
// turn, then what the user said but for the first message, then answers of the
// newest turn but the last.
func compactCline(v *View, target int) {
	parts := make([]part, len(v.parts))
	for i := range v.parts {
		parts[i] = cutPart(v, i, 2_000)
	}
	groups := clineGroups(v, parts)
	newest, total := 0, v.track.FrontChars
	for i, g := range groups {
		total += g.chars
		if g.authored {
			newest = i
		}
	}
	drop := make([]bool, len(groups))
	pass := func(can func(i int) bool) {
		for i := range groups {
			if total/3 > target && !drop[i] && can(i) {
				drop[i] = true
				total -= groups[i].chars
			}
		}
	}
	pass(func(i int) bool { return i < newest && !groups[i].authored })
	pass(func(i int) bool { return i < newest && i > 0 })
	pass(func(i int) bool { return i > newest && i < len(groups)-1 })
	var keep []part
	for i, g := range groups {
		if !drop[i] {
			keep = append(keep, parts[g.from:g.to]...)
		}
	}
	v.replace(keep)
}

// clineGroups cuts the view where a message of a person or an answer begins.
func clineGroups(v *View, parts []part) []group {
	var out []group
	for i := range parts {
		it := v.item(i)
		if len(out) == 0 || it.Starts && it.Role != "tool" || v.parts[i].item < 0 {
			out = append(out, group{from: i, authored: it.Authored})
		}
		g := &out[len(out)-1]
		g.to = i + 1
		g.chars += parts[i].chars
	}
	return out
}
