package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"forge": func() { os.Exit(run(context.Background())) },
	})
}

// Each script runs the program as a user does, in an empty home.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("FORGE_HOME", filepath.Join(e.WorkDir, ".forge"))
			e.Setenv("EXAMPLES", examples)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"fill": fill, "oneline": oneLine},
	})
}

// fill writes a large file: fill FILE BYTES [TEXT…]. The text is repeated.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: fill FILE MEGABYTES TEXT")
	}
	var size int
	switch args[1] {
	case "50":
		size = 50 << 20
	case "0.2":
		size = 200_000
	default:
		ts.Fatalf("fill: unknown size %q", args[1])
	}
	text := strings.Repeat(args[2], size/len(args[2])+1)[:size]
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// oneLine checks that standard error is one line that starts with "forge: "
// and names the file.
func oneLine(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile("stderr")
	if neg || len(args) != 1 {
		ts.Fatalf("usage: oneline NAME")
	}
	if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "forge: ") || !strings.Contains(text, args[0]) {
		ts.Fatalf("want one line that names %s, got:\n%s", args[0], text)
	}
}
