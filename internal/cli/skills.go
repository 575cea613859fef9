package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/internal/plugin"
	"github.com/forge-agent/forge/internal/skill"
)

func newSkills(env *Env) *cobra.Command {
	x := &extensions{env: env}
	cmd := &cobra.Command{
		Use:   "skills",
		Short: "List the skills that a run can use",
		Long: "A skill is a folder with a SKILL.md, in FORGE_HOME/skills or in .agents/skills of the workspace. A run lists names and " +
			"descriptions; the model reads the text when a task needs it, or you name it as $name in what you ask.",
		Example: "  forge skills list",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	x.flags(cmd)
	var asJSON bool
	list := &cobra.Command{
		Use: "list", Short: "List the skills of the user, of trusted plugins and of the workspace", Args: arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error { return x.listSkills(c, asJSON) },
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.AddCommand(list)
	return cmd
}

func (x *extensions) listSkills(c *cobra.Command, asJSON bool) (err error) {
	list, w, err := x.plugins(c)
	if err != nil {
		return err
	}
	defer w.Close()
	home, err := homeFolder(x.env)
	if err != nil {
		return err
	}
	active, err := list.Activate(plugin.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, active.Close()) }()
	var sources []skill.Source
	user, err := skill.Open(home)
	if err != nil {
		return err
	}
	if user != nil {
		defer user.Dir.Close()
		sources = append(sources, *user)
	}
	catalog, err := skill.Load(c.Context(), skill.Options{Sources: append(append(sources, active.Skills()...), skill.InWorkspace(w))})
	if err != nil {
		return err
	}
	return x.showSkills(catalog, asJSON)
}

func (x *extensions) showSkills(catalog *skill.Catalog, asJSON bool) error {
	if asJSON {
		type entry struct {
			Name        string `json:"name"`
			Origin      string `json:"origin"`
			Description string `json:"description"`
		}
		out := struct {
			Skills   []entry  `json:"skills"`
			Problems []string `json:"problems"`
		}{[]entry{}, []string{}}
		for _, s := range catalog.Skills() {
			out.Skills = append(out.Skills, entry{s.Name, s.Origin, s.Description})
		}
		for _, l := range catalog.Losses() {
			out.Problems = append(out.Problems, l.String())
		}
		return json.NewEncoder(x.env.Stdout).Encode(out)
	}
	t := tabwriter.NewWriter(x.env.Stdout, 2, 8, 2, ' ', 0)
	if len(catalog.Skills()) == 0 {
		fmt.Fprintln(t, "There are no skills.")
	} else {
		fmt.Fprintln(t, "skill\torigin\tdescription")
	}
	for _, s := range catalog.Skills() {
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Name, s.Origin, s.Description)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, l := range catalog.Losses() {
		fmt.Fprintf(x.env.Stderr, "forge: %s\n", l)
	}
	return nil
}
