package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPromptBytes is how much the editor takes. What is longer belongs into a
// file that the prompt names.
const maxPromptBytes = 256 << 10

// An editor is a text that is being written and the place in it. The zero
// value is empty. Its methods return the editor that comes out of an edit.
type editor struct {
	text string
	at   int // in bytes, at the beginning of a character
}

func newEditor(text string) editor { return editor{text: text, at: len(text)} }

func (e editor) empty() bool { return strings.TrimSpace(e.text) == "" }

// insert puts text in at the cursor. It reports false, and changes nothing,
// when that would be too much.
func (e editor) insert(s string) (editor, bool) {
	s = strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"), "\ufffd")
	if len(e.text)+len(s) > maxPromptBytes {
		return e, false
	}
	return editor{text: e.text[:e.at] + s + e.text[e.at:], at: e.at + len(s)}.settle(), true
}

// settle moves the cursor out of a character that an edit has joined.
func (e editor) settle() editor {
	begin := e.lineStart()
	for at := begin; at < e.at; {
		cluster, _ := next(e.text[at:])
		if at+len(cluster) > e.at {
			e.at = at + len(cluster)
			return e
		}
		at += len(cluster)
	}
	return e
}

func (e editor) lineStart() int { return strings.LastIndexByte(e.text[:e.at], '\n') + 1 }

func (e editor) lineEnd() int {
	if n := strings.IndexByte(e.text[e.at:], '\n'); n >= 0 {
		return e.at + n
	}
	return len(e.text)
}

// before is where the character before the cursor begins.
func (e editor) before() int {
	begin := e.lineStart()
	if begin == e.at {
		return max(0, e.at-1) // the line end
	}
	last := begin
	for at := begin; at < e.at; {
		last = at
		cluster, _ := next(e.text[at:])
		at += len(cluster)
	}
	return last
}

// after is where the character at the cursor ends.
func (e editor) after() int {
	if e.at >= len(e.text) {
		return e.at
	}
	if e.text[e.at] == '\n' {
		return e.at + 1
	}
	cluster, _ := next(e.text[e.at:])
	return e.at + len(cluster)
}

func (e editor) left() editor  { e.at = e.before(); return e }
func (e editor) right() editor { e.at = e.after(); return e }
func (e editor) home() editor  { e.at = e.lineStart(); return e }
func (e editor) end() editor   { e.at = e.lineEnd(); return e }

func (e editor) wordLeft() editor {
	e.at = len(strings.TrimRightFunc(e.text[:e.at], notWord))
	e.at = len(strings.TrimRightFunc(e.text[:e.at], isWord))
	if at := e.settle(); at.at > e.at {
		return at.left()
	}
	return e
}

func (e editor) wordRight() editor {
	rest := strings.TrimLeftFunc(strings.TrimLeftFunc(e.text[e.at:], notWord), isWord)
	e.at = len(e.text) - len(rest)
	return e.settle()
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == '_'
}
func notWord(r rune) bool { return !isWord(r) }

// cutOut removes [from, to) and puts the cursor there.
func (e editor) cutOut(from, to int) editor {
	return editor{text: e.text[:from] + e.text[to:], at: from}.settle()
}

func (e editor) backspace() editor  { return e.cutOut(e.before(), e.at) }
func (e editor) deleteNext() editor { return e.cutOut(e.at, e.after()) }
func (e editor) killStart() editor  { return e.cutOut(e.lineStart(), e.at) }
func (e editor) killWord() editor   { return e.cutOut(e.wordLeft().at, e.at) }

func (e editor) killEnd() editor {
	if to := e.lineEnd(); to > e.at {
		return e.cutOut(e.at, to)
	}
	return e.deleteNext()
}

// replace puts text in the place of [from, to), the cursor behind it.
func (e editor) replace(from, to int, s string) editor {
	return editor{text: e.text[:from] + s + e.text[to:], at: from + len(s)}.settle()
}

// A cell row of the editor: bytes [from, to) of the text, as drawn.
type editorRow struct {
	from, to int
	text     string
}

// layout wraps the text at a width. row and column are where the cursor
// stands.
func (e editor) layout(width int) (rows []editorRow, row, column int) {
	width = max(width, 2)
	current := editorRow{}
	var b strings.Builder
	used := 0
	flush := func(to, from int) {
		current.to, current.text = to, b.String()
		rows = append(rows, current)
		b.Reset()
		current, used = editorRow{from: from}, 0
	}
	for at := 0; ; {
		if at == e.at {
			row, column = len(rows), used
		}
		if at >= len(e.text) {
			break
		}
		if e.text[at] == '\n' {
			flush(at, at+1)
			at++
			continue
		}
		cluster, _ := next(e.text[at:])
		shown, n := shownCluster(cluster, width)
		if used+n > width {
			flush(at, at)
			if at == e.at {
				row, column = len(rows), 0
			}
		}
		b.WriteString(shown)
		used += n
		at += len(cluster)
	}
	if used >= width && e.at == len(e.text) { // the cursor needs a cell
		flush(len(e.text), len(e.text))
		row, column = len(rows), 0
	}
	flush(len(e.text), len(e.text))
	return rows, row, column
}

// shownCluster is how a character is drawn and how wide that is.
func shownCluster(cluster string, width int) (string, int) {
	if cluster == "\t" {
		return strings.Repeat(" ", min(tabColumns, width)), min(tabColumns, width)
	}
	shown := safe(cluster)
	n := cells(shown)
	if n > width {
		return "…", 1
	}
	return shown, n
}

// vertical moves the cursor by rows as drawn at a width. It reports false when
// there is no row there.
func (e editor) vertical(by, width int) (editor, bool) {
	rows, row, column := e.layout(width)
	to := row + by
	if to < 0 || to >= len(rows) {
		return e, false
	}
	at, used := rows[to].from, 0
	for at < rows[to].to {
		cluster, _ := next(e.text[at:])
		_, n := shownCluster(cluster, width)
		if used+n > column {
			break
		}
		used += n
		at += len(cluster)
	}
	e.at = at
	return e, true
}

// word returns the word that ends at the cursor: what stands between the
// cursor and the white space before it.
func (e editor) word() (text string, from int) {
	from = strings.LastIndexFunc(e.text[:e.at], unicode.IsSpace)
	if from >= 0 {
		_, n := utf8.DecodeRuneInString(e.text[from:])
		from += n
	} else {
		from = 0
	}
	return e.text[from:e.at], from
}
