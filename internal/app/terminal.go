package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/internal/credential"
	"github.com/forge-agent/forge/internal/plugin"
	"github.com/forge-agent/forge/internal/tui"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/policy"
	"github.com/forge-agent/forge/session"
	"github.com/forge-agent/forge/trace"
)

// A Terminal is what the terminal interface works on: an App and what it takes
// to choose another model.
type Terminal struct {
	app     *App
	catalog *catalog.Catalog
	keys    *credential.Store
	confirm policy.Confirmer
	observe func(agent.Event)

	mu     sync.Mutex // guards what may be asked while a run goes on
	info   tui.Info
	skills []tui.Choice
}

var _ tui.Backend = (*Terminal)(nil)

// NewTerminal returns the terminal's side of an App. The App's observer must
// be Observe of the result.
func NewTerminal(c *catalog.Catalog, keys *credential.Store) *Terminal {
	return &Terminal{catalog: c, keys: keys}
}

// Observe passes the events of runs on.
func (t *Terminal) Observe(e agent.Event) {
	if t.observe != nil {
		t.observe(e)
	}
}

// Begin takes the App, opened with Observe, and reads what the interface
// shows first.
func (t *Terminal) Begin(ctx context.Context, a *App) error {
	t.app = a
	return t.renew(ctx)
}

// Attach says who follows runs and who is asked.
func (t *Terminal) Attach(observe func(agent.Event), confirm policy.Confirmer) {
	t.observe, t.confirm = observe, confirm
}

// renew reads what Info and Skills say.
func (t *Terminal) renew(ctx context.Context) error {
	a := t.app
	v := a.opts.Values
	info := tui.Info{Version: a.opts.Version, Model: a.opts.Choice.Model, Provider: a.opts.Choice.Route.Name, Mode: v.Context.Mode,
		Workspace: a.workspace.Dir(), Profile: v.PermissionProfile, Warnings: a.Problems()}
	if v.ReasoningEffort != auto {
		info.Effort = v.ReasoningEffort
	}
	var err error
	if a.session != nil {
		info.Session, info.Title = a.session.ID(), a.session.Header().Info.Title
		info.CostUSD, err = t.cost(ctx)
	} else {
		zero := 0.0
		info.CostUSD = &zero
	}
	set, loaded := a.loadSkills(ctx)
	err = errors.Join(err, loaded)
	var skills []tui.Choice
	if loaded == nil {
		for _, s := range set.catalog.Skills() {
			skills = append(skills, tui.Choice{Name: s.Name, Detail: s.Description})
		}
		err = errors.Join(err, set.close())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.info, t.skills = info, skills
	return err
}

// cost sums what the requests of the session cost at list prices; nil when a
// price or usage is unknown.
func (t *Terminal) cost(ctx context.Context) (*float64, error) {
	requests, err := t.app.session.Requests(ctx)
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for _, r := range requests {
		if r.Failed != "" {
			continue
		}
		m, known := t.catalog.Lookup(r.Model)
		if r.Usage == nil || !known {
			return nil, nil
		}
		usd, ok := m.Cost(message.Usage{InputTokens: r.Usage.InputTokens, CachedInputTokens: r.Usage.CachedInputTokens,
			CacheWriteInputTokens: r.Usage.CacheWriteInputTokens, OutputTokens: r.Usage.OutputTokens, ReasoningTokens: r.Usage.ReasoningTokens}, nil)
		if !ok {
			return nil, nil
		}
		sum += usd
	}
	return &sum, nil
}

// Info describes the session as it is now.
func (t *Terminal) Info() tui.Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.info
}

// Run works on a prompt.
func (t *Terminal) Run(ctx context.Context, p tui.Prompt) (*agent.Result, error) {
	prompt := Prompt{Text: p.Text, Confirm: t.confirm}
	for _, path := range p.Images {
		image, err := ReadImage(path)
		if err != nil {
			return nil, err
		}
		prompt.Images = append(prompt.Images, image)
	}
	result, err := t.app.Run(ctx, prompt)
	return result, errors.Join(err, t.renew(context.WithoutCancel(ctx)))
}

