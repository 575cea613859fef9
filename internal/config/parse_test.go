package config_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/policy"
)

// F-CFG-03, F-CFG-04: every fault has its place and says what to do.
func TestFaults(t *testing.T) {
	deep := strings.Repeat("[", 30_000)
	tests := []struct{ name, text, want string }{
		{"nothing", "", `f:1:1: error: the file is empty`},
		{"comment only", "// none", `f:1:8: error: this is not JSON`},
		{"no object", "[]", `f:1:1: error: the file holds a list`},
		{"no version", "{}", `add "version": 1`},
		{"later version only", `{"version": 2, "new": 1}`, `f:1:13: error: version is 2, but must be 1`},
		{"version as text", `{"version": "1"}`, `version must be a number, not text`},
		{"cut off", `{"version": 1, "model": `, `f:1:25: error: this is not JSON with comments: parsing value: the file ends too early`},
		{"characters, not bytes", `{"version": 1, /* é */ "x": 1}`, `f:1:24: error: unknown key "x"`},
		{"after a byte order mark", "\ufeff{\"version\": 1,\n \"modell\": 1}", `f:2:2: error: unknown key "modell"; did you mean "model"?`},
		{"far from every key", `{"version": 1, "zzzzzzzz": 1}`, `unknown key "zzzzzzzz"; "forge config schema" lists the keys`},
		{"other case", `{"version": 1, "Model": "x"}`, `did you mean "model"?`},
		{"swapped letters", `{"version": 1, "mdoel": "x"}`, `did you mean "model"?`},
		{"in the wrong place", `{"version": 1, "bufferTokens": 9000}`, `did you mean "context.bufferTokens"?`},
		{"the table's own words", `{"version": 1, "*": 1, "policy": {"rules": [{"[]": 1, "action": "deny"}]}}`, `unknown key "[]" in "policy.rules[0]"`},
		{"what merging makes", `{"version": 1, "policy": {"projectRules": []}, "mcp": {"proposed": {}}}`, `unknown key "proposed"`},
		{"twice", "{\"version\": 1,\n\"model\": \"a\",\n\"model\": \"b\"}", `f:3:1: error: "model" stands twice in the same object, first in line 2`},
		{"bad bytes", "{\"version\": 1, \"model\": \"\xff\"}", `f:1:26: error: the file is not valid UTF-8 here`},
		{"not repeated", `{"version": 1, "mcp": {"servers": {"a": {"headers": {"A": "se\cret"}}}}}`, `f:1:59: error: this is not JSON with comments: a text, number or word that cannot be read`},
		{"half a pair", `{"version": 1, "model": "\ud83d"}`, `half a surrogate pair`},
		{"fraction", `{"version": 1, "limits": {"maxSteps": 1.5}}`, `must be a whole number from 1 to 1000000`},
		{"huge", `{"version": 1, "limits": {"maxSteps": 99999999999999999999}}`, `must be a whole number`},
		{"infinite", `{"version": 1, "limits": {"maxCostUSD": 1e999}}`, `must be a number from 0 to 1000000`},
		{"control", `{"version": 1, "model": "a\nb"}`, `holds a control character`},
		{"grant for everything", `{"version": 1, "policy": {"grants": [{}]}}`, `matches every call`},
		{"rule without action", `{"version": 1, "policy": {"rules": [{"tool": "a"}]}}`, `"policy.rules[0]" has no "action"; use "confirm" or "deny"`},
		{"rule that allows", `{"version": 1, "policy": {"rules": [{"tool": "a", "action": "allow"}]}}`, `a rule can only make a policy stricter`},
		{"name with a dot", `{"version": 1, "mcp": {"servers": {"a.b": {"command": ["x"]}}}}`, `"a.b" is no name`},
		{"empty server", `{"version": 1, "mcp": {"servers": {"a": {}}}}`, `"mcp.servers.a" is empty`},
		{"two ways", `{"version": 1, "mcp": {"servers": {"a": {"command": ["x"], "url": "https://example.com"}}}}`, `has both "command" and "url"`},
		{"plain HTTP", `{"version": 1, "mcp": {"servers": {"a": {"url": "http://example.com"}}}}`, `is no endpoint`},
		{"key in the file", `{"version": 1, "providers": {"openai": {"keyVariable": "sk-123"}}}`, `A key itself has no place`},
		{"provider", `{"version": 1, "provider": "antropic"}`, `unknown provider "antropic"; did you mean "anthropic"?`},
		{"own provider", `{"version": 1, "providers": {"mine": {"dialect": "chat"}}}`, `has no "endpoint", and Forge knows no provider of this name`},
		{"deep", deep, `more than 20000 brackets`},
		{"long", `{"version": 1}` + strings.Repeat(" ", config.MaxFileBytes), `which no configuration has`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, f := range config.Check(config.User, "f", []byte(tt.text)) {
				if strings.Contains(f.String(), tt.want) {
					return
				}
			}
			t.Errorf("got %v, want %s", config.Check(config.User, "f", []byte(tt.text)), tt.want)
		})
	}
}

