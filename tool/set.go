package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/forge-agent/forge/message"
)

// A Set is the list of tools of one run. It is fixed when the run begins: no
// tool joins, leaves or changes its definition or its risk, so that what was
// promised to the model stays true (F-RUN-07) and its cache stays valid. It
// may be shared by goroutines.
type Set struct {
	tools       []Tool
	definitions []message.ToolDefinition
	risks       []Risk
	hidden      []hidden
}

// validName is what all provider dialects take as a tool's name.
var validName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)

// NewSet returns the tools in the order given, which is the order in which a
// model sees them. Names must be unique and usable with every provider,
// descriptions must not be empty, and the parameters must be a JSON object or
// empty.
//
// The tools behind a Dispatcher are held to the same rules, and are part of
// what is fixed.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{tools: slices.Clone(tools)}
	for i, t := range tools {
		d, err := s.check(i, t)
		if err != nil {
			return nil, err
		}
		s.definitions = append(s.definitions, d)
		s.risks = append(s.risks, t.Risk())
	}
	for i, t := range tools {
		if d, ok := t.(Dispatcher); ok {
			if err := s.hide(i, d); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// check returns a copy of a tool's definition that can be advertised.
func (s *Set) check(i int, t Tool) (message.ToolDefinition, error) {
	if t == nil {
		return message.ToolDefinition{}, fmt.Errorf("list tools: number %d is nil", i+1)
	}
	d := t.Definition()
	switch {
	case !validName.MatchString(d.Name):
		return d, fmt.Errorf("list tools: name %q: use a letter, then up to 63 letters, digits, '_' and '-'", d.Name)
	case s.find(d.Name) >= 0 || s.findHidden(d.Name) >= 0:
		return d, fmt.Errorf("list tools: two tools are named %q: rename one", d.Name)
	case strings.TrimSpace(d.Description) == "":
		return d, fmt.Errorf("list tools: %s has no description", d.Name)
	case len(d.Parameters) > 0 && !isObject(d.Parameters):
		return d, fmt.Errorf("list tools: the parameters of %s are not a JSON object", d.Name)
	case !slices.Contains(Risks(), t.Risk()):
		return d, fmt.Errorf("list tools: %s has the unknown risk %q", d.Name, t.Risk())
	}
	d.Parameters = bytes.Clone(d.Parameters)
	return d, nil
}

func isObject(data json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(data, &object) == nil && object != nil
}

func (s *Set) find(name string) int {
	return slices.IndexFunc(s.definitions, func(d message.ToolDefinition) bool { return d.Name == name })
}

// Definitions returns what the model is told, in order. The result is the
// caller's.
func (s *Set) Definitions() []message.ToolDefinition {
	out := slices.Clone(s.definitions)
	for i := range out {
		out[i].Parameters = bytes.Clone(out[i].Parameters)
	}
	return out
}

// Names returns the names in order.
func (s *Set) Names() []string {
	out := make([]string, len(s.definitions))
	for i, d := range s.definitions {
		out[i] = d.Name
	}
	return out
}

// A CallError says that a call cannot be planned. Its text is written for the
// model.
type CallError struct {
	// Tool is the name that the model called.
	Tool string
	// Unknown is set when there is no such tool.
	Unknown bool
	// Err is what is wrong.
	Err error
}

// Error returns the text for the model.
func (e *CallError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// Result is the answer to the call.
func (e *CallError) Result() Result { return Failure(e.Error()) }

// Plan says what a call would do. Nothing is run. The plan's Run works once,
// whatever the tool does, and not at all when its context is done. The error is
// a *CallError, or the context's.
func (s *Set) Plan(ctx context.Context, call message.ToolCall) (Plan, error) {
	if err := ctx.Err(); err != nil {
		return Plan{}, err
	}
	t, err := s.target(call)
	if err != nil {
		return Plan{}, err
	}
	plan, err := t.tool.Plan(ctx, t.arguments)
	if err == nil && plan.Run == nil {
		err = errors.New("the tool gave no plan")
	}
	if err != nil {
		if ctx.Err() != nil {
			return Plan{}, ctx.Err()
		}
		return Plan{}, &CallError{Tool: call.Name, Err: err}
	}
	plan.Tool, plan.Risk, plan.Via = t.name, t.risk, t.via
	plan.Run = once(plan.Run)
	return plan, nil
}

// once keeps a plan from running twice, and its result within its bounds.
func once(run func(context.Context) Result) func(context.Context) Result {
	var ran atomic.Bool
	return func(ctx context.Context) Result {
		switch {
		case ctx.Err() != nil:
			return Failure("The call was interrupted before it began.")
		case ran.Swap(true):
			return Failure("The call has been run already and is not run again.")
		}
		return run(ctx).bounded()
	}
}
