package config_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/tool"
)

// draw returns a value that a key takes.
func draw(t *rapid.T, k config.Key) any {
	texts := rapid.SampledFrom([]string{"a", "b", "c", "${SECRET}", "longer text"})
	switch k.Type {
	case config.Boolean:
		return rapid.Bool().Draw(t, k.Path)
	case config.Integer, config.Tokens:
		if k.Type == config.Tokens && rapid.IntRange(0, 3).Draw(t, "auto") == 0 {
			return "auto"
		}
		return rapid.IntRange(int(k.Least), int(min(k.Most, k.Least+40_000))).Draw(t, k.Path)
	case config.Number:
		return float64(rapid.IntRange(0, int(min(k.Most, 10)*10)).Draw(t, k.Path)) / 10
	case config.Choice:
		return rapid.SampledFrom(k.Choices).Draw(t, k.Path)
	case config.Strings:
		return rapid.SliceOfN(texts, 1, 3).Draw(t, k.Path)
	case config.Texts:
		return rapid.MapOfN(rapid.SampledFrom([]string{"A", "B"}), texts, 0, 2).Draw(t, k.Path)
	case config.String:
		switch {
		case k.Endpoint:
			return "https://" + rapid.SampledFrom([]string{"a", "b"}).Draw(t, k.Path) + ".example.com"
		case k.Path == "provider":
			return rapid.SampledFrom([]string{"openai", "anthropic", "a"}).Draw(t, k.Path)
		}
		return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, k.Path)
	}
	return nil
}

// document draws a configuration out of the table of keys.
func document(t *rapid.T) map[string]any {
	root := map[string]any{"version": 1}
	lists := map[string][]any{}
	names := rapid.SampledFrom([][]string{{"a"}, {"b"}, {"a", "b"}, {"b", "c"}}).Draw(t, "names")
	for _, k := range config.Keys() {
		if k.Path == "version" || k.Type == config.Objects || k.Type == config.Ignored {
			continue
		}
		if list, field, ok := strings.Cut(k.Path, "[]."); ok {
			if field == "tool" {
				lists[list] = nil
				for range rapid.IntRange(0, 2).Draw(t, list) {
					lists[list] = append(lists[list], map[string]any{})
				}
				if len(lists[list]) > 0 {
					put(root, list, lists[list])
				}
			}
			for _, entry := range lists[list] {
				if field == "action" || list == "policy.grants" && field == "tool" || rapid.Bool().Draw(t, k.Path) {
					entry.(map[string]any)[field] = draw(t, k)
				}
			}
			continue
		}
		for _, name := range names {
			if rapid.Bool().Draw(t, "has "+k.Path) {
				put(root, strings.Replace(k.Path, "*", name, 1), draw(t, k))
			}
		}
	}
	return root
}

func put(root map[string]any, path string, value any) {
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		if root[name] == nil {
			root[name] = map[string]any{}
		}
		root = root[name].(map[string]any)
	}
	root[names[len(names)-1]] = value
}

// F-CFG-02, F-TST-05, F-PKG-03: whatever a user and a project say, nothing of
// the outcome is more lenient than the user alone, and nothing that a project
// says is left out in silence.
func TestProjectOnlyTightens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		userDoc, projectDoc := document(t), document(t)
		user, err := json.Marshal(userDoc)
		if err != nil {
			t.Fatal(err)
		}
		project, err := json.Marshal(projectDoc)
		if err != nil {
			t.Fatal(err)
		}
		alone, both := config.Merge(user, nil), config.Merge(user, project)
		if what := lenient(alone.Values, both.Values); what != "" {
			t.Fatalf("%s\nuser %s\nproject %s", what, user, project)
		}
		var paths []string
		stated("", projectDoc, &paths)
		for _, path := range paths {
			var heard bool
			for _, form := range []string{path, strings.Replace(path, "mcp.servers.", "mcp.proposed.", 1)} {
				for _, o := range both.Provenance(form) {
					heard = heard || o.Layer == config.Project && (o.Used || o.Refused != "")
					if o.Refused != "" && !slices.ContainsFunc(both.Warnings(), func(f config.Finding) bool { return f.Key == path && f.Line == o.Line }) {
						t.Fatalf("%s is refused without a finding", form)
					}
				}
			}
			if !heard {
				t.Fatalf("nothing is said about the project's %s\nuser %s\nproject %s\n%v", path, user, project, both.Findings())
			}
		}
	})
}