// Window measures the request that would come next.
func (t *Terminal) Window(ctx context.Context) (*agent.Window, error) { return t.app.Look(ctx) }

// PlanCompaction works a compaction out, with its price.
func (t *Terminal) PlanCompaction(ctx context.Context, o contextwindow.ManualOptions) (*tui.Proposal, error) {
	p, err := t.app.PlanCompaction(ctx, o)
	if err != nil {
		return nil, err
	}
	out := &tui.Proposal{Plan: p}
	prices := t.app.opts.Choice.Entry.Prices
	cost := func(u message.Usage) *float64 {
		if usd, ok := prices.Cost(u, nil); ok {
			return &usd
		}
		return nil
	}
	out.BeforeUSD = cost(message.Usage{InputTokens: p.TokensBefore, CachedInputTokens: p.TokensBefore})
	out.AfterUSD = cost(message.Usage{InputTokens: p.TokensAfter, CachedInputTokens: p.TokensAfter})
	out.RewriteUSD = cost(message.Usage{InputTokens: p.TokensAfter})
	return out, nil
}

// Compact makes a compaction and keeps it with the session.
func (t *Terminal) Compact(ctx context.Context, o contextwindow.ManualOptions) (*contextwindow.Plan, error) {
	return t.app.Compact(ctx, o)
}

// Conversation returns the whole conversation, for display (P-ROW-02).
func (t *Terminal) Conversation(ctx context.Context) (tui.Conversation, error) {
	var out tui.Conversation
	s := t.app.session
	if s == nil {
		return out, nil
	}
	for e, err := range s.All(ctx) {
		if err != nil {
			return out, err
		}
		out.Messages = append(out.Messages, e.Message)
	}
	chain, err := s.Checkpoints(ctx)
	if err != nil {
		return out, err
	}
	for c := range chain.All() {
		out.Marks = append(out.Marks, trace.CompactionMark{ID: c.ID, ThroughMessage: c.Anchors.Last, Generation: c.Generation,
			SummaryTokens: c.EstimatedCheckpointTokens, Summarized: c.SummarizedThroughMessageIndex})
	}
	return out, nil
}

// Sessions lists sessions of the workspace, the newest first.
func (t *Terminal) Sessions(ctx context.Context) ([]tui.SessionItem, error) {
	var out []tui.SessionItem
	for h, err := range t.app.opts.Store.List(ctx, "") {
		if err != nil {
			return out, err
		}
		if h.Info.Workspace == t.app.workspace.Dir() {
			out = append(out, tui.SessionItem{ID: h.ID, Title: h.Info.Title, UpdatedAt: h.Info.UpdatedAt, Messages: h.Messages})
		}
	}
	return out, nil
}

// Resume opens a session by its id or the beginning of it.
func (t *Terminal) Resume(ctx context.Context, id string) error {
	full, err := session.Find(ctx, t.app.opts.Store, id)
	if err != nil {
		return err
	}
	if t.app.session != nil && t.app.session.ID() == full {
		return nil
	}
	if err := t.app.Resume(ctx, full); err != nil {
		return err
	}
	return t.renew(ctx)
}

// errNoSession: there is nothing to fork or to rewind.
var errNoSession = errors.New("nothing has been said yet")

// Fork goes on in a copy of the session.
func (t *Terminal) Fork(ctx context.Context) error {
	s := t.app.session
	if s == nil {
		return errNoSession
	}
	id, _, err := s.Fork(ctx, "", s.Header().Messages)
	if err != nil {
		return err
	}
	if err := t.app.Resume(ctx, id); err != nil {
		return err
	}
	return t.renew(ctx)
}

