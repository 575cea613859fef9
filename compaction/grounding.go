package compaction

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// Reasons for which a line of a model's summary is struck.
const (
	StruckPath       = "path"       // a file path that the source does not hold
	StruckNumber     = "number"     // a number that the source does not hold
	StruckIdentifier = "identifier" // a name that the source does not hold
	StruckQuote      = "quote"      // words put into the user's mouth
	StruckAuthority  = "authority"  // an approval, a permission, a test result
	StruckReference  = "reference"  // no message named, or one outside the range
)

// source is what a grounding check looks things up in.
type source struct {
	t       *transcript.Transcript
	through int
	names   map[string]bool // every name and number of the range
	reader  reader
}

// newSource reads the messages [0, through) of t.
func newSource(t *transcript.Transcript, through int) *source {
	s := &source{t: t, through: through, names: map[string]bool{}}
	for i, m := range t.All() {
		if i == through {
			break
		}
		for _, text := range textsOf(m) {
			for name := range claims(text) {
				s.names[name] = true
				// The end of a path names the file too.
				for rest := name; ; {
					_, after, ok := strings.Cut(rest, "/")
					if !ok {
						break
					}
					s.names[after], rest = true, after
				}
			}
		}
	}
	return s
}

// textsOf returns everything readable in a message.
func textsOf(m message.Message) []string {
	var out []string
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case message.Text:
			out = append(out, b.Text)
		case message.ToolCall:
			out = append(out, b.Name, unescape(b.Arguments))
		case message.ToolResult:
			out = append(out, b.Text())
		}
	}
	return out
}

// unescape makes the words in JSON strings readable; it need not be exact.
func unescape(s string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\/`, "/").Replace(s)
}

// ground strikes the lines whose claims the source does not hold.
func (s *source) ground(lines []summaryLine) ([]summaryLine, *checkpoint.Grounding) {
	g := &checkpoint.Grounding{CheckedLines: len(lines)}
	var kept []summaryLine
	for _, l := range lines {
		if reason := s.strike(l); reason != "" {
			if g.Reasons == nil {
				g.Reasons = map[string]int{}
			}
			g.Reasons[reason]++
			g.StruckLines++
			continue
		}
		kept = append(kept, l)
	}
	return kept, g
}

// strike returns why a line must go, empty when it may stay.
func (s *source) strike(l summaryLine) string {
	text, refs := splitReferences(l.text)
	if len(refs) == 0 || text == "" || !quotable(text) {
		return StruckReference
	}
	for _, r := range refs {
		if r < 0 || r >= s.through {
			return StruckReference
		}
	}
	st := s.reader.classify(text)
	f := featuresOf(s.reader.hits, len(s.reader.folded))
	if st.kind == KindAuthority || !plain(f) {
		return StruckAuthority
	}
	for name := range claims(text) {
		if !s.names[name] {
			return claimKind(name)
		}
	}
	for _, quote := range quotations(text) {
		if !s.said(quote, refs, s.speaksOfUser(l.heading, text)) {
			return StruckQuote
		}
	}
	if l.heading == userHeading && !s.userSaid(text, refs) {
		return StruckQuote
	}
	return ""
}

// speaksOfUser reports whether quotations in a line are put into the user's
// mouth.
func (s *source) speaksOfUser(heading, text string) bool {
	return heading == userHeading || strings.Contains(strings.ToLower(text), "user")
}

// said reports whether a quotation stands in one of the messages, in one of
// the user where it is put into the user's mouth.
func (s *source) said(quote string, refs []int, user bool) bool {
	quote = string(appendFolded(nil, quote))
	for _, r := range refs {
		m := s.t.At(r)
		if user && !m.Authored() {
			continue
		}
		for _, text := range textsOf(m) {
			if strings.Contains(string(appendFolded(nil, text)), quote) {
				return true
			}
		}
	}
	return false
}

// userSaid reports whether every word of four letters and more, and every pair
// of characters in scripts without spaces, stands in one of the user's
// messages that the line names.
func (s *source) userSaid(text string, refs []int) bool {
	have := map[uint64]bool{}
	for _, r := range refs {
		if m := s.t.At(r); m.Authored() {
			for _, t := range terms(nil, appendFolded(nil, m.Text())) {
				have[t.hash] = true
			}
		}
	}
	for _, t := range terms(nil, appendFolded(nil, text)) {
		if !have[t.hash] {
			return false
		}
	}
	return len(have) > 0
}

// splitReferences takes the references off the end of a line: "fact #3 #12".
func splitReferences(line string) (string, []int) {
	var refs []int
	for {
		line = strings.TrimRight(line, " ,")
		i := strings.LastIndex(line, "#")
		if i < 0 {
			return line, refs
		}
		n, err := strconv.Atoi(line[i+1:])
		if err != nil || i > 0 && line[i-1] != ' ' && line[i-1] != ',' && line[i-1] != '(' {
			return line, refs
		}
		refs, line = append(refs, n), line[:i]
	}
}

// claims yields what a text can be checked for: paths, identifiers, numbers, in
// lower case.
func claims(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for token := range strings.FieldsFuncSeq(text, splitsClaims) {
			token = strings.Trim(token, ".:-/@")
			letters, digits, upper, joints := 0, 0, 0, 0
			for i, r := range token {
				switch {
				case unicode.IsDigit(r):
					digits++
				case unicode.IsLetter(r):
					letters++
					if unicode.IsUpper(r) && i > 0 {
						upper++
					}
				default:
					joints++
				}
			}
			hard := digits > 0 || strings.ContainsAny(token, "/_") || joints > 0 && strings.Contains(token, ".") || upper > 0 && upper < letters-1
			if token != "" && hard && !yield(strings.ToLower(token)) {
				return
			}
		}
	}
}

func splitsClaims(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("`\"'()[]{}<>,;!?|=+*&^%$~“”‘’«»„。、，；：！？「」（）", r)
}

func claimKind(name string) string {
	switch {
	case strings.Contains(name, "/") || strings.Contains(name, ".") && !strings.ContainsFunc(name[:1], unicode.IsDigit):
		return StruckPath
	case !strings.ContainsFunc(name, unicode.IsLetter):
		return StruckNumber
	}
	return StruckIdentifier
}

// quotations returns what stands in quotation marks.
func quotations(text string) []string {
	var out []string
	for i, r := range text {
		closer := closingQuote(r)
		if closer == 0 || closer == '`' {
			continue
		}
		rest := text[i+len(string(r)):]
		if j := strings.IndexRune(rest, closer); j > 0 {
			out = append(out, rest[:j])
			if r == closer {
				break // straight quotes: the pairing of what follows is not known
			}
		}
	}
	return out
}
