// Package app puts the parts of the native engine together: settings, model,
// workspace, instructions, skills, plugins, MCP servers, tools, policy,
// session and trace. Front ends (the command line, the terminal interface)
// call it and show what it says.
//
// It decides nothing about the context window: package agent runs the loop,
// and contextwindow stands before every request.
package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/codexapp"
	"github.com/forge-agent/forge/compaction"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/internal/mcp"
	"github.com/forge-agent/forge/internal/plugin"
	"github.com/forge-agent/forge/internal/workspace"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/redact"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/tokencount"
)

// Options are what an App works with.
type Options struct {
	// Values are the settings.
	Values *config.Values
	// Home is FORGE_HOME; the folder is made when something is kept there.
	Home string
	// Directory is the folder that is worked in, absolute.
	Directory string
	// Environ is the user's environment, as os.Environ returns it.
	Environ []string
	// Getenv looks a variable up.
	Getenv func(string) string
	// Choice is the model; Model is its adapter.
	Choice Choice
	Model  model.Model
	// Counter makes the counter for the model.
	Counter func(catalog.Model, tokencount.Route) *tokencount.Counter
	// Store keeps sessions; it stays the caller's.
	Store session.Store
	// Redactor takes secrets out; Now is the clock.
	Redactor *redact.Redactor
	Now      func() time.Time
	// Version is Forge's.
	Version string
	// Carry is how the engine codex gets the conversation.
	Carry codexapp.Carry
	// ReadOnly leaves out all tools but those that read.
	ReadOnly bool
	// Observer follows the runs; nil for nobody.
	Observer func(agent.Event)
}

// An App works on one session at a time in one workspace. It belongs to one
// goroutine. Make one with Open and close it.
type App struct {
	opts      Options
	workspace *workspace.Workspace
	start     string // of Directory in the workspace
	temp      string
	plugins   *plugin.Active
	servers   *mcp.Servers
	engine    *codexapp.Engine // nil until the engine codex is used
	session   *session.Session
	agent     *agent.Agent
	learned   map[string]*tokencount.Calibration
	problems  []string
	warned    bool // of MCP servers
	sink      sink
}

// Open opens workspace, plugins and MCP servers. There is no session yet. What
// does not work and need not end a run is in Problems.
func Open(ctx context.Context, o Options) (*App, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Redactor == nil {
		o.Redactor = redact.New(nil)
	}
	root, start := projectRoot(o.Directory)
	w, err := workspace.Open(root)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	a := &App{opts: o, workspace: w, start: start}
	if a.temp, err = os.MkdirTemp("", "forge-"); err != nil {
		return nil, errors.Join(fmt.Errorf("make a folder for temporary files: %w", err), a.Close())
	}
	if err := a.openPlugins(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := a.openServers(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.learned = a.readCalibrations()
	return a, nil
}

// projectRoot returns the nearest folder above dir that holds ".git", dir when
// there is none, and dir relative to it.
func projectRoot(dir string) (root, start string) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			rel, err := filepath.Rel(at, dir)
			if err != nil {
				return dir, "."
			}
			return at, filepath.ToSlash(rel)
		}
		if at == filepath.Dir(at) {
			return dir, "."
		}
	}
}

func (a *App) openPlugins(ctx context.Context) error {
	if !a.opts.Values.Plugins.Enabled {
		return nil
	}
	list, err := plugin.Discover(ctx, a.workspace, a.opts.Home)
	if err != nil {
		return fmt.Errorf("find plugins: %w", err)
	}
	for _, p := range list.Problems {
		a.tell(p.String())
	}
	for _, p := range list.Plugins {
		if p.Trust != plugin.Trusted {
			a.tell(fmt.Sprintf("the plugin %s of the workspace is not used: look at it, then \"forge plugins trust %s\"", p.Manifest.Name, p.Manifest.Name))
		}
	}
	a.plugins, err = list.Activate(plugin.Options{Environ: a.opts.Environ, Redactor: a.opts.Redactor, Clock: a.opts.Now})
	if err != nil {
		return fmt.Errorf("activate plugins: %w", err)
	}
	return nil
}

// Close ends servers and plugins and gives the session back.
func (a *App) Close() error {
	errs := []error{a.closeCodex()}
	if a.session != nil {
		errs = append(errs, a.session.Close())
		a.session = nil
	}
	if a.servers != nil {
		errs = append(errs, a.servers.Close())
	}
	if a.plugins != nil {
		errs = append(errs, a.plugins.Close())
	}
	if a.temp != "" {
		errs = append(errs, os.RemoveAll(a.temp))
	}
	return errors.Join(append(errs, a.workspace.Close())...)
}

// Problems returns what does not work and did not end anything, in lines for
// people.
func (a *App) Problems() []string {
	out := append([]string(nil), a.problems...)
	if a.plugins != nil {
		for _, p := range a.plugins.Problems() {
			out = append(out, p.String())
		}
	}
	if a.servers != nil {
		for _, p := range a.servers.Problems() {
			out = append(out, p.String())
		}
	}
	return out
}

