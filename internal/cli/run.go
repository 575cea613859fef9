package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/codexapp"
	"github.com/forge-agent/forge/internal/app"
	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/internal/credential"
	"github.com/forge-agent/forge/internal/tui"
	"github.com/forge-agent/forge/internal/vocabulary"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/redact"
	"github.com/forge-agent/forge/session"
)

// Exit codes of a run.
const (
	ExitLimit  = 3 // a limit of the run or of the context window
	ExitDenied = 4 // something that was needed was not allowed
)

// A runError is a run that did not complete.
type runError struct{ result *agent.Result }

func (e *runError) Error() string {
	return fmt.Sprintf("%s: %s", e.result.Status, e.result.Reason)
}

func (e *runError) exitCode() int {
	switch e.result.Status {
	case agent.StatusLimitReached:
		return ExitLimit
	case agent.StatusDenied:
		return ExitDenied
	case agent.StatusCancelled:
		return ExitStop
	}
	return ExitFault
}

// runFlags are the flags of the commands that run the agent.
type runFlags struct {
	asJSON, quiet bool
	readOnly      bool // tools that read, and no others
	images        []string
	session       string
	carry         string // how the engine codex gets the conversation
	last          bool
	config        func() map[string]string
}

func (f *runFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the outcome as JSON")
	c.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print the answer only")
	c.Flags().StringArrayVar(&f.images, "image", nil, "a picture that goes with the request (png, jpeg, gif, webp)")
	c.Flags().StringVar(&f.carry, "carry", string(codexapp.Wrapper), "how the engine codex gets the conversation: wrapper or thread")
	f.config = addConfigFlags(c)
}

func newRun(env *Env) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run TASK...",
		Short: "Work on a task in this folder, and end",
		Long: "Work on a task in this folder with a model and tools, and end. The answer goes to standard output, what happens " +
			"meanwhile to standard error. \"-\" reads the task from standard input; other input that is piped in is added to the task. " +
			"\"@path\" in a task adds the beginning of a file, \"$name\" a skill.\n\n" +
			"What the permission profile wants confirmed is asked for on a terminal, and denied where there is none. " +
			"Exit codes: 0 done, 1 fault, 2 wrong use, 3 a limit, 4 not allowed, 130 interrupted.",
		Example: "  forge run \"why does TestParse fail?\"\n" +
			"  forge run --permission-profile workspace-write \"fix the typo in README.md\"\n" +
			"  git diff | forge run --json \"review this change\"\n" +
			"  forge run --provider ollama --model qwen3 --context-mode compact \"explain @main.go\"",
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), env, args) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.session, "session", "", "go on with this stored session instead of a new one")
	return cmd
}

func newAsk(env *Env) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:     "ask QUESTION...",
		Short:   "Ask about this folder; nothing is changed and no program is run",
		Long:    "Ask a question about this folder. The model gets the tools that read, and no others.",
		Example: "  forge ask \"where is the retry logic?\"\n  forge ask --quiet \"one line: what does this package do?\"",
		RunE: func(c *cobra.Command, args []string) error {
			f.readOnly = true
			return f.run(c.Context(), env, args)
		},
	}
	f.add(cmd)
	return cmd
}

func newCodex(env *Env) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "codex TASK...",
		Short: "Work on a task with the official Codex program as the engine",
		Long: "Work on a task like \"forge run\", with the official Codex program making the model requests (\"codex app-server\"). " +
			"Forge hands it a bounded view of the session, records everything it reports, and answers what it asks leave for by the policy. " +
			"Codex compacts on its own; Forge says when, and interrupts it when it does nothing else. Sign-in is Codex's (\"codex login\").\n\n" +
			"--carry wrapper puts the view of the session before each task; --carry thread keeps Codex's own thread and sends what is new.",
		Example: "  forge codex \"why does TestParse fail?\"\n  forge codex --carry thread --session 3f2a \"go on\"\n  FORGE_CODEX_PATH=~/bin/codex forge run --engine codex \"fix it\"",
		RunE: func(c *cobra.Command, args []string) error {
			if err := c.Flags().Set("engine", app.EngineCodex); err != nil {
				return err
			}
			return f.run(c.Context(), env, args)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.session, "session", "", "go on with this stored session instead of a new one")
	return cmd
}

