package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"forge":       main,
		"forge-turns": turns,
		"forge-mcp":   serveMCP,
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
		Condition: func(name string) (bool, error) {
			if name == "soak" {
				return os.Getenv("FORGE_SOAK") != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("FORGE_HOME", filepath.Join(e.WorkDir, ".forge"))
			e.Setenv("EXAMPLES", examples)
			var dot bytes.Buffer
			if err := png.Encode(&dot, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(e.WorkDir, "dot.png"), dot.Bytes(), 0o600); err != nil {
				return err
			}
			e.Values[providerKey{}] = &provided{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"fill": fill, "oneline": oneLine, "provider": providerCommand, "gone": gone, "exits": exits, "field": field},
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

// exits runs a program and checks its exit code: exits CODE PROGRAM ARGUMENT…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGUMENT…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var failed *exec.ExitError
		if !errors.As(err, &failed) {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s ended with %d, want %d\n%s", args[1], got, want, ts.ReadFile("stderr"))
	}
}

// field sets a variable to a field of the JSON document on standard output:
// field VARIABLE NAME.
func field(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: field VARIABLE NAME")
	}
	var document map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &document))
	ts.Setenv(args[0], fmt.Sprint(document[args[1]]))
}
