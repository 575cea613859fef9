// Package patch reads the two forms in which models write changes, unified
// diffs and the envelope that begins with "*** Begin Patch", and applies them
// to texts in memory.
//
// It is strict: a hunk applies where it says, or where its lines stand exactly
// and once, and nowhere else. Near misses are errors that say where the lines
// really are. It opens no files; internal/workspace does.
package patch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Op is what a patch does to a file.
type Op string

// The operations.
const (
	Add    Op = "add"
	Update Op = "update"
	Delete Op = "delete"
)

// A File is the part of a patch that is about one file.
type File struct {
	Op Op
	// Path is the file's path as the patch names it, without the "a/" of a
	// diff. For Add it is the new file.
	Path string
	// NewPath is where an updated file moves to, empty for nowhere.
	NewPath string
	// Executable is set when an added file shall be executable.
	Executable bool

	hunks []hunk
	// anyContent is set for a deletion that does not say what it deletes.
	anyContent bool
}

// A hunk replaces lines. Lines carry their line ends.
type hunk struct {
	line   int      // of the patch, for errors
	at     int      // 1-based first old line, or the line to insert after
	sought bool     // there is no position: the old lines are looked for
	anchor []string // lines that stand above the hunk, for one without a position
	atEnd  bool     // the old lines are the file's last
	lines  []line
}

type line struct {
	op   byte // ' ', '-', '+'
	text string
}

// side returns the old ('-') or the new ('+') lines.
func (h hunk) side(op byte) []string {
	var out []string
	for _, l := range h.lines {
		if l.op == ' ' || l.op == op {
			out = append(out, l.text)
		}
	}
	return out
}

// An Error says what is wrong with a patch, in words for the model that wrote
// it.
type Error struct {
	// Path is the file it is about, empty for the patch as a whole.
	Path string
	// Line is the line of the patch, zero when it is about no single line.
	Line int
	Text string
}

// Error returns the text with its place.
func (e *Error) Error() string {
	place := ""
	if e.Line > 0 {
		place = fmt.Sprintf("Line %d of the patch: ", e.Line)
	}
	if e.Path != "" {
		place += fmt.Sprintf("%q: ", e.Path)
	}
	return place + e.Text
}

// envelope is how the form without line numbers begins.
const envelope = "*** Begin Patch"

// Parse reads a patch of either form. The error is an *Error. The files come
// in the order of the patch; no path is named twice.
func Parse(text string) ([]File, error) {
	if strings.TrimSpace(text) == "" {
		return nil, &Error{Text: "The patch is empty."}
	}
	if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		return nil, &Error{Text: "The patch holds NUL or bytes that are not UTF-8; only text can be patched."}
	}
	var files []File
	var err error
	if strings.HasPrefix(strings.TrimSpace(text), envelope) {
		files, err = parseEnvelope(text)
	} else {
		files, err = parseUnified(text)
	}
	if err != nil {
		return nil, err
	}
	var seen []string
	for _, f := range files {
		for _, name := range []string{f.Path, f.NewPath} {
			if name != "" && slices.Contains(seen, name) {
				return nil, &Error{Path: name, Text: "The file is named twice. Put all its hunks together."}
			}
			seen = append(seen, name)
		}
	}
	return files, nil
}

// Apply returns the text that the patch makes of a file's content; for Delete
// it checks that the content is what the patch removes and returns nothing.
// For Add, old must be empty. The error is an *Error, and old is not changed.
func (f File) Apply(old []byte) ([]byte, error) {
	if f.anyContent {
		return nil, nil
	}
	crlf := f.wantsLF() && onlyCRLF(old)
	if crlf {
		old = bytes.ReplaceAll(old, []byte("\r\n"), []byte("\n"))
	}
	unended := f.sought() && len(old) > 0 && old[len(old)-1] != '\n'
	lines := splitLines(string(old))
	if unended {
		lines[len(lines)-1] += "\n"
	}
	spots, err := f.locate(lines)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(lines))
	next := 0
	for i, h := range f.hunks {
		out = append(out, lines[next:spots[i]]...)
		out = append(out, h.side('+')...)
		next = spots[i] + len(h.side('-'))
	}
	out = append(out, lines[next:]...)
	for i, l := range out {
		if i < len(out)-1 && !strings.HasSuffix(l, "\n") {
			return nil, &Error{Path: f.Path, Text: fmt.Sprintf("A line without a line end (%s) would stand in the middle of the file.", shorten(l))}
		}
	}
	text := strings.Join(out, "")
	if unended {
		text = strings.TrimSuffix(text, "\n")
	}
	if crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if f.Op == Delete && text != "" {
		return nil, &Error{Path: f.Path, Text: "The file has more lines than the patch removes. A patch that deletes a file must remove all of it."}
	}
	return []byte(text), nil
}

// sought reports whether the patch is of the form without positions. It cannot
// say whether a file ends in a line end, so that stays as it is.
func (f File) sought() bool {
	return slices.ContainsFunc(f.hunks, func(h hunk) bool { return h.sought })
}

// wantsLF reports whether no line of the patch has a carriage return, so that
// it can be meant for a file with CRLF line ends.
func (f File) wantsLF() bool {
	for _, h := range f.hunks {
		for _, l := range h.lines {
			if strings.Contains(l.text, "\r") {
				return false
			}
		}
	}
	return true
}

// onlyCRLF reports whether every line end is CRLF and no CR stands elsewhere,
// so that taking the CRs out can be reversed.
func onlyCRLF(data []byte) bool {
	n := bytes.Count(data, []byte("\r\n"))
	return n > 0 && n == bytes.Count(data, []byte("\n")) && n == bytes.Count(data, []byte("\r"))
}

// Reversible reports whether Reverse gives a patch: every hunk has a position
// and every removed line is known.
func (f File) Reversible() bool { return !f.anyContent && !f.sought() }

// Reverse returns the patch that undoes this one. It is meaningful only for a
// Reversible file.
func (f File) Reverse() File {
	r := File{Op: f.Op, Path: f.Path, Executable: f.Executable}
	switch f.Op {
	case Add:
		r.Op = Delete
	case Delete:
		r.Op = Add
	}
	if f.NewPath != "" {
		r.Path, r.NewPath = f.NewPath, f.Path
	}
	shift := 0
	for _, h := range f.hunks {
		back := hunk{line: h.line, atEnd: h.atEnd}
		for _, l := range h.lines {
			switch l.op {
			case '+':
				l.op = '-'
			case '-':
				l.op = '+'
			}
			back.lines = append(back.lines, l)
		}
		removed, added := len(h.side('-')), len(h.side('+'))
		start := h.at // of the first line, whether there is one or not
		if removed == 0 {
			start++
		}
		back.at = start + shift
		if added == 0 {
			back.at--
		}
		shift += added - removed
		r.hunks = append(r.hunks, back)
	}
	return r
}

// splitLines cuts a text after each line end.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// shorten quotes a line for an error.
func shorten(text string) string {
	const most = 100
	text = strings.TrimSuffix(text, "\n")
	if len(text) > most {
		cut := most
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return fmt.Sprintf("%q", text)
}