// stated lists the keys of a document.
func stated(at string, doc map[string]any, out *[]string) {
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		path := strings.TrimPrefix(at+"."+name, ".")
		below, isObject := doc[name].(map[string]any)
		switch {
		case isObject:
			stated(path, below, out)
		default:
			*out = append(*out, path)
		}
	}
}

// lenient is written by hand, key by key, and knows nothing of the table.
func lenient(a, b config.Values) string {
	rank := func(order ...string) func(string) int {
		return func(s string) int { return slices.Index(order, s) }
	}
	mode, profile, risk := rank("off", "warn", "compact"), rank("workspace-write", "safe"), rank("read", "write", "process", "network")
	or := func(n, otherwise int) int {
		if n == 0 {
			return otherwise
		}
		return n
	}
	cost := func(f float64) float64 {
		if f == 0 {
			return 1e12
		}
		return f
	}
	checks := []struct {
		what string
		ok   bool
	}{
		{"mode", mode(string(b.Context.Mode)) >= mode(string(a.Context.Mode))},
		{"profile", profile(string(b.PermissionProfile)) >= profile(string(a.PermissionProfile))},
		{"reserve", or(b.Context.ReservedOutputTokens, 4096) >= or(a.Context.ReservedOutputTokens, 4096)},
		{"buffer", or(b.Context.BufferTokens, 8192) >= or(a.Context.BufferTokens, 8192)},
		{"tail", or(b.Context.RecentTailTokens, 12000) <= or(a.Context.RecentTailTokens, 12000)},
		{"summary", or(b.Context.SummaryTargetTokens, 1200) <= or(a.Context.SummaryTargetTokens, 1200)},
		{"window", a.Context.WindowTokens == b.Context.WindowTokens},
		{"steps", b.Limits.MaxSteps <= a.Limits.MaxSteps},
		{"calls", b.Limits.MaxToolCalls <= a.Limits.MaxToolCalls},
		{"time", b.Limits.MaxRunSeconds <= a.Limits.MaxRunSeconds},
		{"timeout", b.Limits.CommandTimeoutSeconds <= a.Limits.CommandTimeoutSeconds},
		{"output", b.Limits.MaxToolOutputBytes <= a.Limits.MaxToolOutputBytes},
		{"stored output", b.Limits.MaxStoredOutputBytes <= a.Limits.MaxStoredOutputBytes},
		{"cost", cost(b.Limits.MaxCostUSD) <= cost(a.Limits.MaxCostUSD)},
		{"model", fmt.Sprint(a.Model, a.Provider, a.Endpoint, a.ReasoningEffort, a.Thinking, a.Engine, a.CodexPath) ==
			fmt.Sprint(b.Model, b.Provider, b.Endpoint, b.ReasoningEffort, b.Thinking, b.Engine, b.CodexPath)},
		{"rest", reflect.DeepEqual([]any{a.Instructions, a.Plugins, a.Providers, a.Trace, a.Policy.Grants, a.Policy.Rules, a.Family},
			[]any{b.Instructions, b.Plugins, b.Providers, b.Trace, b.Policy.Grants, b.Policy.Rules, b.Family})},
		{"skills", a.Skills.Enabled || !b.Skills.Enabled},
		{"skill size", b.Skills.MaxBytes <= a.Skills.MaxBytes},
		{"share", b.MCP.WarnShare <= a.MCP.WarnShare},
		{"servers", len(a.MCP.Servers) == len(b.MCP.Servers)},
	}
	for _, c := range checks {
		if !c.ok {
			return c.what + " is more lenient"
		}
	}
	for name, s := range a.MCP.Servers {
		other := b.MCP.Servers[name]
		if risk(string(other.Risk)) < risk(string(s.Risk)) {
			return "risk of a server is smaller"
		}
		for _, allowed := range other.Allow {
			if len(s.Allow) > 0 && !slices.Contains(s.Allow, allowed) {
				return "a server's tool is new"
			}
		}
		if len(s.Allow) > 0 && len(other.Allow) == 0 {
			return "all tools of a server are allowed"
		}
		s.Risk, s.Allow, other.Risk, other.Allow = "", nil, "", nil
		if !reflect.DeepEqual(s, other) {
			return "a server is another one"
		}
	}
	for _, s := range b.MCP.Proposed {
		if s.Risk != tool.RiskNetwork || strings.Contains(fmt.Sprint(map[string]string(s.Env), map[string]string(s.Headers)), "${") {
			return "a proposed server has a small risk or reads the environment"
		}
	}
	return policyLenient(a, b)
}

