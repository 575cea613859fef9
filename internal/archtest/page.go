package archtest

import (
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

const pagePath = "docs/ARCHITECTURE.md"

// A listed package is one line of the package list.
type listed struct {
	path    string // from the root of the module, no trailing slash
	floor   int
	order   int // position in the list, from 0
	line    int // in the page
	folder  bool
	planned bool
}

// A page is the package list of docs/ARCHITECTURE.md.
type page struct {
	packages map[string]listed
}

var (
	floorHeading = regexp.MustCompile("^### Floor ([0-9]+): .+$")
	packageLine  = regexp.MustCompile("^( *)- `([a-z0-9/_-]+)`: (.+)$")
)

// readPage reads the sections "## Packages" and "## Planned". Inside them only
// floor headings, package lines, plain paragraphs and blank lines may stand.
func readPage(fsys fs.FS) (page, []Finding) {
	p := page{packages: map[string]listed{}}
	data, err := fs.ReadFile(fsys, pagePath)
	if err != nil {
		return p, []Finding{{Rule: "package-list", Path: pagePath, Text: "cannot be read: " + err.Error()}}
	}
	r := pageReader{page: p}
	for i, line := range strings.Split(string(data), "\n") {
		r.read(i+1, strings.TrimRight(line, " \r"))
	}
	if len(p.packages) == 0 {
		r.report(0, "lists no package: write them under \"## Packages\"")
	}
	return p, r.found
}

// A pageReader is the state between the lines of the page.
type pageReader struct {
	page    page
	found   []Finding
	section string
	floor   int
	parent  string // last line without indent
}

func (r *pageReader) report(line int, text string) {
	r.found = append(r.found, Finding{Rule: "package-list", Path: pagePath, Line: line, Text: text})
}

func (r *pageReader) read(n int, line string) {
	if title, ok := strings.CutPrefix(line, "## "); ok {
		r.section, r.floor, r.parent = title, 0, ""
		return
	}
	if r.section != "Packages" && r.section != "Planned" {
		return
	}
	if m := floorHeading.FindStringSubmatch(line); m != nil {
		floor, _ := strconv.Atoi(m[1]) // digits only; an absurd value is out of order below
		if floor <= r.floor || floor > applicationFloor {
			r.report(n, "floors go upward from 1 to "+strconv.Itoa(applicationFloor))
		}
		r.floor, r.parent = floor, ""
		return
	}
	if !strings.HasPrefix(strings.TrimLeft(line, " "), "- ") {
		return
	}
	m := packageLine.FindStringSubmatch(line)
	if m == nil {
		r.report(n, "not a package line: write \"- `path`: purpose\"")
		return
	}
	r.add(n, len(m[1]) > 0, m[2])
}

func (r *pageReader) add(n int, indented bool, path string) {
	pkg := listed{
		path:    strings.TrimSuffix(path, "/"),
		folder:  strings.HasSuffix(path, "/"),
		floor:   r.floor,
		order:   len(r.page.packages),
		line:    n,
		planned: r.section == "Planned",
	}
	switch {
	case r.floor == 0:
		r.report(n, pkg.path+" stands before the first floor heading")
	case isApplication(pkg.path) != (pkg.floor == applicationFloor):
		r.report(n, pkg.path+" is on the wrong floor: internal/, cmd/ and examples/ are floor 5, all else is below it")
	case indented && !strings.HasPrefix(pkg.path, r.parent+"/"):
		r.report(n, pkg.path+" is indented but is not inside "+r.parent)
	case !indented && r.parent != "" && strings.HasPrefix(pkg.path, r.parent+"/"):
		r.report(n, pkg.path+" is inside "+r.parent+": indent it")
	}
	if first, twice := r.page.packages[pkg.path]; twice {
		r.report(n, pkg.path+" is listed twice, first on line "+strconv.Itoa(first.line))
		return
	}
	if !indented {
		r.parent = pkg.path
	}
	r.page.packages[pkg.path] = pkg
}

func isApplication(path string) bool {
	top, _, _ := strings.Cut(path, "/")
	return top == "internal" || top == "cmd" || top == "examples"
}

// floor returns the floor of the package, or zero when it is not listed.
func (p page) floor(path string) int { return p.packages[path].floor }
