package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/forge-agent/forge/internal/excerpt"
)

// ManifestName is the file that makes a folder a plugin.
const ManifestName = "plugin.json"

// Bounds of a manifest.
const (
	maxManifestBytes    = 64 << 10
	maxNameBytes        = 64
	maxVersionBytes     = 64
	maxDescriptionRunes = 1024
	maxArguments        = 64
	maxCommands         = 64
	maxHookTimeout      = 10 * time.Second
)

// validName is as for skills: words of small letters and digits with single
// hyphens between them.
var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// validVariable is the name of an environment variable.
var validVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// A Manifest is what a plugin declares. Nil members are not declared.
type Manifest struct {
	// Name is the name of the plugin's folder.
	Name string `json:"name"`
	// Version is any text of one line.
	Version string `json:"version"`
	// Description is one line.
	Description  string       `json:"description"`
	Capabilities Capabilities `json:"capabilities"`
}

// Capabilities are what a plugin can do, six in all.
type Capabilities struct {
	// Observer gets redacted events on its standard input.
	Observer *Program `json:"observer,omitempty"`
	// PolicyHook is asked about tool calls, and can only be stricter.
	PolicyHook *Hook `json:"policyHook,omitempty"`
	// Prompt is text for the instructions.
	Prompt *Prompt `json:"prompt,omitempty"`
	// MCPServer declares a server.
	MCPServer *Server `json:"mcpServer,omitempty"`
	// Commands are run by the user, by name. The member is "command".
	Commands map[string]Command `json:"command,omitempty"`
	// Skills is a folder of skills.
	Skills *Skills `json:"skills,omitempty"`
}

// A Program is an argument vector. The first entry is a program on the PATH,
// an absolute path, or "./" and a path in the plugin's folder, which is also
// where it starts.
type Program struct {
	Command []string `json:"command"`
}

// A Hook is a program with a time limit.
type Hook struct {
	Command []string `json:"command"`
	// TimeoutMilliseconds is how long it may take for one answer, up to 10,000.
	// Zero means DefaultHookTimeout.
	TimeoutMilliseconds int `json:"timeoutMilliseconds,omitempty"`
}

// A Prompt is a text file in the plugin's folder.
type Prompt struct {
	File string `json:"file"`
}

// A Server is a program or an address, not both.
type Server struct {
	Command []string `json:"command,omitempty"`
	// Env names variables of the user's environment that the program gets.
	Env []string `json:"env,omitempty"`
	// URL is an https address, or http on this machine.
	URL string `json:"url,omitempty"`
}

// A Command is a program that the user runs by name.
type Command struct {
	Description string   `json:"description,omitempty"`
	Command     []string `json:"command"`
}

// Skills is a folder in the plugin's folder.
type Skills struct {
	Folder string `json:"folder"`
}

// Names returns the declared capabilities, as the manifest names them.
func (c Capabilities) Names() []string {
	var out []string
	for _, each := range []struct {
		name     string
		declared bool
	}{
		{"observer", c.Observer != nil}, {"policyHook", c.PolicyHook != nil}, {"prompt", c.Prompt != nil},
		{"mcpServer", c.MCPServer != nil}, {"command", len(c.Commands) > 0}, {"skills", c.Skills != nil},
	} {
		if each.declared {
			out = append(out, each.name)
		}
	}
	return out
}

// ParseManifest reads a manifest strictly: unknown, repeated and missing
// members are errors that name the place and the nearest known member.
func ParseManifest(data []byte) (Manifest, error) {
	m, err := parseManifest(data)
	if err != nil {
		return Manifest{}, fmt.Errorf("read %s: %w", ManifestName, err)
	}
	return m, nil
}

func parseManifest(data []byte) (Manifest, error) {
	if len(data) > maxManifestBytes {
		return Manifest{}, fmt.Errorf("it has %d bytes; the most is %d", len(data), maxManifestBytes)
	}
	if !utf8.Valid(data) {
		return Manifest{}, errors.New("it is not valid UTF-8")
	}
	var m Manifest
	var capabilities json.RawMessage
	err := object("", data, []member{
		{"name", true, into(&m.Name)}, {"version", true, into(&m.Version)},
		{"description", true, into(&m.Description)}, {"capabilities", true, into(&capabilities)},
	})
	if err != nil {
		return m, err
	}
	switch {
	case !validName.MatchString(m.Name) || len(m.Name) > maxNameBytes:
		return m, fmt.Errorf("the name is %q: use small letters, digits and single hyphens between them, up to %d", clip(m.Name), maxNameBytes)
	case !isLine(m.Version) || len(m.Version) > maxVersionBytes:
		return m, fmt.Errorf("the version must be one line of up to %d bytes", maxVersionBytes)
	case !isLine(m.Description) || utf8.RuneCountInString(m.Description) > maxDescriptionRunes:
		return m, fmt.Errorf("the description must be one line of up to %d characters", maxDescriptionRunes)
	}
	if err := m.Capabilities.parse(capabilities); err != nil {
		return m, err
	}
	if len(m.Capabilities.Names()) == 0 {
		return m, errors.New("it declares no capability: use observer, policyHook, prompt, mcpServer, command or skills")
	}
	return m, nil
}

