package app

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/codexapp"
	"github.com/forge-agent/forge/internal/config"
	"github.com/forge-agent/forge/internal/credential"
	"github.com/forge-agent/forge/model"
	"github.com/forge-agent/forge/model/catalog"
	"github.com/forge-agent/forge/tool"
)

// EngineCodex is the name of the second engine in the settings.
const EngineCodex = "codex"

// ChooseCodex is the choice of a model for the engine codex: Codex knows its
// providers and keys itself. Without a model it asks the one that it is
// configured to use, whose window is not known before it says so.
func ChooseCodex(v *config.Values, c *catalog.Catalog) Choice {
	entry, known := catalog.Fallback(v.Model), false
	if v.Model != "" {
		if found, ok := c.Lookup(v.Model); ok {
			entry, known = found, true
		}
	}
	return Choice{Route: credential.Route{Name: EngineCodex}, Model: v.Model, Entry: entry, Known: known, WindowTokens: v.Context.WindowTokens}
}

// CodexModel stands for the model behind Codex: it has a window and cannot be
// asked, since all requests go through Codex.
func CodexModel(c Choice) model.Model { return codexModel{c.Capabilities()} }

type codexModel struct{ caps model.Capabilities }

func (m codexModel) Capabilities() model.Capabilities { return m.caps }

func (m codexModel) Stream(context.Context, model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		yield(nil, &model.Error{Provider: EngineCodex, Model: m.caps.Model, Message: "requests of this engine go through Codex"})
	}
}

// codex returns the engine on the present session, and starts it when it does
// not run yet.
func (a *App) codex(ctx context.Context) (*codexapp.Engine, error) {
	if a.engine != nil && a.engine.Session() == a.session {
		return a.engine, nil
	}
	if err := a.closeCodex(); err != nil {
		return nil, err
	}
	v := a.opts.Values
	found, err := a.findCodex()
	if err != nil {
		return nil, err
	}
	a.engine, err = codexapp.New(ctx, codexapp.Options{
		Path: found, Environ: a.opts.Environ, Dir: a.opts.Directory, Model: v.Model, Carry: a.opts.Carry,
		// The instructions of a run hold the project's files already.
		Config:  map[string]any{"project_doc_max_bytes": 0},
		Session: a.session, Capabilities: a.opts.Model.Capabilities(), Counter: a.counter(), Window: v.ContextOptions(),
		Trace: &a.sink, Observer: a.observeCodex, Now: a.opts.Now, Forge: a.opts.Version,
	})
	return a.engine, err
}

// findCodex returns the path of the program.
func (a *App) findCodex() (string, error) {
	path := a.opts.Values.CodexPath
	if path == EngineCodex {
		path = "" // on the PATH
	}
	return codexapp.Find(path, a.opts.Environ)
}

func (a *App) closeCodex() error {
	if a.engine == nil {
		return nil
	}
	e := a.engine
	a.engine = nil
	return e.Close()
}

// runCodex carries a request to Codex.
func (a *App) runCodex(ctx context.Context, r agent.Request) (*agent.Result, error) {
	e, err := a.codex(ctx)
	if err != nil {
		return nil, err
	}
	request := codexapp.Request{Prompt: r.Prompt, Notes: r.Notes, Instructions: r.Instructions, InstructionPaths: r.InstructionPaths,
		Policy: r.Policy, Confirm: r.Confirm, Run: r.Run}
	for _, h := range r.Hooks {
		request.Hooks = append(request.Hooks, h)
	}
	if r.Limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.Limits.Time, errCodexTime)
		defer cancel()
	}
	res, err := e.Run(ctx, request)
	if err != nil {
		return nil, err
	}
	out := codexResult(res)
	if errors.Is(context.Cause(ctx), errCodexTime) {
		out.Status, out.Limit, out.Reason = agent.StatusLimitReached, "time", fmt.Sprintf("the run has taken %s, which is its limit", r.Limits.Time)
	}
	a.problems = append(a.problems, res.Warnings...)
	a.show(agent.Ended{Result: *out})
	return out, nil
}

var errCodexTime = errors.New("the run has reached its time limit")

func codexResult(r *codexapp.Result) *agent.Result {
	t := r.Totals
	return &agent.Result{Status: agent.Status(r.Status), Reason: r.Reason, Limit: r.Limit, Text: r.Text, Err: r.Err,
		Totals: agent.Totals{Steps: t.Steps, Requests: t.Steps, ToolCalls: t.ToolCalls, Denied: t.Denied, OutputBytes: t.OutputBytes,
			InputTokens: t.InputTokens, CachedInputTokens: t.CachedInputTokens, OutputTokens: t.OutputTokens, Compactions: len(r.Compactions)}}
}

func (a *App) show(e agent.Event) {
	if a.opts.Observer != nil {
		a.opts.Observer(e)
	}
}

// observeCodex shows what Codex does in the events of the native engine.
func (a *App) observeCodex(e codexapp.Event) {
	switch e := e.(type) {
	case codexapp.Admitted:
		a.show(agent.Admitted{Message: e.Message})
	case codexapp.Budgeted:
		a.show(agent.Budgeted{Step: e.Fit.Step, Fit: e.Fit})
	case codexapp.Carried:
		text := fmt.Sprintf("carried as %s (%s), %d tokens besides the prompt", e.Carry, e.Origin, e.WrapperTokens)
		if e.Reason != "" {
			text += ": " + e.Reason
		}
		a.show(agent.Notice{Kind: "codex", Text: text})
	case codexapp.TextDelta:
		a.show(agent.TextDelta{Text: e.Text})
	case codexapp.ReasoningDelta:
		a.show(agent.ReasoningDelta{Text: e.Text})
	case codexapp.CallStarted:
		a.show(agent.CallPlanned{Call: e.Call, Plan: tool.Plan{Tool: e.Call.Name, Summary: "Codex: " + e.Call.Name + " " + e.Call.Arguments}})
	case codexapp.CallDecided:
		a.show(agent.CallDecided{Call: e.Call, Decision: e.Decision})
	case codexapp.CallCompleted:
		a.show(agent.CallCompleted{Call: e.Call, Result: e.Result})
	case codexapp.UsageReported:
		a.show(agent.Notice{Kind: "codex", Text: occupancy(e)})
	case codexapp.Notice:
		a.show(agent.Notice{Kind: e.Kind, Text: e.Text})
	}
}

func occupancy(u codexapp.UsageReported) string {
	switch {
	case u.Unknown:
		return "how full Codex's thread is cannot be told"
	case u.WindowTokens == 0:
		return fmt.Sprintf("Codex's thread holds %d tokens", u.OccupancyTokens)
	}
	return fmt.Sprintf("Codex's thread holds %d of %d tokens", u.OccupancyTokens, u.WindowTokens)
}
