package mcp

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/tool"
)

// maxServerName is the longest name of a server, in bytes.
const maxServerName = 64

// validate refuses a declaration that cannot be meant. Values of variables and
// headers may be secrets and are in no error.
func (s Server) validate() error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("connect MCP server %q: %s", shown(s.Name, maxServerName), fmt.Sprintf(format, args...))
	}
	switch {
	case strings.TrimSpace(s.Name) == "" || len(s.Name) > maxServerName || clean(s.Name) != s.Name:
		return refuse("the name must have 1 to %d bytes and no hidden characters", maxServerName)
	case len(s.Command) == 0 && s.URL == "":
		return refuse("it has neither a command nor a URL: give one")
	case len(s.Command) > 0 && s.URL != "":
		return refuse("it has a command and a URL: leave one out")
	case len(s.Command) > 0 && strings.TrimSpace(s.Command[0]) == "":
		return refuse("the command has no program")
	case s.URL != "" && (len(s.Env) > 0 || s.Dir != ""):
		return refuse("env and dir are for a command, not for a URL")
	case len(s.Command) > 0 && len(s.Headers) > 0:
		return refuse("headers are for a URL, not for a command")
	case s.Dir != "" && !filepath.IsAbs(s.Dir):
		return refuse("the folder %q is not absolute", s.Dir)
	case s.Risk != "" && !slices.Contains(tool.Risks(), s.Risk):
		return refuse("the risk %q is not known: use read, write, process or network", s.Risk)
	}
	if s.URL != "" {
		if _, err := provider.ParseEndpoint(s.URL); err != nil {
			return refuse("%v", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(s.Env[name], 0) {
			return refuse("the variable %q has a name or value that no environment can hold", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if !isToken(name) || strings.ContainsFunc(s.Headers[name], func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return refuse("the header %q has a name or value that no request can hold", name)
		}
		if slices.Contains(ownHeaders, strings.ToLower(name)) {
			return refuse("the header %q is set by the protocol: leave it out", name)
		}
	}
	return nil
}

// ownHeaders are those that the transport sets.
var ownHeaders = []string{"content-type", "content-length", "accept", "host", "mcp-session-id", "mcp-protocol-version", "last-event-id"}

// isToken reports whether a text can be the name of a header.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// risk is the risk of the server's tools.
func (s Server) risk() tool.Risk {
	switch {
	case s.Risk != "":
		return s.Risk
	case s.URL != "":
		return tool.RiskNetwork
	}
	return tool.RiskProcess
}

// secrets are values that may be secrets, as they must not be shown where a
// server repeats them.
func (s Server) secrets() []string {
	const shortest = 6 // below it, a value is in too many words
	var out []string
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			value := values[name]
			if _, credential, ok := strings.Cut(value, " "); ok && len(credential) >= shortest {
				out = append(out, credential) // "Bearer …"
			}
			if len(value) >= shortest {
				out = append(out, value)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// quote shows what the server said, in quotation marks. Its secrets are taken
// out first: marks and cuts could hide them.
func (s Server) quote(text string, most int) string {
	return strconv.Quote(shown(s.mask(text), most))
}

// mask takes the server's secrets out of a text.
func (s Server) mask(text string) string {
	for _, secret := range s.secrets() {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	return text
}
