package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/forge-agent/forge/message"
)

// A Dispatcher is a Tool that stands for others that are not advertised, so
// that a model can call many tools at the price of one schema. A Set plans a
// call of it as a call of the tool that is meant: the plan has that tool's
// name, risk, summary and scope, so a policy decides on what will run, and a
// tool gains nothing by being called this way.
type Dispatcher interface {
	Tool
	// Tools returns the tools that it stands for. It is asked once, when a Set
	// is made; none of them may have a larger risk than the Dispatcher.
	Tools() []Tool
	// Dispatch reads the arguments of a call and returns the name of one of
	// Tools and the arguments for it. An error is like one of Plan, which a Set
	// does not call on a Dispatcher.
	Dispatch(arguments string) (name, inner string, err error)
}

// hidden is a tool behind a Dispatcher.
type hidden struct {
	tool Tool
	name string
	risk Risk
	via  int // the Dispatcher's place in the set
}

// hide takes up the tools that a Dispatcher stands for.
func (s *Set) hide(via int, d Dispatcher) error {
	for i, t := range d.Tools() {
		definition, err := s.check(i, t)
		if err != nil {
			return fmt.Errorf("%w (a tool behind %s)", err, s.definitions[via].Name)
		}
		if _, ok := t.(Dispatcher); ok {
			return fmt.Errorf("list tools: %s stands behind %s and for other tools: list it by itself", definition.Name, s.definitions[via].Name)
		}
		if risk := t.Risk(); slices.Index(Risks(), risk) > slices.Index(Risks(), s.risks[via]) {
			return fmt.Errorf("list tools: %s has the risk %s and stands for %s with the risk %s: raise the first", s.definitions[via].Name, s.risks[via], definition.Name, risk)
		}
		s.hidden = append(s.hidden, hidden{tool: t, name: definition.Name, risk: t.Risk(), via: via})
	}
	return nil
}

func (s *Set) findHidden(name string) int {
	return slices.IndexFunc(s.hidden, func(h hidden) bool { return h.name == name })
}

// A target is the tool that a call means.
type target struct {
	tool      Tool
	name, via string
	risk      Risk
	arguments string
}

// target finds the tool that a call means. The error is a *CallError.
func (s *Set) target(call message.ToolCall) (target, error) {
	unknown := func(format string, args ...any) error {
		return &CallError{Tool: call.Name, Unknown: true, Err: Argumentf(format, args...)}
	}
	i := s.find(call.Name)
	if h := s.findHidden(call.Name); i < 0 && h >= 0 {
		return target{}, unknown("%s cannot be called by its name. Call %s and name it there.", call.Name, s.definitions[s.hidden[h].via].Name)
	}
	if i < 0 {
		return target{}, unknown("There is no tool %q. The tools are: %s.", clip(validText(call.Name)), strings.Join(s.Names(), ", "))
	}
	t := target{tool: s.tools[i], name: s.definitions[i].Name, risk: s.risks[i], arguments: call.Arguments}
	d, ok := s.tools[i].(Dispatcher)
	if !ok {
		return t, nil
	}
	name, inner, err := d.Dispatch(call.Arguments)
	if err != nil {
		return target{}, &CallError{Tool: call.Name, Err: err}
	}
	h := s.findHidden(name)
	if h < 0 || s.hidden[h].via != i {
		return target{}, unknown("There is no tool %q behind %s.", clip(validText(name)), t.name)
	}
	return target{tool: s.hidden[h].tool, name: name, via: t.name, risk: s.hidden[h].risk, arguments: inner}, nil
}
