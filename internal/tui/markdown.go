package tui

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown draws markdown in lines of at most width columns. The source is
// foreign text. HTML in it is drawn as it is written.
func markdown(t theme, source string, width int) []string {
	d := &mdDrawer{theme: t, source: []byte(strings.Join(cleanLines(source), "\n") + "\n"), width: max(width, 8)}
	reader := text.NewReader(d.source)
	root := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Parser().Parse(reader)
	d.children(root, "", "")
	return d.out
}

// An mdDrawer walks over the blocks of a document.
type mdDrawer struct {
	theme  theme
	source []byte
	width  int
	out    []string
}

// children draws the blocks inside a node, with an empty line between them.
// The first line begins with begin, the others with indent.
func (d *mdDrawer) children(n ast.Node, begin, indent string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.PreviousSibling() != nil && !tight(c) {
			d.out = append(d.out, strings.TrimRight(indent, " "))
		}
		d.block(c, begin, indent)
		begin = indent
	}
}

// tight says that no empty line stands before a block.
func tight(n ast.Node) bool {
	switch n.Kind() {
	case ast.KindListItem:
		list, ok := n.Parent().(*ast.List)
		return ok && list.IsTight
	case ast.KindList:
		return n.Parent() != nil && n.Parent().Kind() == ast.KindListItem
	}
	return n.Kind() == ast.KindTextBlock
}

func (d *mdDrawer) block(n ast.Node, begin, indent string) {
	if cells(indent) > d.width/2 { // nested deeper than there is room
		begin, indent = cut(begin, d.width/2), cut(indent, d.width/2)
	}
	switch n := n.(type) {
	case *ast.Heading:
		spans := append([]span{{text: strings.Repeat("#", n.Level) + " ", look: lookHeading}}, d.inline(n, lookHeading)...)
		d.add(begin, indent, spans)
	case *ast.FencedCodeBlock:
		d.code(n, begin, indent)
	case *ast.CodeBlock:
		d.code(n, begin, indent)
	case *ast.HTMLBlock:
		d.code(n, begin, indent)
	case *ast.ThematicBreak:
		d.out = append(d.out, begin+d.theme.paint(strings.Repeat("─", max(1, min(d.width-cells(indent), 24))), lookFaint))
	case *ast.Blockquote:
		bar := d.theme.paint("│", lookFaint) + " "
		d.children(n, begin+bar, indent+bar)
	case *ast.List:
		d.list(n, begin, indent)
	case *extast.Table:
		d.table(n, begin, indent)
	default:
		if n.Type() == ast.TypeBlock && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
			d.children(n, begin, indent)
			return
		}
		d.add(begin, indent, d.inline(n, lookPlain))
	}
}

func (d *mdDrawer) add(begin, indent string, spans []span) {
	for _, part := range splitBreaks(spans) {
		d.out = append(d.out, paragraph(d.theme, begin, indent, d.width, part...)...)
		begin = indent
	}
}

// splitBreaks parts spans at the line ends that the text asks for.
func splitBreaks(spans []span) [][]span {
	parts := [][]span{nil}
	for _, s := range spans {
		if s.text == "\n" {
			parts = append(parts, nil)
			continue
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], s)
	}
	return parts
}

func (d *mdDrawer) list(n *ast.List, begin, indent string) {
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if n.IsOrdered() {
			mark = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		}
		if item.PreviousSibling() != nil && !n.IsTight {
			d.out = append(d.out, strings.TrimRight(indent, " "))
		}
		below := indent + strings.Repeat(" ", cells(mark))
		if item.FirstChild() == nil {
			d.out = append(d.out, begin+mark)
		}
		d.children(item, begin+mark, below)
		begin = indent
	}
}

func (d *mdDrawer) code(n ast.Node, begin, indent string) {
	bar := d.theme.paint("▏", lookFaint)
	lines := n.Lines()
	for i := range lines.Len() {
		segment := lines.At(i)
		line := strings.TrimRight(string(segment.Value(d.source)), "\n")
		for _, part := range chop([]span{{text: line, look: lookCode}}, d.width-cells(indent)-1) {
			d.out = append(d.out, cutStyled(begin+bar+d.theme.spans(part), d.width))
			begin = indent
		}
	}
}

// table draws a table with columns as wide as their cells, or each cell on a
// line of its own where that has no room.
func (d *mdDrawer) table(n *extast.Table, begin, indent string) {
	var rows [][][]span
	var widths []int
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var line [][]span
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			l := lookPlain
			if row.Kind() == extast.KindTableHeader {
				l = lookBold
			}
			spans := d.inline(cell, l)
			if k := len(line); k == len(widths) {
				widths = append(widths, 1)
			}
			widths[len(line)] = max(widths[len(line)], spansWidth(spans))
			line = append(line, spans)
		}
		rows = append(rows, line)
	}
	total := cells(indent)
	for _, w := range widths {
		total += w + 2
	}
	for i, row := range rows {
		if total-2 > d.width {
			for _, cell := range row {
				d.add(begin, indent+"  ", cell)
				begin = indent
			}
			continue
		}
		line := begin
		for k, cell := range row {
			line += d.theme.spans(cell)
			if k < len(row)-1 {
				line += strings.Repeat(" ", widths[k]-spansWidth(cell)+2)
			}
		}
		d.out = append(d.out, cutStyled(line, d.width))
		begin = indent
		if i == 0 {
			d.out = append(d.out, cutStyled(indent+d.theme.paint(strings.Repeat("─", max(1, total-2-cells(indent))), lookFaint), d.width))
		}
	}
}

