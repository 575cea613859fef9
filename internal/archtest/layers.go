package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkList compares the page with the folders: each package is listed, each
// listed one is there, and each planned one is not there yet.
func checkList(t *tree, p page) []Finding {
	var found []Finding
	for _, path := range slices.Sorted(maps.Keys(t.packages)) {
		pkg := t.packages[path]
		if len(pkg.files) == 0 {
			continue // only tests, or only programs of their own
		}
		entry, ok := p.packages[path]
		switch {
		case !ok:
			found = append(found, Finding{Rule: "package-list", Path: path,
				Text: "is not listed in " + pagePath + ": add it above everything that imports it and below everything it imports"})
		case entry.planned:
			found = append(found, Finding{Rule: "package-list", Path: pagePath, Line: entry.line,
				Text: path + " exists: move its line from Planned to its floor"})
		case entry.folder:
			found = append(found, Finding{Rule: "package-list", Path: pagePath, Line: entry.line,
				Text: path + " holds a package of its own: write it without the slash"})
		}
	}
	for _, entry := range p.packages {
		if entry.planned {
			continue
		}
		if entry.folder && !t.holdsPackage(entry.path) || !entry.folder && !t.isPackage(entry.path) {
			found = append(found, Finding{Rule: "package-list", Path: pagePath, Line: entry.line,
				Text: entry.path + " does not exist: remove its line or move it to Planned"})
		}
	}
	return found
}

func (t *tree) isPackage(path string) bool {
	pkg := t.packages[path]
	return pkg != nil && len(pkg.files) > 0
}

func (t *tree) holdsPackage(folder string) bool {
	for path := range t.packages {
		if strings.HasPrefix(path, folder+"/") && t.isPackage(path) {
			return true
		}
	}
	return false
}

// checkImports lets a package import only what is listed above it, and keeps
// foreign modules out of the library. Tests are free: an external test may
// use any package that does not make a cycle.
func checkImports(t *tree, p page) []Finding {
	var found []Finding
	for path, pkg := range t.packages {
		entry, ok := p.packages[path]
		if !ok {
			continue // already reported as unlisted
		}
		for _, file := range pkg.files {
			for target, line := range file.imports(t.fset) {
				report := func(rule, text string) {
					found = append(found, Finding{Rule: rule, Path: file.path, Line: line, Text: text})
				}
				if local, inside := t.local(target); inside {
					if text := upward(p, entry, local); text != "" {
						report("upward-import", text)
					}
					continue
				}
				if entry.floor <= libraryFloor && !allowedInLibrary(target) {
					report("foreign-import", fmt.Sprintf(
						"%s is on floor %d, where only the standard library and golang.org/x may be imported, not %s",
						path, entry.floor, target))
				}
			}
		}
	}
	return found
}

// upward says why a package may not import another one of the module, or "".
// A target that is not listed at its place is checkList's to report.
func upward(p page, from listed, to string) string {
	target, ok := p.packages[to]
	if !ok || target.planned || target.order < from.order {
		return ""
	}
	return fmt.Sprintf("%s is listed below %s: a package imports only what is listed above it", to, from.path)
}

func allowedInLibrary(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	if importPath == "C" {
		return false
	}
	return !strings.Contains(first, ".") || strings.HasPrefix(importPath, "golang.org/x/")
}
