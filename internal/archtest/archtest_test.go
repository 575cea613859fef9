package archtest_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/internal/archtest"
)

var update = flag.Bool("update", false, "rewrite the expected findings in testdata")

// The repository keeps its own rules: layers and ownership (F-PKG-01,
// F-PKG-02, F-PKG-03, F-PKG-04, F-PKG-05, F-PKG-06), listed packages, words,
// sizes, state, dependencies and requirement IDs.
func TestRepository(t *testing.T) {
	found, err := archtest.Check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

const wantFile = "want.txt"

// Each archive is a small repository and, in want.txt, what archtest says of
// it. A rule without an archive in which it fires would be a rule that cannot
// fail.
func TestFixtures(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	fired := map[string]bool{}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found, err := archtest.Check(archiveFS(archive))
			if err != nil {
				t.Fatal(err)
			}
			var lines strings.Builder
			for _, f := range found {
				fired[f.Rule] = true
				lines.WriteString(f.String() + "\n")
			}
			if *update {
				setFile(archive, wantFile, lines.String())
				if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(file(archive, wantFile), lines.String()); diff != "" {
				t.Errorf("findings differ (-want +got), -update rewrites them:\n%s", diff)
			}
		})
	}
	for _, rule := range rules {
		if !fired[rule] {
			t.Errorf("no archive in testdata makes the rule %s fire", rule)
		}
	}
	for rule := range fired {
		if !slices.Contains(rules, rule) {
			t.Errorf("rule %s is not in the list of this test: add it", rule)
		}
	}
}

var rules = []string{
	"ambient", "dependency", "dot-import", "empty-name", "exported-variable", "foreign-import", "global-state",
	"init", "other-word", "package-comment", "package-list", "requirement", "size", "skip", "syntax", "upward-import",
}

// The archive "clean" has no findings; each line of this table makes one edit
// to it that a single rule must notice.
func TestOneEdit(t *testing.T) {
	clean, err := txtar.ParseFile("testdata/clean.txtar")
	if err != nil {
		t.Fatal(err)
	}
	const aboveSize = 401
	tests := []struct {
		name, path, old, new string
		want                 string // rule
	}{
		{"file of 400 lines", "message/message.go", "type Message struct{}\n", "type Message struct{}\n" + strings.Repeat("\n", 400-5), ""},
		{"file of 401 lines", "message/message.go", "type Message struct{}\n", "type Message struct{}\n" + strings.Repeat("\n", aboveSize-5), "size"},
		{"function of 80 lines", "message/message.go", "type Message struct{}\n", "func F() {\n" + strings.Repeat("\n", 78) + "}\n", ""},
		{"function of 81 lines", "message/message.go", "type Message struct{}\n", "func F() {\n" + strings.Repeat("\n", 79) + "}\n", "size"},
		{"import of the floor above", "message/message.go", "package message\n", "package message\n\nimport _ \"example.com/m/internal/app\"\n", "upward-import"},
		{"import of the next package", "message/message.go", "package message\n", "package message\n\nimport _ \"example.com/m/budget\"\n", "upward-import"},
		{"foreign import", "message/message.go", "package message\n", "package message\n\nimport _ \"example.org/x\"\n", "foreign-import"},
		{"golang.org/x import", "message/message.go", "package message\n", "package message\n\nimport _ \"golang.org/x/text/unicode/norm\"\n", ""},
		{"test imports anything", "message/message_test.go", "import", "import _ \"example.com/m/internal/app\"\nimport", ""},
		{"unlisted", "docs/ARCHITECTURE.md", "- `message`: Messages.\n", "", "package-list"},
		{"missing", "docs/ARCHITECTURE.md", "- `budget`: Arithmetic.\n", "- `budget`: Arithmetic.\n- `absent`: Nothing.\n", "package-list"},
		{"planned exists", "docs/ARCHITECTURE.md", "- `later`: Not yet.", "- `later`: Not yet.\n- `budget/sub`: Not yet.", ""},
		{"local variable shadows", "message/message.go", "type Message struct{}", "var table = map[string]int{}\n\nfunc F() { table := map[string]int{}; table[\"a\"] = 1 }", ""},
		{"table is written", "message/message.go", "type Message struct{}", "var table = map[string]int{}\n\nfunc F() { table[\"a\"] = 1 }", "global-state"},
		{"clock", "message/message.go", "package message\n", "package message\n\nimport \"time\"\n\nfunc F() time.Time { return time.Now() }\n", "ambient"},
		{"clock under another name", "message/message.go", "package message\n", "package message\n\nimport c \"time\"\n\nfunc F() any { return c.Now }\n", "ambient"},
		{"duration", "message/message.go", "package message\n", "package message\n\nimport \"time\"\n\nconst D = time.Second\n", ""},
		{"dependency without a line", "docs/DEPENDENCIES.md", "| `example.org/x` | MIT | Why. |\n", "", "dependency"},
		{"dependency line without use", "golang/golang.go", "import _ \"golang.org/x/text/unicode/norm\"", "", "dependency"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := file(clean, test.path)
			if !strings.Contains(text, test.old) {
				t.Fatalf("%s does not contain %q", test.path, test.old)
			}
			tree := archiveFS(clean)
			tree[test.path] = &fstest.MapFile{Data: []byte(strings.Replace(text, test.old, test.new, 1))}
			found, err := archtest.Check(tree)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, f.Rule)
			}
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			if !slices.Equal(got, want) {
				t.Errorf("rules that fired: %v, want %v\n%v", got, want, found)
			}
		})
	}
}

