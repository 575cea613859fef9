package archtest

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const dependenciesPath = "docs/DEPENDENCIES.md"

// A goMod is what archtest needs to know of a go.mod file.
type goMod struct {
	path     string
	module   string
	requires []requirement
	tools    []string // package paths of tool lines
}

type requirement struct {
	module   string
	line     int
	indirect bool
}

// readGoMod reads the module, require and tool lines. It is not a full parser:
// the go command has already refused a malformed file.
func readGoMod(fsys fs.FS, path string) (goMod, error) {
	mod := goMod{path: path}
	data, err := fs.ReadFile(fsys, path)
	if err != nil {
		return mod, fmt.Errorf("read module file: %w", err)
	}
	block := ""
	for i, line := range strings.Split(string(data), "\n") {
		code, comment, _ := strings.Cut(line, "//")
		words := strings.Fields(code)
		switch {
		case len(words) == 0:
			continue
		case words[0] == ")":
			block = ""
			continue
		case len(words) == 2 && words[1] == "(":
			block = words[0]
			continue
		case block != "":
			words = append([]string{block}, words...)
		}
		if len(words) < 2 {
			continue
		}
		switch words[0] {
		case "module":
			mod.module = words[1]
		case "tool":
			mod.tools = append(mod.tools, words[1])
		case "require":
			mod.requires = append(mod.requires, requirement{
				module:   words[1],
				line:     i + 1,
				indirect: strings.TrimSpace(comment) == "indirect",
			})
		}
	}
	return mod, nil
}

// provider returns the required module that holds an import path.
func (m goMod) provider(importPath string) (string, bool) {
	best := ""
	for _, r := range m.requires {
		if (importPath == r.module || strings.HasPrefix(importPath, r.module+"/")) && len(r.module) > len(best) {
			best = r.module
		}
	}
	return best, best != ""
}

// direct returns the modules that this repository chose itself, each with the
// place that shows it: what the source or the tests import, what a tool line
// names, and what a go.mod requires without "// indirect".
func (t *tree) direct() map[string]Finding {
	chosen := map[string]Finding{}
	for _, pkg := range t.packages {
		for _, file := range slices.Concat(pkg.files, pkg.tests, pkg.programs) {
			for target, line := range file.imports(t.fset) {
				if module, ok := t.mod.provider(target); ok {
					chosen[module] = Finding{Path: file.path, Line: line}
				}
			}
		}
	}
	for _, mod := range append([]goMod{t.mod}, t.nested...) {
		for _, tool := range mod.tools {
			if module, ok := mod.provider(tool); ok {
				chosen[module] = Finding{Path: mod.path}
			}
		}
		for _, r := range mod.requires {
			own := r.module == t.module || strings.HasPrefix(r.module, t.module+"/")
			if !r.indirect && !own {
				chosen[r.module] = Finding{Path: mod.path, Line: r.line}
			}
		}
	}
	return chosen
}

var dependencyLine = regexp.MustCompile("^\\| `([^`]+)` \\| ([^|]+) \\| ([^|]+) \\|$")

// checkDependencies holds docs/DEPENDENCIES.md to one line for each module that
// was chosen: name, licence and reason.
func checkDependencies(fsys fs.FS, t *tree) []Finding {
	data, err := fs.ReadFile(fsys, dependenciesPath)
	if err != nil {
		return []Finding{{Rule: "dependency", Path: dependenciesPath, Text: "cannot be read: " + err.Error()}}
	}
	var found []Finding
	lines := map[string]int{}
	for i, line := range strings.Split(string(data), "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		m := dependencyLine.FindStringSubmatch(line)
		switch {
		case m == nil:
			found = append(found, Finding{Rule: "dependency", Path: dependenciesPath, Line: i + 1,
				Text: "write \"| `module` | licence | why it and not another |\""})
		case lines[m[1]] != 0:
			found = append(found, Finding{Rule: "dependency", Path: dependenciesPath, Line: i + 1,
				Text: m[1] + " is listed twice"})
		default:
			lines[m[1]] = i + 1
		}
	}
	chosen := t.direct()
	for _, module := range slices.Sorted(maps.Keys(chosen)) {
		if lines[module] == 0 {
			place := chosen[module]
			found = append(found, Finding{Rule: "dependency", Path: place.Path, Line: place.Line,
				Text: "uses " + module + ", which has no line in " + dependenciesPath + ": say why it and not another, and its licence"})
		}
	}
	for _, module := range slices.Sorted(maps.Keys(lines)) {
		if _, ok := chosen[module]; !ok {
			found = append(found, Finding{Rule: "dependency", Path: dependenciesPath, Line: lines[module],
				Text: module + " is not used directly any more: remove the line"})
		}
	}
	return found
}
