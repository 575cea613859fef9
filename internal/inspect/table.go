package inspect

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// column is one column of a table of text.
type column struct {
	head  string
	right bool
	// keep says how important the column is: when the table is too wide, the
	// columns with the lowest number go first. Those with 9 never go.
	keep  int
	cells []string
	// paint colours a finished cell; nil leaves it.
	paint func(row int, cell string) string
}

// table lays columns out in at most width columns of text. The first line is
// the head.
func table(columns []column, width int) (head string, rows []string) {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = ansi.StringWidth(c.head)
		for _, cell := range c.cells {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	shown := drop(columns, widths, width)
	count := 0
	if len(columns) > 0 {
		count = len(columns[0].cells)
	}
	lines := make([]strings.Builder, count+1)
	for k, i := range shown {
		c := columns[i]
		for row := -1; row < count; row++ {
			text := c.head
			if row >= 0 {
				text = c.cells[row]
			}
			if c.right {
				text = padLeft(text, widths[i])
			} else if k < len(shown)-1 {
				text = padRight(text, widths[i])
			}
			if row >= 0 && c.paint != nil {
				text = c.paint(row, text)
			}
			if k > 0 {
				lines[row+1].WriteString("  ")
			}
			lines[row+1].WriteString(text)
		}
	}
	for i := range lines[1:] {
		rows = append(rows, lines[i+1].String())
	}
	return lines[0].String(), rows
}

// drop chooses the columns that have room.
func drop(columns []column, widths []int, width int) []int {
	shown := make([]int, 0, len(columns))
	for i := range columns {
		shown = append(shown, i)
	}
	for {
		total := 0
		least := -1
		for k, i := range shown {
			total += widths[i] + 2
			if columns[i].keep < 9 && (least < 0 || columns[i].keep < columns[shown[least]].keep) {
				least = k
			}
		}
		if total-2 <= width || least < 0 {
			return shown
		}
		shown = append(shown[:least], shown[least+1:]...)
	}
}
