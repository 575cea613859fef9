package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	requirementsPath = "docs/REQUIREMENTS.md"
	decisionsPath    = "docs/decisions"
	fixturesPath     = "internal/archtest/testdata"
)

// A Requirement is one line of docs/REQUIREMENTS.md.
type Requirement struct {
	// ID is, for example, "F-BUD-03", "P-RET-02", "C7", "B27" or "weak spot 5".
	ID string
	// Text is the requirement in words.
	Text string
	// Line is the line in the page.
	Line int
	// Decision is set where a page in docs/decisions may stand in for a test.
	Decision bool
}

var (
	requirementLine = regexp.MustCompile(`^- \*\*([^*]+)\*\*( \(decision\))?: (.+)$`)
	wholeID         = regexp.MustCompile(`^(?:[FP]-[A-Z0-9]{2,4}-(?:[0-9]{1,2}|[A-E])|[BC][1-9][0-9]?|weak spot [1-9][0-9]?)$`)

	longID    = regexp.MustCompile(`\b[FP]-[A-Z0-9]{2,4}-(?:[0-9]{1,2}|[A-E])\b`)
	shortID   = regexp.MustCompile(`\b[BC][1-9][0-9]?\b`)
	weakSpots = regexp.MustCompile(`\b[Ww]eak spots? ([1-9][0-9]?(?:(?:, | and |, and )[1-9][0-9]?)*)\b`)
	number    = regexp.MustCompile(`[0-9]+`)
)

// Requirements reads docs/REQUIREMENTS.md in the order of the page.
func Requirements(fsys fs.FS) ([]Requirement, error) {
	reqs, found := readRequirements(fsys)
	if len(found) > 0 {
		return nil, fmt.Errorf("read requirements: %s", found[0])
	}
	return reqs, nil
}

func readRequirements(fsys fs.FS) ([]Requirement, []Finding) {
	data, err := fs.ReadFile(fsys, requirementsPath)
	if err != nil {
		return nil, []Finding{{Rule: "requirement", Path: requirementsPath, Text: "cannot be read: " + err.Error()}}
	}
	var reqs []Requirement
	var found []Finding
	seen := map[string]int{}
	for i, line := range strings.Split(string(data), "\n") {
		if !strings.HasPrefix(line, "- **") {
			continue
		}
		report := func(text string) {
			found = append(found, Finding{Rule: "requirement", Path: requirementsPath, Line: i + 1, Text: text})
		}
		m := requirementLine.FindStringSubmatch(line)
		switch {
		case m == nil || !wholeID.MatchString(m[1]):
			report("write \"- **ID**: what must hold\"")
		case seen[m[1]] != 0:
			report(fmt.Sprintf("%s stands on line %d already", m[1], seen[m[1]]))
		default:
			seen[m[1]] = i + 1
			reqs = append(reqs, Requirement{ID: m[1], Text: m[3], Line: i + 1, Decision: m[2] != ""})
		}
	}
	return reqs, found
}

// checkRequirements reports IDs that a test names and the page lacks, and
// requirements marked "(decision)" that no decision page names.
func checkRequirements(fsys fs.FS, reqs []Requirement) []Finding {
	var found []Finding
	known := map[string]bool{}
	for _, r := range reqs {
		known[r.ID] = true
	}
	tests, err := Named(fsys)
	if err != nil {
		return []Finding{{Rule: "requirement", Path: ".", Text: err.Error()}}
	}
	for id, places := range tests {
		if known[id] {
			continue
		}
		for _, place := range places {
			found = append(found, Finding{Rule: "requirement", Path: place.Path, Line: place.Line,
				Text: id + " is not in " + requirementsPath + ": correct the ID"})
		}
	}
	pages, err := Decided(fsys)
	if err != nil {
		return append(found, Finding{Rule: "requirement", Path: decisionsPath, Text: err.Error()})
	}
	for _, r := range reqs {
		if r.Decision && len(pages[r.ID]) == 0 {
			found = append(found, Finding{Rule: "requirement", Path: requirementsPath, Line: r.Line,
				Text: r.ID + " is marked (decision), but no page in " + decisionsPath + " names it"})
		}
	}
	for id, places := range pages {
		if !known[id] {
			found = append(found, Finding{Rule: "requirement", Path: places[0].Path, Line: places[0].Line,
				Text: id + " is not in " + requirementsPath + ": correct the ID"})
		}
	}
	return found
}

// A Place is a line of a file.
type Place struct {
	Path string
	Line int
}

