package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tool"
)

// A remote is a tool of a server as a tool of the run.
type remote struct {
	connection *connection
	entry      entry
	name       string
	final      bool // the name is
}

// Definition is what the server said, labelled as its words.
func (r *remote) Definition() message.ToolDefinition {
	return definition(r.connection.server.Name, r.name, r.entry)
}

// Risk is that of the server, whatever the server says about the tool.
func (r *remote) Risk() tool.Risk { return r.connection.server.risk() }

// maxSummaryArguments is how much of the arguments a person is shown.
const maxSummaryArguments = 300

// Plan checks the arguments' form. Whether they fit the schema is for the
// server to say, which gets them as they are.
func (r *remote) Plan(_ context.Context, arguments string) (tool.Plan, error) {
	object, err := tool.Object(arguments)
	if err != nil {
		return tool.Plan{}, err
	}
	var short bytes.Buffer
	if err := json.Compact(&short, object); err != nil {
		return tool.Plan{}, tool.Argumentf("The arguments are not valid JSON. Send one JSON object.")
	}
	summary := fmt.Sprintf("call %s of MCP server %s with %s", shown(r.entry.name, maxToolName), r.connection.server.Name,
		shown(short.String(), maxSummaryArguments))
	if short.Len() > maxSummaryArguments {
		summary += fmt.Sprintf(" (%d bytes)", short.Len())
	}
	if r.entry.hints != "" {
		summary += " (the server claims: " + r.entry.hints + ")"
	}
	scope, err := json.Marshal([]string{"mcp", r.connection.server.Name, r.entry.name})
	if err != nil {
		return tool.Plan{}, fmt.Errorf("plan call: %w", err)
	}
	return tool.Plan{
		Summary: summary,
		Scope:   string(scope),
		Run:     func(ctx context.Context) tool.Result { return r.call(ctx, object) },
	}, nil
}

// call sends one call, once: whether a server repeats what it did is not for a
// client to try (F-SEC-10).
func (r *remote) call(ctx context.Context, arguments json.RawMessage) tool.Result {
	c := r.connection
	if c.dead.Load() {
		return tool.Failure(fmt.Sprintf("The call was not made: %s The tools of MCP server %s fail until the next run.", clean(c.server.mask(c.gone())), c.server.Name))
	}
	limited, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	c.status.Store(0)
	result, err := c.session.CallTool(limited, &sdk.CallToolParams{Name: r.entry.name, Arguments: arguments})
	switch {
	case err != nil:
		return tool.Failure(r.failed(ctx, limited, err))
	case result.NeedsInput():
		return tool.Failure(fmt.Sprintf("MCP server %s wants an answer from a person before it goes on, which is not supported. The call is not complete. Use another tool, or ask the user to do this step.", c.server.Name))
	}
	return text(result)
}

// failed says what is known about a call that brought no result.
func (r *remote) failed(ctx, limited context.Context, err error) string {
	c := r.connection
	const unknown = "What the call did until then is not known."
	var wire *jsonrpc.Error
	switch {
	case ctx.Err() != nil, c.life.Err() != nil:
		return "The call was interrupted, and the server was told so. " + unknown
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("MCP server %s gave no answer within %s; the call was given up, and the server was told so. %s", c.server.Name, c.options.CallTimeout, unknown)
	case errors.As(err, &wire) && wire.Code == codeUnreadable:
		return fmt.Sprintf("MCP server %s: %s.", c.server.Name, shown(c.server.mask(wire.Message), 500))
	case errors.As(err, &wire):
		return fmt.Sprintf("MCP server %s refused the call (error %d). In its own words: %s", c.server.Name, wire.Code, clip(cleanLines(c.server.mask(wire.Message)), 4000))
	case errors.Is(err, sdk.ErrConnectionClosed), c.child != nil && errors.Is(err, io.EOF):
		if c.child != nil {
			c.child.Close()
		}
		return fmt.Sprintf("MCP server %s died during the call: %s %s Its tools fail until the next run.", c.server.Name, shown(c.server.mask(c.gone()), 600), unknown)
	}
	return fmt.Sprintf("The call of MCP server %s failed: %s%s. It was sent once and is not repeated. %s",
		c.server.Name, c.refusal(), shown(strings.TrimSuffix(c.server.mask(err.Error()), "."), 600), unknown)
}
