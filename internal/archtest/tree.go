package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// A tree is the Go source of one module.
type tree struct {
	module string
	mod    goMod
	nested []goMod // go.mod files below the root, which are other modules
	fset   *token.FileSet
	// packages holds each folder with Go files, by its path from the root.
	packages map[string]*source
	broken   []Finding
}

// A source is the Go files of one folder.
type source struct {
	path  string
	files []*sourceFile // not tests, and built by some "go build"
	tests []*sourceFile
	// programs are files with a "//go:build ignore" line: they belong to no
	// package and are run by "go run FILE" or "go generate".
	programs []*sourceFile
}

type sourceFile struct {
	path      string
	lines     int
	syntax    *ast.File
	generated bool
}

// imports yields the import paths of the file with their lines.
func (f *sourceFile) imports(fset *token.FileSet) func(yield func(string, int) bool) {
	return func(yield func(string, int) bool) {
		for _, spec := range f.syntax.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err == nil && !yield(target, fset.Position(spec.Pos()).Line) {
				return
			}
		}
	}
}

// load parses every Go file of the module at the root of fsys. It leaves out
// what the go command leaves out: testdata, vendor, folders whose name starts
// with a dot or an underscore, and nested modules.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{fset: token.NewFileSet(), packages: map[string]*source{}}
	mod, err := readGoMod(fsys, "go.mod")
	if err != nil {
		return nil, err
	}
	if mod.module == "" {
		return nil, errors.New("read go.mod: no module line")
	}
	t.module, t.mod = mod.module, mod
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("walk the source tree: %w", err)
		}
		if entry.IsDir() {
			return t.enter(fsys, name)
		}
		if path.Ext(name) == ".go" {
			return t.add(fsys, name)
		}
		return nil
	})
	return t, err
}

func (t *tree) enter(fsys fs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	base := path.Base(dir)
	if base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, dir+"/go.mod"); err == nil {
		mod, err := readGoMod(fsys, dir+"/go.mod")
		if err != nil {
			return err
		}
		t.nested = append(t.nested, mod)
		return fs.SkipDir
	}
	return nil
}

func (t *tree) add(fsys fs.FS, name string) error {
	data, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed since the folder was read
	}
	if err != nil {
		return fmt.Errorf("read source file: %w", err)
	}
	syntax, err := parser.ParseFile(t.fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.broken = append(t.broken, Finding{Rule: "syntax", Path: name, Text: "does not parse: " + err.Error()})
		return nil
	}
	dir := path.Dir(name)
	pkg := t.packages[dir]
	if pkg == nil {
		pkg = &source{path: dir}
		t.packages[dir] = pkg
	}
	file := &sourceFile{
		path:      name,
		lines:     strings.Count(string(data), "\n"),
		syntax:    syntax,
		generated: ast.IsGenerated(syntax),
	}
	switch {
	case strings.HasSuffix(name, "_test.go"):
		pkg.tests = append(pkg.tests, file)
	case ignored(syntax):
		pkg.programs = append(pkg.programs, file)
	default:
		pkg.files = append(pkg.files, file)
	}
	return nil
}

// ignored reports whether a build line keeps the file out of every package.
func ignored(file *ast.File) bool {
	for _, group := range file.Comments {
		if group.Pos() >= file.Package {
			break
		}
		for _, comment := range group.List {
			if !constraint.IsGoBuild(comment.Text) {
				continue
			}
			expr, err := constraint.Parse(comment.Text)
			if err == nil && !expr.Eval(func(tag string) bool { return tag != "ignore" }) {
				return strings.Contains(comment.Text, "ignore")
			}
		}
	}
	return false
}

// local returns the path from the root of the module for an import path inside
// it.
func (t *tree) local(importPath string) (string, bool) {
	if importPath == t.module {
		return ".", true
	}
	return strings.CutPrefix(importPath, t.module+"/")
}
