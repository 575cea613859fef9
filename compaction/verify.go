package compaction

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/forge-agent/forge/checkpoint"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/transcript"
)

// A Line is one line of an extractive checkpoint's text.
type Line struct {
	// Heading is the heading that it stands under, without its colon.
	Heading string
	// Text is the line without mark and reference.
	Text string
	// Message is the index of the message that it comes from.
	Message int
	// ReplacedBy is the message with a newer statement, -1 for none.
	ReplacedBy int
	// System: it comes from a system message inside the transcript.
	System bool
}

// Lines reads the text of an extractive checkpoint, or of one whose end a model
// wrote. A line in another form is an error. Texts made by earlier versions, in
// which "- " stands before every line, are read too.
func Lines(text string) ([]Line, error) {
	var out []Line
	_, rest, _ := strings.Cut(text, "\n") // the frame
	own, noted, _ := strings.Cut("\n"+rest, "\n"+headingModel)
	bullet := bulleted(own)
	heading, model := "", false
	for _, part := range []string{own, noted} {
		if model {
			heading = strings.TrimSuffix(headingModel, ":\n")
		}
		for raw := range strings.Lines(part) {
			raw = strings.TrimSuffix(raw, "\n")
			body, item := strings.CutPrefix(raw, "- ")
			if !model && !bullet {
				body, item = raw, !isHeading(raw)
			}
			switch {
			case raw == "":
			case item:
				l, ok := parseLine(body)
				if !ok {
					return nil, fmt.Errorf("read checkpoint line %q: it does not end in a reference", raw)
				}
				l.Heading = heading
				out = append(out, l)
			default:
				heading = strings.TrimSuffix(raw, ":")
			}
		}
		model = true
	}
	return out, nil
}

// bulleted reports whether "- " stands before all lines but the headings.
func bulleted(text string) bool {
	found := false
	for raw := range strings.Lines(text) {
		raw = strings.TrimSuffix(raw, "\n")
		item := strings.HasPrefix(raw, "- ")
		if raw != "" && !item && !isHeading(raw) {
			return false
		}
		found = found || item
	}
	return found
}

func parseLine(body string) (Line, bool) {
	l := Line{ReplacedBy: -1}
	i := strings.LastIndex(body, " #")
	if i < 0 {
		return l, false
	}
	n, err := strconv.Atoi(body[i+2:])
	if err != nil || n < 0 {
		return l, false
	}
	l.Message, body = n, body[:i]
	body, l.System = strings.CutPrefix(body, systemMark)
	if rest, ok := strings.CutPrefix(body, "(replaced by #"); ok {
		number, after, ok := strings.Cut(rest, ") ")
		if newer, err := strconv.Atoi(number); ok && err == nil {
			l.ReplacedBy, body = newer, after
		}
	}
	l.Text = body
	return l, true
}

// Verify verifies a checkpoint as checkpoint.Verify does and then, for one that
// the extractive or the model strategy made, every line of its text: what the
// user is quoted with stands in the message named, what a ledger says comes
// out of the same messages again, and what a model wrote passes the grounding
// check again (issue behaviour 4).
func Verify(c *checkpoint.Checkpoint, t *transcript.Transcript) []checkpoint.Finding {
	found := c.Verify(t)
	if c.Method != checkpoint.MethodExtractive && c.Method != checkpoint.MethodModel || c.SummarizedThroughMessageIndex > t.Len() {
		return found
	}
	report := func(what, format string, args ...any) {
		found = append(found, checkpoint.Finding{Checkpoint: c.ID, What: what, Text: fmt.Sprintf(format, args...)})
	}
	lines, err := Lines(c.Summary)
	if err != nil {
		report("line", "%v", err)
		return found
	}
	x := &Index{}
	x.Extend(t)
	derived := derivedLines(x, c.SummarizedThroughMessageIndex)
	for _, name := range checkpoint.LedgerNames(c.Ledgers) {
		for i, e := range c.Ledgers[name] {
			at, ok := t.Index(e.MessageID)
			if !ok || !derived[derivedLine{name, e.Text, at}] {
				report("ledger", "%s entry %d does not come out of message %q", name, i+1, e.MessageID)
			}
		}
	}
	src := newSource(t, c.SummarizedThroughMessageIndex)
	for i, l := range lines {
		if c.Method == checkpoint.MethodModel && knownHeading(l.Heading+":") {
			if reason := src.strike(summaryLine{l.Heading, fmt.Sprintf("%s #%d", l.Text, l.Message)}); reason != "" {
				report("grounding", "line %d: its source does not hold it: %s", i+1, reason)
			}
			continue
		}
		if reason := checkLine(l, c, t, derived); reason != "" {
			report("line", "line %d: %s", i+1, reason)
		}
	}
	return found
}

type derivedLine struct {
	ledger, text string
	message      int
}

func derivedLines(x *Index, through int) map[derivedLine]bool {
	out := map[derivedLine]bool{}
	ledgers := x.ledgers(through)
	for _, name := range ledgerOrder {
		for _, l := range ledgers[name] {
			out[derivedLine{name, l.text, int(l.message)}] = true
		}
	}
	return out
}

func checkLine(l Line, c *checkpoint.Checkpoint, t *transcript.Transcript, derived map[derivedLine]bool) string {
	if l.Message >= c.SummarizedThroughMessageIndex {
		return fmt.Sprintf("it names message #%d, which is not in the range", l.Message)
	}
	for _, name := range ledgerOrder {
		if l.Heading+":\n" == ledgerHeadings[name] {
			if !derived[derivedLine{name, l.Text, l.Message}] {
				return fmt.Sprintf("it does not come out of message #%d", l.Message)
			}
			return ""
		}
	}
	if l.Heading+":\n" != headingPins && l.Heading+":\n" != headingUser {
		return fmt.Sprintf("it stands under the unknown heading %q", l.Heading)
	}
	m := t.At(l.Message)
	if l.System != (m.Role == message.RoleSystem) || !l.System && !m.Authored() {
		return fmt.Sprintf("message #%d was not written by the user", l.Message)
	}
	if !strings.Contains(checkpoint.FoldSpace(m.Text()), l.Text) {
		return fmt.Sprintf("its text does not stand in message #%d", l.Message)
	}
	return ""
}