func newResume(env *Env) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "resume [ID] [TASK...]",
		Short: "Go on with a stored session",
		Long: "Go on with a stored session: with a task like \"forge run\", without one in the terminal interface. " +
			"Provider and model are those of the session, unless flags or settings name others. " +
			"Instructions and skills are read afresh; approvals of earlier runs are not restored.",
		Example: "  forge resume --last\n  forge resume 3f2a \"now write the test\"\n  forge resume --last \"go on\" --json",
		RunE: func(c *cobra.Command, args []string) error {
			if !f.last {
				if len(args) == 0 {
					return usagef("name a session, or give --last; \"forge sessions list\" shows what is there")
				}
				f.session, args = args[0], args[1:]
			}
			if len(args) == 0 {
				return f.interactive(c.Context(), env)
			}
			return f.run(c.Context(), env, args)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.last, "last", false, "take the session of this folder that was used last")
	return cmd
}

// engine is what a command works with until it ends.
type engine struct {
	app    *app.App
	store  session.Store
	config *config.Config
}

func (e *engine) close() error {
	var errs []error
	if e.app != nil {
		errs = append(errs, e.app.Close())
	}
	if e.store != nil {
		errs = append(errs, e.store.Close())
	}
	return errors.Join(errs...)
}

// open puts the engine together from settings, and takes up the session that
// the flags name.
func (f *runFlags) open(ctx context.Context, env *Env, observer func(agent.Event)) (e *engine, err error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working folder: %w", err)
	}
	root, err := workspaceFolder(here)
	if err != nil {
		return nil, err
	}
	settings, err := loadConfig(env, root, f.config())
	if err != nil {
		return nil, err
	}
	warnConfig(env, settings)
	known, err := loadCatalog(env)
	if err != nil {
		return nil, err
	}
	keys, err := keyStore(env)
	if err != nil {
		return nil, err
	}
	if env.Getenv("GOGC") == "" {
		debug.SetGCPercent(runGCPercent)
	}
	e = &engine{config: settings}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.close())
		}
	}()
	var earlier session.Header
	if f.last || f.session != "" {
		if e.store, err = openStore(ctx, env, true); err != nil {
			return e, err
		}
		if earlier, err = f.find(ctx, e.store, root); err != nil {
			return e, err
		}
		if err = goOnWith(&settings.Values, earlier, known, keys, env); err != nil {
			return e, err
		}
	}
	choice, m, err := chooseModel(env, &settings.Values, known, keys)
	if err != nil {
		return e, usageError{err}
	}
	if e.store == nil { // nothing is stored before a model can be asked
		if e.store, err = openStore(ctx, env, true); err != nil {
			return e, err
		}
	}
	home, err := homeFolder(env)
	if err != nil {
		return e, err
	}
	if home, err = filepath.Abs(home); err != nil {
		return e, err
	}
	e.app, err = app.Open(ctx, app.Options{
		Values: &settings.Values, Home: home, Directory: here, Environ: env.Environ, Getenv: env.Getenv, Choice: choice, Model: m,
		Counter: vocabulary.Counter, Store: e.store, Redactor: redactor(env, settings, choice), Now: time.Now, Version: env.Version, Observer: observer, ReadOnly: f.readOnly, Carry: codexapp.Carry(f.carry),
	})
	if err != nil {
		return e, err
	}
	if earlier.ID != "" {
		err = e.app.Resume(ctx, earlier.ID)
	}
	return e, err
}

// goOnWith takes provider and model of an earlier session where the user names
// neither, and there is a key. What was held with an endpoint of the user's own
// is sent to no other one unless they say so.
func goOnWith(v *config.Values, earlier session.Header, known *catalog.Catalog, keys *credential.Store, env *Env) error {
	info := earlier.Info
	if v.Provider != "" || v.Model != "" || v.Engine == app.EngineCodex || info.Provider == "" || info.Provider == app.EngineCodex {
		return nil
	}
	if info.Endpoint != "" && v.Endpoint == "" {
		return usagef("the session was held with the endpoint %s: give --endpoint %s to go on there, or --provider for another", info.Endpoint, info.Endpoint)
	}
	same := *v
	same.Provider, same.Model = info.Provider, info.Model
	if _, err := app.Choose(&same, known, keys, env.Getenv); err == nil {
		v.Provider, v.Model = same.Provider, same.Model
	}
	return nil
}

