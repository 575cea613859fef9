package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/forge-agent/forge/internal/scripted"
)

// provided is the provider of one script.
type provided struct {
	server *scripted.Server
	unused func() []string
	came   chan struct{} // a value for each request
}

type providerKey struct{}

// providerCommand runs a provider that answers as a script says:
//
//	provider start SCRIPT [window=TOKENS] [refuse]
//	provider show FILE [N]     what request N, or the last one, lets a model read
//	provider await N           wait until N requests have come
//	provider totals FILE
//	provider done              every step of the script has served
//	provider stop
func providerCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: provider start|show|totals|done|stop …")
	}
	p := ts.Value(providerKey{}).(*provided)
	if args[0] != "start" && p.server == nil {
		ts.Fatalf("no provider was started")
	}
	switch args[0] {
	case "start":
		p.start(ts, args[1:])
	case "show":
		all := p.server.Requests()
		n := len(all)
		if len(args) == 3 {
			var err error
			n, err = strconv.Atoi(args[2])
			ts.Check(err)
		}
		if n < 1 || n > len(all) {
			ts.Fatalf("there are %d requests, no number %d", len(all), n)
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte("model: "+all[n-1].Model+"\n"+all[n-1].Text()), 0o600))
	case "await":
		if len(args) != 2 {
			ts.Fatalf("usage: provider await N")
		}
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		for range n {
			<-p.came
		}
	case "totals":
		data, err := json.MarshalIndent(p.server.Totals(), "", " ")
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o600))
	case "done":
		if left := p.unused(); len(left) > 0 {
			ts.Fatalf("the script was not played to its end: %s", strings.Join(left, "; "))
		}
	case "stop":
		ts.Check(p.server.Close())
		p.server = nil
	default:
		ts.Fatalf("unknown command %q", args[0])
	}
}

func (p *provided) start(ts *testscript.TestScript, args []string) {
	if p.server != nil {
		ts.Check(p.server.Close())
	}
	o := scripted.Options{Keep: true}
	for _, a := range args[1:] {
		switch window, found := strings.CutPrefix(a, "window="); {
		case found:
			n, err := strconv.Atoi(window)
			ts.Check(err)
			o.WindowTokens = n
		case a == "refuse":
			o.Refuse = true
		default:
			ts.Fatalf("unknown option %q", a)
		}
	}
	script, unused, err := scripted.ParseScript(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	came := make(chan struct{}, 4096)
	o.Script = func(r scripted.Request) scripted.Reply {
		select {
		case came <- struct{}{}:
		default: // nobody waits for so many
		}
		return script(r)
	}
	p.unused, p.came = unused, came
	p.server, err = scripted.Start(o)
	ts.Check(err)
	ts.Defer(func() {
		if p.server != nil {
			_ = p.server.Close() // the script is over
		}
	})
	ts.Setenv("FORGE_TEST_ENDPOINT", p.server.URL())
	for _, name := range []string{"OPENAI", "DEEPSEEK", "ANTHROPIC", "GEMINI"} {
		ts.Setenv("FORGE_"+name+"_API_KEY", "key-of-the-scripted-provider")
	}
}

// gone checks that the processes whose ids are in a file have ended.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone FILE")
	}
	for _, field := range strings.Fields(ts.ReadFile(args[0])) {
		pid, err := strconv.Atoi(field)
		ts.Check(err)
		if process, err := os.FindProcess(pid); err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, state, _ := bytes.Cut(stat, []byte(") ")); err == nil && !bytes.HasPrefix(state, []byte("Z")) {
			ts.Fatalf("process %d still runs: %s", pid, stat)
		}
	}
}

// turns is a program that makes many runs in one process: forge-turns N
// ARGUMENT…, with {n} in the arguments for the number of the run. It ends with
// the first run that does not complete.
func turns() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	args := append([]string(nil), os.Args[2:]...)
	for i := 1; i <= n; i++ {
		os.Args = []string{"forge"}
		for _, a := range args {
			os.Args = append(os.Args, strings.ReplaceAll(a, "{n}", strconv.Itoa(i)))
		}
		if code := run(context.Background()); code != 0 {
			fmt.Fprintf(os.Stderr, "run %d ended with %d\n", i, code)
			os.Exit(code)
		}
	}
	os.Exit(0)
}

// serveMCP is an MCP server with as many tools as its argument says, each with
// a long description.
func serveMCP() {
	n, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "catalog", Version: "1"}, nil)
	for i := range n {
		s.AddTool(&mcp.Tool{
			Name: fmt.Sprintf("ticket_%d", i), Description: strings.Repeat(fmt.Sprintf("Looks up what ticket system %d knows about a customer. ", i), 8),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"What to look for."}},"required":["query"]}`),
		}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("answer of ticket system %d", i)}}}, nil
		})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}
