package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/forge-agent/forge/internal/inspect"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/trace"
)

// A row is one entry of the transcript on the screen. It does not change; what
// changes gets a new row in its place. Drawing it is remembered.
type row struct {
	content
	memo      []string
	memoTheme theme
	memoWidth int
}

// content is what a row shows. Lines are at most width columns wide.
type content interface {
	draw(t theme, width int) []string
	// group names rows that stand together without an empty line; empty for
	// none.
	group() string
}

func newRow(c content) *row { return &row{content: c} }

func (r *row) lines(t theme, width int) []string {
	if r.memo == nil || r.memoTheme != t || r.memoWidth != width {
		r.memo, r.memoTheme, r.memoWidth = r.draw(t, width), t, width
	}
	return r.memo
}

// A userRow is what the person said.
type userRow struct {
	text string
	// unkept: it is not in the session yet.
	unkept bool
}

func (r userRow) group() string { return "" }

func (r userRow) draw(t theme, width int) []string {
	var out []string
	begin := t.paint("❯ ", lookAccent)
	for _, line := range cleanLines(r.text) {
		out = append(out, paragraph(t, begin, "  ", width, span{text: line, look: lookBold})...)
		begin = "  "
	}
	return out
}

// An answerRow is a block of the model's text, as markdown.
type answerRow struct{ text string }

func (r answerRow) group() string { return "" }

func (r answerRow) draw(t theme, width int) []string { return markdown(t, r.text, width) }

// A thoughtRow is visible reasoning: its first lines.
type thoughtRow struct{ text string }

func (r thoughtRow) group() string { return "" }

// thoughtLines is how much of a thought is shown.
const thoughtLines = 3

func (r thoughtRow) draw(t theme, width int) []string {
	lines := quiet(t, "∴ ", r.text, width)
	if len(lines) > thoughtLines {
		more := len(lines) - thoughtLines
		lines = append(lines[:thoughtLines:thoughtLines], t.paint(cut("  … "+plural(more, "more line"), width), lookFaint))
	}
	return lines
}

// quiet draws text of secondary interest.
func quiet(t theme, begin, text string, width int) []string {
	var out []string
	for _, line := range cleanLines(text) {
		out = append(out, paragraph(t, t.paint(begin, lookFaint), "  ", width, span{text: line, look: lookFaint})...)
		begin = "  "
	}
	return out
}

// callState is how far a tool call has come.
type callState int

const (
	callPlanned callState = iota
	callRunning
	callSucceeded
	callFailed
	callUnknown // the tool did not say
	callDenied
)

// A callRow is a tool call and what came of it.
type callRow struct {
	id, name, summary string
	state             callState
	reason            string // why it was denied
	output            string // its first lines
	bytes             int
	closed            bool // nothing more comes of it
	took              time.Duration
	frame             int // of the spinner
}

func (r callRow) group() string { return "call" }

func (r callRow) done() bool { return r.state > callRunning }

func (r callRow) draw(t theme, width int) []string {
	sign, l, outcome := "○", lookFaint, "waits"
	switch r.state {
	case callPlanned:
	case callRunning:
		sign, l, outcome = spinner(r.frame), lookAccent, "running"
	case callSucceeded:
		sign, l, outcome = "✓", lookGood, "ok"
	case callFailed:
		sign, l, outcome = "✗", lookBad, "failed"
	case callUnknown:
		sign, l, outcome = "?", lookPlain, "outcome unknown"
	case callDenied:
		sign, l, outcome = "✗", lookBad, "denied"
	}
	if r.done() && r.state != callDenied {
		outcome += ", " + size(r.bytes)
	}
	if r.took > 0 {
		outcome += ", " + took(r.took)
	}
	name := cleanLine(r.name)
	summary := cleanLine(cmp.Or(r.summary, r.name))
	if name != "" && !strings.HasPrefix(summary, name) {
		summary = name + ": " + summary
	}
	room := width - cells(sign) - 1 - cells(outcome) - 2
	if room < 8 {
		summary, outcome = cut(summary, width-2), ""
	} else {
		summary = cut(summary, room)
	}
	line := t.paint(sign, l) + " " + summary
	if outcome != "" {
		line += "  " + t.paint(outcome, l)
	}
	out := []string{cutStyled(line, width)}
	if r.reason != "" {
		out = append(out, paragraph(t, "  ", "  ", width, span{text: cleanLine(r.reason), look: lookFaint})...)
	}
	return append(out, r.preview(t, width)...)
}