// tell notes a problem once.
func (a *App) tell(text string) {
	if !slices.Contains(a.problems, text) {
		a.problems = append(a.problems, text)
	}
}

// Agent returns the agent on the present session, nil before there is one.
func (a *App) Agent() *agent.Agent { return a.agent }

// Session returns the present session, nil before there is one.
func (a *App) Session() *session.Session { return a.session }

// Workspace returns the folder that is worked in.
func (a *App) Workspace() *workspace.Workspace { return a.workspace }

func (a *App) sessionOptions() *session.Options {
	return &session.Options{Redactor: a.opts.Redactor, Now: a.opts.Now}
}

// Start leaves the present session, if there is one: the next run begins a
// new one.
func (a *App) Start() error {
	if a.session == nil {
		return nil
	}
	s := a.session
	a.session, a.agent = nil, nil
	return s.Close()
}

// ensure makes a session when there is none, so that none is stored before
// there is something to keep.
func (a *App) ensure(ctx context.Context) error {
	if a.session != nil {
		return nil
	}
	s, err := session.Create(ctx, a.opts.Store, "", session.Info{
		Workspace: a.workspace.Dir(), Directory: a.opts.Directory, Model: a.opts.Choice.Model,
		ShownBytes: a.shownBytes(), Complete: true,
	}, a.sessionOptions())
	if err != nil {
		return err
	}
	return a.take(s)
}

// A result of a tool is shown at most an eighth of what a request may weigh
// at first, so that a small window holds several: at three bytes to a token,
// which text seldom is below.
const (
	shownShare      = 8
	bytesPerToken   = 3
	leastShownBytes = 2 << 10
)

// shownBytes is how much of a tool's result the model sees first.
func (a *App) shownBytes() int {
	caps := a.opts.Model.Capabilities()
	most := a.opts.Values.Limits.MaxToolOutputBytes
	b, err := budget.New(caps.WindowTokens, caps.MaxOutputTokens, a.opts.Values.BudgetSettings())
	if err != nil {
		return most // agent.New says what is wrong
	}
	return min(most, max(leastShownBytes, b.WithMaxInput(caps.MaxInputTokens).AvailableTokens/shownShare*bytesPerToken))
}

// Resume goes on with a stored session. A session of another workspace is
// refused: its paths and instructions would be others.
func (a *App) Resume(ctx context.Context, id string) error {
	s, err := session.Open(ctx, a.opts.Store, id, a.sessionOptions())
	if err != nil {
		return err
	}
	if at := s.Header().Info.Workspace; at != "" && at != a.workspace.Dir() && s.Header().Info.Source == nil {
		return errors.Join(fmt.Errorf("resume session %s: it works in %s, this is %s: go there, or fork it with \"forge sessions fork\"", id, at, a.workspace.Dir()), s.Close())
	}
	return a.take(s)
}

// take makes s the present session.
func (a *App) take(s *session.Session) error {
	next, err := a.newAgent(s)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	if a.session != nil {
		if err := a.session.Close(); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	a.session, a.agent = s, next
	a.askedAt()
	return nil
}

// askedAt notes in the session who answers from now on.
func (a *App) askedAt() { a.session.AskedAt(a.opts.Choice.Route.Name, a.opts.Values.Endpoint) }

func (a *App) newAgent(s *session.Session) (*agent.Agent, error) {
	c := a.opts.Choice
	caps := a.opts.Model.Capabilities()
	window := a.opts.Values.ContextOptions()
	window.Calibrations = a.learned
	if a.opts.Values.Family == compaction.FamilyFreshWindow {
		window.Compaction.Strategy = compaction.FreshWindow{}
	}
	return agent.New(agent.Options{
		Model: a.opts.Model, Capabilities: caps, Session: s, Window: window,
		Counter: a.counter(),
		Prices:  c.Entry.Prices, Cache: c.Entry.Cache, Now: a.opts.Now,
		Trace: &a.sink, Observer: a.opts.Observer, Adapter: c.Route.Name, Forge: a.opts.Version,
	})
}

func (a *App) counter() *tokencount.Counter {
	c := a.opts.Choice
	return a.opts.Counter(c.Entry, tokencount.Route{Model: c.Model, Wire: tokencount.Wire(a.opts.Model.Capabilities().Wire)})
}

// SetModel goes on with another model: the same session, a new window.
func (a *App) SetModel(c Choice, m model.Model) error {
	old, oldModel := a.opts.Choice, a.opts.Model
	a.opts.Choice, a.opts.Model = c, m
	if a.session == nil {
		return nil
	}
	next, err := a.newAgent(a.session)
	if err != nil {
		a.opts.Choice, a.opts.Model = old, oldModel
		return err
	}
	a.agent = next
	a.askedAt()
	return nil
}

// Choice returns the model in use.
func (a *App) Choice() Choice { return a.opts.Choice }

// Mode returns the mode of the context window.
func (a *App) Mode() contextwindow.Mode { return a.opts.Values.Context.Mode }
