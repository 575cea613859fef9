package projection

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// Default sizes of a stand-in, header included.
const (
	// DefaultTargetBytes leaves room for a line or two of the output. The
	// call stands in the view right before it and says what was asked for.
	DefaultTargetBytes = 160
	// DefaultFailureTargetBytes keeps what went wrong readable.
	DefaultFailureTargetBytes = 800
)

const (
	standInPrefix = "[cleared tool output: "
	repeatPrefix  = "[repeated tool output: "
	gap           = "\n[…]\n"
	// maxNameBytes and maxReferenceBytes bound what comes from outside in the
	// header, so that no stand-in is longer than its target by more than
	// that.
	maxNameBytes      = 64
	maxReferenceBytes = 128
	// maxHeaderBytes is more than any header can have.
	maxHeaderBytes = maxNameBytes + maxReferenceBytes + 256
	hashDigits     = 12
)

// A Source is a tool result with what its stand-in says about it.
type Source struct {
	// Tool is the tool's name, as the call gives it.
	Tool string
	// Result is the whole result. It is not changed.
	Result message.ToolResult
	// Reference is what the recall tool takes to give the original back, see
	// Reference.
	Reference string
}

// Targets are the sizes that stand-ins are made for. Zero fields mean the
// defaults, negative ones no excerpt at all.
type Targets struct {
	// TargetBytes is the longest stand-in for a result that did not fail.
	TargetBytes int
	// FailureTargetBytes is the longest stand-in for a failure.
	FailureTargetBytes int
}

// Reference names a tool result in a stand-in, in the form that checkpoints
// use too: "#12" is message 12 of the transcript, counted from 0, and "#12.3"
// its block 3 where a message holds several. A transcript only grows, so the
// name stays good.
func Reference(r transcript.Ref) string {
	text := "#" + strconv.Itoa(r.Message)
	if r.Block == 0 {
		return text
	}
	return text + "." + strconv.Itoa(r.Block)
}

// ParseReference reads what Reference wrote.
func ParseReference(text string) (transcript.Ref, bool) {
	numbers, ok := strings.CutPrefix(text, "#")
	if !ok {
		return transcript.Ref{}, false
	}
	var r transcript.Ref
	first, second, several := strings.Cut(numbers, ".")
	r.Message = atoi(first)
	if several {
		r.Block = atoi(second)
	}
	return r, r.Message >= 0 && r.Block >= 0 && Reference(r) == text
}

// atoi reads a number, -1 for anything else.
func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// StandIn returns the text that stands for a tool result. It depends on its
// arguments only: the same source and targets give the same bytes for ever.
//
// It is one line, made from what is known of the result,
//
//	[cleared tool output: bash, failed, cut to 4096 of 90210 bytes, hash 2c26b46b68ff, recall #12]
//
// and an excerpt of head and tail, as much as the target has room for. The
// hash covers the content and nothing else, so equal outputs have equal
// hashes. It says nothing that a reader could take for an order or a
// permission; whatever the excerpt says, the tool said.
//
// ok is false when there is nothing to gain: the result is a stand-in
// already, or no longer than its stand-in would be. A result with pictures
// may be worth replacing whatever the length of its text, so that is for the
// caller's count to say.
func StandIn(s Source, t Targets) (text string, ok bool) {
	original := s.Result.Text()
	if IsStandIn(original) {
		return "", false
	}
	text = standIn(s, original, t)
	return text, len(text) < len(original) || hasOtherBlocks(s.Result)
}

func standIn(s Source, original string, t Targets) string {
	outcome := OutcomeOf(s.Result)
	h := header(standInPrefix, s, original, outcome, "")
	target := orDefault(t.TargetBytes, DefaultTargetBytes)
	if outcome == message.OutcomeFailure {
		target = orDefault(t.FailureTargetBytes, DefaultFailureTargetBytes)
	}
	e := excerpt(original, target-len(h)-1, outcome)
	if e == "" {
		return h
	}
	return h + "\n" + e
}

func orDefault(n, fallback int) int {
	if n == 0 {
		return fallback
	}
	return n
}