// previewLines is how much of a failure's output is shown.
const previewLines = 4

// preview shows the beginning of what a failed call answered.
func (r callRow) preview(t theme, width int) []string {
	if r.state != callFailed || strings.TrimSpace(r.output) == "" {
		return nil
	}
	lines := cleanLines(r.output)
	shown := lines[:min(previewLines, len(lines))]
	var out []string
	for _, l := range shown {
		out = append(out, cutStyled(t.paint("  │ "+cut(l, width-4), lookFaint), width))
	}
	if more := len(lines) - len(shown); more > 0 {
		out = append(out, t.paint(cut("  │ … "+plural(more, "more line"), width), lookFaint))
	}
	return out
}

// A noticeRow is a line for people.
type noticeRow struct {
	text string
	// alarm: something is wrong.
	alarm bool
}

func (r noticeRow) group() string { return "notice" }

func (r noticeRow) draw(t theme, width int) []string {
	sign, l := "· ", lookFaint
	if r.alarm {
		sign, l = "! ", lookBad
	}
	var out []string
	begin := t.paint(sign, l)
	for _, line := range cleanLines(r.text) {
		out = append(out, paragraph(t, begin, "  ", width, span{text: line, look: l})...)
		begin = "  "
	}
	return out
}

// A compactionRow stands where a compaction was made (P-ROW-03).
type compactionRow struct{ mark trace.CompactionMark }

func (r compactionRow) group() string { return "" }

func (r compactionRow) draw(t theme, width int) []string {
	text := fmt.Sprintf(" compaction %d: %s in a checkpoint of %s tokens ", r.mark.Generation,
		plural(r.mark.Summarized, "message"), inspect.Tokens(r.mark.SummaryTokens))
	text = cut(text, max(width-4, 1))
	line := "──" + text + strings.Repeat("─", max(0, width-2-cells(text)))
	return []string{t.paint(cut(line, width), lookAccent)}
}

// An outcomeRow says how a run ended that did not complete.
type outcomeRow struct{ head, text string }

func (r outcomeRow) group() string { return "" }

func (r outcomeRow) draw(t theme, width int) []string {
	spans := []span{{text: cleanLine(r.head), look: lookBad}}
	if r.text != "" {
		spans = append(spans, plain(": "+cleanLine(r.text)))
	}
	return paragraph(t, t.paint("■ ", lookBad), "  ", width, spans...)
}

// A textRow is what the interface itself answers: lines whose beginning may
// be set apart.
type textRow struct{ lines []textLine }

// A textLine is a term and what is said about it.
type textLine struct{ term, text string }

func (r textRow) group() string { return "" }

func (r textRow) draw(t theme, width int) []string {
	column := 0
	for _, l := range r.lines {
		if l.text != "" {
			column = max(column, cells(cleanLine(l.term)))
		}
	}
	column = min(column, max(8, width/2-4))
	var out []string
	for _, l := range r.lines {
		term := cleanLine(l.term)
		switch {
		case l.term == "":
			out = append(out, paragraph(t, "  ", "  ", width, plain(cleanLine(l.text)))...)
		case l.text == "":
			out = append(out, paragraph(t, "", "", width, span{text: term, look: lookBold})...)
		default:
			indent := strings.Repeat(" ", column+4)
			begin := "  " + t.paint(pad(term, column), lookAccent) + "  "
			out = append(out, paragraph(t, begin, indent, width, plain(cleanLine(l.text)))...)
		}
	}
	return out
}

// spinner is a picture of something that is under way.
func spinner(frame int) string {
	frames := []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	return frames[frame%len(frames)]
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return inspect.Tokens(n) + " " + noun + "s"
}

func size(bytes int) string { return plural(bytes, "byte") }

// took writes a duration with as many digits as people read.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// outputBytes is the size of a result before it was cut for the model.
func outputBytes(r message.ToolResult) int {
	if r.OriginalBytes > 0 {
		return r.OriginalBytes
	}
	n := 0
	for _, b := range r.Content {
		switch b := b.(type) {
		case message.Text:
			n += len(b.Text)
		case message.Image:
			n += len(b.Data)
		}
	}
	return n
}
