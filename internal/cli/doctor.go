package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/internal/app"
	"github.com/forge-agent/forge/internal/command"
	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/internal/credential"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/provider"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/session/sqlitestore"
)

// Verdicts of a check.
const (
	checkOK      = "ok"
	checkNote    = "note"
	checkProblem = "problem"
)

// A check is one line of the doctor.
type check struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Text    string `json:"text"`
}

// doctor collects checks.
type doctor struct {
	env    *Env
	online bool
	checks []check
}

func (d *doctor) add(name, verdict, format string, args ...any) {
	d.checks = append(d.checks, check{name, verdict, shown(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))})
}

func newDoctor(env *Env) *cobra.Command {
	d := doctor{env: env}
	var asJSON bool
	var flags func() map[string]string
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check keys, endpoints, the window, the store and the tools, and say what to do",
		Long: "Check what a run needs: configuration, keys, the model and where its window is known from, the store of sessions, " +
			"the confinement of programs, the Codex program. Nothing is sent to a provider; --online connects to the endpoint in use, " +
			"without a key. The exit code is 1 when there is a problem.",
		Example: "  forge doctor\n  forge doctor --provider ollama --model qwen3 --online\n  forge doctor --json",
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			d.run(c.Context(), flags())
			return d.report(asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&d.online, "online", false, "also connect to the endpoint in use")
	flags = addConfigFlags(cmd)
	return cmd
}

// run makes all checks.
func (d *doctor) run(ctx context.Context, flags map[string]string) {
	d.add("version", checkOK, "Forge %s", d.env.Version)
	d.home()
	settings := d.settings(flags)
	d.keys()
	if settings != nil {
		d.model(ctx, &settings.Values)
		d.codex(ctx, settings.CodexPath)
	}
	d.sessions(ctx)
	d.confinement()
}

// home looks at the folder of Forge's own files.
func (d *doctor) home() {
	home, err := homeFolder(d.env)
	if err != nil {
		d.add("home", checkProblem, "%v", err)
		return
	}
	info, err := os.Stat(home)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.add("home", checkOK, "%s is made when something is kept there", home)
	case err != nil:
		d.add("home", checkProblem, "%v", err)
	case !info.IsDir():
		d.add("home", checkProblem, "%s is no folder: move it away, or set FORGE_HOME", home)
	case writable(home) != nil:
		d.add("home", checkProblem, "nothing can be kept in %s: %v; change its permissions, or set FORGE_HOME", home, writable(home))
	case info.Mode().Perm()&0o077 != 0:
		d.add("home", checkNote, "%s can be entered by others: chmod 700 %s", home, home)
	default:
		d.add("home", checkOK, "%s", home)
	}
}

// writable makes a file in a folder and removes it.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// settings reads the configuration.
func (d *doctor) settings(flags map[string]string) *config.Config {
	root, err := workspaceFolder(".")
	if err != nil {
		d.add("workspace", checkProblem, "%v", err)
		return nil
	}
	d.add("workspace", checkOK, "%s", root)
	c, err := loadConfig(d.env, root, flags)
	if err != nil {
		d.add("configuration", checkProblem, "%v", err)
		return nil
	}
	for _, f := range c.Warnings() {
		d.add("configuration", checkNote, "%s: %s", f.Place, f.Text)
	}
	d.add("configuration", checkOK, "mode %s, profile %s; \"forge config show\" has the rest", c.Context.Mode, c.PermissionProfile)
	return c
}

// keys says for which providers there is a key. Keys are not shown.
func (d *doctor) keys() {
	store, err := keyStore(d.env)
	if err != nil {
		d.add("keys", checkProblem, "%v", err)
		return
	}
	var found []string
	for _, r := range credential.Routes() {
		key, from, err := r.Key(d.env.Getenv, store)
		if err != nil {
			d.add("keys", checkProblem, "%s: %v", r.Name, err)
		}
		if err == nil && !key.IsZero() {
			found = append(found, fmt.Sprintf("%s (%s)", r.Name, from))
		}
	}
	if len(found) == 0 {
		d.add("keys", checkNote, "none; \"forge auth login PROVIDER\" keeps one, a server on this machine needs none")
		return
	}
	d.add("keys", checkOK, "%s", strings.Join(found, ", "))
}