// runGCPercent keeps a long run small: 2,000 steps with 1 GB of tool output
// peak at 263 MB instead of 328 MB, for 1 % more CPU time (docs/measured.md).
// GOGC overrides it.
const runGCPercent = 50

// chooseModel settles what is asked. The engine codex knows its providers and
// keys itself.
func chooseModel(env *Env, v *config.Values, known *catalog.Catalog, keys *credential.Store) (app.Choice, model.Model, error) {
	if v.Engine == app.EngineCodex {
		choice := app.ChooseCodex(v, known)
		return choice, app.CodexModel(choice), nil
	}
	choice, err := app.Choose(v, known, keys, env.Getenv)
	if err != nil {
		return choice, nil, err
	}
	m, err := app.Connect(choice, v)
	return choice, m, err
}

// redactor takes out what is known to be secret, beside what looks like it.
func redactor(env *Env, c *config.Config, choice app.Choice) *redact.Redactor {
	o := &redact.Options{}
	for _, name := range keyVariables {
		if v := env.Getenv(name); v != "" {
			o.Values = append(o.Values, redact.Value{Name: name, Text: v})
		}
	}
	o.Values = append(o.Values, app.Secrets(&c.Values, choice, env.Getenv)...)
	return redact.New(o)
}

// find returns the session that the flags name.
func (f *runFlags) find(ctx context.Context, store session.Store, root string) (session.Header, error) {
	if f.last {
		resolved, err := filepath.EvalSymlinks(root)
		if err != nil {
			return session.Header{}, fmt.Errorf("find the workspace: %w", err)
		}
		root = resolved
		for h, err := range store.List(ctx, "") {
			if err != nil || h.Info.Workspace == root {
				return h, err
			}
		}
		return session.Header{}, usagef("no session of %s is stored; \"forge run\" begins one", root)
	}
	id, err := session.Find(ctx, store, f.session)
	if err != nil {
		return session.Header{}, usageError{err}
	}
	return store.Header(ctx, id)
}

// run works on one task.
func (f *runFlags) run(ctx context.Context, env *Env, args []string) (err error) {
	p, err := f.prompt(env, args)
	if err != nil {
		return err
	}
	show := newProgress(env, f)
	e, err := f.open(ctx, env, show.event)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	if asker := newAsker(env); asker != nil && !f.asJSON {
		p.Confirm = asker.confirm
	}
	result, err := e.app.Run(ctx, p)
	show.problems(e.app.Problems())
	if result == nil {
		return err
	}
	id := ""
	if s := e.app.Session(); s != nil {
		id = s.ID()
	}
	if shown := show.result(result, id); shown != nil {
		err = errors.Join(err, shown)
	}
	if err == nil && result.Status != agent.StatusCompleted {
		return &runError{result}
	}
	return err
}

// interactive runs the terminal interface.
func (f *runFlags) interactive(ctx context.Context, env *Env) (err error) {
	in, isFile := env.Stdin.(*os.File)
	if !isFile || !term.IsTerminal(in.Fd()) || !env.Terminal {
		return usagef("the terminal interface needs a terminal; give a task: forge run \"what is to be done\"")
	}
	known, err := loadCatalog(env)
	if err != nil {
		return err
	}
	keys, err := keyStore(env)
	if err != nil {
		return err
	}
	t := app.NewTerminal(known, keys)
	e, err := f.open(ctx, env, t.Observe)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	if err := t.Begin(ctx, e.app); err != nil {
		return err
	}
	err = tui.Run(ctx, t, tui.Options{Input: in, Environ: env.Environ})
	if s := e.app.Session(); err == nil && s != nil && s.Header().Messages > 0 {
		fmt.Fprintf(env.Stderr, "go on with: forge resume %s\n", s.ID()[:8])
	}
	return err
}
