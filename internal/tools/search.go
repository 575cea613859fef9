package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/forge-agent/forge/internal/workspace"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tool"
)

const (
	// maxSearchedBytes is the longest file that is searched.
	maxSearchedBytes = 8 << 20
	// defaultHits is how many hits are returned when the model does not say.
	defaultHits = 200
	// maxHitBytes is how much of a line is shown around a hit.
	maxHitBytes = 300
	// maxPatternBytes bounds what is compiled.
	maxPatternBytes = 10_000
)

type searchArguments struct {
	Pattern    string  `json:"pattern"`
	Path       *string `json:"path"`
	Include    *string `json:"include"`
	IgnoreCase bool    `json:"ignore_case"`
	MaxHits    *int    `json:"max_hits"`
}

func search(w *workspace.Workspace) func(context.Context, searchArguments) (tool.Plan, error) {
	return func(_ context.Context, a searchArguments) (tool.Plan, error) {
		s := searcher{w: w, out: tool.NewOutput(tool.MaxOutputBytes)}
		var err error
		if s.dir, err = folder(w, a.Path); err != nil {
			return tool.Plan{}, err
		}
		if s.left, err = tool.Whole("max_hits", a.MaxHits, defaultHits, 1, 5000); err != nil {
			return tool.Plan{}, err
		}
		if s.pattern, err = compilePattern(a.Pattern, a.IgnoreCase); err != nil {
			return tool.Plan{}, err
		}
		s.include = func(string) bool { return true }
		if a.Include != nil {
			if s.include, err = workspace.Glob(*a.Include); err != nil {
				return tool.Plan{}, err
			}
		}
		return tool.Plan{
			Summary: fmt.Sprintf("search %q for %q", s.dir, a.Pattern),
			Run:     s.run,
		}, nil
	}
}

func compilePattern(text string, ignoreCase bool) (*regexp.Regexp, error) {
	switch {
	case text == "":
		return nil, tool.Argumentf("%q is empty. Give a regular expression.", "pattern")
	case len(text) > maxPatternBytes:
		return nil, tool.Argumentf("%q is %d bytes long; the most is %d.", "pattern", len(text), maxPatternBytes)
	}
	flags := "(?m)"
	if ignoreCase {
		flags = "(?mi)"
	}
	re, err := regexp.Compile(flags + text)
	if err != nil {
		cause := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return nil, tool.Argumentf("%q is no valid regular expression: %s. The syntax is RE2: there are no look-arounds and no back references; escape characters that are meant as they are, such as \\( or \\[.", "pattern", cause)
	}
	return re, nil
}

// A searcher is one search.
type searcher struct {
	w       *workspace.Workspace
	dir     string
	pattern *regexp.Regexp
	include func(path string) bool
	out     *tool.Output
	left    int // hits that may still be returned

	files, hits, skipped int
}

func (s *searcher) run(ctx context.Context) tool.Result {
	if f, err := s.w.Read(s.dir, maxSearchedBytes); err == nil {
		s.file(ctx, f.Path, f.Data)
		return s.result()
	} else if errors.Is(err, fs.ErrNotExist) {
		return failure(ctx, err)
	}
	for e, err := range s.w.Walk(ctx, s.dir, nil) {
		if err != nil {
			if e.Path == "" {
				return failure(ctx, err)
			}
			s.skipped++
			continue
		}
		if e.Type != 0 || !s.include(e.Path) {
			continue
		}
		data, err := e.Read(maxSearchedBytes)
		if err != nil {
			s.skipped++
			continue
		}
		if !s.file(ctx, e.Path, data) {
			break
		}
	}
	if ctx.Err() != nil {
		return failure(ctx, ctx.Err())
	}
	return s.result()
}

// file searches one file and reports whether to go on.
func (s *searcher) file(ctx context.Context, path string, data []byte) bool {
	if isBinary(data) {
		return true
	}
	s.files++
	number, counted := 1, 0
	for at := 0; at < len(data); {
		hit := s.pattern.FindIndex(data[at:])
		if hit == nil {
			break
		}
		start := at + hit[0]
		if start == len(data) {
			break // an empty match behind the last line end is on no line
		}
		if s.left == 0 || ctx.Err() != nil {
			s.left = -1
			return false
		}
		number += bytes.Count(data[counted:start], []byte("\n"))
		counted = start
		lineStart := bytes.LastIndexByte(data[:start], '\n') + 1
		lineEnd := len(data)
		if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
			lineEnd = start + i
		}
		s.out.WriteString(printable(path) + ":" + strconv.Itoa(number) + ": " + around(data[lineStart:lineEnd], start-lineStart) + "\n")
		s.hits++
		s.left--
		at = lineEnd + 1
	}
	return true
}

// around returns a line, or of a long one the part with the hit.
func around(line []byte, hit int) string {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) <= maxHitBytes {
		return string(line)
	}
	from := max(min(hit-maxHitBytes/4, len(line)-maxHitBytes), 0)
	to := from + maxHitBytes
	for from > 0 && from < to && !utf8.RuneStart(line[from]) {
		from++
	}
	for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
		to--
	}
	text := string(line[from:to])
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}

func (s *searcher) result() tool.Result {
	note := fmt.Sprintf("[%s in %s", plural(s.hits, "hit", "hits"), plural(s.files, "text file", "text files"))
	if s.skipped > 0 {
		note += fmt.Sprintf("; %s could not be read or had more than %d bytes", plural(s.skipped, "file", "files"), maxSearchedBytes)
	}
	if s.left < 0 {
		note = fmt.Sprintf("[the first %s; there are more: narrow the pattern, the path or include", plural(s.hits, "hit", "hits"))
	}
	s.out.WriteString(note + "]\n")
	return s.out.Result(message.OutcomeSuccess)
}
