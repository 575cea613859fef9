package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/internal/workspace"
)

// addConfigFlags gives a command the flags of all settings that have one. The
// result returns those that were given, by key; it is called after parsing.
// A flag that the command has already is left alone and counted in.
func addConfigFlags(c *cobra.Command) func() map[string]string {
	var keys []config.Key
	for _, k := range config.Keys() {
		if k.Flag == "" {
			continue
		}
		if c.Flags().Lookup(k.Flag) == nil {
			doc, _, _ := strings.Cut(k.Doc, ". ")
			c.Flags().String(k.Flag, "", strings.TrimSuffix(strings.ReplaceAll(doc, "`", ""), "."))
		}
		keys = append(keys, k)
	}
	return func() map[string]string {
		given := map[string]string{}
		for _, k := range keys {
			if f := c.Flags().Lookup(k.Flag); f.Changed {
				given[k.Path] = f.Value.String()
			}
		}
		return given
	}
}

// loadConfig reads the configuration for a folder. A configuration that
// cannot be used is the caller's fault; it is returned all the same, for
// showing.
func loadConfig(env *Env, folder string, flags map[string]string) (*config.Config, error) {
	home, err := homeFolder(env)
	if err != nil {
		return nil, err
	}
	if home, err = filepath.Abs(home); err != nil {
		return nil, err
	}
	w, err := workspace.Open(folder)
	if err != nil {
		return nil, usageError{err}
	}
	defer w.Close()
	c, err := config.Load(config.Options{Home: home, Workspace: w, Getenv: env.Getenv, Flags: flags})
	if err != nil {
		return c, usageError{err}
	}
	return c, nil
}

// warnConfig shows what is not applied: it must not happen in silence.
func warnConfig(env *Env, c *config.Config) {
	for _, f := range c.Warnings() {
		fmt.Fprintf(env.Stderr, "forge: warning: %s: %s\n", f.Place, f.Text)
	}
}

func newConfig(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show and check the configuration, each value with its source",
		Long: "Show and check the configuration. Values come from defaults, config.json in FORGE_HOME, .forge/config.json in the workspace, " +
			"environment variables and flags; a later one beats an earlier one, and a project can only tighten what you have set. " +
			"docs/CONFIGURATION.md describes every key.",
		Example: "  forge config show\n  forge config show context --json\n  forge config show --max-steps 20 limits.maxSteps\n  forge config validate .forge/config.json\n  forge config schema > forge.schema.json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(newConfigShow(env), newConfigValidate(env), &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of a configuration file, for editors", Args: arguments(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			_, err := env.Stdout.Write(config.Schema())
			return err
		},
	})
	return cmd
}

func newConfigShow(env *Env) *cobra.Command {
	var asJSON, example bool
	var folder string
	show := &cobra.Command{
		Use: "show [KEY]", Short: "Print the values, where each comes from and what it beats", Args: arguments(0, 1, "one key at most"),
		Long: "Print the values, where each comes from and what it beats. KEY is one key, or a group such as context. " +
			"Flags that a run takes can be given to see what they would change. Secrets are hidden.",
		Example: "  forge config show\n  forge config show limits\n  forge config show --example > ~/.forge/config.json",
	}
	show.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	show.Flags().BoolVar(&example, "example", false, "print an example with comments instead")
	show.Flags().StringVar(&folder, "workspace", ".", "folder with the project's .forge/config.json")
	flags := addConfigFlags(show)
	show.RunE = func(c *cobra.Command, args []string) error {
		if example {
			_, err := fmt.Fprint(env.Stdout, config.Example())
			return err
		}
		loaded, fault := loadConfig(env, folder, flags())
		if loaded == nil {
			return fault
		}
		settings, err := selectSettings(loaded, strings.Join(args, ""))
		if err != nil {
			return err
		}
		if asJSON {
			err = writeJSON(env.Stdout, map[string]any{"settings": settings, "findings": append([]config.Finding{}, loaded.Findings()...)})
		} else {
			warnConfig(env, loaded)
			err = writeSettings(env, settings)
		}
		if err != nil {
			return err
		}
		return fault
	}
	return show
}

