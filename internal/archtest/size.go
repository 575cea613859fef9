package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Sizes beyond which a file or a function is hard to read in one go. Tests and
// generated files are not measured.
const (
	maxFileLines     = 400
	maxFunctionLines = 80
)

const exceptionsPath = "internal/archtest/exceptions.txt"

// checkSizes reports files and functions that are too long and not excepted,
// and exceptions that no longer hold. An exception carries the exact size, so
// the list can shrink but what is on it cannot grow.
func checkSizes(fsys fs.FS, t *tree) []Finding {
	allowed, found := readExceptions(fsys)
	for _, pkg := range t.packages {
		for _, file := range slices.Concat(pkg.files, pkg.programs) {
			if file.generated {
				continue
			}
			found = append(found, allowed.check(file.path, file.path, 0, file.lines, maxFileLines)...)
			for _, decl := range file.syntax.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				first, last := t.fset.Position(fn.Pos()).Line, t.fset.Position(fn.End()).Line
				key := file.path + ":" + functionName(fn)
				found = append(found, allowed.check(key, file.path, first, last-first+1, maxFunctionLines)...)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		if e := allowed[key]; !e.used {
			found = append(found, Finding{Rule: "size", Path: exceptionsPath, Line: e.line,
				Text: key + " needs no exception any more: remove the line"})
		}
	}
	return found
}

// functionName is "F" for a function and "T.M" for a method.
func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	receiver := fn.Recv.List[0].Type
	for {
		switch x := receiver.(type) {
		case *ast.StarExpr:
			receiver = x.X
		case *ast.IndexExpr:
			receiver = x.X
		case *ast.IndexListExpr:
			receiver = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

type exception struct {
	size int
	line int
	used bool
}

type exceptions map[string]*exception

func (e exceptions) check(key, path string, line, size, limit int) []Finding {
	if size <= limit {
		return nil
	}
	what := "the file"
	if key != path {
		what = strings.TrimPrefix(key, path+":")
	}
	entry := e[key]
	if entry == nil {
		return []Finding{{Rule: "size", Path: path, Line: line,
			Text: fmt.Sprintf("%s has %d lines, at most %d: split it along its ideas", what, size, limit)}}
	}
	entry.used = true
	switch {
	case size > entry.size:
		return []Finding{{Rule: "size", Path: path, Line: line,
			Text: fmt.Sprintf("%s grew from %d to %d lines: an exception may only shrink", what, entry.size, size)}}
	case size < entry.size:
		return []Finding{{Rule: "size", Path: exceptionsPath, Line: entry.line,
			Text: fmt.Sprintf("%s shrank to %d lines: write that number", key, size)}}
	}
	return nil
}

// readExceptions reads lines of the form "PATH[:FUNCTION] LINES". Blank lines
// and lines that begin with # say nothing; a missing file is an empty list.
func readExceptions(fsys fs.FS) (exceptions, []Finding) {
	list := exceptions{}
	data, err := fs.ReadFile(fsys, exceptionsPath)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return list, []Finding{{Rule: "size", Path: exceptionsPath, Text: "cannot be read: " + err.Error()}}
	}
	var found []Finding
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, count, _ := strings.Cut(line, " ")
		size, err := strconv.Atoi(strings.TrimSpace(count))
		if err != nil || list[key] != nil {
			found = append(found, Finding{Rule: "size", Path: exceptionsPath, Line: i + 1,
				Text: "write each exception once, as PATH[:FUNCTION] LINES"})
			continue
		}
		list[key] = &exception{size: size, line: i + 1}
	}
	return list, found
}
