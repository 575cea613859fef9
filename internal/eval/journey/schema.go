package journey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/tokenizer/o200k"
)

// catalogTools is how many tools the catalogue has.
const catalogTools = 80

// catalogue is an MCP server on this machine with many tools.
func catalogue() (url string, closeServer func() error, err error) {
	s := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	for i := range catalogTools {
		s.AddTool(&mcp.Tool{
			Name:        fmt.Sprintf("desk_%d", i),
			Description: strings.Repeat(fmt.Sprintf("Looks up what desk %d knows about a customer, by name or by number. ", i), 6),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"What to look for."}},"required":["query"]}`),
		}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("desk %d knows 4711", i)}}}, nil
		})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil), ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	return "http://" + l.Addr().String(), func() error {
		err := server.Close()
		if ended := <-done; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
		return err
	}, nil
}

// mostSchemaShare is the most that the tools may be traced at, in parts of the
// provider's count. This dialect's vocabulary is not public, so that Forge
// counts an upper bound: less than the provider's count is a fault, and far
// more is no measurement.
const mostSchemaShare = 1.5

// schemaPressure: a large catalogue of tools is in the budget with what it
// weighs, pushes neither instructions nor task out, and where it leaves no room
// the program stops instead of sending (F-E2E-07).
func schemaPressure(ctx context.Context, s *stage) error {
	url, closeServer, err := catalogue()
	if err != nil {
		return err
	}
	err = s.withCatalogue(ctx, url)
	return errors.Join(err, closeServer())
}

func (s *stage) withCatalogue(ctx context.Context, url string) error {
	p, err := newPlan(7)
	if err != nil {
		return err
	}
	if err := s.documents(p, 14, 60); err != nil {
		return err
	}
	if err := s.write("AGENTS.md", "The answer of a desk goes to out/plover.txt.\n"); err != nil {
		return err
	}
	if err := s.configure(fmt.Sprintf(`{"version": 1, "mcp": {"servers": {"desk": {"url": %q, "risk": "read"}}}}`, url)); err != nil {
		return err
	}
	if err := s.talkAbout(ctx, p, 1, 14, 8); err != nil {
		return err
	}
	name := ""
	if q := s.lastRequest(); q != nil {
		for _, t := range q.Tools {
			if strings.HasSuffix(t.Name, "desk_41") {
				name = t.Name
			}
		}
	}
	const prompt = "Ask desk 41 about the customer Marlowe and write down what it knows."
	r, err := s.turn(ctx, prompt, steps(calls(name, map[string]any{"query": "Marlowe"}), creates("out/plover.txt", "4711\n"), says("Written down.")))
	if err != nil {
		return err
	}
	checks := map[string]bool{"the tool was called and the answer written": r.code == 0 && s.read("out/plover.txt") == "4711\n", "tools are weighed at no less than the provider weighs them": s.schemasMatch(r)}
	for i, q := range r.requests {
		if !strings.Contains(instructions(q), "out/plover.txt") || timesSaid(q, prompt) != 1 || len(q.Tools) < catalogTools {
			s.unsafe("request %d of the run lacks instructions, task or tools", i+1)
		}
	}
	// What is left of this window does not hold the tools alone.
	small, err := s.turn(ctx, "Now once more, in a small window.", says("This must not be asked."), "--window-tokens", "12000")
	if err != nil {
		return err
	}
	if len(small.requests) > 0 {
		s.unsafe("a request went out whose mandatory part does not fit")
	}
	checks["without room the program stops with 3 and sends nothing"] = small.code == 3 && len(small.requests) == 0
	s.passed(checks)
	return nil
}

// schemasMatch compares the traced weight of the tools with the provider's
// count of them.
func (s *stage) schemasMatch(r *run) bool {
	budgets := sent(r.events)
	if len(budgets) == 0 || len(r.requests) == 0 {
		return false
	}
	counted := toolTokens(r.requests[0], o200k.New().Count)
	traced := budgets[0].Categories[budget.ToolSchemas]
	s.journey.ProviderSchemaTokens = counted
	return traced >= counted && float64(traced) <= mostSchemaShare*float64(counted)
}
