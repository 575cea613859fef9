package compaction

// asksFor reports whether a sentence asks politely for something that lasts:
// it opens like a request that is put as a question, and what it asks for
// forbids, keeps, demands or prefers something.
func (v *view) asksFor() bool {
	at := int(v.first[polite])
	if at < 0 || at > v.starts && !followsComma(v.folded, at) && !v.marks.question {
		return false
	}
	lasting := v.count[prohibit] + v.count[keep] + v.count[limit] + v.count[oblige] + v.count[guard] + v.count[waive] + v.count[prefer]
	if v.count[condition] > 0 && (v.ordered || v.count[wish] > 0) {
		lasting++
	}
	if lasting == 0 && v.marks.names > 0 && int(v.last[task]) <= at && v.count[narrate]+v.count[trouble] == 0 {
		return true // no cue of a piece of work either
	}
	return lasting > 0
}

// factScore weighs a sentence without any cue by its form: what is said about a
// name comes behind it, while work is asked for on a name that comes last; and
// who states a fact to hold writes it out.
func (v *view) factScore() int {
	score := 0
	if v.marks.names > 0 {
		switch {
		case v.marks.lead && v.marks.after > 2 && !verbLast(v.language):
			score += 14
		case v.marks.names > 1 || v.marks.after > 1:
			score += 6
		case v.marks.after == 0:
			score -= 8
		}
	}
	if v.marks.sentence {
		score += 4
	}
	return score
}

// verbLast reports whether a language puts the verb at the end, so that a
// request shows there.
func verbLast(language uint8) bool {
	switch cues().languages[language] {
	case "ja", "ko", "tr", "hi":
		return true
	}
	return false
}
