package app

import (
	"fmt"
	"strings"

	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/internal/mcp"
	"github.com/forge-agent/forge/internal/plugin"
)

// server is an MCP server of the settings. Variables in its environment and
// headers are filled in here and shown nowhere.
func server(name string, s config.MCPServer, getenv func(string) string) (mcp.Server, error) {
	env, err := s.Env.Expand(getenv)
	if err != nil {
		return mcp.Server{}, fmt.Errorf("MCP server %s is not started: %w", name, err)
	}
	headers, err := s.Headers.Expand(getenv)
	if err != nil {
		return mcp.Server{}, fmt.Errorf("MCP server %s is not reached: %w", name, err)
	}
	return mcp.Server{Name: name, Command: s.Command, Env: env, URL: s.URL, Headers: headers, Risk: s.Risk, DeferTools: s.DeferTools, Allow: s.Allow}, nil
}

// declared is an MCP server of a plugin that the user trusts.
func declared(d plugin.Declared) mcp.Server {
	env := map[string]string{}
	for _, entry := range d.Env {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return mcp.Server{Name: "plugin-" + d.Plugin, Command: d.Server.Command, Env: env, Dir: d.Dir, URL: d.Server.URL}
}
