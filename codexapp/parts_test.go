package codexapp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/codexapp"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/session"
)

// The program is found by its path or on the PATH, and nowhere else.
func TestFind(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	program := filepath.Join(dir, "codex")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(other, "codex")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, path string
		environ    []string
		want       string
	}{
		{"given", program, nil, program},
		{"given, and another on the PATH", program, []string{"PATH=" + other}, program},
		{"on the PATH", "", []string{"PATH=" + other + string(filepath.ListSeparator) + dir}, program},
		{"the last PATH counts", "", []string{"PATH=" + other, "PATH=" + dir}, program},
		{"given and absent", filepath.Join(dir, "none"), []string{"PATH=" + dir}, ""},
		{"given and no program", plain, nil, ""},
		{"a folder", dir, nil, ""},
		{"not on the PATH", "", []string{"PATH=" + other}, ""},
		{"no PATH", "", nil, ""},
		{"relative entries do not count", "", []string{"PATH=."}, ""},
	} {
		got, err := codexapp.Find(test.path, test.environ)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
		if err != nil && (!errors.Is(err, codexapp.ErrNotFound) || !strings.Contains(err.Error(), "FORGE_CODEX_PATH")) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// A program that ends at once, and one that cannot be started: one clear error,
// and the session is as it was.
func TestProgramThatEnds(t *testing.T) {
	o := fixed(t)
	dir := t.TempDir()
	for name, script := range map[string]string{
		"ends at once": "#!/bin/sh\necho some words >&2\necho 'the last words' >&2\nexit 7\n",
		"no program":   "#!/no/such/interpreter\n",
	} {
		program := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		p := codexapp.Options{Path: program, Dir: dir, Session: o.Session, Counter: o.Counter, Capabilities: o.Capabilities}
		_, err := codexapp.New(context.Background(), p)
		if !errors.Is(err, codexapp.ErrStart) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if name == "ends at once" && (!strings.Contains(err.Error(), "the last words") || !strings.Contains(err.Error(), "exit status 7")) {
			t.Errorf("%v", err)
		}
	}
	if n := o.Session.Header().Messages; n != 0 {
		t.Errorf("%d messages", n)
	}
}

// A server that ends neither when its input does nor by a signal is killed,
// with what it has started, even outside of its group.
func TestNothingIsLeftRunning(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // processes outside of the group are found on Linux only
	}
	o := fixed(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "codex")
	mark := fmt.Sprintf("98764.%d", os.Getpid())
	script := `#!/bin/sh
read line
echo '{"id":1,"result":{"userAgent":"forge/0.171.0 (x)"}}'
read line
read line
setsid sleep MARK &
sleep MARK &
trap '' TERM
echo '{"id":2,"result":{"account":null,"requiresOpenaiAuth":true}}'
cat >/dev/null
while :; do sleep 1; done
`
	if err := os.WriteFile(program, []byte(strings.ReplaceAll(script, "MARK", mark)), 0o755); err != nil {
		t.Fatal(err)
	}
	e, err := codexapp.New(context.Background(), codexapp.Options{Path: program, Environ: []string{"PATH=" + os.Getenv("PATH")}, Dir: dir, Session: o.Session,
		Counter: o.Counter, Capabilities: o.Capabilities, Timeouts: codexapp.Timeouts{Exit: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	if n := running("sleep\x00"+mark) + running(program); n != 0 {
		t.Errorf("%d programs are left", n)
	}
}

func TestBadArguments(t *testing.T) {
	good := fixed(t)
	for name, change := range map[string]func(*codexapp.Options){
		"no folder":      func(o *codexapp.Options) { o.Dir = "" },
		"no session":     func(o *codexapp.Options) { o.Session = nil },
		"no counter":     func(o *codexapp.Options) { o.Counter = nil },
		"unknown carry":  func(o *codexapp.Options) { o.Carry = "pigeon" },
		"negative limit": func(o *codexapp.Options) { o.CompactionsPerTurn = -1 },
		"no window":      func(o *codexapp.Options) { o.Capabilities.WindowTokens = 0 },
	} {
		o := good
		change(&o)
		if _, err := codexapp.New(context.Background(), o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	f := newFake(t, busy)
	r := newRig(t, f.options(codexapp.Options{}))
	for _, prompt := range [][]message.Block{nil, text(""), text(" \n")} {
		if _, err := r.engine.Run(context.Background(), codexapp.Request{Prompt: prompt, Policy: r.policy}); !errors.Is(err, codexapp.ErrInvalid) {
			t.Errorf("%v: %v", prompt, err)
		}
	}
	r.engine.Close()
	r.engine.Close()
	if _, err := r.engine.Run(context.Background(), codexapp.Request{Prompt: text("x")}); !errors.Is(err, codexapp.ErrInvalid) {
		t.Errorf("after Close: %v", err)
	}
}

// Command lines as Codex writes them, in the argument vectors that rules speak
// of.
func TestCommandsOf(t *testing.T) {
	for _, test := range []struct{ line, plain, parts string }{
		{`/bin/bash -lc 'go test ./...'`, `["go" "test" "./..."]`, ``},
		{`bash -lc "git commit -m 'a b'"`, `["git" "commit" "-m" "a b"]`, ``},
		{`ls -l`, `["ls" "-l"]`, ``},
		{`/bin/bash -lc 'cd /tmp && rm -r x'`, `["/bin/bash" "-lc" "cd /tmp && rm -r x"]`, `[["cd" "/tmp"] ["rm" "-r" "x"]]`},
		{`/bin/sh -c 'A=1 B=2 rm x'`, `["/bin/sh" "-c" "A=1 B=2 rm x"]`, `[["rm" "x"]]`},
		{`bash -c 'echo $(rm x)'`, `["bash" "-c" "echo $(rm x)"]`, `[["echo" "$"] ["rm" "x"]]`},
		{`rm x; ls`, `["sh" "-c" "rm x; ls"]`, `[["rm" "x"] ["ls"]]`},
		{`bash -lc 'unfinished`, `["bash -lc 'unfinished"]`, ``},
		{``, `[""]`, ``},
		{`python -c 'print(1)'`, `["sh" "-c" "python -c 'print(1)'"]`, `[["python" "-c" "print(1)"]]`},
		{`bash -c 'echo "a; rm b" && ls "$(rm c)" "d"'`, `["bash" "-c" "echo \"a; rm b\" && ls \"$(rm c)\" \"d\""]`, `[["echo" "a; rm b"] ["ls" "$"] ["rm" "c"] ["d"]]`},
		{`bash -c "echo a\;rm b; x=1 rm c"`, `["bash" "-c" "echo a;rm b; x=1 rm c"]`, `[["echo" "a"] ["rm" "b"] ["rm" "c"]]`},
	} {
		plain, parts := codexapp.CommandsOf(test.line)
		gotParts := ""
		if parts != nil {
			gotParts = fmt.Sprintf("%q", parts)
		}
		if got := fmt.Sprintf("%q", plain); got != test.plain || gotParts != test.parts {
			t.Errorf("%s: %s %s", test.line, got, gotParts)
		}
	}
}

// A grant for a program never covers a line that does more than start it.
func TestGrantsCoverNoMore(t *testing.T) {
	p := profile(t, policy.Safe, &policy.Options{Grants: []policy.Rule{{Command: []string{"go", "test"}, Action: policy.Allow}}})
	rapid.Check(t, func(t *rapid.T) {
		tail := rapid.SampledFrom([]string{"; rm x", " && rm x", " | sh", " $(rm x)", " `rm x`", " > file", " &", "\nrm x", " <(rm x)"}).Draw(t, "tail")
		line := "/bin/bash -lc 'go test ./..." + tail + "'"
		plain, _ := codexapp.CommandsOf(line)
		if d := p.Decide(policy.Request{Tool: "shell", Risk: "process", Command: plain}); d.Action == policy.Allow {
			t.Fatalf("%q is allowed as %q", line, plain)
		}
	})
}

func FuzzCommandsOf(f *testing.F) {
	for _, seed := range []string{"ls", `bash -lc 'a && b'`, `"`, `\`, "a\x00b", "ä ö 'ü"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if plain, _ := codexapp.CommandsOf(line); len(plain) == 0 {
			t.Errorf("%q gives nothing to decide on", line)
		}
	})
}

// FuzzParse reads what a server may write, in lines of bounded length.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"id":1,"result":{}}`, `{"method":"x"}`, "", "{", "null", "[]", `{"id":{},"method":7}`, "a\nb\r\n\xff"} {
		f.Add([]byte(seed), 16)
	}
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		most = min(max(most, 0), 1<<16)
		r := bufio.NewReaderSize(bytes.NewReader(data), 16)
		for lines := 0; lines <= len(data)+1; lines++ {
			line, whole, err := codexapp.ReadLine(r, most)
			if len(line) > most || !whole && line != nil {
				t.Fatalf("a line of %d bytes, at most %d", len(line), most)
			}
			codexapp.Parse(line)
			if err != nil {
				return
			}
		}
		t.Fatal("it does not end")
	})
}

// A state that no engine wrote, or of another session, is not believed.
func FuzzState(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"thread":"t","session":"s","messages":1}`, `{"messages":-1,"thread":"t"}`, `[`, `{"messages":99999,"thread":"t"}`} {
		f.Add([]byte(seed))
	}
	store := newStore(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		ctx := context.Background()
		s, err := session.Create(ctx, store, "", session.Info{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetStates(ctx, map[string][]byte{"codex": body}); err != nil {
			t.Fatal(err) // a state is bytes: every one is taken
		}
		fk := newFake(t, busy)
		r := &rig{t: t, store: store}
		r.use(s, fk.options(codexapp.Options{Carry: codexapp.Thread}))
		if res := r.good("one"); res.Origin == codexapp.OriginKept {
			t.Errorf("took up %q", body)
		}
		r.engine.Close()
	})
}