// header says which tool it was, how it ended, how much there was, what it is
// the same as, if anything, and where the original is.
func header(prefix string, s Source, original string, outcome message.Outcome, sameAs string) string {
	var b strings.Builder
	b.WriteString(prefix)
	b.WriteString(clean(s.Tool, maxNameBytes, "unnamed tool"))
	switch outcome {
	case message.OutcomeSuccess:
		b.WriteString(", succeeded")
	case message.OutcomeFailure:
		b.WriteString(", failed")
	default:
		b.WriteString(", outcome not recorded")
	}
	size := len(original)
	switch {
	case s.Result.Truncated && s.Result.OriginalBytes > size:
		fmt.Fprintf(&b, ", cut to %d of %d bytes", size, s.Result.OriginalBytes)
	case s.Result.Truncated:
		fmt.Fprintf(&b, ", cut to %d bytes", size)
	default:
		fmt.Fprintf(&b, ", %d bytes", size)
	}
	switch n := images(s.Result); n {
	case 0:
	case 1:
		b.WriteString(" and an image")
	default:
		fmt.Fprintf(&b, " and %d images", n)
	}
	if sameAs != "" {
		b.WriteString(", the same as ")
		b.WriteString(sameAs)
	}
	fmt.Fprintf(&b, ", hash %s", ContentHash(s.Result).String()[:hashDigits])
	if s.Reference != "" {
		b.WriteString(", recall ")
		b.WriteString(clean(s.Reference, maxReferenceBytes, "unknown"))
	}
	b.WriteByte(']')
	return b.String()
}

// clean makes a name from outside fit for the header: one line, bounded, and
// none of the characters that the header is made of.
func clean(name string, maxBytes int, empty string) string {
	name = strings.Map(func(r rune) rune {
		if r == ',' || r == '[' || r == ']' || r == utf8.RuneError || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, head(name, maxBytes))
	if name == "" {
		return empty
	}
	return head(name, maxBytes)
}

// excerpt returns head and tail of a text, at most room bytes with the gap.
// What went wrong stands at the end more often than not, so a failure shows as
// much of its end as of its beginning, anything else three quarters of head.
func excerpt(text string, room int, outcome message.Outcome) string {
	text = strings.TrimSpace(text)
	if room <= 0 || text == "" {
		return ""
	}
	if utf8.ValidString(text) && len(text) <= room {
		return text
	}
	room -= len(gap)
	if room < minExcerptBytes {
		return ""
	}
	first := room * headShare / 100
	if outcome == message.OutcomeFailure {
		first = room / 2
	}
	from := validHead(text, first)
	return from + gap + validTail(text, room-len(from))
}

// minExcerptBytes is the shortest excerpt that tells anything.
const minExcerptBytes = 24

// ContentHash is the hash of what a tool answered, whatever call it answered
// and however it ended.
func ContentHash(r message.ToolResult) message.Hash {
	return message.HashBlock(message.ToolResult{Content: r.Content})
}

// IsStandIn reports whether a text is one that StandIn or Repeat made. A
// projection of a projection changes nothing.
func IsStandIn(text string) bool {
	rest, ok := strings.CutPrefix(text, standInPrefix)
	if !ok {
		if rest, ok = strings.CutPrefix(text, repeatPrefix); !ok {
			return false
		}
	}
	line, _, _ := strings.Cut(rest, "\n")
	if len(line) > maxHeaderBytes || !strings.HasSuffix(line, "]") {
		return false
	}
	_, after, ok := strings.Cut(line, ", hash ")
	if !ok || len(after) < hashDigits {
		return false
	}
	return strings.Trim(after[:hashDigits], "0123456789abcdef") == ""
}

// Project returns the result with its stand-in as its only content. The call
// that it answers and its outcome stay, so the pair stays whole. The argument
// is not changed; it is returned as it is when StandIn is not ok.
func Project(s Source, t Targets) (message.ToolResult, bool) {
	text, ok := StandIn(s, t)
	if !ok {
		return s.Result, false
	}
	r := s.Result
	r.Content = []message.Block{message.Text{Text: text}}
	return r, true
}

func images(r message.ToolResult) int {
	n := 0
	for _, b := range r.Content {
		if b.Kind() == message.KindImage {
			n++
		}
	}
	return n
}

func hasOtherBlocks(r message.ToolResult) bool {
	for _, b := range r.Content {
		if b.Kind() != message.KindText {
			return true
		}
	}
	return false
}
