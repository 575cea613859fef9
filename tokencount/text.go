package tokencount

// A Feature is something that is counted in a text besides its tokens in a
// public vocabulary. Vocabularies differ most in what they do with words,
// digits, runs of punctuation, line ends and scripts; a weight for each brings
// one vocabulary's count close to another's.
type Feature int

// The features.
const (
	// FeatureTokens: tokens in the vocabulary of the counter.
	FeatureTokens Feature = iota
	// FeatureWords: runs of ASCII letters.
	FeatureWords
	// FeatureCamel: upper-case letters right after a lower-case one.
	FeatureCamel
	// FeatureDigits: ASCII digits.
	FeatureDigits
	// FeaturePunctuation: other ASCII characters that are not white space.
	FeaturePunctuation
	// FeaturePunctuationRuns: runs of those.
	FeaturePunctuationRuns
	// FeatureNewlines: line ends.
	FeatureNewlines
	// FeatureIndent: spaces after a space or a line end.
	FeatureIndent
	// FeatureCJK: characters from U+3000 to U+DFFF, which hold the Chinese,
	// Japanese and Korean scripts.
	FeatureCJK
	// FeatureOther: other characters outside ASCII.
	FeatureOther

	// FeatureCount is the number of features.
	FeatureCount = int(FeatureOther) + 1
)

// TextWeights says how many tokens of a family each feature of a text is
// worth. All zero stands for the vocabulary's own count.
type TextWeights [FeatureCount]float64

// byteClass sorts bytes. Continuation bytes of UTF-8 belong to the character
// before them.
type byteClass uint8

const (
	classLower byteClass = iota
	classUpper
	classDigit
	classSpace
	classNewline
	classTab
	classPunctuation
	classCJK
	classOther
	classContinuation

	classCount = int(classContinuation) + 1
)

// classes is the class of each byte; it never changes.
var classes = classTable()

func classTable() (table [256]byteClass) {
	for i := range table {
		b := byte(i)
		switch {
		case 'a' <= b && b <= 'z':
			table[i] = classLower
		case 'A' <= b && b <= 'Z':
			table[i] = classUpper
		case '0' <= b && b <= '9':
			table[i] = classDigit
		case b == ' ':
			table[i] = classSpace
		case b == '\n' || b == '\r':
			table[i] = classNewline
		case b == '\t':
			table[i] = classTab
		case b < 0x80:
			table[i] = classPunctuation
		case b < 0xC0:
			table[i] = classContinuation
		case 0xE3 <= b && b <= 0xED: // lead bytes of U+3000 to U+DFFF
			table[i] = classCJK
		default:
			table[i] = classOther
		}
	}
	return table
}

// pairs counts how often one class follows another: the cell of a pair is at
// first<<4 | second. Every feature but the tokens is a sum of some cells, so
// one pass with one addition a byte serves them all.
type pairs [256]uint32

func at(first, second byteClass) uint8 { return uint8(first<<4 | second) }

func (p *pairs) scan(text string) {
	previous := classNewline
	for i := range len(text) {
		c := classes[text[i]]
		if c == classContinuation {
			continue
		}
		p[at(previous, c)]++
		previous = c
	}
}

func (p *pairs) ending(c byteClass) float64 {
	total := uint32(0)
	for first := range byteClass(classCount) {
		total += p[at(first, c)]
	}
	return float64(total)
}

// leastShare bounds the weighted count from below, as a share of the tokens in
// the vocabulary: no text is so odd that it may count as less.
const leastShare = 0.6

// weigh returns the weighted count of a text that has this many tokens.
func (w *TextWeights) weigh(text string, tokens int) float64 {
	var p pairs
	p.scan(text)
	lower, upper := p.ending(classLower), p.ending(classUpper)
	inside := float64(p[at(classLower, classLower)] + p[at(classLower, classUpper)] + p[at(classUpper, classLower)] + p[at(classUpper, classUpper)])
	punctuation := p.ending(classPunctuation)
	n := w[FeatureTokens]*float64(tokens) +
		w[FeatureWords]*(lower+upper-inside) +
		w[FeatureCamel]*float64(p[at(classLower, classUpper)]) +
		w[FeatureDigits]*p.ending(classDigit) +
		w[FeaturePunctuation]*punctuation +
		w[FeaturePunctuationRuns]*(punctuation-float64(p[at(classPunctuation, classPunctuation)])) +
		w[FeatureNewlines]*p.ending(classNewline) +
		w[FeatureIndent]*float64(p[at(classSpace, classSpace)]+p[at(classNewline, classSpace)]) +
		w[FeatureCJK]*p.ending(classCJK) +
		w[FeatureOther]*p.ending(classOther)
	return max(n, leastShare*float64(tokens))
}