// An exception holds exactly the size that is excepted: it may shrink, not
// grow, and goes when it is not needed.
func TestExceptionsOnlyShrink(t *testing.T) {
	const list = "internal/archtest/exceptions.txt"
	clean, err := txtar.ParseFile("testdata/clean.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name       string
		lines      int
		exceptions string
		want       string
	}{
		{"exact", 90, "# why\n\nmessage/message.go:F 90\n", ""},
		{"grew", 91, "message/message.go:F 90\n", "message/message.go:5: size: F grew from 90 to 91 lines: an exception may only shrink"},
		{"shrank", 89, "message/message.go:F 90\n", list + ":1: size: message/message.go:F shrank to 89 lines: write that number"},
		{"not needed", 80, "message/message.go:F 90\n", list + ":1: size: message/message.go:F needs no exception any more: remove the line"},
		{"malformed", 80, "message/message.go:F\n", list + ":1: size: write each exception once, as PATH[:FUNCTION] LINES"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree := archiveFS(clean)
			source := strings.Replace(file(clean, "message/message.go"), "type Message struct{}\n",
				"func F() {\n"+strings.Repeat("\n", test.lines-2)+"}\n", 1)
			tree["message/message.go"] = &fstest.MapFile{Data: []byte(source)}
			tree[list] = &fstest.MapFile{Data: []byte(test.exceptions)}
			found, err := archtest.Check(tree)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range found {
				got += f.String()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestCheckNeedsAModule(t *testing.T) {
	for name, tree := range map[string]fs.FS{
		"no go.mod":      fstest.MapFS{},
		"no module line": fstest.MapFS{"go.mod": &fstest.MapFile{Data: []byte("go 1.26\n")}},
	} {
		if _, err := archtest.Check(tree); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestReport(t *testing.T) {
	const path, reportFile = "testdata/clean.txtar", "report.txt"
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := archtest.Report(archiveFS(archive))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		setFile(archive, reportFile, got)
		if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(file(archive, reportFile), got); diff != "" {
		t.Errorf("report differs (-want +got), -update rewrites it:\n%s", diff)
	}
}

func archiveFS(archive *txtar.Archive) fstest.MapFS {
	tree := fstest.MapFS{}
	for _, f := range archive.Files {
		tree[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	return tree
}

func file(archive *txtar.Archive, name string) string {
	for _, f := range archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func setFile(archive *txtar.Archive, name, text string) {
	for i := range archive.Files {
		if archive.Files[i].Name == name {
			archive.Files[i].Data = []byte(text)
			return
		}
	}
	archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
}
