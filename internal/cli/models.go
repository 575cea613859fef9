package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/model/catalog"
)

// loadCatalog returns the catalog with the user's models.json on top, if
// there is one.
func loadCatalog(env *Env) (*catalog.Catalog, error) {
	home := env.Getenv("FORGE_HOME")
	if home == "" {
		if env.HomeDir == "" {
			return catalog.Default(), nil
		}
		home = filepath.Join(env.HomeDir, ".forge")
	}
	path := filepath.Join(home, "models.json")
	data, err := readOverrides(path)
	if os.IsNotExist(err) || env.Getenv("FORGE_HOME") == "" && outOfReach(home) {
		return catalog.Default(), nil
	}
	if err != nil {
		return nil, usagef("read model overrides: %w; correct the file, or point FORGE_HOME to another folder", err)
	}
	c, err := catalog.Load(data)
	if err != nil {
		return nil, usagef("read model overrides %q: %w", path, err)
	}
	return c, nil
}

// readOverrides reads the user's models.json. Opening a pipe would wait, and
// a device may never end.
func readOverrides(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is not a regular file", path)
	}
	return os.ReadFile(path)
}

// outOfReach reports whether a folder cannot be entered: the home directory
// is another user's when a program runs in their name.
func outOfReach(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrPermission)
}

func newModels(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models",
		Short: "Show windows, prices and cache rules, each with its source",
		Long: "Show what Forge knows about models. Every value has a source and a date; what nobody stated is unknown. " +
			"Put a models.json into FORGE_HOME (default ~/.forge) to add models or to overrule values; it holds a list such as " +
			`[{"id": "my-model", "windowTokens": 64000, "prices": {"inputUSDPerMillion": 1, "outputUSDPerMillion": 4}}].`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var asJSON bool
	var refresh refresh
	list := &cobra.Command{
		Use: "list [WORD]", Short: "List the known models, or those with WORD in their name", Args: arguments(0, 1, "one word at most"),
		RunE: func(c *cobra.Command, args []string) error {
			if refresh.wanted {
				return refresh.list(c.Context(), env, strings.Join(args, ""), asJSON)
			}
			if refresh.endpoint.provider != "" || refresh.endpoint.url != "" {
				return usagef("--provider and --endpoint say whom to ask: add --refresh")
			}
			return listModels(env, strings.Join(args, ""), asJSON)
		},
	}
	refresh.flags(list)
	show := &cobra.Command{
		Use: "show ID", Short: "Show everything known about one model", Args: arguments(1, 1, "the ID of one model"),
		RunE: func(c *cobra.Command, args []string) error { return showModel(env, args[0], asJSON) },
	}
	for _, c := range []*cobra.Command{list, show} {
		c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	}
	cmd.AddCommand(list, show)
	return cmd
}

// modelJSON is the JSON form of a model.
type modelJSON struct {
	ID       string              `json:"id"`
	Provider string              `json:"provider"`
	Family   catalog.Family      `json:"family"`
	Match    string              `json:"match,omitempty"`
	Aliases  []string            `json:"aliases,omitempty"`
	Facts    map[string]factJSON `json:"facts"`
}

type factJSON struct {
	Value  any    `json:"value"`
	Source string `json:"source"`
	Date   string `json:"date,omitempty"`
	Origin string `json:"origin"`
}

func toJSON(m catalog.Model) modelJSON {
	out := modelJSON{ID: m.ID, Provider: m.Provider, Family: m.Family, Aliases: m.Aliases, Facts: map[string]factJSON{}}
	for f := range m.Facts() {
		if !f.Known {
			continue
		}
		var value any = f.Text
		if n := json.Number(f.Text); isNumber(n) {
			value = n
		}
		out.Facts[f.Name] = factJSON{Value: value, Source: f.From.Source, Date: f.From.Date, Origin: string(f.From.Origin)}
	}
	return out
}

func isNumber(n json.Number) bool { _, err := n.Float64(); return err == nil }

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func listModels(env *Env, word string, asJSON bool) error {
	c, err := loadCatalog(env)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(env.Stdout, 2, 8, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(w, "model\tprovider\twindow\toutput\tinput $/M\tcached\toutput $/M\tvocabulary")
	}
	found := false
	for m := range c.All() {
		if word != "" && !strings.Contains(m.ID, strings.ToLower(word)) {
			continue
		}
		found = true
		if asJSON {
			if err := writeJSON(env.Stdout, toJSON(m)); err != nil {
				return err
			}
			continue
		}
		facts := map[string]string{}
		for f := range m.Facts() {
			facts[f.Name] = f.Text
			if !f.Known {
				facts[f.Name] = "?"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.ID, m.Provider, facts["windowTokens"], facts["maxOutputTokens"],
			facts["prices.inputUSDPerMillion"], facts["prices.cachedInputUSDPerMillion"], facts["prices.outputUSDPerMillion"], facts["vocabulary"])
	}
	if !found {
		return usagef("no model has %q in its name; \"forge models list\" shows all", word)
	}
	return w.Flush()
}

func showModel(env *Env, id string, asJSON bool) error {
	c, err := loadCatalog(env)
	if err != nil {
		return err
	}
	m, match := c.Resolve(id)
	if match == catalog.MatchNone {
		m = catalog.Fallback(id)
	}
	if asJSON {
		out := toJSON(m)
		out.Match = string(match)
		return writeJSON(env.Stdout, out)
	}
	fmt.Fprintf(env.Stdout, "%s", m.ID)
	if m.Provider != "" {
		fmt.Fprintf(env.Stdout, " by %s", m.Provider)
	}
	fmt.Fprintln(env.Stdout)
	if match == catalog.MatchNone {
		fmt.Fprintf(env.Stdout, "Not in the catalog: counted conservatively, in a small window. State its values in models.json.\n")
	}
	w := tabwriter.NewWriter(env.Stdout, 2, 8, 2, ' ', 0)
	for f := range m.Facts() {
		text, source := "unknown", ""
		if f.Known {
			text, source = f.Text, f.From.Source
			if source == "" && f.From.Origin == catalog.OriginUser {
				source = "your models.json"
			}
			if f.From.Date != "" {
				source += ", " + f.From.Date
			}
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", f.Name, text, source)
	}
	return w.Flush()
}