func selectSettings(c *config.Config, key string) ([]config.Setting, error) {
	var out []config.Setting
	for _, s := range c.Settings() {
		if key == "" || s.Key == key || strings.HasPrefix(s.Key, key+".") {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		hint := `"forge config show" lists the keys`
		if near := c.Find(key); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return nil, usagef("unknown key %q; %s", key, hint)
	}
	return out, nil
}

func writeSettings(env *Env, settings []config.Setting) error {
	w := tabwriter.NewWriter(env.Stdout, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "KEY\tVALUE\tFROM")
	for _, s := range settings {
		var from []string
		for _, o := range s.Origins {
			if o.Used {
				from = append(from, source(o))
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Key, s.Text, strings.Join(from, " and "))
		for _, o := range s.Origins {
			switch {
			case o.Refused != "":
				fmt.Fprintf(w, "  refused\t%s\t%s: %s\n", o.Text, source(o), o.Refused)
			case !o.Used:
				fmt.Fprintf(w, "  beats\t%s\t%s\n", o.Text, source(o))
			}
		}
	}
	return w.Flush()
}

func source(o config.ShownOrigin) string {
	return strings.TrimSpace(o.Layer.String() + " " + o.Place.String())
}

func newConfigValidate(env *Env) *cobra.Command {
	var asJSON bool
	var folder, as string
	validate := &cobra.Command{
		Use: "validate [FILE]", Short: "Check a file, or all layers, and print what is wrong", Args: arguments(0, 1, "one file at most"),
		Long: "Check FILE, or the user's and the project's file and the environment together, and print every finding as file:line:column. " +
			"Exit code 2 means that the configuration cannot be used. What a project may not set is named, and is no fault.",
		Example: "  forge config validate\n  forge config validate .forge/config.json\n  forge config validate new.json --as user --json",
	}
	validate.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	validate.Flags().StringVar(&folder, "workspace", ".", "folder with the project's .forge/config.json")
	validate.Flags().StringVar(&as, "as", "", "whose file FILE is: user or project (default: project for .forge/config.json outside FORGE_HOME)")
	validate.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			if as != "" {
				return usagef("--as says whose file FILE is: name a FILE")
			}
			loaded, err := loadConfig(env, folder, nil)
			if loaded == nil {
				return err
			}
			return writeFindings(env, loaded.Findings(), asJSON)
		}
		layer, err := layerOf(env, args[0], as)
		if err != nil {
			return err
		}
		data, err := config.ReadFile(args[0])
		if err != nil {
			return usageError{err}
		}
		return writeFindings(env, config.Check(layer, args[0], data), asJSON)
	}
	return validate
}

func layerOf(env *Env, file, as string) (config.Layer, error) {
	switch as {
	case "user":
		return config.User, nil
	case "project":
		return config.Project, nil
	case "":
	default:
		return 0, usagef("--as is %q; use user or project", as)
	}
	full, err := filepath.Abs(file)
	if err != nil {
		return 0, err
	}
	if home, err := homeFolder(env); err == nil {
		if home, err = filepath.Abs(home); err == nil && full == filepath.Join(home, config.UserFile) {
			return config.User, nil
		}
	}
	if strings.HasSuffix(filepath.ToSlash(full), "/"+config.ProjectFile) {
		return config.Project, nil
	}
	return config.User, nil
}

func writeFindings(env *Env, findings []config.Finding, asJSON bool) error {
	faults := 0
	for _, f := range findings {
		if f.Severity == config.Fault {
			faults++
		}
	}
	if asJSON {
		if err := writeJSON(env.Stdout, append([]config.Finding{}, findings...)); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			fmt.Fprintln(env.Stdout, f)
		}
		if len(findings) == 0 {
			fmt.Fprintln(env.Stdout, "The configuration is valid.")
		}
	}
	switch faults {
	case 0:
		return nil
	case 1:
		return usagef("the configuration has 1 fault")
	}
	return usagef("the configuration has %d faults", faults)
}
