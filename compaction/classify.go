package compaction

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

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

// features are what the classifier sees of a sentence.
type features struct {
	language uint8
	count    [familyCount]int
	first    [familyCount]int32 // place of the first cue, -1 for none
	last     [familyCount]int32 // place of the last cue
	// covered and small are the bytes of the sentence that cues, and cues of
	// small talk, make up.
	covered, small int
	bytes          int
	// ordered: an imperative opens the sentence or follows a comma.
	ordered bool
	// named: it holds a name or a number.
	named bool
}

// featuresOf reads the cues found in a folded text of n bytes. Cues of the
// language that explains most of it count, so that a word that means
// something else in another language does no harm.
func featuresOf(hits []hit, n int) features {
	var weight [64]int
	l := cues()
	for _, h := range hits {
		seen := uint64(0)
		for _, s := range l.nodes[h.node].senses {
			if seen&(1<<s.language) == 0 {
				seen |= 1 << s.language
				weight[s.language] += min(int(h.end-h.start), 12) + min(int(h.end-h.start), 3) - 1
			}
		}
	}
	f := features{bytes: n}
	for i, w := range weight {
		if w > weight[f.language] {
			f.language = uint8(i)
		}
	}
	for i := range f.first {
		f.first[i] = -1
	}
	for _, h := range hits {
		hit := false
		for _, s := range l.nodes[h.node].senses {
			if s.language != f.language {
				continue
			}
			hit = true
			f.count[s.family]++
			f.last[s.family] = h.start
			if f.first[s.family] < 0 {
				f.first[s.family] = h.start
			}
			if s.family == chatter {
				f.small += int(h.end - h.start)
			}
		}
		if hit {
			f.covered += int(h.end - h.start)
		}
	}
	return f
}

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

