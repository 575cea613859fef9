package app

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/forge-agent/forge/agent"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/internal/instruction"
	"github.com/forge-agent/forge/internal/workspace"
)

// Look measures the request that would come next.
func (a *App) Look(ctx context.Context) (*agent.Window, error) {
	r, err := a.next(ctx)
	if err != nil {
		return nil, err
	}
	return a.agent.Look(ctx, r)
}

// PlanCompaction works a compaction out and changes nothing.
func (a *App) PlanCompaction(ctx context.Context, o contextwindow.ManualOptions) (*contextwindow.Plan, error) {
	r, err := a.next(ctx)
	if err != nil {
		return nil, err
	}
	return a.agent.PlanCompaction(ctx, r, o)
}

// Compact makes a compaction and keeps it with the session. It has a trace of
// its own, like a run.
func (a *App) Compact(ctx context.Context, o contextwindow.ManualOptions) (p *contextwindow.Plan, err error) {
	r, err := a.next(ctx)
	if err != nil {
		return nil, err
	}
	closeTrace, err := a.openTrace(ctx, &r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeTrace()) }()
	return a.agent.Compact(ctx, r, o)
}

// next returns what the next run would use; there is a session then.
func (a *App) next(ctx context.Context) (agent.Request, error) {
	if err := a.ensure(ctx); err != nil {
		return agent.Request{}, err
	}
	return a.Request(ctx)
}

// pinned is the addition to the instructions that holds the user's pins. They
// are the user's own words, given for every later request of the session.
func (a *App) pinned() (instruction.Addition, error) {
	pins, err := a.pins()
	if err != nil || len(pins) == 0 {
		return instruction.Addition{}, err
	}
	var b strings.Builder
	for _, p := range pins {
		fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(p, "\n", "\n  "))
	}
	return instruction.Addition{Label: "Pinned by the user for this session.", Text: b.String()}, nil
}

// Bounds of a completion: it is drawn while somebody types.
const (
	completionEntries = 20_000
	completionResults = 20
)

// complete lists paths of the workspace that begin with a prefix: those in its
// folder first, else files anywhere whose name does.
func (a *App) complete(prefix string) []string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	folder, base := path.Split(path.Join(a.start, prefix))
	if prefix == "" || strings.HasSuffix(prefix, "/") {
		folder, base = path.Join(a.start, prefix), ""
	}
	list := func(dir string, depth int, fits func(workspace.Entry) bool) []string {
		var out []string
		seen := 0
		for e, err := range a.workspace.Walk(ctx, dir, &workspace.WalkOptions{Depth: depth}) {
			if seen++; err != nil || seen > completionEntries || len(out) == completionResults {
				break
			}
			if fits(e) {
				name := e.Path
				if e.Type.IsDir() {
					name += "/"
				}
				out = append(out, name)
			}
		}
		return out
	}
	dir := path.Clean("./" + folder)
	out := list(dir, 1, func(e workspace.Entry) bool { return strings.HasPrefix(path.Base(e.Path), base) })
	if len(out) > 0 || base == "" {
		return out
	}
	return list(".", 0, func(e workspace.Entry) bool { return !e.Type.IsDir() && strings.HasPrefix(path.Base(e.Path), base) })
}
