package inspect

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/forge-agent/forge/budget"
)

// Style says how text is drawn. The zero value is plain text, 80 columns
// wide.
type Style struct {
	// Colour draws in 24-bit colours; a terminal with fewer needs a writer
	// that brings them down. Set it only for a terminal.
	Colour bool
	// Dark chooses the colours for a dark background.
	Dark bool
	// Width is the number of columns, zero for 80. Less than 40 counts as 40.
	Width int
}

func (s Style) width() int {
	if s.Width == 0 {
		return 80
	}
	return min(max(s.Width, 40), 240)
}

// paint colours a text for a category.
func (s Style) paint(text string, c budget.Category) string {
	if !s.Colour || text == "" {
		return text
	}
	return lipgloss.NewStyle().Foreground(lipgloss.Color(colourOf(c, s.Dark))).Render(text)
}

func (s Style) bold(text string) string {
	if !s.Colour {
		return text
	}
	return lipgloss.NewStyle().Bold(true).Render(text)
}

func (s Style) faint(text string) string {
	if !s.Colour {
		return text
	}
	return lipgloss.NewStyle().Faint(true).Render(text)
}

// alarm marks what is over budget.
func (s Style) alarm(text string) string {
	if !s.Colour {
		return text
	}
	colour := "#b3261e"
	if s.Dark {
		colour = "#ff8a80"
	}
	return lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color(colour)).Render(text)
}

// clean makes foreign text safe to print on one line: control characters,
// escape sequences and marks that turn the direction of text become U+FFFD.
func clean(s string) string {
	bad := func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r)
	}
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if bad(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// fit cuts a cleaned text to at most width columns and ends it in "…" then. A
// wide character counts two, and no character is cut.
func fit(s string, width int) string { return ansi.Truncate(s, width, "…") }

// fitMiddle keeps both ends of a text that is too wide.
func fitMiddle(s string, width int) string {
	w := ansi.StringWidth(s)
	if w <= width || width < 3 {
		return fit(s, width)
	}
	left := (width - 1) / 2
	return ansi.Truncate(s, left, "") + "…" + ansi.TruncateLeft(s, w-(width-1-left), "")
}

// padRight and padLeft fill a text up to width columns.
func padRight(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

func padLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-ansi.StringWidth(s))) + s
}

// Clean makes foreign text safe to print on one line: control characters,
// escape sequences and marks that turn the direction of text become U+FFFD.
func Clean(s string) string { return clean(s) }

// Tokens writes a number with thousands separators.
func Tokens(n int) string { return tokens(n) }

// tokens writes a number with thousands separators.
func tokens(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "−", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// change writes a difference with its sign.
func change(n int) string {
	if n > 0 {
		return "+" + tokens(n)
	}
	return tokens(n)
}

// shortTokens writes a number for an axis: 950, 12k, 1.5M.
func shortTokens(n int) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%dM", (n+500_000)/1_000_000)
	case n >= 1_000_000:
		return strings.Replace(fmt.Sprintf("%.1fM", float64(n)/1e6), ".0M", "M", 1)
	case n >= 10_000:
		return fmt.Sprintf("%dk", (n+500)/1000)
	case n >= 1000:
		return strings.Replace(fmt.Sprintf("%.1fk", float64(n)/1e3), ".0k", "k", 1)
	}
	return strconv.Itoa(n)
}

// share writes part/whole as a percentage.
func share(part, whole int) string {
	if whole == 0 {
		return "–"
	}
	return percent(100 * float64(part) / float64(whole))
}

func percent(p float64) string {
	switch {
	case math.Abs(p) >= 99.95 || p == 0:
		return fmt.Sprintf("%.0f %%", p)
	case math.Abs(p) < 0.05:
		return "<0.1 %"
	}
	return fmt.Sprintf("%.1f %%", p)
}

// money writes an amount; what is unknown is a dash.
func money(usd *float64) string {
	switch {
	case usd == nil:
		return "–"
	case *usd == 0:
		return "$0"
	case *usd < 0.0001:
		return "<$0.0001"
	case *usd < 1:
		return fmt.Sprintf("$%.4f", *usd)
	}
	whole := int(*usd)
	return fmt.Sprintf("$%s.%02d", tokens(whole), int((*usd-float64(whole))*100))
}

// bar draws a length between 0 and 1 in eighths of a column.
func bar(length float64, width int) string {
	eighths := int(math.Round(min(max(length, 0), 1) * float64(width) * 8))
	if length > 0 && eighths == 0 && width > 0 {
		eighths = 1
	}
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text
}

// page collects lines and writes them in one go.
type page struct {
	width int
	b     strings.Builder
}

func newPage(s Style) *page { return &page{width: s.width()} }

// line writes one line. What is wider than the page is cut: text that may be
// long is wrapped or fitted before.
func (p *page) line(parts ...string) {
	text := strings.TrimRight(strings.Join(parts, ""), " ")
	if len(text) > p.width {
		text = fit(text, p.width)
	}
	p.b.WriteString(text)
	p.b.WriteByte('\n')
}

// wrapped writes a text in as many lines as it needs, all behind the same
// indent; the first line may begin with a name as wide as the indent.
func (p *page) wrapped(begin, text string) {
	indent := strings.Repeat(" ", ansi.StringWidth(begin))
	for i, line := range strings.Split(ansi.Wrap(text, p.width-len(indent), ""), "\n") {
		if i > 0 {
			begin = indent
		}
		p.line(begin, strings.TrimLeft(line, " "))
	}
}

func (p *page) writeTo(w io.Writer) error {
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("write text: %w", err)
	}
	return nil
}