// classify scores one sentence. raw is its text, folded its folded form, and
// hits the cues in it outside of quotations.
func classify(raw string, folded []byte, hits []hit) statement {
	f := featuresOf(hits, len(folded))
	marks := marksOf(raw)
	short := marks.names+marks.numbers == 0 && bytes.Count(folded, []byte(" ")) < 6
	st := statement{back: f.first[back] == 0 || f.count[back] > 0 && short}
	if f.first[prohibit] != 0 && f.first[chatter] != 0 && forbidsByForm(folded) {
		f.count[prohibit], f.first[prohibit] = f.count[prohibit]+1, 0
	}
	f.named = marks.names+marks.numbers > 0
	if f.language == english {
		f.count[narrate] += pastTense(folded)
	}
	score := 10
	for fam, w := range weights {
		if w == 0 || f.count[fam] == 0 {
			continue
		}
		score += w
		if f.count[fam] > 1 {
			score += w / 4
		}
	}
	starts := leading(folded)
	rules := f.count[prohibit] + f.count[oblige] + f.count[guard] + f.count[keep] + f.count[decide] + f.count[contrast] + f.count[limit]
	orderAt, isTask := int(f.first[order]), f.first[task] >= 0 && int(f.first[task]) <= starts
	f.ordered = orderAt >= 0 && (orderAt <= starts || followsComma(folded, orderAt)) || f.count[order] > 1 && followsComma(folded, int(f.last[order]))
	switch {
	case isTask && rules == 0:
		score -= 8
	case f.ordered:
		score += 14
	}
	if about := rules + f.count[prefer] + f.count[bound] + f.count[correct] + f.count[condition] + f.count[wish]; about > 0 || !isTask && f.count[narrate]+f.count[doubt] == 0 {
		score += min(18, 8*marks.names+6*marks.numbers)
	}
	asks := f.first[ask] == 0
	st.poses = marks.question && !asks && len(raw) <= 60
	smallShare := 100 * f.small / max(1, letterBytes(folded))
	talks := f.count[chatter] > 0 && (int(f.first[chatter]) <= starts || smallShare >= 45)
	switch {
	case marks.question && asks && f.first[task] != 0:
		score -= 90 // a request as a question ("can you …?") is the next case
	case marks.question:
		score -= 34
		if f.count[prohibit]+f.count[guard] > 0 || f.count[oblige] > 0 && f.count[condition] > 0 {
			score += 24
		}
	case asks && rules == 0:
		score -= 16
	case f.count[narrate]+f.count[doubt] == 0 && !talks && !isTask:
		score += 14 // a plain statement can be a rule without any cue
	}
	switch {
	case f.count[narrate] == 0:
	case rules+f.count[wish]+f.count[prefer]+f.count[bound] > 0 && (f.first[narrate] < 0 || int(f.first[narrate]) > starts):
		score -= 10
	case rules > 0 && (f.count[prohibit] == 0 || f.first[prohibit]-f.first[narrate] > 14):
		score -= 22
	case f.first[narrate] >= 0 && int(f.first[narrate]) <= starts:
		score -= 40
	default:
		score -= 26
	}
	if f.count[narrate] > 1 {
		score -= 8
	}
	if f.count[narrate] > 0 && rules+f.count[wish]+f.count[prefer]+f.count[bound] == 0 {
		score -= 10
	}
	if f.count[doubt] > 0 {
		score -= 22
	}
	if told := f.count[prohibit] + f.count[guard] + f.count[limit]; f.count[trouble] > 0 && told == 0 {
		switch {
		case f.count[narrate] > 0:
			score -= 40 // "the error always comes when I click" demands nothing
		case rules+f.count[wish]+f.count[prefer] == 0 && !f.ordered:
			score -= 30
		}
	}
	if f.count[bound] > 0 && marks.numbers > 0 {
		score += 10
	}
	if isTask && rules == 0 && f.count[wish] > 0 {
		score -= weights[wish] // "please" alone makes no rule of a task
	}
	if f.count[prohibit]+f.count[oblige]+f.count[guard]+f.count[limit] == 0 && len(folded) > 90 {
		score -= min(24, (len(folded)-90)/5) // rules are short
	}
	switch {
	case smallShare >= 45:
		st.small = true
		score -= 60
	case talks && smallShare >= 20:
		score -= 16
	case talks:
		score -= 8
	}
	if marks.letters < 3 || len(raw) < 4 {
		score -= 60
		st.small = true
	}
	st.score = score
	st.prohibition = f.count[prohibit] > 0 && score >= pinScore
	st.correction = f.count[correct] > 0
	if authority(f) {
		st.kind, st.small = KindAuthority, false
		return st
	}
	if score >= pinScore {
		st.kind = kindOf(f)
	}
	return st
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

// authority reports whether a sentence gives leave, or says how a test ended,
// rather than setting a rule. A rule about approvals or tests forbids or
// narrows something ("never skip the approval", "before I approve"), and is
// none (weak spot 3).
func authority(f features) bool {
	before := func(a, b family) bool { return f.first[a] >= 0 && f.first[a] < f.first[b] }
	rules := f.count[prohibit] + f.count[limit] + f.count[oblige] + f.count[keep]
	switch {
	case f.count[grantAlways] > 0:
		return !before(prohibit, grantAlways)
	case f.count[waive] > 0 && f.count[consult] > 0 && f.count[prohibit]+f.count[limit]+f.count[oblige] == 0,
		f.first[waive] >= 0 && f.first[prohibit] == f.first[waive] && f.count[prohibit] == 1 && f.last[consult]-f.first[waive] < 26 && f.last[consult] > f.first[waive]:
		return true // "no more check-ins"; but not "never skip a review"
	case f.count[claimAlways] > 0:
		return f.count[prohibit]+f.count[limit] == 0
	case f.count[test] > 0 && f.count[success] > 0:
		return rules+f.count[guard]+f.count[prefer]+f.count[need] == 0
	case f.count[shield] > 0 && f.count[down] > 0:
		return rules+f.count[guard]+f.count[need]+f.count[condition] == 0
	case f.count[grant] > 0:
		return f.count[prohibit]+f.count[limit] == 0
	case f.count[permit] > 0:
		return rules+f.count[guard]+f.count[need]+f.count[decide] == 0 && !f.ordered
	case f.count[claim] > 0 && !f.named:
		return rules+f.count[guard]+f.count[condition]+f.count[prefer]+f.count[correct]+f.count[wish]+f.count[bound]+
			f.count[order]+f.count[decide] == 0
	}
	return false
}

// english is the first language of the lexicon.
const english = 0

// pastTense counts the English words that end like a past tense and do not
// follow a form of "be", an article and the like, after which they describe.
func pastTense(folded []byte) int {
	n := 0
	before := ""
	for w := range bytes.FieldsSeq(folded) {
		w := string(bytes.Trim(w, ".,;:!?()\"'"))
		if len(w) >= 5 && strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "eed") {
			switch before {
			case "is", "are", "be", "been", "being", "get", "gets", "a", "an", "the", "as", "not", "only", "must", "no", "any", "all", "each", "every", "stay", "stays", "remain", "":
			default:
				n++
			}
		}
		before = w
	}
	return n
}

