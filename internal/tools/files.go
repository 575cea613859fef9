package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/forge-agent/forge/internal/workspace"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tool"
)

const (
	// maxListed is how many entries list_files returns.
	maxListed = 5000
	// maxReadBytes is the longest file that read_file takes a piece of.
	maxReadBytes = 64 << 20
	// pieceBytes is the most that one reading returns, header aside: below
	// tool.DefaultShownBytes, so that a piece is shown whole.
	pieceBytes = 60_000
	// sniffBytes is where a NUL is looked for, as Git does.
	sniffBytes = 8000
)

func compact(data json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, data) != nil {
		return data
	}
	return out.Bytes()
}

type listArguments struct {
	Path    *string `json:"path"`
	Depth   *int    `json:"depth"`
	Ignored bool    `json:"ignored"`
}

func listFiles(w *workspace.Workspace) func(context.Context, listArguments) (tool.Plan, error) {
	return func(_ context.Context, a listArguments) (tool.Plan, error) {
		dir, err := folder(w, a.Path)
		if err != nil {
			return tool.Plan{}, err
		}
		depth, err := tool.Whole("depth", a.Depth, 0, 1, 128)
		if err != nil {
			return tool.Plan{}, err
		}
		options := &workspace.WalkOptions{Ignored: a.Ignored, Depth: depth}
		return tool.Plan{
			Summary: "list " + strconv.Quote(dir),
			Run:     func(ctx context.Context) tool.Result { return list(ctx, w, dir, options) },
		}, nil
	}
}

// folder is a path that may be left out.
func folder(w *workspace.Workspace, path *string) (string, error) {
	if path == nil {
		return ".", nil
	}
	return w.Clean(*path)
}

func list(ctx context.Context, w *workspace.Workspace, dir string, options *workspace.WalkOptions) tool.Result {
	out := tool.NewOutput(tool.MaxOutputBytes)
	n := 0
	var unread []string
	for e, err := range w.Walk(ctx, dir, options) {
		if err != nil {
			if e.Path == "" {
				return failure(ctx, err)
			}
			unread = append(unread, err.Error())
			continue
		}
		if n == maxListed {
			out.WriteString(fmt.Sprintf("[… there are more than %d entries; list a folder, or set depth …]\n", maxListed))
			break
		}
		n++
		out.WriteString(printable(e.Path) + suffix(e.Type) + "\n")
	}
	if n == 0 {
		out.WriteString(fmt.Sprintf("[%q holds nothing that is listed]\n", dir))
	}
	for i, text := range unread {
		if i == 20 {
			out.WriteString("[… and more …]\n")
			break
		}
		out.WriteString("[" + text + "]\n")
	}
	return out.Result(message.OutcomeSuccess)
}

func suffix(t fs.FileMode) string {
	switch {
	case t&fs.ModeDir != 0:
		return "/"
	case t&fs.ModeSymlink != 0:
		return "@"
	case t != 0:
		return " (no regular file)"
	}
	return ""
}

// printable quotes a path that would break the line or is no UTF-8.
func printable(path string) string {
	if !utf8.ValidString(path) || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return strconv.Quote(path)
	}
	return path
}

type readArguments struct {
	Path      string `json:"path"`
	StartLine *int   `json:"start_line"`
	LineCount *int   `json:"line_count"`
}

func readFile(w *workspace.Workspace) func(context.Context, readArguments) (tool.Plan, error) {
	return func(_ context.Context, a readArguments) (tool.Plan, error) {
		name, err := w.Clean(a.Path)
		if err != nil {
			return tool.Plan{}, err
		}
		start, err := tool.Whole("start_line", a.StartLine, 1, 1, math.MaxInt)
		if err != nil {
			return tool.Plan{}, err
		}
		count, err := tool.Whole("line_count", a.LineCount, math.MaxInt, 1, math.MaxInt)
		if err != nil {
			return tool.Plan{}, err
		}
		return tool.Plan{
			Summary: "read " + strconv.Quote(name),
			Run: func(ctx context.Context) tool.Result {
				f, err := w.Read(name, maxReadBytes)
				if err != nil {
					return failure(ctx, err)
				}
				if isBinary(f.Data) {
					return tool.Failure(fmt.Sprintf("%q is a binary file of %d bytes, which is not shown. A program can look at it through run_command.", name, len(f.Data)))
				}
				return piece(name, string(f.Data), start, count)
			},
		}, nil
	}
}

func isBinary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0 }

// piece returns whole lines of a text, as many as fit, with a header that says
// which, and where to go on.
func piece(name, text string, start, count int) tool.Result {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	switch {
	case len(lines) == 0 && start == 1:
		return tool.Success(fmt.Sprintf("[%s is empty]\n", printable(name)))
	case start > len(lines):
		return tool.Failure(fmt.Sprintf("%q has %s, so there is no line %d.", name, plural(len(lines), "line", "lines"), start))
	}
	first := start - 1
	last := first + min(count, len(lines)-first) // one after the last
	size, end := 0, first
	for end < last && (size+len(lines[end]) <= pieceBytes || end == first) {
		size += len(lines[end])
		end++
	}
	body := strings.Join(lines[first:end], "")
	cut := ""
	if len(body) > pieceBytes {
		k := pieceBytes
		for k > 0 && !utf8.RuneStart(body[k]) {
			k--
		}
		cut = fmt.Sprintf("\n[line %d is %d bytes long; the first %d are shown; a program can cut out the rest through run_command]", start, len(body), k)
		body = body[:k]
	}
	note := ""
	if !utf8.ValidString(body) {
		note = "; bytes that are not UTF-8 are shown as \uFFFD"
	}
	if !strings.HasSuffix(body, "\n") && cut == "" {
		cut = "\n[the last line has no line end]"
	}
	more := ""
	if end < len(lines) {
		more = fmt.Sprintf("\n[continues with start_line %d]", end+1)
	}
	return tool.Success(fmt.Sprintf("[%s, lines %d to %d of %d%s]\n%s%s%s", printable(name), start, end, len(lines), note,
		strings.TrimSuffix(body, "\n"), cut, more) + "\n")
}
