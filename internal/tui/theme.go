package tui

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/internal/inspect"
)

// A look is the part that a text plays. Colour only repeats what the words and
// signs say.
type look int

const (
	lookPlain look = iota
	lookFaint
	lookBold
	lookItalic
	lookHeading
	lookCode
	lookLink
	lookAccent
	lookGood
	lookBad
	lookAdded
	lookRemoved
	lookHunk
	// lookCategory and what follows are the categories.
	lookCategory
)

func categoryLook(c budget.Category) look { return lookCategory + look(c) }

// A theme says how looks are drawn. The zero value draws plain text.
type theme struct {
	colour, dark bool
}

// paint draws safe text in a look.
func (t theme) paint(text string, l look) string {
	if !t.colour || text == "" || l == lookPlain {
		return text
	}
	return t.style(l).Render(text)
}

func (t theme) style(l look) lipgloss.Style {
	s := lipgloss.NewStyle()
	pick := func(light, dark string) lipgloss.Style {
		if t.dark {
			light = dark
		}
		return s.Foreground(lipgloss.Color(light))
	}
	switch l {
	case lookPlain:
		return s
	case lookFaint:
		return s.Faint(true)
	case lookBold:
		return s.Bold(true)
	case lookItalic:
		return s.Italic(true)
	case lookHeading:
		return pick("#4661bf", "#8fa2ff").Bold(true)
	case lookCode:
		return pick("#8a4b12", "#e0b080")
	case lookLink:
		return pick("#1a5fb4", "#78aeed").Underline(true)
	case lookAccent:
		return pick("#4661bf", "#8fa2ff")
	case lookGood, lookAdded:
		return pick("#1b6e3c", "#7fd6a0")
	case lookBad:
		return pick("#b3261e", "#ff8a80").Bold(true)
	case lookRemoved:
		return pick("#b3261e", "#ff8a80")
	case lookHunk:
		return pick("#6b5aa8", "#b8a8f0")
	}
	return s.Foreground(lipgloss.Color(inspect.CategoryColour(budget.Category(l-lookCategory), t.dark)))
}

func (t theme) spans(line []span) string {
	var b strings.Builder
	for _, s := range line {
		b.WriteString(t.paint(s.text, s.look))
	}
	return b.String()
}

// letter stands for a category where there is no colour.
func letter(c budget.Category) string {
	letters := [budget.CategoryCount]string{
		budget.Instructions:   "I",
		budget.ToolSchemas:    "S",
		budget.Memory:         "M",
		budget.Conversation:   "C",
		budget.CurrentRequest: "Q",
		budget.Reasoning:      "T",
		budget.ToolCalls:      "K",
		budget.ToolResults:    "R",
		budget.Images:         "G",
		budget.Framing:        "F",
	}
	if c < 0 || int(c) >= budget.CategoryCount {
		return "?"
	}
	return letters[c]
}

// What stands for the rest of a window.
const (
	freeGlyph    = "·"
	reserveGlyph = "░"
	overGlyph    = "!"
)

// block draws n cells of a category.
func (t theme) block(c budget.Category, n int) string {
	if !t.colour {
		return strings.Repeat(letter(c), n)
	}
	return t.paint(strings.Repeat("█", n), categoryLook(c))
}

// swatch names a category in a legend.
func (t theme) swatch(c budget.Category) string {
	if !t.colour {
		return letter(c)
	}
	return t.paint("■", categoryLook(c))
}
