package config

import (
	"time"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/contextwindow"
	"github.com/forge-agent/forge/policy"
)

// BudgetSettings returns the two reserves.
func (v *Values) BudgetSettings() budget.Settings {
	return budget.Settings{ReservedOutputTokens: v.Context.ReservedOutputTokens, BufferTokens: v.Context.BufferTokens}
}

// ContextOptions returns the options of a context manager, as far as they are
// settings: the caller adds strategy, chain, prices and clock.
func (v *Values) ContextOptions() contextwindow.Options {
	return contextwindow.Options{
		Mode:   v.Context.Mode,
		Budget: v.BudgetSettings(),
		Compaction: contextwindow.Compaction{
			RecentTailTokens:    v.Context.RecentTailTokens,
			SummaryTargetTokens: v.Context.SummaryTargetTokens,
		},
	}
}

// PolicyOptions returns the user's grants and the rules of user and project,
// each as a layer of its own. The caller may append the layers of plugins.
func (v *Values) PolicyOptions() *policy.Options {
	out := &policy.Options{Grants: rules(v.Policy.Grants)}
	for _, l := range []policy.Layer{{Source: User.String(), Rules: rules(v.Policy.Rules)}, {Source: Project.String(), Rules: rules(v.Policy.ProjectRules)}} {
		if len(l.Rules) > 0 {
			out.Layers = append(out.Layers, l)
		}
	}
	return out
}

func rules(in []PolicyRule) []policy.Rule {
	var out []policy.Rule
	for _, r := range in {
		out = append(out, policy.Rule{Tool: r.Tool, Risk: r.Risk, Command: r.Command, Action: r.Action})
	}
	return out
}

// RunTimeout is the longest that a run takes.
func (l Limits) RunTimeout() time.Duration { return time.Duration(l.MaxRunSeconds) * time.Second }

// CommandTimeout is the longest that a program runs.
func (l Limits) CommandTimeout() time.Duration {
	return time.Duration(l.CommandTimeoutSeconds) * time.Second
}
