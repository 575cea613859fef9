// Package policy decides whether a planned tool call may run: allow, confirm
// or deny. Deny beats confirm, confirm beats allow; wherever two opinions
// meet, the stricter one stands.
//
// A [Policy] is a value made from a profile, the rules of the user and those
// of others, and [Policy.Decide] only computes. A [Run] asks the person and
// remembers approvals; it lives as long as one run and cannot be stored, so no
// approval comes back with a session or a checkpoint (F-SEC-02).
//
// The package reads no configuration and confines nothing: paths are kept by
// internal/workspace, programs by internal/command.
package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/forge-agent/forge/tool"
)

// Action is what happens to a call. The zero value is not valid in a rule, and
// counts as Deny in a comparison.
type Action string

// The actions, from the most lenient to the strictest.
const (
	Allow   Action = "allow"
	Confirm Action = "confirm"
	Deny    Action = "deny"
)

// strictness orders actions; what is not known is the strictest.
func (a Action) strictness() int {
	switch a {
	case Allow:
		return 0
	case Confirm:
		return 1
	}
	return 2
}

// Profile is the starting point that the user chose.
type Profile string

// The profiles.
const (
	// Safe allows reading and asks for everything else.
	Safe Profile = "safe"
	// WorkspaceWrite allows reading and changing files of the workspace, and
	// asks for programs and the network.
	WorkspaceWrite Profile = "workspace-write"
)

// Profiles returns the profiles, the strictest first.
func Profiles() []Profile { return []Profile{Safe, WorkspaceWrite} }

// action is what the profile says about a risk.
func (p Profile) action(r tool.Risk) Action {
	switch r {
	case tool.RiskRead:
		return Allow
	case tool.RiskWrite:
		if p == WorkspaceWrite {
			return Allow
		}
		return Confirm
	case tool.RiskProcess, tool.RiskNetwork:
		return Confirm
	}
	return Deny
}

// A Request is a planned call, as far as a policy needs to know it.
type Request struct {
	// Tool is the tool's name.
	Tool string
	// Via is the tool through which it is called, empty for none. Rules that
	// name it match too, grants do not: what is granted is the tool that runs.
	Via string
	// Risk is the tool's risk. An unknown one is denied.
	Risk tool.Risk
	// Command is the argument vector of a program, nil for none.
	Command []string
	// Scope is what an approval for the run covers; empty for nothing beyond
	// this call.
	Scope string
	// Summary and Diff are shown to the person.
	Summary, Diff string
}

// Ask returns the request that a plan makes.
func Ask(p tool.Plan) Request {
	return Request{Tool: p.Tool, Via: p.Via, Risk: p.Risk, Command: p.Command, Scope: p.Scope, Summary: p.Summary, Diff: p.Diff}
}

// Covers says in words what an approval for the run covers; empty when it
// covers nothing beyond this call.
func (r Request) Covers() string {
	switch {
	case r.Scope == "":
		return ""
	case len(r.Command) > 0:
		return "exactly this command, in the same folder"
	case strings.HasPrefix(r.Scope, "["): // a key made of several parts
		return "every call of " + r.Tool
	}
	return r.Scope
}

// A Rule gives an action to the calls that it matches. A call matches when
// every field that is set matches; a rule with none set matches every call.
type Rule struct {
	// Tool is a tool's exact name.
	Tool string
	// Risk is a risk.
	Risk tool.Risk
	// Command is the beginning of an argument vector: each entry must be equal.
	Command []string
	// Action is what to do.
	Action Action
}

func (r Rule) matches(q Request) bool {
	return (r.Tool == "" || r.Tool == q.Tool) &&
		(r.Risk == "" || r.Risk == q.Risk) &&
		(len(r.Command) == 0 || len(q.Command) >= len(r.Command) && slices.Equal(r.Command, q.Command[:len(r.Command)]))
}

// matchesEither also matches the tool through which the call goes.
func (r Rule) matchesEither(q Request) bool {
	if r.matches(q) {
		return true
	}
	q.Tool = q.Via
	return q.Via != "" && r.matches(q)
}