// Rewind goes on before a turn. Pins stay.
func (t *Terminal) Rewind(ctx context.Context, turn int) error {
	s := t.app.session
	if s == nil {
		return errNoSession
	}
	if err := s.HoldAll(ctx); err != nil {
		return err
	}
	count := s.Transcript().TurnCount()
	if turn < 1 || turn > count {
		return fmt.Errorf("rewind before turn %d: the session has %d turns", turn, count)
	}
	pins := s.State(pinState)
	if _, err := s.Truncate(ctx, s.Transcript().Turn(turn-1).Start); err != nil {
		return err
	}
	if len(pins) > 0 {
		if err := s.SetStates(ctx, map[string][]byte{pinState: pins}); err != nil {
			return err
		}
	}
	next, err := t.app.newAgent(s)
	if err != nil {
		return err
	}
	t.app.agent = next
	return t.renew(ctx)
}

// New begins an empty session with the next run.
func (t *Terminal) New(ctx context.Context) error {
	if err := t.app.Start(); err != nil {
		return err
	}
	return t.renew(ctx)
}

// Models lists the models of the provider in use.
func (t *Terminal) Models(context.Context) ([]tui.Choice, error) {
	var out []tui.Choice
	for m := range t.catalog.All() {
		if m.Provider == t.app.opts.Choice.Route.Name {
			detail := ""
			if w, ok := m.WindowTokens.Get(); ok {
				detail = fmt.Sprintf("%d tokens", w)
			}
			out = append(out, tui.Choice{Name: m.ID, Detail: detail})
		}
	}
	return out, nil
}

// SetModel takes effect with the next run.
func (t *Terminal) SetModel(ctx context.Context, id string) error {
	return t.change(ctx, func(v *config.Values) error {
		if v.Model = id; v.Provider == "" {
			v.Provider = t.app.opts.Choice.Route.Name
		}
		if m, known := t.catalog.Lookup(id); known && m.Provider != v.Provider {
			if _, err := credential.Find(m.Provider, ""); err == nil && t.app.opts.Choice.Entry.Provider == v.Provider {
				v.Provider = m.Provider // a model of another vendor goes to that vendor
			}
		}
		return nil
	})
}

// SetEffort takes effect with the next run.
func (t *Terminal) SetEffort(ctx context.Context, level string) error {
	return t.change(ctx, func(v *config.Values) error {
		if level != auto && !slices.Contains(t.Efforts(), level) {
			return fmt.Errorf("unknown effort %q: use %s, or %s", level, strings.Join(t.Efforts(), ", "), auto)
		}
		v.ReasoningEffort = level
		return nil
	})
}

// change tries other settings and keeps them when a model can be asked.
func (t *Terminal) change(ctx context.Context, set func(*config.Values) error) error {
	v := *t.app.opts.Values
	if err := set(&v); err != nil {
		return err
	}
	c, err := Choose(&v, t.catalog, t.keys, t.app.opts.Getenv)
	if err != nil {
		return err
	}
	m, err := Connect(c, &v)
	if err != nil {
		return err
	}
	old := t.app.opts.Values
	t.app.opts.Values = &v
	if err := t.app.SetModel(c, m); err != nil {
		t.app.opts.Values = old
		return err
	}
	return t.renew(ctx)
}

// Efforts lists the levels of effort.
func (t *Terminal) Efforts() []string { return []string{"low", "medium", "high"} }

// Complete lists paths of the workspace that begin with a prefix.
func (t *Terminal) Complete(prefix string) []string { return t.app.complete(prefix) }

// Skills lists what can be named with $.
func (t *Terminal) Skills() []tui.Choice {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.skills
}

// Plugins lists the plugins and whether they are trusted.
func (t *Terminal) Plugins(ctx context.Context) ([]tui.Choice, error) {
	list, err := plugin.Discover(ctx, t.app.workspace, t.app.opts.Home)
	if err != nil {
		return nil, err
	}
	var out []tui.Choice
	for _, p := range list.Plugins {
		out = append(out, tui.Choice{Name: p.Manifest.Name, Detail: fmt.Sprintf("%s, %s, %s", p.Origin, p.Trust, p.Manifest.Description)})
	}
	return out, nil
}

// Hint says which shell command does what the interface does not.
func (t *Terminal) Hint(command string) string {
	return fmt.Sprintf("forge auth %s %s", command, t.app.opts.Choice.Route.Name)
}
