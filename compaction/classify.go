package compaction

import "bytes"

// Kind is what a user's statement is, as far as the pins go.
type Kind string

// The kinds of statement.
const (
	// KindOther: nothing that is pinned.
	KindOther Kind = ""
	// KindProhibition, KindConstraint, KindCondition, KindPreference,
	// KindBound, KindCorrection, KindDecision: what a pin states.
	KindProhibition Kind = "prohibition"
	KindConstraint  Kind = "constraint"
	KindCondition   Kind = "condition"
	KindPreference  Kind = "preference"
	KindBound       Kind = "bound"
	KindCorrection  Kind = "correction"
	KindDecision    Kind = "decision"
	// KindAuthority: an approval, a permission or a claim about a test
	// result. It is never shown in a checkpoint.
	KindAuthority Kind = "authority"
)

// pinScore is the score from which a statement is pinned.
const pinScore = 44

// weights are what the cues of a family add to the score of a sentence: once,
// and a quarter of it for a second cue.
var weights = [familyCount]int{
	prohibit: 56, oblige: 40, wish: 16, condition: 24, guard: 34, prefer: 32, bound: 24, correct: 28, decide: 30, keep: 32,
	reason: 4, contrast: 26, limit: 14, need: 14,
}

// statement is a classified sentence.
type statement struct {
	kind  Kind
	score int
	// lean says how much it looks like what holds for later.
	lean int
	// small talk: it may stand before or after a statement without being part
	// of it.
	small bool
	// points back to the sentence before.
	back bool
	// prohibition: it goes last when space is short.
	prohibition bool
	correction  bool
	// poses: a fragment with a question mark, which the next sentence may
	// answer: "Larger than a screen? Split it."
	poses bool
}

// view is a sentence as the scoring sees it.
type view struct {
	features
	marks  marks
	folded []byte
	starts int // how far in an imperative still opens the sentence
	// rules counts the cues that demand something, told those of them that
	// forbid or hold back, soft those that only lean to it.
	rules, told, soft int
	// asks: it opens like a question. isTask: like a request for one piece of
	// work. talks: like small talk, of which smallShare percent of it is.
	asks, isTask, talks bool
	smallShare, letters int // letters counts ASCII letters and spaces
}

func viewOf(raw string, folded []byte, hits []hit) view {
	v := view{features: featuresOf(hits, len(folded)), marks: marksOf(raw), folded: folded, starts: leading(folded)}
	f := &v.features
	if f.first[prohibit] != 0 && f.first[chatter] != 0 && forbidsByForm(folded) {
		f.count[prohibit], f.first[prohibit] = f.count[prohibit]+1, 0
	}
	if f.language == english {
		f.count[narrate] += pastTense(folded)
		f.forgetPassives(folded, hits)
	}
	if f.count[know] > 0 && f.count[prohibit] == 1 {
		// "I do not understand" forbids nothing.
		f.count[prohibit], f.first[prohibit] = 0, -1
		f.count[doubt]++
	}
	f.named = v.marks.names+v.marks.numbers > 0
	orderAt := int(f.first[order])
	f.ordered = orderAt >= 0 && (orderAt <= v.starts || followsComma(folded, orderAt)) || f.count[order] > 1 && followsComma(folded, int(f.last[order]))
	v.told = f.count[prohibit] + f.count[guard] + f.count[limit]
	v.rules = v.told + f.count[oblige] + f.count[keep] + f.count[decide] + f.count[contrast]
	v.soft = f.count[wish] + f.count[prefer] + f.count[bound]
	v.asks = f.first[ask] == 0 || v.marks.question && f.count[ask] > 0 && followsComma(folded, int(f.last[ask]))
	for _, c := range folded {
		if c >= 'a' && c <= 'z' || c == ' ' {
			v.letters++
		}
	}
	v.isTask = f.first[task] >= 0 && int(f.first[task]) <= v.starts && f.count[bound] < 2 ||
		f.last[task] >= 0 && verbLast(f.language) && f.count[condition] == 0 && len(folded)-int(f.last[task]) < 32
	if f.first[condition] >= 0 && int(f.first[condition]) <= v.starts && f.first[order] > f.first[condition] && !v.marks.question {
		v.asks, f.ordered, v.ordered, v.isTask = false, true, true, false // "when this changes, do that"
	}
	if v.asksFor() {
		// "Could you keep it free of globals?" asks for a rule, not for an answer.
		v.marks.question, v.asks, v.isTask, f.count[doubt] = false, false, false, 0
	}
	v.smallShare = 100 * f.small / max(1, letterBytes(folded))
	v.talks = f.count[chatter] > 0 && (int(f.first[chatter]) <= v.starts || v.smallShare >= 45)
	return v
}

// classify scores one sentence. raw is its text, folded its folded form, and
// hits the cues in it outside of quotations.
func classify(raw string, folded []byte, hits []hit) statement {
	v := viewOf(raw, folded, hits)
	short := !v.named && bytes.Count(folded, []byte(" ")) < 6
	st := statement{
		lean:       v.lean(raw),
		score:      10 + v.cueScore() + v.formScore() + v.tellingScore() + v.talkScore(),
		back:       v.first[back] == 0 || v.count[back] > 0 && short,
		small:      v.smallShare >= 45 || v.marks.letters < 3 || len(raw) < 4,
		correction: v.count[correct] > 0,
		poses:      v.marks.question && !v.asks && len(raw) <= 60,
	}
	st.prohibition = v.count[prohibit] > 0 && st.score >= pinScore
	switch {
	case authority(v.features):
		st.kind, st.small = KindAuthority, false
	case st.score >= pinScore:
		st.kind = kindOf(v.features)
	}
	return st
}

