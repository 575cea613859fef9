// Package mcp connects a run to MCP servers and turns their tools into tools of
// the run: over stdio, where the server is a child process, and over streamable
// HTTP.
//
// What a server says is foreign. Its names, descriptions, schemas and results
// are bounded and made safe to show, its hints about risk lower none, and its
// list of tools is read once: what changes later waits for the next run
// (F-RUN-07). A server that cannot be reached, refuses, dies or talks nonsense
// is a [Problem] or the failed result of one call, never the end of the run.
//
// The package reads no configuration, decides on no call (package policy does)
// and redacts nothing (package redact does).
package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/forge-agent/forge/tool"
)

// A Server is a server as the user declared it: with a command or a URL.
type Server struct {
	// Name is the user's name for it, unique among the servers of a run.
	Name string
	// Command is the argument vector of a server over stdio, without a shell. A
	// program without a slash is looked for on the PATH, a path with one is
	// relative to Dir.
	Command []string
	// Env is added to the reduced environment that the server gets.
	Env map[string]string
	// Dir is the folder that the server starts in, absolute; empty means that
	// of the Options.
	Dir string
	// URL is the endpoint of a server over HTTP: https, or http on this
	// machine, without user, query and fragment.
	URL string
	// Headers are sent to URL and nowhere else.
	Headers map[string]string
	// Risk is the risk of its tools. Empty means tool.RiskProcess for a command
	// and tool.RiskNetwork for a URL.
	Risk tool.Risk
	// DeferTools keeps the schemas out of the request: the tools are found with
	// search_tools and run with call_tool.
	DeferTools bool
	// Allow names the tools that may be used, by the server's names. Nil means
	// all, an empty list none.
	Allow []string
}

// Options are what connecting takes beside the servers. The zero value works,
// with an empty environment.
type Options struct {
	// Environ is the user's environment, as os.Environ returns it, and Pass the
	// names in it that servers get beside those that are harmless.
	Environ, Pass []string
	// Dir is the folder that servers start in, absolute.
	Dir string
	// Client sends the requests of servers over HTTP; nil means one without a
	// proxy. It is not changed. Redirects are not followed.
	Client *http.Client
	// ConnectTimeout is the time for starting a server and reading its list of
	// tools, CallTimeout that of a call. Zero means 30 seconds and 5 minutes.
	ConnectTimeout, CallTimeout time.Duration
	// Grace is how long a server may take to end after its input was closed,
	// and again after it was asked to, before it is killed. Zero means two
	// seconds.
	Grace time.Duration
	// Version is Forge's version, which servers are told.
	Version string

	// transport replaces the way to a server in tests.
	transport func(Server) sdk.Transport
}

// Defaults of Options. The time for connecting leaves room for a package
// runner that has to fetch the server first.
const (
	defaultConnectTimeout = 30 * time.Second
	defaultCallTimeout    = 5 * time.Minute
	defaultGrace          = 2 * time.Second
)

// Kind is the kind of a problem.
type Kind string

// The kinds.
const (
	// Unreachable: the server could not be started, reached or listed. None of
	// its tools are there.
	Unreachable Kind = "unreachable"
	// Refused: a tool was left out.
	Refused Kind = "refused"
	// Altered: a tool is there, and something of it is not as the server sent
	// it, or may not work everywhere.
	Altered Kind = "altered"
	// Changed: the server's list is another one by now. It takes effect at the
	// next run.
	Changed Kind = "changed"
	// Noise: the server wrote something to its output that is no message.
	Noise Kind = "noise"
	// Ended: the server ended or the connection broke during the run.
	Ended Kind = "ended"
)

// A Problem is something about a server that the user should know. It never
// ends a run.
type Problem struct {
	Kind   Kind
	Server string
	// Tool is the server's name of the tool, made safe to show; empty where the
	// problem is not about one.
	Tool string
	// Text says what happened and what to do, in one or two sentences that are
	// safe to show.
	Text string
}