// model says what would be asked, and how its window is known.
func (d *doctor) model(ctx context.Context, v *config.Values) {
	known, err := loadCatalog(d.env)
	if err != nil {
		d.add("model", checkProblem, "%v", err)
		return
	}
	store, err := keyStore(d.env)
	if err != nil {
		return // said before
	}
	choice, err := app.Choose(v, known, store, d.env.Getenv)
	if err != nil {
		d.add("model", checkProblem, "%v", err)
		return
	}
	d.add("model", checkOK, "%s of %s at %s", choice.Model, choice.Route.Name, choice.Route.Endpoint)
	caps := choice.Capabilities()
	verdict := checkOK
	if !choice.Known && choice.WindowTokens == 0 {
		verdict = checkNote
	}
	d.add("window", verdict, "%d tokens, known from: %s", caps.WindowTokens, caps.WindowSource)
	if verdict == checkNote {
		d.add("window", checkNote, "the catalog does not know %s, so its window is assumed small: set context.windowTokens, or state it in models.json", choice.Model)
	}
	if _, priced := choice.Entry.Prices.Cost(message.Usage{InputTokens: 1, OutputTokens: 1}, nil); !priced {
		d.add("prices", checkNote, "not known for %s: costs are shown as unknown", choice.Model)
	}
	if d.online {
		d.endpoint(ctx, choice.Route.Endpoint)
	}
}

// endpoint connects to an endpoint. Any answer of it will do.
func (d *doctor) endpoint(ctx context.Context, endpoint string) {
	u, err := provider.ParseEndpoint(endpoint)
	if err != nil {
		d.add("endpoint", checkProblem, "%v", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, u.String(), nil)
	if err != nil {
		d.add("endpoint", checkProblem, "%v", err)
		return
	}
	answer, err := provider.NewClient(http.ProxyFromEnvironment).Do(req)
	if err != nil {
		d.add("endpoint", checkProblem, "%s does not answer: %s", hostOf(u), reason(err))
		return
	}
	answer.Body.Close()
	d.add("endpoint", checkOK, "%s answers", hostOf(u))
}

func hostOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// reason leaves the request out of an error of the client.
func reason(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	return err.Error()
}

// codex looks for the Codex program.
func (d *doctor) codex(ctx context.Context, path string) {
	if path == "" {
		path = "codex"
	}
	found, err := exec.LookPath(path)
	if err != nil {
		d.add("codex", checkNote, "not found: the engine codex cannot be used; install it, or set FORGE_CODEX_PATH")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, found, "--version").Output()
	if err != nil {
		d.add("codex", checkProblem, "%s --version: %v", found, err)
		return
	}
	d.add("codex", checkOK, "%s: %s", found, oneLineOf(string(out)))
}

// sessions opens the store and checks the newest session.
func (d *doctor) sessions(ctx context.Context) {
	home := forgeHome(d.env)
	if _, err := os.Stat(filepath.Join(home, sqlitestore.FileName)); err != nil && d.env.Getenv("FORGE_STORE") == "" {
		d.add("store", checkOK, "no session is stored yet")
		return
	}
	store, err := openStore(ctx, d.env, false)
	if err != nil {
		d.add("store", checkProblem, "%v", err)
		return
	}
	defer store.Close()
	count, newest := 0, ""
	for h, err := range store.List(ctx, "") {
		if err != nil {
			d.add("store", checkProblem, "%v", err)
			return
		}
		if count++; newest == "" {
			newest = h.ID
		}
	}
	d.add("store", checkOK, "%d sessions", count)
	if newest == "" {
		return
	}
	report, err := session.Verify(ctx, store, newest)
	switch {
	case err != nil:
		d.add("store", checkProblem, "session %s: %v", newest, err)
	case len(report.Findings) > 0:
		d.add("store", checkProblem, "session %s is not whole: forge sessions verify %s", newest, newest)
	default:
		d.add("store", checkOK, "the newest session is whole: %d messages, %d checkpoints", report.Messages, report.Checkpoints)
	}
}

// confinement says what keeps programs to the workspace.
func (d *doctor) confinement() {
	c := command.Expect([]string{os.TempDir()})
	if c.Enforced {
		d.add("confinement", checkOK, "%s", c.Text)
		return
	}
	d.add("confinement", checkNote, "%s", c.Text)
}

// report prints the checks. A problem makes the exit code 1.
func (d *doctor) report(asJSON bool) error {
	problems := 0
	for _, c := range d.checks {
		if c.Verdict == checkProblem {
			problems++
		}
	}
	if asJSON {
		if err := writeJSON(d.env.Stdout, map[string]any{"checks": d.checks, "problems": problems}); err != nil {
			return err
		}
	} else {
		w := tabwriter.NewWriter(d.env.Stdout, 0, 4, 2, ' ', 0)
		for _, c := range d.checks {
			fmt.Fprintf(w, "%s\t%s\t%s\n", c.Verdict, c.Name, shown(c.Text))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if problems > 0 {
		return fmt.Errorf("%d of %d checks found a problem", problems, len(d.checks))
	}
	return nil
}
