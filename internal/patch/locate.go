package patch

import (
	"fmt"
	"slices"
	"strings"
)

// locate returns for each hunk the index of the first line that it replaces.
// Hunks must follow each other in the file without overlap.
func (f File) locate(lines []string) ([]int, error) {
	spots := make([]int, len(f.hunks))
	from := 0
	for i, h := range f.hunks {
		spot, err := f.spot(h, lines, from)
		if err != nil {
			return nil, err
		}
		spots[i] = spot
		from = spot + len(h.side('-'))
	}
	return spots, nil
}

func (f File) spot(h hunk, lines []string, from int) (int, error) {
	if h.sought {
		return f.search(h, lines, from)
	}
	old := h.side('-')
	spot := h.at - 1
	if len(old) == 0 {
		spot = h.at
	}
	switch {
	case f.Op == Add && len(lines) > 0:
		return 0, &Error{Path: f.Path, Text: "The file exists already and has content."}
	case spot < from:
		return 0, f.errorf(h, "the hunk overlaps the one before it, or stands above it. Order the hunks by line.")
	case spot > len(lines) || spot+len(old) > len(lines):
		return 0, f.errorf(h, "the hunk speaks of lines %d to %d, but the file has %d lines.%s",
			h.at, h.at+max(len(old)-1, 0), len(lines), hint(lines, old))
	}
	for i, want := range old {
		if have := lines[spot+i]; have != want {
			return 0, f.errorf(h, "line %d of the file is %s, the hunk expects %s.%s",
				spot+i+1, describe(have), describe(want), hint(lines, old))
		}
	}
	return spot, nil
}

// search finds the place where a hunk without a position stands, its old lines
// exactly as written: the first one below its anchors, and without anchors the
// only one.
func (f File) search(h hunk, lines []string, from int) (int, error) {
	for _, anchor := range h.anchor {
		places := find(lines, []string{anchor}, from, true)
		switch len(places) {
		case 0:
			return 0, f.errorf(h, "no line %s below line %d, which the @@ line names.", shorten(anchor), from)
		case 1:
			from = places[0] + 1
		default:
			return 0, f.errorf(h, "the @@ line %s stands at lines %s. Name a line that is there once.", shorten(anchor), numbers(places))
		}
	}
	old := h.side('-')
	if len(old) == 0 {
		if h.atEnd {
			return len(lines), nil
		}
		return from, nil // directly below the anchor
	}
	if h.atEnd {
		spot := len(lines) - len(old)
		if spot < from || !slices.Equal(lines[spot:], old) {
			return 0, f.errorf(h, "the file does not end in these lines: %s.%s", shorten(old[0]), hint(lines, old))
		}
		return spot, nil
	}
	places := find(lines, old, from, false)
	switch {
	case len(places) == 0:
		return 0, f.errorf(h, "the lines from %s on do not stand below line %d exactly as written.%s", shorten(old[0]), from, hint(lines, old))
	case len(places) == 1, len(h.anchor) > 0:
		return places[0], nil
	}
	return 0, f.errorf(h, "the lines from %s on stand at lines %s. Add context lines or an @@ line until there is one place.", shorten(old[0]), numbers(places))
}

// mostPlaces is how many places an error names.
const mostPlaces = 5

// find returns the indexes where a run of lines stands, at most mostPlaces.
// trimmed is for a run of one line, and leaves white space around it aside. It
// looks at each line once (Knuth, Morris and Pratt), so that lines which repeat
// take no longer.
func find(lines, run []string, from int, trimmed bool) []int {
	same := func(have, want string) bool {
		return have == want || trimmed && strings.TrimSpace(have) == strings.TrimSpace(want)
	}
	borders := make([]int, len(run)) // of run[:i+1], the longest start that is also its end
	for i, k := 1, 0; i < len(run); i++ {
		for k > 0 && !same(run[i], run[k]) {
			k = borders[k-1]
		}
		if same(run[i], run[k]) {
			k++
		}
		borders[i] = k
	}
	var places []int
	for i, k := max(from, 0), 0; i < len(lines) && len(places) < mostPlaces; i++ {
		for k > 0 && !same(lines[i], run[k]) {
			k = borders[k-1]
		}
		if same(lines[i], run[k]) {
			k++
		}
		if k == len(run) {
			places = append(places, i+1-k)
			k = borders[k-1]
		}
	}
	return places
}

// hint says where the old lines of a hunk stand, when that is clear.
func hint(lines, old []string) string {
	if len(old) == 0 {
		return ""
	}
	if places := find(lines, old, 0, false); len(places) == 1 {
		return fmt.Sprintf(" These lines are at line %d: correct the position.", places[0]+1)
	}
	loose := func(all []string) []string {
		out := make([]string, len(all))
		for i, l := range all {
			out[i] = strings.Join(strings.Fields(l), " ")
		}
		return out
	}
	if places := find(loose(lines), loose(old), 0, false); len(places) == 1 {
		return fmt.Sprintf(" At line %d they differ in white space only: copy them exactly.", places[0]+1)
	}
	return " Read the file again and copy the lines exactly."
}

func numbers(places []int) string {
	var out []string
	for _, p := range places {
		out = append(out, fmt.Sprint(p+1))
	}
	if len(places) == mostPlaces {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

func describe(l string) string {
	if !strings.HasSuffix(l, "\n") {
		return shorten(l) + " without a line end"
	}
	return shorten(l)
}

func (f File) errorf(h hunk, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return &Error{Path: f.Path, Line: h.line, Text: text}
}