// Named returns, for each requirement ID that a test names, the places where
// it stands. A test names an ID in a comment, in a string, or, with
// underscores for hyphens, in the name of a function; a script or a golden
// file (.txtar) names it in the comment before its first file. IDs are spelled
// out, so that searching for one finds its tests: "F-BUD-01..03" names only the
// first. The short ones, B27 and C7, count in comments, in function names and
// in the names of subtests, since they can mean something else elsewhere.
func Named(fsys fs.FS) (map[string][]Place, error) {
	named := map[string][]Place{}
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("walk the tests: %w", err)
		}
		if entry.IsDir() {
			base := path.Base(name)
			if name == fixturesPath || base != "." && strings.HasPrefix(base, ".") {
				return fs.SkipDir
			}
			return nil
		}
		test, script := strings.HasSuffix(name, "_test.go"), path.Ext(name) == ".txtar"
		if !test && !script {
			return nil
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil // removed since the folder was read; the go command reports the rest
		}
		if test {
			nameInTest(named, name, data)
		} else {
			comment, _, _ := strings.Cut("\n"+string(data), "\n-- ")
			nameInText(named, name, 0, comment, true)
		}
		return nil
	})
	return named, err
}

func nameInTest(named map[string][]Place, name string, data []byte) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return // reported as syntax
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			nameInText(named, name, fset.Position(comment.Pos()).Line, comment.Text, true)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncDecl:
			line := fset.Position(n.Pos()).Line
			nameInText(named, name, line, strings.ReplaceAll(n.Name.Name, "_", "-"), false)
			for part := range strings.SplitSeq(n.Name.Name, "_") {
				if shortID.FindString(part) == part && part != "" {
					add(named, part, Place{name, line})
				}
			}
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			if ok && sel.Sel.Name == "Run" && len(n.Args) == 2 {
				if lit, ok := n.Args[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					nameInText(named, name, fset.Position(lit.Pos()).Line, lit.Value, true)
				}
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				nameInText(named, name, fset.Position(n.Pos()).Line, n.Value, false)
			}
		}
		return true
	})
}

// nameInText adds the IDs in a text whose first line is the given one. The
// short IDs count only where the text is prose about the test.
func nameInText(named map[string][]Place, path string, line int, text string, prose bool) {
	for part := range strings.SplitSeq(text, "\n") {
		for _, id := range longID.FindAllString(part, -1) {
			add(named, id, Place{path, line})
		}
		if prose {
			for _, id := range shortID.FindAllString(part, -1) {
				add(named, id, Place{path, line})
			}
		}
		for _, m := range weakSpots.FindAllStringSubmatch(part, -1) {
			for _, n := range number.FindAllString(m[1], -1) {
				add(named, "weak spot "+n, Place{path, line})
			}
		}
		line++
	}
}

func add(named map[string][]Place, id string, place Place) {
	if !slices.Contains(named[id], place) {
		named[id] = append(named[id], place)
	}
}

// Decided returns, for each requirement ID that a numbered page in
// docs/decisions names, the places where it stands.
func Decided(fsys fs.FS) (map[string][]Place, error) {
	pages, err := fs.Glob(fsys, decisionsPath+"/[0-9]*.md")
	if err != nil {
		return nil, fmt.Errorf("list decision pages: %w", err)
	}
	named := map[string][]Place{}
	for _, name := range pages {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("read decision page: %w", err)
		}
		nameInText(named, name, 1, string(data), true)
	}
	return named, nil
}

// Report says in plain text which requirements a test names, which a decision
// page closes and which are open, group by group.
func Report(fsys fs.FS) (string, error) {
	reqs, err := Requirements(fsys)
	if err != nil {
		return "", err
	}
	tests, err := Named(fsys)
	if err != nil {
		return "", err
	}
	pages, err := Decided(fsys)
	if err != nil {
		return "", err
	}
	var tested, decided, open bytes.Buffer
	counts := [3]int{}
	for _, r := range reqs {
		switch {
		case len(tests[r.ID]) > 0:
			counts[0]++
			fmt.Fprintf(&tested, "  %-12s %s\n", r.ID, places(tests[r.ID]))
		case r.Decision && len(pages[r.ID]) > 0:
			counts[1]++
			fmt.Fprintf(&decided, "  %-12s %s\n", r.ID, places(pages[r.ID]))
		default:
			counts[2]++
			fmt.Fprintf(&open, "  %-12s %s\n", r.ID, r.Text)
		}
	}
	return fmt.Sprintf("Named by a test:\n%s\nClosed by a decision page:\n%s\nOpen:\n%s\n%d of %d requirements are named by a test, %d are closed by a decision page, %d are open.\n",
		&tested, &decided, &open, counts[0], len(reqs), counts[1], counts[2]), nil
}

// places names the first place and how many more there are.
func places(list []Place) string {
	first := list[0].Path + ":" + strconv.Itoa(list[0].Line)
	if len(list) == 1 {
		return first
	}
	return fmt.Sprintf("%s and %d more", first, len(list)-1)
}
