package mcp

import (
	"fmt"

	"github.com/forge-agent/forge/message"
)

// A Weight is what the schemas of one server weigh.
type Weight struct {
	// Server is the user's name for it.
	Server string
	// Tools is how many tools it has.
	Tools int
	// Tokens is what their schemas weigh in each request, or would if they were
	// not deferred.
	Tokens int
	// Deferred says that they are not in the request.
	Deferred bool
}

// Weigh counts the schemas of each connected server that has tools, in the
// order of their declaration (F-CLS-08). The counter counts one schema in
// tokens, framing included.
func (s *Servers) Weigh(counter func(message.ToolDefinition) int) []Weight {
	var out []Weight
	for _, r := range s.offered {
		server := r.connection.server
		if len(out) == 0 || out[len(out)-1].Server != server.Name {
			out = append(out, Weight{Server: server.Name, Deferred: server.DeferTools})
		}
		last := &out[len(out)-1]
		last.Tools++
		last.Tokens += counter(r.Definition())
	}
	return out
}

// DefaultShare is the share of the window that the schemas of a server may
// weigh without a warning.
const DefaultShare = 0.2

// Warnings names each server whose schemas weigh more than a share of the
// window, and all together where only their sum does, and says what to do
// (F-E2E-07). Nothing is deferred by it. A share that is not between 0 and 1
// means DefaultShare; a window that is not known, zero or less, has no
// warnings.
func Warnings(weights []Weight, windowTokens int, share float64) []string {
	if windowTokens <= 0 {
		return nil
	}
	if !(share > 0 && share <= 1) {
		share = DefaultShare
	}
	most := int(share * float64(windowTokens))
	const remedy = `Set "deferTools" to keep the schemas out of the request, or name the tools that are needed in "allow".`
	var out []string
	tools, tokens, servers := 0, 0, 0
	for _, w := range weights {
		if w.Deferred {
			continue
		}
		tools, tokens, servers = tools+w.Tools, tokens+w.Tokens, servers+1
		if w.Tokens > most {
			out = append(out, fmt.Sprintf("The schemas of MCP server %s (%s) weigh %d tokens in each request, %s of the window of %d; from %s on it is named here. %s",
				w.Server, plural(w.Tools, "tool", "tools"), w.Tokens, percent(w.Tokens, windowTokens), windowTokens, percent(most, windowTokens), remedy))
		}
	}
	if len(out) == 0 && tokens > most && servers > 1 {
		out = append(out, fmt.Sprintf("The schemas of %d MCP servers (%s) together weigh %d tokens in each request, %s of the window of %d. %s",
			servers, plural(tools, "tool", "tools"), tokens, percent(tokens, windowTokens), windowTokens, remedy))
	}
	return out
}

func percent(part, whole int) string {
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}