// forbidsByForm reports whether an English sentence forbids by its form: "no
// jokes", "stop renaming things". The first word alone means too much to be a
// cue.
func forbidsByForm(folded []byte) bool {
	first, rest, ok := bytes.Cut(folded, []byte(" "))
	if !ok {
		return false
	}
	switch string(first) {
	case "no":
		return true
	case "stop", "quit":
		second, _, _ := bytes.Cut(rest, []byte(" "))
		return bytes.HasSuffix(second, []byte("ing"))
	}
	return false
}

func followsComma(folded []byte, at int) bool {
	return at > 2 && (folded[at-2] == ',' || folded[at-2] == ':' || folded[at-2] == ';')
}

// leading returns how far into a sentence an imperative may stand: after
// "please", "ok,", a name and the like.
func leading(folded []byte) int {
	n := min(len(folded), 14)
	for i := range n {
		if folded[i] == ',' || folded[i] == ':' {
			return i + 2
		}
	}
	return 7
}

// marks are what a sentence shows without any cue.
type marks struct {
	names, numbers, letters int
	question                bool
}

// marksOf counts names (paths, identifiers, code spans) and numbers.
func marksOf(raw string) marks {
	var m marks
	end := strings.TrimRight(raw, " \"')”’»」")
	m.question = strings.HasSuffix(end, "?") || strings.HasSuffix(end, "？") || strings.HasSuffix(end, "؟") ||
		strings.HasSuffix(end, "吗") || strings.HasSuffix(end, "吗。") || strings.HasSuffix(end, "ですか。") || strings.HasSuffix(end, "ますか。")
	for token := range strings.FieldsSeq(raw) {
		letters, digits, upper, joints := 0, 0, 0, 0
		token = strings.Trim(token, ".,:;!?()[]\"'“”„«»。，、！？；：")
		for i, r := range token {
			switch {
			case unicode.IsLetter(r):
				letters++
				if unicode.IsUpper(r) && i > 0 {
					upper++
				}
			case unicode.IsDigit(r):
				digits++
			case r == '/' || r == '_' || r == '`' || r == '\\' || r == '@' || r == '#' || r == '=' || r == '$',
				(r == '.' || r == '-' || r == ':') && i > 0 && i < len(token)-1:
				joints++
			}
		}
		m.letters += letters
		switch {
		case letters > 0 && (joints > 0 || digits > 0 || upper > 0 && upper < letters):
			m.names++
		case digits > 0:
			m.numbers++
		}
	}
	return m
}

func letterBytes(folded []byte) int {
	n := 0
	for _, c := range folded {
		if wordByte(c) {
			n++
		}
	}
	return n
}

// quotedSpans returns the quotations of two words and more in folded text,
// as spans to be passed over. A quotation in a script without spaces counts
// from eight letters on.
func quotedSpans(dst []span, folded []byte) []span {
	for i := 0; i < len(folded); {
		r, size := utf8.DecodeRune(folded[i:])
		closer := closingQuote(r)
		if closer == 0 {
			i += size
			continue
		}
		length := bytes.IndexRune(folded[i+size:], closer)
		if length < 0 {
			i += size
			continue
		}
		inner := folded[i+size : i+size+length]
		words, wide := 1, 0
		for j := 0; j < len(inner); {
			r, n := utf8.DecodeRune(inner[j:])
			if r == ' ' {
				words++
			}
			if spaceless(r) {
				wide++
			}
			j += n
		}
		end := i + size + length + utf8.RuneLen(closer)
		if words >= 2 || wide >= 8 {
			dst = append(dst, span{i, end})
		}
		i = end
	}
	return dst
}

func closingQuote(r rune) rune {
	switch r {
	case '"':
		return '"'
	case '“', '”':
		return '”'
	case '„':
		return '“'
	case '«':
		return '»'
	case '「':
		return '」'
	case '『':
		return '』'
	case '`':
		return '`'
	}
	return 0
}
