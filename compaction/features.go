package compaction

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
	var weight [maxLanguages]int
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
				if !describes(w) {
					n++
				}
			}
		}
		before = w
	}
	return n
}

// describes reports whether a word in -ed mostly says how things are to be.
func describes(w string) bool {
	switch w {
	case "included", "excluded", "required", "preferred", "expected", "allowed", "supported", "based", "named", "called", "shared", "sorted",
		"limited", "mixed", "fixed", "closed", "hundred", "advanced", "documented", "deprecated", "nested", "typed", "signed", "embed":
		return true
	}
	return false
}

// forgetPassives takes back the participles that count as telling but follow
// "is" or "are": what is sold, built or sent tells nothing.
func (f *features) forgetPassives(folded []byte, hits []hit) {
	taken := 0
	for _, h := range hits {
		before := folded[:h.start]
		if !bytes.HasSuffix(before, []byte(" is ")) && !bytes.HasSuffix(before, []byte(" are ")) {
			continue
		}
		switch string(folded[h.start:h.end]) {
		case "sold", "built", "sent", "told", "wrote", "written", "bought", "brought", "caught", "led", "paid", "taught", "found", "made", "given",
			"taken", "worn", "met", "read", "kept", "held", "seen", "shown", "known", "drawn", "run", "spent", "thrown":
			taken++
		}
	}
	if taken == 0 || f.count[narrate] == 0 {
		return
	}
	if f.count[narrate] -= min(taken, f.count[narrate]); f.count[narrate] == 0 {
		f.first[narrate], f.last[narrate] = -1, 0
	}
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
	// after counts the words behind the first name; sentence says that it is
	// written out: it begins with a capital and ends in a period.
	after    int
	sentence bool
	// lead: it begins with a name, which it is therefore about.
	lead bool
}

// marksOf counts names (paths, identifiers, code spans) and numbers.
func marksOf(raw string) marks {
	var m marks
	end := strings.TrimRight(raw, " \"')”’»」")
	m.question = strings.HasSuffix(end, "?") || strings.HasSuffix(end, "？") || strings.HasSuffix(end, "؟") ||
		strings.HasSuffix(end, "吗") || strings.HasSuffix(end, "吗。") || strings.HasSuffix(end, "ですか。") || strings.HasSuffix(end, "ますか。")
	first, _ := utf8.DecodeRuneInString(raw)
	m.sentence = unicode.IsUpper(first) && strings.HasSuffix(end, ".")
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
		if m.names > 0 {
			m.after++
		}
		switch {
		case letters > 0 && (joints > 0 || digits > 0 || upper > 0 && upper < letters):
			m.names++
			m.lead = m.lead || m.letters == letters
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
