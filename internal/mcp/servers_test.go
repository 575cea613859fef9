package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/forge-agent/forge/internal/mcp"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tool"
)

// modeName is the variable that turns the test binary into a server.
const modeName = "FORGE_MCP_TEST_SERVER"

// markName is a variable that no other process has, to find what is left.
const markName = "FORGE_MCP_TEST_MARK"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeName); mode != "" {
		beServer(mode)
		return
	}
	os.Exit(m.Run())
}

// beServer is the child process.
func beServer(mode string) {
	switch mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "no licence for token sesame-street")
		os.Exit(7)
	case "hang", "sleep":
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, "thinking")
		select {}
	case "endless garbage":
		for {
			fmt.Println("garbage")
		}
	case "old":
		old(false)
	case "deaf":
		old(true)
	case "garbage first":
		fmt.Println("Welcome to the \u202eserver!")
		fmt.Println(`{"half":`)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		for range 2 {
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), modeName+"=sleep")
			detach(child)
			if err := child.Start(); err != nil {
				os.Exit(9)
			}
		}
	}
	testServer().Run(context.Background(), &sdk.StdioTransport{})
	if mode == "stubborn" {
		select {}
	}
}

// old speaks by hand: it ends over the question of the newest protocol, and
// when it is deaf it reads nothing after its list.
func old(deaf bool) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		json.Unmarshal(in.Bytes(), &m)
		switch m.Method {
		case "server/discover":
			os.Exit(4)
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"only","inputSchema":{"type":"object"}}]}}`+"\n", m.ID)
			if deaf {
				select {}
			}
		case "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n", m.ID)
		}
	}
	os.Exit(0)
}

func words(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

const anyObject = `{"type":"object"}`

// testServer is a server with a tool for each thing that can happen.
func testServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test\u202e", Version: "1"}, nil)
	add := func(name string, call func(ctx context.Context, arguments json.RawMessage) (*sdk.CallToolResult, error)) {
		s.AddTool(&sdk.Tool{Name: name, Description: "Does " + name + ".", InputSchema: json.RawMessage(anyObject)},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return call(ctx, r.Params.Arguments)
			})
	}
	add("echo", func(_ context.Context, a json.RawMessage) (*sdk.CallToolResult, error) { return words(string(a)), nil })
	add("environment", func(context.Context, json.RawMessage) (*sdk.CallToolResult, error) {
		dir, _ := os.Getwd()
		return words(strings.Join(os.Environ(), "\n") + "\ndir=" + dir), nil
	})
	add("fail", func(context.Context, json.RawMessage) (*sdk.CallToolResult, error) {
		r := words("no such ticket")
		r.IsError = true
		return r, nil
	})
	add("refuse", func(context.Context, json.RawMessage) (*sdk.CallToolResult, error) {
		return nil, &mcpError{}
	})
	add("die", func(context.Context, json.RawMessage) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(3)
		return nil, nil
	})
	add("big", func(_ context.Context, a json.RawMessage) (*sdk.CallToolResult, error) {
		var size struct{ Bytes int }
		json.Unmarshal(a, &size)
		return words(strings.Repeat("x", size.Bytes)), nil
	})
	add("wait", func(ctx context.Context, a json.RawMessage) (*sdk.CallToolResult, error) {
		var file struct{ Started, Canceled string }
		json.Unmarshal(a, &file)
		os.WriteFile(file.Started, nil, 0o600)
		<-ctx.Done()
		os.WriteFile(file.Canceled, nil, 0o600)
		return words("late"), nil
	})
	add("change", func(context.Context, json.RawMessage) (*sdk.CallToolResult, error) {
		add2 := &sdk.Tool{Name: "new", Description: "New.", InputSchema: json.RawMessage(anyObject)}
		s.AddTool(add2, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return words("new"), nil })
		return words("changed"), nil
	})
	add("ask", func(context.Context, json.RawMessage) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"a": &sdk.ElicitParams{Message: "Password?", RequestedSchema: json.RawMessage(anyObject)}}}, nil
	})
	return s
}

type mcpError struct{}

func (*mcpError) Error() string { return "computer says no \x1b[31m" }

// declared is a server that the test binary is.
func declared(t *testing.T, name, mode string) mcp.Server {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mark := t.TempDir()
	t.Cleanup(func() { nothingLeft(t, mark) })
	return mcp.Server{Name: name, Command: []string{binary}, Env: map[string]string{modeName: mode, markName: mark}}
}

// nothingLeft looks for processes of a server.
func nothingLeft(t *testing.T, mark string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err == nil && bytes.Contains(data, []byte(markName+"="+mark+"\x00")) {
			stat, err := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
			if err == nil && !bytes.Contains(stat, []byte(") Z ")) {
				t.Errorf("process %s is left", filepath.Base(filepath.Dir(file)))
			}
		}
	}
}

func options() mcp.Options {
	return mcp.Options{Environ: os.Environ(), ConnectTimeout: 20 * time.Second, Grace: 200 * time.Millisecond, Version: "test"}
}

func connect(t *testing.T, o mcp.Options, servers ...mcp.Server) *mcp.Servers {
	t.Helper()
	all, err := mcp.Connect(t.Context(), servers, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := all.Close(); err != nil {
			t.Error(err)
		}
	})
	return all
}

func set(t *testing.T, all *mcp.Servers) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(all.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func plan(t *testing.T, s *tool.Set, name, arguments string) tool.Plan {
	t.Helper()
	p, err := s.Plan(t.Context(), message.ToolCall{ID: "1", Name: name, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func call(t *testing.T, s *tool.Set, name, arguments string) tool.Result {
	t.Helper()
	return plan(t, s, name, arguments).Run(t.Context())
}

// scripted is a server that answers with texts, whatever they are.
type scripted map[string]string

func (s scripted) transport(mcp.Server) sdk.Transport {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		in := bufio.NewScanner(theirs)
		in.Buffer(nil, 16<<20)
		for in.Scan() {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
				continue
			}
			answer, ok := s[m.Method]
			switch {
			case m.Method == "initialize":
				answer = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`
			case !ok:
				answer = `"error":{"code":-32601,"message":"no such method"}`
			}
			fmt.Fprintf(theirs, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer)
		}
	}()
	return &sdk.IOTransport{Reader: ours, Writer: ours}
}

// listing is a scripted server with a list of tools.
func listing(tools ...string) scripted {
	return scripted{"tools/list": `"result":{"tools":[` + strings.Join(tools, ",") + `]}`}
}

func problem(t *testing.T, all *mcp.Servers, kind mcp.Kind, pieces ...string) {
	t.Helper()
	for _, p := range all.Problems() {
		found := p.Kind == kind
		for _, piece := range pieces {
			found = found && strings.Contains(p.String(), piece)
		}
		if found {
			return
		}
	}
	t.Errorf("no problem %s with %q in %v", kind, pieces, all.Problems())
}