func policyLenient(a, b config.Values) string {
	before, err := policy.New(a.PermissionProfile, a.PolicyOptions())
	if err != nil {
		return err.Error()
	}
	after, err := policy.New(b.PermissionProfile, b.PolicyOptions())
	if err != nil {
		return err.Error()
	}
	strictness := []policy.Action{policy.Allow, policy.Confirm, policy.Deny}
	for _, risk := range tool.Risks() {
		for _, name := range []string{"a", "b", "x"} {
			for _, command := range [][]string{nil, {"a"}, {"a", "b"}, {"b", "c", "c"}} {
				q := policy.Request{Tool: name, Risk: risk, Command: command}
				if slices.Index(strictness, after.Decide(q).Action) < slices.Index(strictness, before.Decide(q).Action) {
					return fmt.Sprintf("%+v is %+v, was %+v", q, after.Decide(q), before.Decide(q))
				}
			}
		}
	}
	return ""
}

// F-CFG-02, F-MOD-01, C4: what a project may not do, with the words that say
// so; the last column is what holds.
func TestRefused(t *testing.T) {
	tests := []struct{ name, user, project, key, holds, says string }{
		{"off", `{"version": 1}`, `{"version": 1, "context": {"mode": "off"}}`, "context.mode", `"warn"`, "only make it stricter"},
		{"less than the user", `{"version": 1, "context": {"mode": "compact"}}`, `{"version": 1, "context": {"mode": "warn"}}`, "context.mode", `"compact"`, `it stays "compact"`},
		{"smaller reserve", `{"version": 1}`, `{"version": 1, "context": {"bufferTokens": 8191}}`, "context.bufferTokens", "8192", "only raise it"},
		{"automatic reserve", `{"version": 1, "context": {"bufferTokens": 9000}}`, `{"version": 1, "context": {"bufferTokens": "auto"}}`, "context.bufferTokens", "9000", `"auto", which stands for 8192, is less`},
		{"longer tail", `{"version": 1}`, `{"version": 1, "context": {"recentTailTokens": 12001}}`, "context.recentTailTokens", "12000", "only lower it"},
		{"longer summary", `{"version": 1, "context": {"summaryTargetTokens": "auto"}}`, `{"version": 1, "context": {"summaryTargetTokens": 1201}}`, "context.summaryTargetTokens", `"auto"`, "only lower it"},
		{"window", `{"version": 1}`, `{"version": 1, "context": {"windowTokens": 4096}}`, "context.windowTokens", `"auto"`, "may not set it"},
		{"no cost limit", `{"version": 1, "limits": {"maxCostUSD": 1}}`, `{"version": 1, "limits": {"maxCostUSD": 0}}`, "limits.maxCostUSD", "1", "0, no limit, is more"},
		{"profile", `{"version": 1}`, `{"version": 1, "permissionProfile": "workspace-write"}`, "permissionProfile", `"safe"`, "stricter"},
		{"model", `{"version": 1}`, `{"version": 1, "model": "other"}`, "model", "not set", "may not set it"},
		{"grant", `{"version": 1}`, `{"version": 1, "policy": {"grants": [{"risk": "process"}]}}`, "policy.grants", "not set", "may not set it"},
		{"skills on", `{"version": 1, "skills": {"enabled": false}}`, `{"version": 1, "skills": {"enabled": true}}`, "skills.enabled", "false", "only switch it off"},
		{"user's instructions", `{"version": 1}`, `{"version": 1, "instructions": {"maxFileBytes": 1}}`, "instructions.maxFileBytes", "32768", "may not set it"},
		{"user's plugins", `{"version": 1}`, `{"version": 1, "plugins": {"enabled": false}}`, "plugins.enabled", "true", "may not set it"},
		{"trace", `{"version": 1}`, `{"version": 1, "trace": {"enabled": false}}`, "trace.enabled", "true", "may not set it"},
		{"provider's endpoint", `{"version": 1}`, `{"version": 1, "providers": {"openai": {"endpoint": "https://example.com"}}}`, "providers.openai.endpoint", "not set", "may not set it"},
		{"user's server", `{"version": 1, "mcp": {"servers": {"a": {"command": ["x"]}}}}`, `{"version": 1, "mcp": {"servers": {"a": {"command": ["y"]}}}}`,
			"mcp.servers.a.command", `["x"]`, "may not change a server"},
		{"user's server's tools", `{"version": 1, "mcp": {"servers": {"a": {"command": ["x"], "allow": ["t"]}}}}`, `{"version": 1, "mcp": {"servers": {"a": {"allow": ["t", "u"]}}}}`,
			"mcp.servers.a.allow", `["t"]`, `"u" is new`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := config.Merge([]byte(tt.user), []byte(tt.project))
			w := c.Warnings()
			if len(w) != 1 || len(c.Findings()) != 1 || w[0].Key != tt.key || w[0].Severity != config.Refused || !strings.Contains(w[0].Text, tt.says) {
				t.Errorf("got %v, want a refusal of %s that says %q", c.Findings(), tt.key, tt.says)
			}
			for _, s := range c.Settings() {
				if s.Key == tt.key && s.Text != tt.holds {
					t.Errorf("%s is %s, want %s", tt.key, s.Text, tt.holds)
				}
			}
		})
	}
}