// String names the server and the problem.
func (p Problem) String() string {
	if p.Tool != "" {
		return fmt.Sprintf("MCP server %s, tool %s: %s", p.Server, p.Tool, p.Text)
	}
	return fmt.Sprintf("MCP server %s: %s", p.Server, p.Text)
}

// Info is what is known of a connected server. Texts are safe to show.
type Info struct {
	// Name is the user's name for it.
	Name string
	// Title and Version are what the server calls itself; they prove nothing.
	Title, Version string
	// Protocol is the version of MCP that is spoken.
	Protocol string
	// Transport is "stdio" or "http".
	Transport string
	// Risk is the risk of its tools.
	Risk tool.Risk
	// Tools is how many tools can be called, Excluded how many the server has
	// that are not in its allow list.
	Tools, Excluded int
	// Deferred says that they are behind search_tools.
	Deferred bool
}

// Servers are the connected servers of one run. It may be used by several
// goroutines.
type Servers struct {
	connections []*connection // as declared, with those that failed
	offered     []*remote     // those that are advertised, then those that are deferred

	mu       sync.Mutex
	problems []Problem
	closing  bool
	closed   chan struct{}
}

// Connect starts or reaches all servers at once and reads their tools. It
// returns when each is connected or has failed, which is a Problem. The error
// is for a declaration that makes no sense and for a context that is done; then
// nothing is left running. Close must be called.
//
// ctx bounds connecting only.
func Connect(ctx context.Context, servers []Server, o Options) (*Servers, error) {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = defaultConnectTimeout
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = defaultCallTimeout
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	for i, s := range servers {
		if err := s.validate(); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(servers[:i], func(other Server) bool { return other.Name == s.Name }) {
			return nil, fmt.Errorf("connect MCP servers: two are named %q: rename one", s.Name)
		}
	}
	all := &Servers{closed: make(chan struct{})}
	var wait sync.WaitGroup
	for _, s := range servers {
		c := newConnection(s, o, all.report)
		all.connections = append(all.connections, c)
		wait.Go(func() { c.open(ctx) })
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		all.Close()
		return nil, fmt.Errorf("connect MCP servers: %w", err)
	}
	all.offered = name(all.connections)
	return all, nil
}

// report records a problem, each once.
func (s *Servers) report(p Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing && !slices.Contains(s.problems, p) && len(s.problems) < maxProblems {
		s.problems = append(s.problems, p)
	}
}

// maxProblems bounds what a server that means ill can pile up: two for each
// tool of a full list, and some more.
const maxProblems = 2*maxTools + 100

// Problems returns what went wrong so far: first by server as declared, then
// in the order in which it happened. The result is the caller's.
func (s *Servers) Problems() []Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Problem
	for _, c := range s.connections {
		for _, p := range s.problems {
			if p.Server == c.server.Name {
				out = append(out, p)
			}
		}
	}
	return out
}

// Tools returns the tools of the run, fixed since Connect: those of the servers
// as declared, each server's by name, and at the end, where tools are deferred,
// search_tools and call_tool. They are for tool.NewSet.
func (s *Servers) Tools() []tool.Tool {
	var out []tool.Tool
	var deferred []*remote
	for _, r := range s.offered {
		if r.connection.server.DeferTools {
			deferred = append(deferred, r)
		} else {
			out = append(out, r)
		}
	}
	if len(deferred) > 0 {
		out = append(out, &searcher{tools: deferred}, &caller{tools: deferred})
	}
	return out
}

// Infos returns the servers that are connected, as declared.
func (s *Servers) Infos() []Info {
	var out []Info
	for _, c := range s.connections {
		if c.connected {
			out = append(out, c.info())
		}
	}
	return out
}

// Close ends all calls and all servers, and returns when none is left. What a
// server has to say about its end is not reported. Calling it again waits for
// the first call.
func (s *Servers) Close() error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		<-s.closed
		return nil
	}
	s.closing = true
	s.mu.Unlock()
	defer close(s.closed)
	failures := make([]error, len(s.connections))
	var wait sync.WaitGroup
	for i, c := range s.connections {
		wait.Go(func() { failures[i] = c.close() })
	}
	wait.Wait()
	return errors.Join(failures...)
}