// cueScore adds up the cues.
func (v *view) cueScore() int {
	score := 0
	for fam, w := range weights {
		if w == 0 || v.count[fam] == 0 {
			continue
		}
		score += w
		if v.count[fam] > 1 {
			score += w / 4
		}
	}
	if v.isTask && v.rules == 0 && v.count[wish] > 0 {
		score -= weights[wish] // "please" alone makes no rule of a task
	}
	if v.count[bound] > 0 && v.marks.numbers > 0 {
		score += 10
	}
	return score
}

// formScore weighs mood, names and length.
func (v *view) formScore() int {
	score := 0
	switch {
	case v.isTask && v.rules == 0:
		score -= 8
	case v.ordered:
		score += 14
	}
	if v.rules+v.soft+v.count[correct]+v.count[condition] > 0 || !v.isTask && v.count[narrate]+v.count[doubt] == 0 {
		score += min(18, 8*v.marks.names+6*v.marks.numbers)
	}
	switch {
	case v.marks.question && v.asks && v.first[task] != 0:
		score -= 90 // a request as a question ("can you …?") is the next case
	case v.marks.question && (v.count[prohibit]+v.count[guard] > 0 || v.count[oblige] > 0 && v.count[condition] > 0):
		score -= 10
	case v.marks.question:
		score -= 34
	case v.asks && v.rules == 0:
		score -= 16
	case v.count[narrate]+v.count[doubt] == 0 && !v.talks && !v.isTask:
		score += 14 // a plain statement can be a rule without any cue
	}
	if v.rules+v.soft+v.count[correct]+v.count[condition] == 0 {
		switch spaces := bytes.Count(v.folded, []byte(" ")); {
		case bytes.HasSuffix(bytes.TrimRight(v.folded, "* "), []byte(":")):
			score -= 20 // announces what follows
		case spaces < 2 && len(v.folded) == v.letters:
			score -= 24 // a heading
		case v.count[narrate]+v.count[doubt] == 0 && !v.marks.question && !v.isTask && !v.talks:
			score += v.factScore()
		}
	}
	if v.told+v.count[oblige] == 0 && len(v.folded) > 90 {
		score -= min(24, (len(v.folded)-90)/5) // rules are short
	}
	return score
}

// tellingScore takes off what a sentence that tells, reports or guesses loses.
func (v *view) tellingScore() int {
	score := 0
	at := int(v.first[narrate])
	switch {
	case v.count[narrate] == 0:
	case v.count[correct] > 0 && int(v.first[correct]) <= v.starts:
		score += 10 // "forget what I said about it": what was said is the subject
	case v.named && v.count[decide] > 0 && int(v.first[decide]) > at:
		score -= 8 // how it came to a decision does not weaken it
	case v.rules+v.soft > 0 && (at < 0 || at > v.starts):
		score -= 10
	case v.rules > 0 && (v.count[prohibit] == 0 || int(v.first[prohibit])-at > 14):
		score -= 22
	case at >= 0 && at <= v.starts:
		score -= 40
	default:
		score -= 26
	}
	if v.count[narrate] > 1 {
		score -= 8
	}
	if v.count[narrate] > 0 && v.rules+v.soft == 0 {
		score -= 10
	}
	if v.count[doubt] > 0 && (int(v.first[doubt]) > v.starts || v.count[prohibit]+v.count[keep] == 0 || v.marks.question) {
		score -= 22 // but "maybe keep out of it" is polite
	}
	if v.count[narrate] > 0 && at >= 0 && at <= v.starts && v.count[prohibit] == 0 && (!v.named || int(v.first[decide]) <= at) {
		score -= 26 // "I must leave at five": somebody's own must
	}
	if v.count[narrate] > 0 && v.count[guard] > 0 && v.rules-v.count[guard]-v.count[limit] == 0 && v.count[wish] == 0 && !v.ordered {
		score -= 44 // "before the move it took long" tells of a time
	}
	if v.count[trouble] > 0 && v.told == 0 {
		switch {
		case v.count[narrate] > 0:
			score -= 40 // "the error always comes when I click" demands nothing
		case v.rules+v.count[wish]+v.count[prefer] == 0 && !v.ordered:
			score -= 30
		}
	}
	return score
}

// talkScore takes off what small talk loses.
func (v *view) talkScore() int {
	score := 0
	switch {
	case v.smallShare >= 45:
		score -= 60
	case v.talks && v.smallShare >= 20:
		score -= 16
	case v.talks:
		score -= 8
	}
	if v.marks.letters < 3 {
		score -= 60
	}
	return score
}

// kindOf names a pin after its strongest cue.
func kindOf(f features) Kind {
	switch {
	case f.count[prohibit] > 0:
		return KindProhibition
	case f.count[correct] > 0:
		return KindCorrection
	case f.count[guard]+f.count[condition] > 0:
		return KindCondition
	case f.count[oblige]+f.count[keep] > 0:
		return KindConstraint
	case f.count[prefer] > 0:
		return KindPreference
	case f.count[decide] > 0:
		return KindDecision
	case f.count[bound] > 0:
		return KindBound
	}
	return KindConstraint
}
