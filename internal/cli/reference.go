package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newReference prints docs/CLI.md: the help of all commands as one page. A
// test holds the page against it.
func newReference(env *Env) *cobra.Command {
	return &cobra.Command{
		Use: "reference", Short: "Print the help of all commands as markdown", Hidden: true, Args: arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(env.Stdout, reference(c.Root()))
			return err
		},
	}
}

func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Commands\n\nMade from the program: `go run ./cmd/forge reference > docs/CLI.md`.\n" +
		"`forge completion SHELL` writes a completion script, `forge man` a manual page.\n\n" +
		"Exit codes: 0 done, 1 fault, 2 wrong use, 3 a limit of the run or of the context window, 4 something was not allowed, 130 interrupted.\n")
	writeCommand(&b, root)
	return b.String()
}

// writeCommand writes a command and those below it.
func writeCommand(b *strings.Builder, c *cobra.Command) {
	if c.Hidden || c.Name() == "help" || c.Name() == "completion" || c.Name() == "man" {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s.\n", c.CommandPath(), c.Short)
	if c.Runnable() {
		fmt.Fprintf(b, "\n    %s\n", c.UseLine())
	}
	if c.Long != "" && c.Long != c.Short {
		fmt.Fprintf(b, "\n%s\n", strings.TrimSpace(c.Long))
	}
	if c.Example != "" {
		b.WriteString("\n```sh\n")
		for line := range strings.SplitSeq(strings.TrimRight(c.Example, "\n"), "\n") {
			b.WriteString(strings.TrimPrefix(line, "  ") + "\n")
		}
		b.WriteString("```\n")
	}
	flags := false
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		if !flags {
			b.WriteString("\n| Flag | Meaning |\n|---|---|\n")
			flags = true
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		usage := strings.ReplaceAll(f.Usage, "|", "\\|")
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", name, usage)
	})
	for _, sub := range c.Commands() {
		writeCommand(b, sub)
	}
}
