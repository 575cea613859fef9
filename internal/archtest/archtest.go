// Package archtest reads the repository the way a strict reviewer would and
// reports where the source leaves the rules that docs/ARCHITECTURE.md,
// docs/DEPENDENCIES.md and docs/REQUIREMENTS.md state. Its own test runs every
// rule over the repository, so a rule that is only prose cannot drift.
//
// It is not a linter for taste: gofmt, go vet and staticcheck do that. It
// needs no build, so it also reports on a package that does not compile, and
// it works on any [fs.FS], so that each rule is tested on small made-up trees.
package archtest

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
)

// Floors of docs/ARCHITECTURE.md. Floors 1 to libraryFloor are the library,
// floors up to publicFloor can be imported from outside, the application above
// them cannot.
const (
	libraryFloor     = 3
	publicFloor      = 4
	applicationFloor = 5
)

// A Finding is one place that breaks one rule.
type Finding struct {
	// Rule is the short name of the rule, for example "upward-import".
	Rule string
	// Path is the slash-separated path of the file or folder from the root of
	// the repository.
	Path string
	// Line is the line in the file, zero where the finding is about the whole.
	Line int
	// Text says what is wrong and what to do about it.
	Text string
}

// String formats the finding like a compiler message.
func (f Finding) String() string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d: %s: %s", f.Path, f.Line, f.Rule, f.Text)
	}
	return fmt.Sprintf("%s: %s: %s", f.Path, f.Rule, f.Text)
}

// Check applies every rule to the repository whose root is fsys and returns
// what it found, sorted by path, line and rule. The error is not nil when
// fsys cannot be read or go.mod names no module; source that does not parse is
// a finding.
func Check(fsys fs.FS) ([]Finding, error) {
	tree, err := load(fsys)
	if err != nil {
		return nil, err
	}
	page, found := readPage(fsys)
	found = append(found, tree.broken...)
	found = append(found, checkList(tree, page)...)
	found = append(found, checkImports(tree, page)...)
	found = append(found, checkNames(tree, page)...)
	found = append(found, checkState(tree, page)...)
	found = append(found, checkSizes(fsys, tree)...)
	found = append(found, checkSkips(tree)...)
	found = append(found, checkDependencies(fsys, tree)...)
	reqs, reqsFound := readRequirements(fsys)
	found = append(found, reqsFound...)
	found = append(found, checkRequirements(fsys, reqs)...)
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(found), nil
}
