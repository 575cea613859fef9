package workspace

import (
	"io"
	"os"
	"strings"
)

// maxIgnoreBytes bounds an ignore file; what is beyond it is not read.
const maxIgnoreBytes = 1 << 20

// A pattern is one line of an ignore file, as gitignore(5) describes it.
type pattern struct {
	negated  bool
	dirOnly  bool
	anchored bool     // matches the path from the file's folder, not the base name
	segments []string // of the pattern between slashes
}

// ignoreFile holds the patterns of one folder.
type ignoreFile struct {
	depth    int // how many path segments lead to the folder
	patterns []pattern
}

// readIgnore reads an ignore file; a missing or unreadable one has no
// patterns. Like Git it does not follow a link.
func readIgnore(root *os.Root, name string, depth int) *ignoreFile {
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, _, err := openRegular(root, name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreBytes))
	if err != nil {
		return nil
	}
	file := &ignoreFile{depth: depth, patterns: parseIgnore(string(data))}
	if len(file.patterns) == 0 {
		return nil
	}
	return file
}

func parseIgnore(text string) []pattern {
	var out []pattern
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.HasPrefix(line, "#") {
			continue
		}
		var p pattern
		line = trimSpaces(line)
		line, p.negated = strings.CutPrefix(line, "!")
		line, p.dirOnly = strings.CutSuffix(line, "/")
		p.anchored = strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		if line == "" {
			continue
		}
		p.segments = strings.Split(line, "/")
		out = append(out, p)
	}
	return out
}

// trimSpaces takes off spaces at the end, up to one behind a backslash.
func trimSpaces(line string) string {
	for strings.HasSuffix(line, " ") {
		rest := strings.TrimRight(line[:len(line)-1], "\\")
		if (len(line)-1-len(rest))%2 == 1 {
			break
		}
		line = line[:len(line)-1]
	}
	return line
}

// ignored reports whether the innermost file with an opinion on a path leaves
// it out. files are those of the folders that hold the path, outermost first.
// That a folder above it is left out is for the walk to know.
func ignored(files []*ignoreFile, segments []string, dir bool) bool {
	for i := len(files) - 1; i >= 0; i-- {
		file := files[i]
		for j := len(file.patterns) - 1; j >= 0; j-- {
			if p := file.patterns[j]; p.matches(segments[file.depth:], dir) {
				return !p.negated
			}
		}
	}
	return false
}

func (p pattern) matches(segments []string, dir bool) bool {
	if p.dirOnly && !dir {
		return false
	}
	if !p.anchored {
		return matchSegment(p.segments[0], segments[len(segments)-1])
	}
	return matchSegments(p.segments, segments)
}

// matchSegments matches a path. A segment "**" stands for any number of
// folders, at the end of a pattern for at least one entry. It takes time in
// proportion to the product of the lengths, whatever the pattern.
func matchSegments(pattern, segments []string) bool {
	// reach[i] says whether what was seen of the pattern matches segments[:i].
	reach := make([]bool, len(segments)+1)
	reach[0] = true
	for k, part := range pattern {
		next := make([]bool, len(segments)+1)
		for i := range reach {
			if !reach[i] {
				continue
			}
			switch {
			case part == "**" && k == len(pattern)-1:
				for j := i + 1; j < len(next); j++ {
					next[j] = true
				}
			case part == "**":
				for j := i; j < len(next); j++ {
					next[j] = true
				}
			case i < len(segments) && matchSegment(part, segments[i]):
				next[i+1] = true
			}
		}
		reach = next
	}
	return reach[len(segments)]
}

// matchSegment matches one name against a shell pattern, byte by byte as Git
// does. On a mismatch only the last star is tried again, which is enough, since
// a star matches anything.
func matchSegment(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, n
			p++
			continue
		}
		if width, ok := matchByte(pattern[p:], name[n]); ok {
			p += width
			n++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, n = star+1, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// matchByte matches one byte against the start of a pattern and returns how
// long that start is.
func matchByte(pattern string, c byte) (int, bool) {
	if pattern == "" {
		return 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, true
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == c
		}
		return 1, false
	case '[':
		return matchClass(pattern, c)
	}
	return 1, pattern[0] == c
}

// matchClass matches a byte against "[…]". An unfinished class matches
// nothing.
func matchClass(pattern string, c byte) (int, bool) {
	i, negated, found := 1, false, false
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		negated = true
		i++
	}
	for first := true; ; first = false {
		if i >= len(pattern) {
			return 0, false
		}
		if pattern[i] == ']' && !first {
			return i + 1, found != negated
		}
		if name, ok := className(pattern[i:]); ok {
			found = found || inClass(name, c)
			i += len(name) + 4
			continue
		}
		low, width := classByte(pattern[i:])
		i += width
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			high, width := classByte(pattern[i+1:])
			i += 1 + width
			found = found || low <= c && c <= high
			continue
		}
		found = found || low == c
	}
}

func classByte(s string) (byte, int) {
	if s[0] == '\\' && len(s) > 1 {
		return s[1], 2
	}
	return s[0], 1
}

func className(s string) (string, bool) {
	if !strings.HasPrefix(s, "[:") {
		return "", false
	}
	name, _, ok := strings.Cut(s[2:], ":]")
	return name, ok
}

func inClass(name string, c byte) bool {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	switch name {
	case "alpha":
		return lower || upper
	case "digit":
		return digit
	case "alnum":
		return lower || upper || digit
	case "lower":
		return lower
	case "upper":
		return upper
	case "space":
		return c == ' ' || '\t' <= c && c <= '\r'
	case "blank":
		return c == ' ' || c == '\t'
	case "punct":
		return c > ' ' && c < 0x7f && !lower && !upper && !digit
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
	case "cntrl":
		return c < ' ' || c == 0x7f
	case "graph":
		return c > ' ' && c < 0x7f
	case "print":
		return c >= ' ' && c < 0x7f
	}
	return false
}