// A comment may end with the file, and a comma may follow the last entry.
func TestComments(t *testing.T) {
	if f := config.Check(config.User, "f", []byte("/* a */ {\"version\": 1, // b\n} // c")); len(f) != 0 {
		t.Errorf("got %v", f)
	}
}

// Whatever a file holds: nothing panics, findings stand inside the file in
// order, the same bytes say the same, and what has no fault can be used.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(config.Example()))
	f.Add([]byte(`{"version": 1, "contxt": {"mode": "of"}, "policy": {"rules": [{}]}}`))
	f.Add([]byte("\ufeff{\"version\": 1, \"mcp\": {\"servers\": {\"a\": {\"allow\": [\"x\"], \"risk\": \"read\"}}}} //"))
	f.Add([]byte("\ufeff0"))
	f.Add([]byte("\"\n\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		c := config.Merge(data, data)
		if !bytes.Equal(before, data) {
			t.Fatal("the input is changed")
		}
		lines := bytes.Split(data, []byte("\n"))
		valid := true
		for _, finding := range c.Findings() {
			valid = valid && finding.Severity != config.Fault
			if !utf8.ValidString(finding.String()) || strings.ContainsAny(finding.String(), "\n\r\x1b") {
				t.Fatalf("finding %q", finding.String())
			}
			if finding.Line < 1 || finding.Line > len(lines) || finding.Column < 1 || finding.Column > utf8.RuneCount(lines[finding.Line-1])+1 {
				t.Fatalf("%s is outside the file", finding)
			}
		}
		first, err := json.Marshal([]any{c.Settings(), c.Findings()})
		again := config.Merge(data, data)
		second, err2 := json.Marshal([]any{again.Settings(), again.Findings()})
		if err != nil || err2 != nil || !bytes.Equal(first, second) {
			t.Fatalf("twice: %v %v\n%s\n%s", err, err2, first, second)
		}
		if _, err := policy.New(c.PermissionProfile, c.PolicyOptions()); valid && err != nil {
			t.Fatal(err)
		}
	})
}

// The near key is found from every misspelling with one wrong letter.
func TestNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom([]string{"model", "provider", "reasoningEffort", "permissionProfile", "instructions", "plugins"}).Draw(t, "key")
		i := rapid.IntRange(0, len(k)-1).Draw(t, "letter")
		word := k[:i] + rapid.SampledFrom([]string{"", "q", "qq"}).Draw(t, "instead") + k[i+1:]
		f := config.Check(config.User, "f", []byte(`{"version": 1, "`+word+`": 1}`))
		if len(f) != 1 || !strings.Contains(f[0].Text, `did you mean "`+k+`"?`) {
			t.Fatalf("%s: %v", word, f)
		}
	})
}