func spansWidth(spans []span) int {
	n := 0
	for _, s := range spans {
		n += cells(s.text)
	}
	return n
}

// inline collects the text inside a block.
func (d *mdDrawer) inline(n ast.Node, l look) []span {
	var out []span
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			out = append(out, span{text: d.text(c), look: l})
			switch {
			case c.HardLineBreak():
				out = append(out, plain("\n"))
			case c.SoftLineBreak():
				out = append(out, plain(" "))
			}
		case *ast.String:
			out = append(out, span{text: cleanLine(string(c.Value)), look: l})
		case *ast.CodeSpan:
			out = append(out, d.inline(c, lookCode)...)
		case *ast.Emphasis:
			inner := lookItalic
			if c.Level > 1 {
				inner = lookBold
			}
			out = append(out, d.inline(c, inner)...)
		case *ast.AutoLink:
			out = append(out, span{text: cleanLine(string(c.Label(d.source))), look: lookLink})
		case *ast.Link:
			out = append(out, d.link(c, string(c.Destination))...)
		case *ast.Image:
			out = append(out, d.link(c, string(c.Destination))...)
		case *ast.RawHTML:
			for i := range c.Segments.Len() {
				segment := c.Segments.At(i)
				out = append(out, span{text: cleanLine(string(segment.Value(d.source))), look: l})
			}
		default:
			out = append(out, d.inline(c, l)...)
		}
	}
	return out
}

// text resolves escapes and entities, which may stand for anything.
func (d *mdDrawer) text(n *ast.Text) string {
	raw := n.Segment.Value(d.source)
	if !n.IsRaw() {
		raw = util.ResolveNumericReferences(util.ResolveEntityNames(util.UnescapePunctuations(raw)))
	}
	return cleanLine(string(raw))
}

// link names where a link leads: what it is called may say something else.
func (d *mdDrawer) link(n ast.Node, destination string) []span {
	out := d.inline(n, lookLink)
	var label strings.Builder
	for _, s := range out {
		label.WriteString(s.text)
	}
	if destination = cleanLine(destination); label.String() != destination {
		out = append(out, span{text: " (" + destination + ")", look: lookFaint})
	}
	return out
}

// A splitter parts a text that is being streamed into blocks of markdown that
// are finished, and the rest.
type splitter struct {
	// open is the block that is not finished.
	open string
	// scanned is how much of it has been looked at: whole lines.
	scanned int
	fence   string // what closes the code block that is open, empty for none
	held    bool   // the last piece ended in the first half of a line end
	gap     bool   // the last line scanned was empty and outside of code
}

// add takes a piece of text and returns the blocks that it finishes.
func (s splitter) add(piece string) (splitter, []string) {
	if s.held {
		piece = "\r" + piece
	}
	if s.held = strings.HasSuffix(piece, "\r"); s.held {
		piece = piece[:len(piece)-1]
	}
	s.open += strings.ReplaceAll(piece, "\r\n", "\n")
	var finished []string
	for {
		end := strings.IndexByte(s.open[s.scanned:], '\n')
		if end < 0 {
			return s, finished
		}
		line := s.open[s.scanned : s.scanned+end]
		if s.gap && line != "" && line[0] != ' ' && line[0] != '\t' {
			finished = append(finished, strings.Trim(s.open[:s.scanned], "\n"))
			s.open, s.scanned = s.open[s.scanned:], 0
		}
		s.scanned += end + 1
		s.scan(line)
	}
}

// scan notes what a line does to the block.
func (s *splitter) scan(line string) {
	trimmed := strings.TrimLeft(line, " ")
	if s.fence != "" {
		if strings.HasPrefix(trimmed, s.fence) && strings.Trim(trimmed, s.fence[:1]+" ") == "" {
			s.fence = ""
		}
		s.gap = false
		return
	}
	s.gap = strings.TrimSpace(line) == "" && strings.TrimSpace(s.open[:s.scanned]) != ""
	for _, mark := range []string{"`", "~"} {
		if n := len(trimmed) - len(strings.TrimLeft(trimmed, mark)); n >= 3 {
			s.fence = strings.Repeat(mark, n)
		}
	}
}

// blocks parts a whole text.
func blocks(text string) []string {
	s, out := splitter{}.add(text)
	if rest := strings.Trim(s.open, "\n"); strings.TrimSpace(rest) != "" {
		out = append(out, rest)
	}
	return out
}
