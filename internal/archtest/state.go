package archtest

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// What a package of the library may not read: everything it depends on is
// passed in, so that the same input gives the same bytes on every machine.
var ambient = map[string][]string{
	"os":            {"Args", "Environ", "ExpandEnv", "Getenv", "Getwd", "Hostname", "LookupEnv", "TempDir", "UserCacheDir", "UserConfigDir", "UserHomeDir"},
	"syscall":       {"Environ", "Getenv", "Getwd"},
	"path/filepath": {"Abs"},
	"time":          {"Now", "Since", "Until"},
}

// Sources of randomness, forbidden in the library as imports.
var random = []string{"crypto/rand", "math/rand", "math/rand/v2", "hash/maphash"}

// checkState looks for state that is not passed in: package variables that
// change, exported variables, and reads of clock, environment and randomness.
// The library (floors 1 to 3) is held to all of it; floor 4 may take a clock or
// randomness as a default and make a path absolute, but still reads no
// environment and has no changing globals. A program (package main) is where ambient things are read.
func checkState(t *tree, p page) []Finding {
	var found []Finding
	for _, dir := range slices.Sorted(maps.Keys(t.packages)) {
		floor := p.floor(dir)
		if floor == 0 || floor > publicFloor || len(t.packages[dir].files) == 0 {
			continue
		}
		c := stateCheck{tree: t, floor: floor}
		c.resolve(dir, t.packages[dir].files)
		for _, file := range t.packages[dir].files {
			c.file = file
			c.checkFile()
		}
		found = append(found, c.found...)
	}
	return found
}

type stateCheck struct {
	tree  *tree
	floor int
	file  *sourceFile
	pkg   *types.Package
	uses  map[*ast.Ident]types.Object
	found []Finding
}

func (c *stateCheck) report(rule string, pos token.Pos, text string) {
	c.found = append(c.found, Finding{Rule: rule, Path: c.file.path, Line: c.tree.fset.Position(pos).Line, Text: text})
}

// resolve finds out what each name in the package refers to. Imports are not
// loaded: their members stay unknown, which is enough here and keeps the check
// free of a build.
func (c *stateCheck) resolve(dir string, files []*sourceFile) {
	syntax := make([]*ast.File, len(files))
	for i, file := range files {
		syntax[i] = file.syntax
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{
		Importer: noImporter{},
		Error:    func(error) {}, // unknown imports; real type errors are the compiler's to report
	}
	c.pkg, _ = config.Check(dir, c.tree.fset, syntax, info)
	c.uses = info.Uses
}

type noImporter struct{}

func (noImporter) Import(string) (*types.Package, error) { return nil, errors.New("not loaded") }

func (c *stateCheck) checkFile() {
	if c.floor <= libraryFloor {
		for target, line := range c.file.imports(c.tree.fset) {
			if slices.Contains(random, target) {
				c.found = append(c.found, Finding{Rule: "ambient", Path: c.file.path, Line: line,
					Text: target + " is randomness of its own: take the value or a source as a parameter"})
			}
		}
	}
	for _, decl := range c.file.syntax.Decls {
		switch d := decl.(type) {
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				c.checkVariables(d)
			}
		case *ast.FuncDecl:
			if d.Body != nil {
				c.checkWrites(d.Body)
			}
		}
	}
	ast.Inspect(c.file.syntax, func(node ast.Node) bool {
		if sel, ok := node.(*ast.SelectorExpr); ok {
			c.checkAmbient(sel)
		}
		return true
	})
}

func (c *stateCheck) checkAmbient(sel *ast.SelectorExpr) {
	imported := c.importOf(sel.X)
	switch {
	case !slices.Contains(ambient[imported], sel.Sel.Name),
		c.file.syntax.Name.Name == "main",
		c.floor > libraryFloor && (imported == "time" || imported == "path/filepath"):
		return
	}
	c.report("ambient", sel.Pos(), imported+"."+sel.Sel.Name+" reads what was not passed in: make it a parameter or an option")
}

// importOf returns the import path that an expression names, or "".
func (c *stateCheck) importOf(x ast.Expr) string {
	ident, ok := x.(*ast.Ident)
	if !ok {
		return ""
	}
	name, ok := c.uses[ident].(*types.PkgName)
	if !ok {
		return ""
	}
	return name.Imported().Path()
}

// checkVariables looks at package-level variables: exported ones other than
// error values, and types that only make sense for state that changes.
func (c *stateCheck) checkVariables(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for _, name := range value.Names {
			if name.IsExported() && !strings.HasPrefix(name.Name, "Err") {
				c.report("exported-variable", name.Pos(), name.Name+" can be changed by any importer: make it a constant or a function that returns it")
			}
		}
		if value.Type != nil {
			c.checkMutableType(value.Names[0], value.Type)
		}
		for _, part := range value.Values {
			c.checkMutableType(value.Names[0], part)
			c.checkWrites(part)
		}
	}
}

func (c *stateCheck) checkMutableType(name *ast.Ident, part ast.Expr) {
	ast.Inspect(part, func(node ast.Node) bool {
		if _, ok := node.(*ast.FuncLit); ok {
			return false // what a function makes for itself is not package state
		}
		sel, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch imported := c.importOf(sel.X); {
		case imported == "sync" && slices.Contains([]string{"Map", "Mutex", "RWMutex", "WaitGroup"}, sel.Sel.Name),
			imported == "sync/atomic":
			c.report("global-state", name.Pos(), name.Name+" is state of the whole process: put it into a value that its user makes")
		}
		return true
	})
}

// checkWrites looks for code that changes a variable of the package.
func (c *stateCheck) checkWrites(code ast.Node) {
	ast.Inspect(code, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, left := range n.Lhs {
					c.checkWrite(left)
				}
			}
		case *ast.IncDecStmt:
			c.checkWrite(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				c.checkWrite(n.Key)
				c.checkWrite(n.Value)
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 0 && (fn.Name == "delete" || fn.Name == "clear" || fn.Name == "copy") {
				c.checkWrite(n.Args[0])
			}
		}
		return true
	})
}

func (c *stateCheck) checkWrite(target ast.Expr) {
	for {
		switch x := target.(type) {
		case *ast.ParenExpr:
			target = x.X
		case *ast.IndexExpr:
			target = x.X
		case *ast.SliceExpr:
			target = x.X
		case *ast.StarExpr:
			target = x.X
		case *ast.SelectorExpr:
			target = x.X
		case *ast.Ident:
			if v, ok := c.uses[x].(*types.Var); ok && c.pkg != nil && v.Parent() == c.pkg.Scope() {
				c.report("global-state", x.Pos(), x.Name+" is a package variable and is changed here: put it into a value that its user makes")
			}
			return
		default:
			return
		}
	}
}
