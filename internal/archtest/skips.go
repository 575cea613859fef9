package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// What a test may be skipped for want of, none of which is missing where .ci/run
// has prepared the machine: the variable that names session files outside the
// repository, the one that asks for inputs that take long, the one that names a
// database server, the one that names Codex, a browser, and a terminal to run in.
var skipReasons = []string{"FORGE_CORPUS", "FORGE_SOAK", "FORGE_POSTGRES_DSN", "FORGE_CODEX_PATH", "chromium", "tmux"}

// checkSkips reports skipped tests that do not say which of these would run
// them. Inputs that a fuzz function or a property test passes over
// are no skipped tests.
func checkSkips(t *tree) []Finding {
	var found []Finding
	for _, pkg := range t.packages {
		for _, file := range pkg.tests {
			w := skipWalker{report: func(pos token.Pos) {
				found = append(found, Finding{Rule: "skip", Path: file.path, Line: t.fset.Position(pos).Line,
					Text: "a test is skipped only for want of " + strings.Join(skipReasons, " or ") + ", and says so in its message"})
			}}
			ast.Walk(w, file.syntax)
		}
	}
	return found
}

// A skipWalker knows which names stand for a *testing.T, B, F or a testing.TB
// where it is.
type skipWalker struct {
	report func(token.Pos)
	names  []string
}

func (w skipWalker) Visit(node ast.Node) ast.Visitor {
	switch n := node.(type) {
	case *ast.FuncDecl:
		return w.with(n.Type)
	case *ast.FuncLit:
		return w.with(n.Type)
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			return w
		}
		if sel.Sel.Name == "Fuzz" {
			return nil
		}
		name, ok := sel.X.(*ast.Ident)
		if ok && strings.HasPrefix(sel.Sel.Name, "Skip") && sel.Sel.Name != "Skipped" &&
			slices.Contains(w.names, name.Name) && !givesReason(n.Args) {
			w.report(n.Pos())
		}
	}
	return w
}

// with returns the walker for the body of a function.
func (w skipWalker) with(fn *ast.FuncType) skipWalker {
	w.names = slices.Clone(w.names)
	for _, param := range fn.Params.List {
		for _, name := range param.Names {
			w.names = slices.DeleteFunc(w.names, func(known string) bool { return known == name.Name })
			if isTesting(param.Type) {
				w.names = append(w.names, name.Name)
			}
		}
	}
	return w
}

func isTesting(t ast.Expr) bool {
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	sel, ok := t.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "testing"
}

func givesReason(args []ast.Expr) bool {
	for _, arg := range args {
		lit, ok := arg.(*ast.BasicLit)
		if ok && slices.ContainsFunc(skipReasons, func(reason string) bool { return strings.Contains(lit.Value, reason) }) {
			return true
		}
	}
	return false
}
