package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/forge-agent/forge/internal/command"
	"github.com/forge-agent/forge/internal/excerpt"
	"github.com/forge-agent/forge/internal/skill"
	"github.com/forge-agent/forge/internal/workspace"
	"github.com/forge-agent/forge/redact"
)

// Bounds and times of what is active.
const (
	// PromptBytes bounds the prompt of one plugin.
	PromptBytes = 16 << 10
	// DefaultHookTimeout is how long a hook may take for one answer.
	DefaultHookTimeout = 2 * time.Second
	// DefaultGrace is how long observers may take to end.
	DefaultGrace = 2 * time.Second
)

// Options say how active plugins run. The zero value gives them an empty
// environment.
type Options struct {
	// Environ is the user's environment, as os.Environ returns it. Programs get
	// what command.Environment lets through.
	Environ []string
	// Redactor takes secrets out of what plugins get and give; nil means
	// redact.New(nil).
	Redactor *redact.Redactor
	// Clock gives the time of the events that observers see; nil leaves it out.
	Clock func() time.Time
	// Grace is how long observers may take to end; zero or less means
	// DefaultGrace.
	Grace time.Duration
}

// Active are the trusted plugins of one run. Close it when the run has ended.
type Active struct {
	options   Options
	scratch   string
	workspace string
	running   []running
	problems  []Problem
}

// running is one plugin with its folder.
type running struct {
	plugin Plugin
	// dir is the folder that its programs start in: a copy of what was
	// trusted, or the user's own.
	dir string
	// temp is for its temporary files.
	temp string
	// open is dir, for reading.
	open *workspace.Workspace
}

// Activate makes the trusted plugins of a list ready. Nothing is run yet. A
// plugin that cannot be made ready is a problem.
func (l *List) Activate(o Options) (*Active, error) {
	if o.Redactor == nil {
		o.Redactor = redact.New(nil)
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	a := &Active{options: o}
	if l.workspace != nil {
		a.workspace = l.workspace.Dir()
	}
	trusted := slices.DeleteFunc(slices.Clone(l.Plugins), func(p Plugin) bool { return p.Trust != Trusted })
	if len(trusted) == 0 {
		return a, nil
	}
	// In FORGE_HOME, which is outside of the workspace: no program that a model
	// starts can write there where programs are confined.
	state := filepath.Join(filepath.Dir(l.trust.path), "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, fmt.Errorf("activate plugins: %w", err)
	}
	scratch, err := os.MkdirTemp(state, "plugins-")
	if err != nil {
		return nil, fmt.Errorf("activate plugins: %w", err)
	}
	if a.scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return nil, errors.Join(fmt.Errorf("activate plugins: %w", err), os.RemoveAll(scratch))
	}
	for _, p := range trusted {
		if err := a.add(p); err != nil {
			a.problem(p, err.Error())
		}
	}
	return a, nil
}

func (a *Active) problem(p Plugin, text string) {
	a.problems = append(a.problems, Problem{p.Manifest.Name, p.Origin, excerpt.Line(text, 400)})
}

// add makes the folders of one plugin.
func (a *Active) add(p Plugin) error {
	r := running{plugin: p, dir: p.Dir, temp: filepath.Join(a.scratch, p.Manifest.Name+".tmp")}
	if err := os.Mkdir(r.temp, 0o700); err != nil {
		return err
	}
	if p.Origin != OriginUser {
		r.dir = filepath.Join(a.scratch, p.Manifest.Name)
		if err := os.Mkdir(r.dir, 0o700); err != nil {
			return err
		}
		if err := p.bundle.write(r.dir); err != nil {
			return err
		}
	}
	r.plugin.bundle = bundle{}
	var err error
	if r.open, err = workspace.Open(r.dir); err != nil {
		return err
	}
	a.running = append(a.running, r)
	return nil
}

// Close removes the copies and temporary files. Observers are closed before.
func (a *Active) Close() error {
	var errs []error
	for _, r := range a.running {
		errs = append(errs, r.open.Close())
	}
	a.running = nil
	if a.scratch != "" {
		errs = append(errs, os.RemoveAll(a.scratch))
	}
	return errors.Join(errs...)
}

// Problems returns what could not be made ready, and what was cut.
func (a *Active) Problems() []Problem { return slices.Clone(a.problems) }

// PromptText is the prompt of one plugin.
type PromptText struct {
	// Label says whose it is, for the instructions.
	Label string
	// Path names the file for a trace.
	Path string
	Text string
}

