package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/internal/credential"
	"github.com/forge-agent/forge/provider"
)

// homeFolder is FORGE_HOME, by default ~/.forge.
func homeFolder(env *Env) (string, error) {
	if home := env.Getenv("FORGE_HOME"); home != "" {
		return home, nil
	}
	if env.HomeDir == "" {
		return "", usagef("there is no home folder; set FORGE_HOME to a folder for Forge's files")
	}
	return filepath.Join(env.HomeDir, ".forge"), nil
}

func keyStore(env *Env) (*credential.Store, error) {
	home, err := homeFolder(env)
	if err != nil {
		return nil, err
	}
	return credential.Open(home), nil
}

// findRoute is credential.Find with the caller's faults marked.
func findRoute(name, endpoint string) (credential.Route, error) {
	r, err := credential.Find(name, endpoint)
	if err != nil {
		return r, usageError{err}
	}
	return r, nil
}

func newAuth(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Keep the keys of providers",
		Long: "Keep the keys of providers in FORGE_HOME/auth.json, which only you can read. A key goes to the endpoint " +
			"that it was given for and nowhere else, and is never shown. A key in the environment comes first.",
		Example: "  forge auth login anthropic\n  forge auth login openai --endpoint https://proxy.example.com/v1 < key.txt\n  forge auth status",
	}
	var endpoint string
	login := &cobra.Command{
		Use: "login PROVIDER", Short: "Read a key from the terminal or from standard input, and keep it", Args: arguments(1, 1, "the name of one provider"),
		RunE: func(c *cobra.Command, args []string) error { return login(env, args[0], endpoint) },
	}
	logout := &cobra.Command{
		Use: "logout PROVIDER", Short: "Forget the key of a provider", Args: arguments(1, 1, "the name of one provider"),
		RunE: func(c *cobra.Command, args []string) error { return logout(env, args[0], endpoint) },
	}
	for _, c := range []*cobra.Command{login, logout} {
		c.Flags().StringVar(&endpoint, "endpoint", "", "base URL of another endpoint than the provider's own")
	}
	cmd.AddCommand(login, logout, &cobra.Command{
		Use: "status", Short: "Say which providers have a key, and from where", Args: arguments(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error { return authStatus(env) },
	})
	return cmd
}

func login(env *Env, name, endpoint string) error {
	route, err := findRoute(name, endpoint)
	if err != nil {
		return err
	}
	store, err := keyStore(env)
	if err != nil {
		return err
	}
	secret, err := readSecret(env, route)
	if err != nil {
		return err
	}
	if err := store.Set(route.Endpoint, secret); err != nil {
		if errors.Is(err, provider.ErrInvalid) {
			return usageError{err}
		}
		return err
	}
	fmt.Fprintf(env.Stdout, "The key for %s is kept in %s.\n", route.Endpoint, store.Path())
	for _, variable := range route.Variables() {
		if env.Getenv(variable) != "" {
			fmt.Fprintf(env.Stdout, "Note: %s is set and comes first.\n", variable)
			break
		}
	}
	return nil
}

// maxSecretBytes is far above any key.
const maxSecretBytes = 16 << 10

// readSecret reads one line, without showing it on a terminal.
func readSecret(env *Env, route credential.Route) (string, error) {
	if file, ok := env.Stdin.(*os.File); ok && term.IsTerminal(file.Fd()) {
		fmt.Fprintf(env.Stderr, "Key for %s: ", route.Endpoint)
		secret, err := term.ReadPassword(file.Fd())
		fmt.Fprintln(env.Stderr)
		if err != nil {
			return "", fmt.Errorf("read key: %w", err)
		}
		return string(secret), nil
	}
	if env.Stdin == nil {
		return "", usagef("give the key on standard input")
	}
	line, err := bufio.NewReader(io.LimitReader(env.Stdin, maxSecretBytes)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read key: %w", err)
	}
	if strings.TrimSpace(line) == "" {
		return "", usagef("there is no key on standard input")
	}
	return line, nil
}

func logout(env *Env, name, endpoint string) error {
	route, err := findRoute(name, endpoint)
	if err != nil {
		return err
	}
	store, err := keyStore(env)
	if err != nil {
		return err
	}
	found, err := store.Delete(route.Endpoint)
	if err != nil {
		return err
	}
	if !found {
		fmt.Fprintf(env.Stdout, "There is no key for %s.\n", route.Endpoint)
		return nil
	}
	fmt.Fprintf(env.Stdout, "The key for %s is forgotten.\n", route.Endpoint)
	return nil
}

func authStatus(env *Env) error {
	store, err := keyStore(env)
	if err != nil {
		return err
	}
	kept, err := store.Endpoints()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(env.Stdout, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "provider\tendpoint\tkey")
	known := map[string]bool{}
	for _, route := range credential.Routes() {
		key, from, err := route.Key(env.Getenv, store)
		if err != nil {
			return err
		}
		switch {
		case !key.IsZero():
		case route.Keyless():
			from = "not needed"
		default:
			from = "none: forge auth login " + route.Name
		}
		known[credential.Bound(route.Endpoint)] = true
		fmt.Fprintf(w, "%s\t%s\t%s\n", route.Name, route.Endpoint, from)
	}
	for _, endpoint := range kept {
		if !known[endpoint] {
			fmt.Fprintf(w, "-\t%s\t%s\n", endpoint, credential.FileName)
		}
	}
	return w.Flush()
}