// isLine reports whether a text is one line with something on it.
func isLine(s string) bool {
	return strings.TrimSpace(s) != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}

func (c *Capabilities) parse(data []byte) error {
	const at = "capabilities"
	return object(at, data, []member{
		{"observer", false, func(at string, data []byte) error {
			c.Observer = &Program{}
			return program(at, data, &c.Observer.Command)
		}},
		{"policyHook", false, func(at string, data []byte) error {
			c.PolicyHook = &Hook{}
			if err := program(at, data, &c.PolicyHook.Command, member{"timeoutMilliseconds", false, into(&c.PolicyHook.TimeoutMilliseconds)}); err != nil {
				return err
			}
			if n := c.PolicyHook.TimeoutMilliseconds; n < 0 || n > int(maxHookTimeout/time.Millisecond) {
				return fmt.Errorf("%s.timeoutMilliseconds is %d; it can be from 1 to %d", at, n, maxHookTimeout/time.Millisecond)
			}
			return nil
		}},
		{"prompt", false, func(at string, data []byte) error {
			c.Prompt = &Prompt{}
			if err := object(at, data, []member{{"file", true, into(&c.Prompt.File)}}); err != nil {
				return err
			}
			return local(at+".file", &c.Prompt.File)
		}},
		{"mcpServer", false, func(at string, data []byte) error {
			c.MCPServer = &Server{}
			return c.MCPServer.parse(at, data)
		}},
		{"command", false, func(at string, data []byte) error { return commands(at, data, &c.Commands) }},
		{"skills", false, func(at string, data []byte) error {
			c.Skills = &Skills{}
			if err := object(at, data, []member{{"folder", true, into(&c.Skills.Folder)}}); err != nil {
				return err
			}
			return local(at+".folder", &c.Skills.Folder)
		}},
	})
}

// program reads an object with a command and further members.
func program(at string, data []byte, vector *[]string, more ...member) error {
	if err := object(at, data, append([]member{{"command", true, into(vector)}}, more...)); err != nil {
		return err
	}
	return checkVector(at+".command", *vector)
}

func checkVector(at string, vector []string) error {
	if len(vector) == 0 || vector[0] == "" {
		return fmt.Errorf("%s is empty: list the program and its arguments", at)
	}
	if len(vector) > maxArguments {
		return fmt.Errorf("%s has %d entries; the most is %d", at, len(vector), maxArguments)
	}
	for _, entry := range vector {
		if strings.ContainsRune(entry, 0) {
			return fmt.Errorf("%s holds a NUL character", at)
		}
	}
	first := vector[0]
	if !strings.ContainsAny(first, `/\`) || filepath.IsAbs(first) {
		return nil
	}
	if !strings.HasPrefix(first, "./") || !filepath.IsLocal(filepath.FromSlash(path.Clean(first))) {
		return fmt.Errorf("%s begins with %q: a program of the plugin is written as \"./\" and its path in the plugin's folder", at, clip(first))
	}
	return nil
}

// local checks a path in the plugin's folder and shortens it.
func local(at string, name *string) error {
	clean := path.Clean(filepath.ToSlash(*name))
	if *name == "" || strings.ContainsRune(*name, 0) || !filepath.IsLocal(filepath.FromSlash(clean)) {
		return fmt.Errorf("%s is %q, which is no path in the plugin's folder", at, clip(*name))
	}
	*name = clean
	return nil
}

func (s *Server) parse(at string, data []byte) error {
	err := object(at, data, []member{{"command", false, into(&s.Command)}, {"env", false, into(&s.Env)}, {"url", false, into(&s.URL)}})
	if err != nil {
		return err
	}
	for _, name := range s.Env {
		if !validVariable.MatchString(name) {
			return fmt.Errorf("%s.env holds %q: list names of variables, not values", at, clip(name))
		}
	}
	switch {
	case (s.URL == "") == (s.Command == nil):
		return fmt.Errorf("%s needs a command or a url, and not both", at)
	case s.URL == "":
		return checkVector(at+".command", s.Command)
	case len(s.Env) > 0:
		return fmt.Errorf("%s.env goes with a command, not with a url", at)
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())) {
		return fmt.Errorf("%s.url is %q: use https, or http on this machine, without a password", at, clip(s.URL))
	}
	return nil
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

func commands(at string, data []byte, list *map[string]Command) error {
	*list = map[string]Command{}
	err := entries(at, data, func(name string, value []byte) error {
		if !validName.MatchString(name) || len(name) > maxNameBytes {
			return fmt.Errorf("%s has the name %q: use small letters, digits and single hyphens between them", at, clip(name))
		}
		var c Command
		if err := program(at+"."+name, value, &c.Command, member{"description", false, into(&c.Description)}); err != nil {
			return err
		}
		if c.Description != "" && !isLine(c.Description) {
			return fmt.Errorf("%s.%s.description must be one line", at, name)
		}
		(*list)[name] = c
		return nil
	})
	if err == nil && (len(*list) == 0 || len(*list) > maxCommands) {
		return fmt.Errorf("%s has %d commands; it can have from 1 to %d", at, len(*list), maxCommands)
	}
	return err
}

// clip bounds a piece of foreign text in a message.
func clip(s string) string { return excerpt.Line(s, 80) }