func (r Rule) validate() error {
	switch {
	case r.Action != Allow && r.Action != Confirm && r.Action != Deny:
		return fmt.Errorf("unknown action %q: use allow, confirm or deny", r.Action)
	case r.Risk != "" && !slices.Contains(tool.Risks(), r.Risk):
		return fmt.Errorf("unknown risk %q: use read, write, process or network", r.Risk)
	}
	return nil
}

// A Layer is the rules of one source. It can only make a policy stricter: an
// Allow in it changes nothing.
type Layer struct {
	// Source names it in reasons: "user", "project", "plugin lint".
	Source string
	Rules  []Rule
}

// Options are what is added to a profile. Nil and the zero value add nothing.
type Options struct {
	// Grants are the only rules that make anything more lenient: where the
	// profile says confirm and a grant with the action allow matches, the
	// profile's confirmation is not needed. They come from the user's own
	// configuration or command line, never from a project, a plugin or a
	// session. No grant lifts a denial, and none lifts a confirmation that a
	// layer asks for.
	Grants []Rule
	// Layers are the rules of the user, the project and plugins, in any order.
	Layers []Layer
}

// A Policy decides on requests. It does not change after New and may be shared
// by goroutines.
type Policy struct {
	profile Profile
	grants  []Rule
	layers  []Layer
}

// New returns the policy of a profile. opts may be nil; it is copied. An
// unknown profile, action or risk is an error.
func New(profile Profile, opts *Options) (*Policy, error) {
	if !slices.Contains(Profiles(), profile) {
		return nil, fmt.Errorf("read policy: unknown profile %q: use safe or workspace-write", profile)
	}
	p := &Policy{profile: profile}
	if opts == nil {
		return p, nil
	}
	for i, r := range opts.Grants {
		if r.Action != Allow {
			return nil, fmt.Errorf("read policy: grant %d has the action %q: a grant can only allow", i+1, r.Action)
		}
		if r.Tool == "" && r.Risk == "" && len(r.Command) == 0 {
			return nil, fmt.Errorf("read policy: grant %d matches every call: name a tool, a risk or a command", i+1)
		}
		if err := r.validate(); err != nil {
			return nil, fmt.Errorf("read policy: grant %d: %w", i+1, err)
		}
		p.grants = append(p.grants, copyRule(r))
	}
	for _, l := range opts.Layers {
		if strings.TrimSpace(l.Source) == "" {
			return nil, errors.New("read policy: a layer has no source: name where its rules come from")
		}
		layer := Layer{Source: l.Source}
		for i, r := range l.Rules {
			if err := r.validate(); err != nil {
				return nil, fmt.Errorf("read policy of %s: rule %d: %w", l.Source, i+1, err)
			}
			layer.Rules = append(layer.Rules, copyRule(r))
		}
		p.layers = append(p.layers, layer)
	}
	return p, nil
}

func copyRule(r Rule) Rule {
	r.Command = slices.Clone(r.Command)
	return r
}

// Profile returns the profile that the policy was made from.
func (p *Policy) Profile() Profile { return p.profile }

// Decide returns the strictest opinion on a request, without asking anybody.
// Its action may be Confirm; Run.Authorize settles that. A nil Policy denies.
func (p *Policy) Decide(q Request) Decision {
	if p == nil {
		return Decision{Action: Deny, Cause: CauseProfile, Source: "no policy", Reason: "there is no policy"}
	}
	if !slices.Contains(tool.Risks(), q.Risk) {
		return Decision{Action: Deny, Cause: CauseUnknownRisk, Source: "policy",
			Reason: fmt.Sprintf("the risk %q is not known", q.Risk)}
	}
	d := Decision{Action: p.profile.action(q.Risk), Cause: CauseProfile, Source: "profile " + string(p.profile)}
	d.Reason = fmt.Sprintf("the profile %s says %s for %s", p.profile, d.Action, q.Risk)
	if d.Action == Confirm && slices.ContainsFunc(p.grants, func(r Rule) bool { return r.matches(q) }) {
		d = Decision{Action: Allow, Cause: CauseGrant, Source: "user", Reason: "the user's configuration grants it"}
	}
	for _, l := range p.layers {
		for _, r := range l.Rules {
			if r.matchesEither(q) {
				d = Stricter(d, Decision{Action: r.Action, Cause: CauseRule, Source: l.Source,
					Reason: fmt.Sprintf("a rule of %s says %s", l.Source, r.Action)})
			}
		}
	}
	return d
}
