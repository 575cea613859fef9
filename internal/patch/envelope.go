package patch

import (
	"strings"
)

// Markers of the envelope, in the form that Codex's apply_patch defines.
const (
	markEnd    = "*** End Patch"
	markAdd    = "*** Add File: "
	markUpdate = "*** Update File: "
	markDelete = "*** Delete File: "
	markMove   = "*** Move to: "
	markEOF    = "*** End of File"
)

// An envelopeReader stands at a line of the patch.
type envelopeReader struct {
	lines []string
	at    int
	first int // number of the first line in the text
}

func parseEnvelope(text string) ([]File, error) {
	trimmed := strings.TrimLeft(text, " \t\r\n")
	r := envelopeReader{first: 1 + strings.Count(text[:len(text)-len(trimmed)], "\n")}
	trimmed = strings.TrimRight(trimmed, " \t\r\n")
	for line := range strings.SplitSeq(trimmed, "\n") {
		r.lines = append(r.lines, line)
	}
	if strings.TrimSpace(r.lines[0]) != envelope {
		return nil, r.errorf("write %q on a line of its own.", envelope)
	}
	r.at++
	var files []File
	for {
		if r.at >= len(r.lines) {
			return nil, r.errorf("the patch ends without %q. Send the whole patch.", markEnd)
		}
		if r.marker() == markEnd {
			break
		}
		f, err := r.file()
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if r.at != len(r.lines)-1 {
		r.at++
		return nil, r.errorf("there is text after %q.", markEnd)
	}
	if len(files) == 0 {
		return nil, r.errorf("the patch names no file.")
	}
	return files, nil
}

// marker is the current line without white space at its end.
func (r *envelopeReader) marker() string { return strings.TrimRight(r.lines[r.at], " \t\r") }

func (r *envelopeReader) errorf(format string, args ...any) error {
	return File{}.errorf(hunk{line: r.first + min(r.at, len(r.lines)-1)}, format, args...)
}

func (r *envelopeReader) file() (File, error) {
	head := r.marker()
	var f File
	for mark, op := range map[string]Op{markAdd: Add, markUpdate: Update, markDelete: Delete} {
		if name, ok := strings.CutPrefix(head, mark); ok {
			f = File{Op: op, Path: strings.TrimSpace(name)}
		}
	}
	if f.Path == "" {
		return f, r.errorf("%s is not expected here. Begin a file with %q, %q or %q and its path.",
			shorten(head), strings.TrimSpace(markAdd), strings.TrimSpace(markUpdate), strings.TrimSpace(markDelete))
	}
	r.at++
	switch f.Op {
	case Add:
		return f, r.added(&f)
	case Delete:
		f.anyContent = true
		return f, nil
	}
	return f, r.updated(&f)
}

func (r *envelopeReader) more() bool {
	return r.at < len(r.lines) && (!strings.HasPrefix(r.lines[r.at], "*** ") || r.marker() == markEOF)
}

func (r *envelopeReader) added(f *File) error {
	h := hunk{line: r.first + r.at}
	for ; r.more(); r.at++ {
		text, ok := strings.CutPrefix(r.lines[r.at], "+")
		if !ok {
			return r.errorf("each line of a new file begins with %q; this one is %s.", "+", shorten(r.lines[r.at]))
		}
		h.lines = append(h.lines, line{'+', text + "\n"})
	}
	if len(h.lines) > 0 {
		f.hunks = []hunk{h}
	}
	return nil
}

func (r *envelopeReader) updated(f *File) error {
	if r.at < len(r.lines) {
		if name, ok := strings.CutPrefix(r.marker(), markMove); ok {
			f.NewPath = strings.TrimSpace(name)
			if f.NewPath == "" || f.NewPath == f.Path {
				return r.errorf("%q needs another path.", strings.TrimSpace(markMove))
			}
			r.at++
		}
	}
	for r.more() {
		h, err := r.hunk(len(f.hunks) == 0)
		if err != nil {
			return err
		}
		f.hunks = append(f.hunks, h)
	}
	if len(f.hunks) == 0 && f.NewPath == "" {
		return r.errorf("the update of %q changes nothing. Add a hunk that begins with @@.", f.Path)
	}
	return nil
}

// hunk reads "@@" lines and what follows, up to the next "@@" or marker.
func (r *envelopeReader) hunk(isFirst bool) (hunk, error) {
	h := hunk{line: r.first + r.at, sought: true}
	anchored := false
	for ; r.more() && strings.HasPrefix(r.lines[r.at], "@@"); r.at++ {
		anchored = true
		if anchor := strings.TrimSpace(strings.TrimPrefix(r.marker(), "@@")); anchor != "" {
			h.anchor = append(h.anchor, anchor)
		}
	}
	if !anchored && !isFirst {
		return h, r.errorf("a hunk begins with @@; this line is %s.", shorten(r.lines[r.at]))
	}
	changes := 0
	for ; r.more() && !strings.HasPrefix(r.lines[r.at], "@@"); r.at++ {
		text := r.lines[r.at]
		switch {
		case r.marker() == markEOF:
			h.atEnd = true
			r.at++
			return r.finish(h, changes)
		case text == "" || text == "\r":
			h.lines = append(h.lines, line{' ', text + "\n"})
		case text[0] == ' ', text[0] == '+', text[0] == '-':
			if text[0] != ' ' {
				changes++
			}
			h.lines = append(h.lines, line{text[0], text[1:] + "\n"})
		default:
			return h, r.errorf("each line of a hunk begins with a space, %q or %q; this one is %s.", "+", "-", shorten(text))
		}
	}
	// Empty lines before the next hunk or marker are spacing, not context.
	for len(h.lines) > 0 && h.lines[len(h.lines)-1] == (line{' ', "\n"}) && r.lines[r.at-1] == "" {
		h.lines = h.lines[:len(h.lines)-1]
		r.at--
	}
	r.at = r.skipEmpty()
	return r.finish(h, changes)
}

func (r *envelopeReader) skipEmpty() int {
	at := r.at
	for at < len(r.lines) && r.lines[at] == "" {
		at++
	}
	return at
}

func (r *envelopeReader) finish(h hunk, changes int) (hunk, error) {
	switch {
	case changes == 0:
		return h, File{}.errorf(h, "the hunk changes nothing. Begin removed lines with %q and added ones with %q.", "-", "+")
	case len(h.side('-')) == 0 && len(h.anchor) == 0 && !h.atEnd:
		return h, File{}.errorf(h, "the hunk says not where its lines go. Add context lines, an @@ line, or %q.", markEOF)
	}
	return h, nil
}
