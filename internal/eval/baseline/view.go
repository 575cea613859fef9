package baseline

// A View is a conversation as a policy sends it.
type View struct {
	// Limits are those of the model.
	Limits Limits
	track  *Track
	run    *Run
	parts  []part
	// tokens and chars are those of front and parts.
	tokens, chars int
	// sent is how many parts the last request had, changed the first part
	// that is different since.
	sent, changed int
	fresh         bool // nothing was sent yet
}

// part is an item in the view, or text that stands for several.
type part struct {
	item          int // −1 for text of the policy's own
	tokens, chars int
	cleared       bool
}

// A Tactic is what a policy does and when; a nil function does nothing.
type Tactic struct {
	// Before runs before each request, After when the answer is there,
	// TurnEnd before a person's next message comes in.
	Before, After, TurnEnd func(*View)
	// Overflow runs when a request is more than the model takes; what it does
	// is tried once.
	Overflow func(*View)
}

// Play runs a session under a tactic.
func Play(t *Track, l Limits, tactic Tactic) Run {
	run := Run{}
	v := &View{Limits: l, track: t, run: &run, tokens: t.FrontTokens, chars: t.FrontChars, fresh: true}
	next := 0
	for _, step := range t.Steps {
		for ; next < step.Items; next++ {
			it := t.Items[next]
			if it.Authored && it.Starts && !v.fresh {
				do(tactic.TurnEnd, v)
			}
			v.append(next)
		}
		do(tactic.Before, v)
		if v.tokens > l.Input() {
			run.Overflows++
			do(tactic.Overflow, v)
		}
		output := 0
		for i := step.Items; i < step.End; i++ {
			output += t.Items[i].Tokens
		}
		run.Requests = append(run.Requests, Request{InputTokens: v.tokens, CachedTokens: v.cached(), OutputTokens: output})
		v.sent, v.changed, v.fresh = len(v.parts), len(v.parts), false
		for ; next < step.End; next++ {
			v.append(next)
		}
		do(tactic.After, v)
	}
	return run
}

func do(f func(*View), v *View) {
	if f != nil {
		f(v)
	}
}

func (v *View) append(item int) {
	it := v.track.Items[item]
	v.parts = append(v.parts, part{item: item, tokens: it.Tokens, chars: it.Chars})
	v.tokens += it.Tokens
	v.chars += it.Chars
}

// cached is what the last request's cache covers of the next one.
func (v *View) cached() int {
	if v.fresh {
		return 0
	}
	n := v.tokens
	for _, p := range v.parts[min(v.changed, v.sent):] {
		n -= p.tokens
	}
	return n
}

// cut makes a part lighter.
func (v *View) cut(i, tokens, chars int) {
	p := &v.parts[i]
	if p.cleared || tokens >= p.tokens {
		return
	}
	v.tokens -= p.tokens - tokens
	v.chars -= p.chars - chars
	p.tokens, p.chars, p.cleared = tokens, chars, true
	v.changed = min(v.changed, i)
}

// replace puts new parts in the place of all.
func (v *View) replace(parts []part) {
	v.parts = parts
	v.tokens, v.chars = v.track.FrontTokens, v.track.FrontChars
	for _, p := range parts {
		v.tokens += p.tokens
		v.chars += p.chars
	}
	v.sent, v.changed = 0, 0
	v.run.Compactions++
}

// item returns what a part is; the zero Item for text of the policy's own.
func (v *View) item(i int) Item {
	if v.parts[i].item < 0 {
		return Item{}
	}
	return v.track.Items[v.parts[i].item]
}

// text is a part of the policy's own.
func text(tokens int) part { return part{item: -1, tokens: tokens, chars: 4 * tokens} }

// asked records a call for a summary: an input that no cache covers, and the
// summary as its output.
func (v *View) asked(input, output int) {
	v.run.Requests = append(v.run.Requests, Request{InputTokens: input + promptTokens, OutputTokens: output, Summary: true})
}

// promptTokens is what a summarizer's prompt is taken to weigh.
const promptTokens = 500

// flat is what parts weigh as a summarizer gets them, with each tool result
// cut to a number of characters.
func (v *View) flat(from, to, chars int) int {
	n := 0
	for i := from; i < to; i++ {
		n += cutPart(v, i, chars).tokens
	}
	return n
}

func cutPart(v *View, i, chars int) part {
	p := v.parts[i]
	if v.item(i).Result && p.chars > chars {
		p.tokens, p.chars = share(p.tokens, chars, p.chars), chars
	}
	return p
}

// tailStart returns the first part of the newest messages that weigh at most
// tokens together; it never begins with a tool result, and it is the end when
// the newest message alone weighs more.
func (v *View) tailStart(tokens int, weigh func(i int) int) int {
	used, start := 0, len(v.parts)
	for i := len(v.parts) - 1; i >= 0; i-- {
		used += weigh(i)
		if used > tokens {
			break
		}
		if it := v.item(i); it.Starts && it.Role != "tool" {
			start = i
		}
	}
	return start
}

func (v *View) asIs(i int) int { return v.parts[i].tokens }

// results lists the parts that are tool results and not cleared yet, or all of
// them.
func (v *View) results(all bool) []int {
	var out []int
	for i := range v.parts {
		if v.item(i).Result && (all || !v.parts[i].cleared) {
			out = append(out, i)
		}
	}
	return out
}

// userParts returns what persons said, newest first within a number of tokens,
// in order; the last one is cut.
func (v *View) userParts(tokens int) []part {
	var out []part
	for i := len(v.parts) - 1; i >= 0 && tokens > 0; i-- {
		if !v.item(i).Authored {
			continue
		}
		p := v.parts[i]
		p.tokens = min(p.tokens, tokens)
		tokens -= p.tokens
		out = append([]part{p}, out...)
	}
	return out
}
