package plugin

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseManifest(t *testing.T) {
	full := `{"name":"all-1","version":"1.0.0","description":"does all","capabilities":{
		"observer":{"command":["./o"]},"policyHook":{"command":["python3","h.py"],"timeoutMilliseconds":500},"prompt":{"file":"./a/../p.md"},
		"mcpServer":{"command":["/usr/bin/x"],"env":["A_B"]},"command":{"check":{"command":["./c","-x"],"description":"checks"}},"skills":{"folder":"skills"}}}`
	m, err := ParseManifest([]byte(full))
	want := Capabilities{
		Observer: &Program{[]string{"./o"}}, PolicyHook: &Hook{[]string{"python3", "h.py"}, 500}, Prompt: &Prompt{"p.md"},
		MCPServer: &Server{Command: []string{"/usr/bin/x"}, Env: []string{"A_B"}},
		Commands:  map[string]Command{"check": {"checks", []string{"./c", "-x"}}}, Skills: &Skills{"skills"},
	}
	if err != nil || m.Name != "all-1" || m.Version != "1.0.0" || m.Description != "does all" || !reflect.DeepEqual(m.Capabilities, want) {
		t.Errorf("got %+v, %v", m, err)
	}
	if names := m.Capabilities.Names(); len(names) != 6 {
		t.Errorf("names %q", names)
	}
}

// Each error names the place and what to do; unknown members the nearest one.
func TestParseManifestRefuses(t *testing.T) {
	with := func(capabilities string) string {
		return `{"name":"n","version":"1","description":"d","capabilities":{` + capabilities + `}}`
	}
	for text, want := range map[string]string{
		``:                                  "no complete JSON",
		`[]`:                                "must be a JSON object",
		with(``):                            "declares no capability",
		with(`"prompt":{"file":"p"}`) + "x": "after the end",
		`{"nam":"n"}`:                       "did you mean name?",
		`{"name":"n","name":"n"}`:           "name is given twice",
		`{"name":"n","version":"1","description":"d"}`: "capabilities is missing",
		`{"name":1}`:    "name must be a text",
		`{"name":null}`: "name is null",
		strings.Replace(with(``), `"n"`, `"../n"`, 1):                      `the name is "../n"`,
		strings.Replace(with(``), `"d"`, `"\u001b[2J"`, 1):                 "one line",
		with(`"observers":{}`):                                             "did you mean capabilities.observer?",
		with(`"checkpoint":{}`):                                            "capabilities.checkpoint is unknown; use observer, policyHook, prompt, mcpServer, command, skills",
		with(`"observer":{"comand":["x"]}`):                                "did you mean capabilities.observer.command?",
		with(`"observer":{"command":"x"}`):                                 "must be a list of texts",
		with(`"observer":{"command":[]}`):                                  "is empty",
		with(`"observer":{"command":["../x"]}`):                            `written as "./"`,
		with(`"observer":{"command":["./../x"]}`):                          `written as "./"`,
		with(`"observer":{"command":["bin/x"]}`):                           `written as "./"`,
		with(`"observer":{"command":["x","a\u0000"]}`):                     "NUL",
		with(`"policyHook":{"command":["x"],"timeoutMilliseconds":60000}`): "from 1 to 10000",
		with(`"prompt":{"file":"../p"}`):                                   "no path in the plugin's folder",
		with(`"prompt":{"file":"/etc/passwd"}`):                            "no path in the plugin's folder",
		with(`"prompt":{"file":""}`):                                       "no path in the plugin's folder",
		with(`"mcpServer":{}`):                                             "needs a command or a url",
		with(`"mcpServer":{"command":["x"],"url":"https://x"}`):            "and not both",
		with(`"mcpServer":{"url":"http://example.com"}`):                   "use https",
		with(`"mcpServer":{"url":"https://u:p@example.com"}`):              "without a password",
		with(`"mcpServer":{"command":["x"],"env":["A=b"]}`):                "not values",
		with(`"command":{}`):                                               "has 0 commands",
		with(`"command":{"A B":{"command":["x"]}}`):                        `the name "A B"`,
		with(`"skills":{"folder":"a/../.."}`):                              "no path in the plugin's folder",
	} {
		if _, err := ParseManifest([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// Foreign bytes never make a panic, and what passes names no place outside.
func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(`{"name":"n","version":"1","description":"d","capabilities":{"prompt":{"file":"p"},"skills":{"folder":"."}}}`))
	f.Add([]byte(`{"name":"n","version":"1","description":"d","capabilities":{"observer":{"command":["./x/../y"]}}}`))
	f.Add([]byte(`{"name":"n","version":"1","description":"d","capabilities":{"mcpServer":{"url":"http://[::1]:80/"},"command":{"a":{"command":["x"]}}}}`))
	f.Add([]byte(`{"a":`))
	f.Add([]byte(`{"name":"n","capabilities":{"x":{"y":[[[[{}]]]]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest(data)
		if err != nil {
			return
		}
		if !validName.MatchString(m.Name) || len(m.Capabilities.Names()) == 0 {
			t.Errorf("passed: %+v", m)
		}
		c := m.Capabilities
		if c.Prompt != nil && !filepath.IsLocal(c.Prompt.File) || c.Skills != nil && !filepath.IsLocal(c.Skills.Folder) {
			t.Errorf("outside: %+v", m)
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := ParseManifest(again); err != nil || !reflect.DeepEqual(m, second) {
			t.Errorf("%s reads as %+v, %v", again, second, err)
		}
	})
}
