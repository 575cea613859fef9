package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// Folder and package names that say nothing about what is inside.
var emptyNames = []string{"util", "utils", "common", "core", "shared", "helper", "helpers", "misc", "base"}

// checkNames looks at the words: packages named after nothing, declarations
// called Service, "history" for the transcript, missing package comments, init
// functions and dot imports.
func checkNames(t *tree, p page) []Finding {
	var found []Finding
	for dir, pkg := range t.packages {
		if len(pkg.files) == 0 {
			continue
		}
		for name := range strings.SplitSeq(dir, "/") {
			if slices.Contains(emptyNames, name) {
				found = append(found, Finding{Rule: "empty-name", Path: dir,
					Text: "is named " + name + ": name it after its main noun"})
			}
		}
		documented := false
		for _, file := range pkg.files {
			documented = documented || file.syntax.Doc != nil
			if name := file.syntax.Name.Name; slices.Contains(emptyNames, name) && name != path.Base(dir) {
				found = append(found, Finding{Rule: "empty-name", Path: file.path,
					Text: "is in package " + name + ": name it after its main noun"})
			}
			found = append(found, t.checkWords(file, p.floor(dir))...)
		}
		if !documented {
			found = append(found, Finding{Rule: "package-comment", Path: dir,
				Text: "has no package comment: say what the package is and what it is not"})
		}
	}
	return found
}

func (t *tree) checkWords(file *sourceFile, floor int) []Finding {
	var found []Finding
	report := func(rule string, node ast.Node, text string) {
		found = append(found, Finding{Rule: rule, Path: file.path, Line: t.fset.Position(node.Pos()).Line, Text: text})
	}
	for _, spec := range file.syntax.Imports {
		if spec.Name != nil && spec.Name.Name == "." {
			report("dot-import", spec, "hides where a name comes from: import the package by its name")
		}
	}
	for _, decl := range file.syntax.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			report("init", fn, "func init runs before anyone asked: build the value on first use or pass it in")
		}
		for _, ident := range declared(decl) {
			switch {
			case strings.HasSuffix(ident.Name, "Service"):
				report("empty-name", ident, ident.Name+" says nothing: name it after what it does or holds")
			case floor != 0 && floor <= libraryFloor && ident.IsExported() && strings.Contains(ident.Name, "History"):
				report("other-word", ident, ident.Name+": the word is transcript, see docs/GLOSSARY.md")
			}
		}
	}
	return found
}

// declared lists the names that a top-level declaration introduces.
func declared(decl ast.Decl) []*ast.Ident {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		return []*ast.Ident{d.Name}
	case *ast.GenDecl:
		var names []*ast.Ident
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name)
			case *ast.ValueSpec:
				names = append(names, s.Names...)
			}
		}
		return names
	}
	return nil
}
