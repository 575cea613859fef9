package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/internal/command"
	"github.com/forge-agent/forge/internal/plugin"
	"github.com/forge-agent/forge/internal/workspace"
)

// extensions is what the commands on plugins and skills have in common.
type extensions struct {
	env *Env
	dir string
}

func (x *extensions) flags(c *cobra.Command) {
	c.PersistentFlags().StringVar(&x.dir, "workspace", "", "folder of the workspace; without it the nearest folder with a .git, or the current one")
}

// open opens the workspace and finds FORGE_HOME.
func (x *extensions) open() (*workspace.Workspace, string, error) {
	home, err := homeFolder(x.env)
	if err != nil {
		return nil, "", err
	}
	dir := x.dir
	if dir == "" {
		if dir, err = workspaceFolder("."); err != nil {
			return nil, "", err
		}
	}
	w, err := workspace.Open(dir)
	if err != nil {
		return nil, "", usageError{err}
	}
	return w, home, nil
}

// workspaceFolder returns the nearest folder at or above dir that holds a
// ".git", else dir.
func workspaceFolder(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find workspace: %w", err)
	}
	for at := start; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return start, nil
		}
	}
}

func newPlugins(env *Env) *cobra.Command {
	x := &extensions{env: env}
	cmd := &cobra.Command{
		Use:   "plugins",
		Short: "List plugins, trust those of this workspace, run their commands",
		Long: "A plugin is a folder with a plugin.json, in FORGE_HOME/plugins or in .forge/plugins of the workspace. " +
			"One of the workspace does nothing until you trust it; the trust is kept in FORGE_HOME, for this workspace and for " +
			"the present content of the plugin's files. When a file of it changes, it is not trusted any more.",
		Example: "  forge plugins list\n  forge plugins trust lint\n  forge plugins run lint check ./...\n  forge plugins untrust lint",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	x.flags(cmd)
	var asJSON bool
	list := &cobra.Command{
		Use: "list", Short: "List plugins, what they can do and whether they are trusted", Args: arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error { return x.listPlugins(c, asJSON) },
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	run := &cobra.Command{
		Use: "run NAME COMMAND [ARGUMENTS]", Short: "Run a command of a trusted plugin", Args: arguments(2, -1, "a plugin, one of its commands and arguments for it"),
		Long: "Run a command of a trusted plugin in the plugin's folder, with a reduced environment. FORGE_WORKSPACE names the workspace. " +
			"Where the system can confine it, it writes only below the workspace and a temporary folder.",
		RunE: func(c *cobra.Command, args []string) error { return x.runPlugin(c, args[0], args[1], args[2:]) },
	}
	run.Flags().SetInterspersed(false)
	cmd.AddCommand(list, run,
		&cobra.Command{
			Use: "trust NAME", Short: "Let a plugin of this workspace do what it declares", Args: arguments(1, 1, "the name of one plugin"),
			RunE: func(c *cobra.Command, args []string) error { return x.trust(c, args[0]) },
		},
		&cobra.Command{
			Use: "untrust NAME", Short: "Take the trust back", Args: arguments(1, 1, "the name of one plugin"),
			RunE: func(c *cobra.Command, args []string) error { return x.untrust(c, args[0]) },
		})
	return cmd
}

// plugins finds the plugins. Close the workspace.
func (x *extensions) plugins(c *cobra.Command) (*plugin.List, *workspace.Workspace, error) {
	w, home, err := x.open()
	if err != nil {
		return nil, nil, err
	}
	list, err := plugin.Discover(c.Context(), w, home)
	if err != nil {
		return nil, nil, errors.Join(err, w.Close())
	}
	return list, w, nil
}

// pluginJSON is one plugin in the output of list --json.
type pluginJSON struct {
	plugin.Manifest
	Origin plugin.Origin `json:"origin"`
	Trust  plugin.Trust  `json:"trust"`
	Dir    string        `json:"dir"`
	Hash   string        `json:"hash,omitempty"`
}

func (x *extensions) listPlugins(c *cobra.Command, asJSON bool) error {
	list, w, err := x.plugins(c)
	if err != nil {
		return err
	}
	defer w.Close()
	if asJSON {
		out := struct {
			Workspace string       `json:"workspace"`
			Plugins   []pluginJSON `json:"plugins"`
			Problems  []string     `json:"problems"`
		}{w.Dir(), []pluginJSON{}, []string{}}
		for _, p := range list.Plugins {
			out.Plugins = append(out.Plugins, pluginJSON{p.Manifest, p.Origin, p.Trust, p.Dir, p.Hash})
		}
		for _, p := range list.Problems {
			out.Problems = append(out.Problems, p.String())
		}
		return json.NewEncoder(x.env.Stdout).Encode(out)
	}
	if len(list.Plugins) == 0 {
		fmt.Fprintln(x.env.Stdout, "There are no plugins.")
	} else {
		t := tabwriter.NewWriter(x.env.Stdout, 2, 8, 2, ' ', 0)
		fmt.Fprintln(t, "plugin\tversion\torigin\ttrust\tcapabilities\tdescription")
		for _, p := range list.Plugins {
			m := p.Manifest
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, m.Version, p.Origin, p.Trust, strings.Join(m.Capabilities.Names(), ", "), m.Description)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, p := range list.Problems {
		fmt.Fprintf(x.env.Stderr, "forge: %s\n", p)
	}
	return nil
}

func (x *extensions) trust(c *cobra.Command, name string) error {
	list, w, err := x.plugins(c)
	if err != nil {
		return err
	}
	defer w.Close()
	p, err := list.SetTrusted(c.Context(), name)
	if err != nil {
		return usageError{err}
	}
	fmt.Fprintf(x.env.Stdout, "The plugin %s %s is trusted in %s, as it is now (%s). It can do this:\n", name, p.Manifest.Version, w.Dir(), p.Hash)
	for _, line := range abilities(p.Manifest.Capabilities) {
		fmt.Fprintln(x.env.Stdout, "  "+line)
	}
	fmt.Fprintf(x.env.Stdout, "Programs of it read what you can. %s\n", command.Expect([]string{w.Dir(), "a temporary folder"}).Text)
	return nil
}

// abilities says what a plugin does, with every program that it starts.
func abilities(c plugin.Capabilities) []string {
	var out []string
	if c.Observer != nil {
		out = append(out, "observer: gets the events of runs: "+quoted(c.Observer.Command))
	}
	if c.PolicyHook != nil {
		out = append(out, "policyHook: is asked about tool calls, and can only be stricter: "+quoted(c.PolicyHook.Command))
	}
	if c.Prompt != nil {
		out = append(out, "prompt: adds a text to the instructions: "+c.Prompt.File)
	}
	if s := c.MCPServer; s != nil && s.URL != "" {
		out = append(out, "mcpServer: offers tools of "+s.URL)
	} else if s != nil {
		line := "mcpServer: offers tools of a program: " + quoted(s.Command)
		if len(s.Env) > 0 {
			line += ", which gets " + strings.Join(s.Env, ", ") + " of your environment"
		}
		out = append(out, line)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Commands)) {
		out = append(out, fmt.Sprintf("command %s: %s", name, quoted(c.Commands[name].Command)))
	}
	if c.Skills != nil {
		out = append(out, "skills: adds skills from "+c.Skills.Folder)
	}
	return out
}

// quoted shows an argument vector so that each argument is told apart.
func quoted(vector []string) string { return fmt.Sprintf("%q", vector) }

func (x *extensions) untrust(c *cobra.Command, name string) error {
	list, w, err := x.plugins(c)
	if err != nil {
		return err
	}
	defer w.Close()
	was, err := list.SetUntrusted(name)
	if err != nil {
		return usageError{err}
	}
	if !was {
		fmt.Fprintf(x.env.Stdout, "The plugin %s was not trusted in %s.\n", name, w.Dir())
		return nil
	}
	fmt.Fprintf(x.env.Stdout, "The plugin %s is not trusted in %s any more.\n", name, w.Dir())
	return nil
}

func (x *extensions) runPlugin(c *cobra.Command, name, commandName string, args []string) (err error) {
	list, w, err := x.plugins(c)
	if err != nil {
		return err
	}
	defer w.Close()
	p, found := list.Find(name)
	if found && p.Trust != plugin.Trusted {
		return usagef("the plugin %s is %s: look at %s, then run \"forge plugins trust %s\"", name, p.Trust, p.Dir, name)
	}
	if _, declared := p.Manifest.Capabilities.Commands[commandName]; found && !declared {
		names := slices.Sorted(maps.Keys(p.Manifest.Capabilities.Commands))
		return usagef("the plugin %s has no command %q; it has: %s", name, commandName, strings.Join(names, ", "))
	}
	active, err := list.Activate(plugin.Options{Environ: x.env.Environ})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, active.Close()) }()
	streams := plugin.Streams{Output: x.env.Stdout}
	if in, ok := x.env.Stdin.(*os.File); ok && !term.IsTerminal(in.Fd()) {
		streams.Input = in
	}
	if out, ok := x.env.Stderr.(*os.File); ok {
		streams.ErrOutput = out
	}
	exit, err := active.Run(c.Context(), name, commandName, args, streams)
	switch {
	case errors.Is(err, plugin.ErrUnknown):
		for _, problem := range append(list.Problems, active.Problems()...) {
			if problem.Plugin == name || problem.Plugin == "" {
				err = errors.New(problem.String())
			}
		}
		return usageError{err}
	case err != nil:
		return err
	case exit.Ending == command.Canceled:
		return c.Context().Err()
	case exit.Code != 0:
		return fmt.Errorf("the command %s of the plugin %s ended with code %d", commandName, name, exit.Code)
	}
	return nil
}