// F-CFG-02: what a project may do is done, and said by whom.
func TestApplied(t *testing.T) {
	c := config.Merge([]byte(`{"version": 1, "limits": {"maxSteps": 100}, "policy": {"rules": [{"tool": "a", "action": "confirm"}]}}`),
		[]byte(`{"version": 1, "context": {"mode": "compact", "reservedOutputTokens": 20000}, "limits": {"maxSteps": 50},
			"policy": {"rules": [{"command": ["git", "push"], "action": "deny"}]},
			"mcp": {"servers": {"new": {"url": "https://example.com/mcp"}}}}`))
	v := c.Values
	if len(c.Findings()) != 0 || v.Context.Mode != "compact" || v.Limits.MaxSteps != 50 {
		t.Errorf("got %v, mode %s, %d steps", c.Findings(), v.Context.Mode, v.Limits.MaxSteps)
	}
	if layers := v.PolicyOptions().Layers; len(layers) != 2 || layers[0].Source != "user" || layers[1].Source != "project" || layers[1].Rules[0].Action != policy.Deny {
		t.Errorf("layers of the policy: %+v", layers)
	}
	if len(v.MCP.Servers) != 0 || v.MCP.Proposed["new"].URL != "https://example.com/mcp" {
		t.Errorf("a project's server is no proposal: %+v", v.MCP)
	}
	origins := c.Provenance("limits.maxSteps")
	if len(origins) != 3 || origins[0].Layer != config.Project || origins[0].Line != 1 || origins[1].Layer != config.User || origins[2].Value != 200 {
		t.Errorf("provenance: %+v", origins)
	}
}

// B7: however much a project reserves, half of a small window stays usable.
func TestReserveLeavesHalf(t *testing.T) {
	c := config.Merge(nil, []byte(`{"version": 1, "context": {"reservedOutputTokens": 100000000, "bufferTokens": 100000000}}`))
	b, err := budget.New(32_000, 8_000, c.BudgetSettings())
	if err != nil || b.AvailableTokens != 16_000 {
		t.Errorf("got %+v, %v", b, err)
	}
}