// Prompts reads the prompts of plugins, bounded and redacted. It is called
// once for each run; what cannot be read or is cut is a problem.
func (a *Active) Prompts() []PromptText {
	var out []PromptText
	for _, r := range a.running {
		declared := r.plugin.Manifest.Capabilities.Prompt
		if declared == nil {
			continue
		}
		name := r.plugin.Manifest.Name
		f, total, err := r.open.ReadStart(declared.File, PromptBytes+excerpt.SlackBytes)
		if err != nil {
			a.problem(r.plugin, "its prompt: "+err.Error())
			continue
		}
		e := excerpt.Make(f.Data, total, PromptBytes, a.options.Redactor)
		for _, note := range e.Notes() {
			a.problem(r.plugin, "its prompt: "+note)
		}
		out = append(out, PromptText{
			Label: fmt.Sprintf("Prompt of the plugin %q of the %s.", name, r.plugin.Origin),
			Path:  "plugin " + name + "/" + declared.File,
			Text:  e.Text,
		})
	}
	return out
}

// Skills returns the folders of skills of plugins. They are valid until Close.
func (a *Active) Skills() []skill.Source {
	var out []skill.Source
	for _, r := range a.running {
		if s := r.plugin.Manifest.Capabilities.Skills; s != nil {
			out = append(out, skill.Source{Origin: "plugin " + r.plugin.Manifest.Name, Dir: r.open, Folder: s.Folder})
		}
	}
	return out
}

// A Declared server is one that a plugin declares. To start or to reach it,
// and to ask the policy about its tools, is the caller's business.
type Declared struct {
	Plugin string
	Server Server
	// Dir is where its program starts, Env its whole environment, Writable
	// where it may write; empty for an address.
	Dir      string
	Env      []string
	Writable []string
}

// Servers returns the MCP servers of plugins. They are valid until Close.
func (a *Active) Servers() []Declared {
	var out []Declared
	for _, r := range a.running {
		s := r.plugin.Manifest.Capabilities.MCPServer
		if s == nil {
			continue
		}
		d := Declared{Plugin: r.plugin.Manifest.Name, Server: *s}
		if s.URL == "" {
			d.Dir, d.Env, d.Writable = r.dir, a.environment(r, s.Env), a.writable(r)
		}
		out = append(out, d)
	}
	return out
}

// environment is what a program of a plugin gets: the reduced environment,
// the names in extra, and where things are.
func (a *Active) environment(r running, extra []string) []string {
	env := command.Environment(a.options.Environ, extra, r.temp)
	return append(env, "FORGE_PLUGIN_DIR="+r.dir, "FORGE_WORKSPACE="+a.workspace, "PYTHONDONTWRITEBYTECODE=1")
}

// writable are the folders that a program of a plugin may change: the
// workspace and its own temporary folder. FORGE_HOME, where trust is kept, is
// not among them.
func (a *Active) writable(r running) []string {
	if a.workspace == "" {
		return []string{r.temp}
	}
	return []string{a.workspace, r.temp}
}

// spec is a program of a plugin. Close its Dir.
func (a *Active) spec(r running, vector []string) (command.Spec, error) {
	dir, err := os.Open(r.dir)
	if err != nil {
		return command.Spec{}, err
	}
	return command.Spec{Args: vector, Dir: dir, DirPath: r.dir, Env: a.environment(r, nil), Writable: a.writable(r)}, nil
}

// Streams are the standard streams of a command. Nil is none.
type Streams struct {
	Input     *os.File
	Output    io.Writer
	ErrOutput *os.File
}

// Run runs a command of a plugin with further arguments to its end. The error
// wraps ErrUnknown when there is none of that name, command.ErrNotStarted when
// it was not started.
func (a *Active) Run(ctx context.Context, plugin, name string, arguments []string, s Streams) (command.Exit, error) {
	i := slices.IndexFunc(a.running, func(r running) bool { return r.plugin.Manifest.Name == plugin })
	if i < 0 {
		return command.Exit{}, fmt.Errorf("run a command of plugin %q: %w that is trusted", plugin, ErrUnknown)
	}
	r := a.running[i]
	declared, ok := r.plugin.Manifest.Capabilities.Commands[name]
	if !ok {
		return command.Exit{}, fmt.Errorf("run command %q of plugin %q: %w", name, plugin, ErrUnknown)
	}
	spec, err := a.spec(r, append(slices.Clone(declared.Command), arguments...))
	if err != nil {
		return command.Exit{}, fmt.Errorf("run command %q of plugin %q: %w", name, plugin, err)
	}
	defer spec.Dir.Close()
	spec.Input, spec.Output, spec.Grace = s.Input, s.Output, a.options.Grace
	if s.ErrOutput != nil {
		spec.Errors = s.ErrOutput
	}
	exit, err := command.Run(ctx, spec)
	if err != nil {
		return exit, fmt.Errorf("run command %q of plugin %q: %w", name, plugin, err)
	}
	return exit, nil
}
