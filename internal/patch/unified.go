package patch

import (
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

func parseUnified(text string) ([]File, error) {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	parsed, _, err := gitdiff.Parse(strings.NewReader(text))
	if err != nil {
		return nil, &Error{Text: "This is no valid unified diff: " + strings.TrimPrefix(err.Error(), "gitdiff: ") +
			". Correct it, or use the form that begins with " + envelope + " and needs no line numbers."}
	}
	if len(parsed) == 0 {
		return nil, &Error{Text: "This is neither a unified diff (--- a/FILE, +++ b/FILE, @@ … @@) nor does it begin with " + envelope + "."}
	}
	prefixed, err := accountFor(text, parsed)
	if err != nil {
		return nil, err
	}
	files := make([]File, len(parsed))
	at := headerLines(text)
	for i, p := range parsed {
		if files[i], err = convert(p, prefixed, &at); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// headerLines returns the numbers of the lines that begin with "@@ -".
func headerLines(text string) []int {
	var out []int
	n := 0
	for l := range strings.SplitSeq(text, "\n") {
		n++
		if strings.HasPrefix(l, "@@ -") {
			out = append(out, n)
		}
	}
	return out
}

func convert(p *gitdiff.File, prefixed map[string]bool, at *[]int) (File, error) {
	f := File{Op: Update, Path: p.NewName}
	oldName, newName := p.OldName, p.NewName
	if prefixed[oldName] {
		oldName = oldName[len("a/"):]
	}
	if prefixed[newName] {
		newName = newName[len("b/"):]
	}
	switch {
	case p.IsNew:
		f.Op, f.Path = Add, newName
	case p.IsDelete:
		f.Op, f.Path = Delete, oldName
	default:
		f.Path = oldName
		if newName != oldName {
			f.NewPath = newName
		}
	}
	refuse := func(text string) (File, error) { return File{}, &Error{Path: f.Path, Text: text} }
	mode := p.NewMode
	switch {
	case f.Path == "" || f.Op == Update && newName == "":
		return refuse("The patch does not name the file.")
	case p.IsBinary || p.BinaryFragment != nil:
		return refuse("Binary patches cannot be applied; only text can.")
	case p.IsCopy:
		return refuse("Copies cannot be applied: add the new file with its content.")
	case f.Op != Delete && mode != 0 && mode&^0o777 != 0o100000:
		return refuse("Only regular files can be made, no links or submodules.")
	case f.Op == Update && p.OldMode != 0 && mode != 0 && mode != p.OldMode:
		return refuse("Modes cannot be changed by a patch. Use chmod through run_command.")
	}
	f.Executable = f.Op == Add && mode&0o111 != 0
	for _, fragment := range p.TextFragments {
		h := hunk{at: int(fragment.OldPosition)}
		if len(*at) > 0 {
			h.line, *at = (*at)[0], (*at)[1:]
		}
		if fragment.OldPosition < 0 || fragment.OldPosition > 1<<40 {
			return refuse(fmt.Sprintf("Line number %d is out of range.", fragment.OldPosition))
		}
		for _, l := range fragment.Lines {
			h.lines = append(h.lines, line{l.Op.String()[0], l.Line})
		}
		if h.at == 0 && len(h.side('-')) > 0 {
			return File{}, f.errorf(h, "a hunk with old lines cannot begin at line 0; the first line is 1.")
		}
		f.hunks = append(f.hunks, h)
	}
	if f.Op == Update && len(f.hunks) == 0 && f.NewPath == "" {
		return refuse("The patch changes nothing in the file.")
	}
	return f, nil
}

const devNull = "/dev/null"

// headers are the beginnings of lines that stand between hunks.
var headers = []string{
	"diff ", "index ", "--- ", "+++ ", "old mode ", "new mode ", "new file mode ", "deleted file mode ",
	"similarity index ", "dissimilarity index ", "rename from ", "rename to ", "copy from ", "copy to ",
}

// accountFor refuses lines that belong to nothing. The parser passes over them
// as comments, and what a wrong count leaves over would be lost in silence. It
// returns the names that carry the prefix of a diff ("--- a/x", "+++ b/x"),
// which the parser leaves on where there is no "diff --git" line.
func accountFor(text string, parsed []*gitdiff.File) (map[string]bool, error) {
	var counts []int
	for _, p := range parsed {
		for _, fragment := range p.TextFragments {
			counts = append(counts, len(fragment.Lines))
		}
	}
	prefixed := map[string]bool{}
	left, git, from := 0, false, ""
	for i, l := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(l, `\`): // "\ No newline at end of file"
		case left > 0:
			left--
		case strings.HasPrefix(l, "@@ -") && len(counts) > 0:
			left, counts = counts[0], counts[1:]
		case strings.HasPrefix(l, "diff --git "):
			git = true
		case strings.HasPrefix(l, "--- "):
			from = headerName(l)
		case strings.HasPrefix(l, "+++ ") && !git:
			to := headerName(l)
			if err := samePath(from, to); err != nil {
				return nil, &Error{Line: i + 1, Text: err.Error()}
			}
			oldPrefix, newPrefix := strings.HasPrefix(from, "a/"), strings.HasPrefix(to, "b/")
			prefixed[to] = newPrefix && (oldPrefix || from == devNull)
			prefixed[from] = oldPrefix && to == devNull
		case strings.HasPrefix(l, "+++ "):
			git = false
		case strings.TrimSpace(l) == "" || hasAny(l, headers):
		default:
			return nil, &Error{Line: i + 1, Text: fmt.Sprintf("%s belongs to no hunk. Correct the line counts in the @@ line above it, and send nothing but the diff.", shorten(l))}
		}
	}
	return prefixed, nil
}

// headerName is the name in a line "--- NAME" or "+++ NAME", without a time.
func headerName(l string) string {
	name, _, _ := strings.Cut(l[len("--- "):], "\t")
	return strings.TrimSpace(name)
}

func samePath(from, to string) error {
	if from == devNull || to == devNull || from == to {
		return nil
	}
	if a, ok := strings.CutPrefix(from, "a/"); ok && "b/"+a == to {
		return nil
	}
	return fmt.Errorf("the names %q and %q differ. To move a file, use a diff with \"diff --git\", \"rename from\" and \"rename to\", or *** Move to: in the other form", from, to)
}

func hasAny(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
