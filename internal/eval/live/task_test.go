package live_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/forge-agent/forge/internal/eval/live"
)

func tasks(t *testing.T) []*live.Task {
	t.Helper()
	all, err := live.Tasks()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// workspace is the repository of a task as an agent finds it.
func workspace(t *testing.T, task *live.Task) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range task.Repo {
		put(t, dir, name, text)
	}
	return dir
}

func solve(t *testing.T, task *live.Task, dir string) {
	t.Helper()
	a, err := txtar.ParseFile("testdata/solutions/" + task.Name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		put(t, dir, f.Name, string(f.Data))
	}
}

func grade(t *testing.T, task *live.Task, dir, scratch string) live.Grade {
	t.Helper()
	g, err := task.Grade(t.Context(), dir, scratch, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// runnable reports whether what a task needs is installed here. Go is.
func runnable(t *testing.T, task *live.Task) bool {
	t.Helper()
	for _, name := range live.Programs([]*live.Task{task}) {
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("%s is not tried here: %v", task.Name, err)
			return false
		}
	}
	return true
}

// The parts share what the checks compile.
func TestGrader(t *testing.T) {
	scratch := t.TempDir()
	t.Run("tasks", func(t *testing.T) { testTasks(t, scratch) })
	t.Run("out of reach", func(t *testing.T) { testOutOfReach(t, scratch) })
	t.Run("files only", func(t *testing.T) { testFilesOnly(t, scratch) })
}

// Issue behaviour 6: there are at least six tasks, each fails as it is found
// and passes with a solution, by the hidden checks; the checks are not in the
// repository.
func testTasks(t *testing.T, scratch string) {
	all := tasks(t)
	if len(all) < 6 {
		t.Errorf("%d tasks", len(all))
	}
	for _, task := range all {
		t.Run(task.Name, func(t *testing.T) {
			for name := range task.Hidden {
				if _, ok := task.Repo[name]; ok {
					t.Errorf("%s is in the repository", name)
				}
			}
			if !runnable(t, task) {
				return
			}
			dir := workspace(t, task)
			if g := grade(t, task, dir, scratch); g.Passed || len(g.Ignored) > 0 {
				t.Errorf("the planted fault passes, or files are ignored: %+v", g)
			}
			solve(t, task, dir)
			if g := grade(t, task, dir, scratch); !g.Passed {
				t.Errorf("the solution fails:\n%s", g.Output)
			}
		})
	}
}

// Issue behaviour 6: nothing that an agent leaves decides about the checks:
// not files in the place of the hidden ones, not tests of its own, not code
// that ends the run before a check was made.
func testOutOfReach(t *testing.T, scratch string) {
	task, err := live.Find("go-allocate")
	if err != nil {
		t.Fatal(err)
	}
	lie := "package allocate\n\nimport \"testing\"\n\nfunc TestPartsAddUpQuillon(t *testing.T) {}\nfunc TestRestGoesBackwardQuillon(t *testing.T) {}\nfunc TestNegativeQuillon(t *testing.T) {}\n"
	for name, files := range map[string]map[string]string{
		"a file in the place of the checks": {"quillon_test.go": lie},
		"tests of its own":                  {"zz_test.go": "package allocate\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n"},
		"code that ends the run":            {"exit.go": "package allocate\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n"},
		"another module file":               {"go.mod": "module example.com/other\n\ngo 1.21\n", "go.work": "go 1.21\n"},
		"names that are printed":            {"say.go": "package allocate\n\nimport \"fmt\"\n\nfunc init() { fmt.Println(\"--- PASS: TestSomething\") }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := workspace(t, task)
			for file, text := range files {
				put(t, dir, file, text)
			}
			if g := grade(t, task, dir, scratch); g.Passed {
				t.Errorf("passed:\n%s", g.Output)
			}
			for file, text := range files {
				put(t, dir, file, text) // still there with a true solution
			}
			if name == "a file in the place of the checks" || name == "tests of its own" || name == "another module file" {
				solve(t, task, dir)
				g := grade(t, task, dir, scratch)
				if !g.Passed || len(g.Ignored) == 0 {
					t.Errorf("a true solution beside them fails, or they are not named: %+v", g)
				}
			}
		})
	}
}

// A link does not carry files of this machine into the grader's folder, and
// an endless output is cut.
func testFilesOnly(t *testing.T, scratch string) {
	task, err := live.Find("go-allocate")
	if err != nil {
		t.Fatal(err)
	}
	dir := workspace(t, task)
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "passwd.go")); err != nil {
		t.Fatal(err)
	}
	solve(t, task, dir)
	if g := grade(t, task, dir, scratch); !g.Passed || strings.Contains(g.Output, "root:") || len(g.Output) > 4096 {
		t.Errorf("%+v", g)
	}
}
