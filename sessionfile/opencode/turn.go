package opencode

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/forge-agent/forge/activeview"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/sessionfile"
	"github.com/forge-agent/forge/transcript"
)

// compaction is one that a message asks for.
type compaction struct {
	line     int
	trigger  string
	overflow bool
	tail     string
	done     bool
}

// user adds a message of the person. What the agent put beside the person's
// words becomes an injected message after it, so that a turn stays one.
func (x *importer) user(line int, h header, parts []part) {
	var said, injected []message.Block
	asked := false
	for _, p := range parts {
		switch {
		case p.Ignored:
			x.b.Lose(p.line, "a text that only the person sees")
		case p.Type == "compaction":
			c := compaction{line: p.line, trigger: "manual", overflow: p.Overflow, tail: p.TailStartID}
			if p.Auto {
				c.trigger = "auto"
			}
			x.compactions[h.ID], asked = c, true
		case p.Type == "subtask":
			injected = append(injected, message.Text{Text: "(A task that the user started:) " + p.Prompt})
		default:
			if block := x.block(p, h.ProviderID); block == nil {
				continue
			} else if p.Synthetic {
				injected = append(injected, block)
			} else {
				said = append(said, block)
			}
		}
	}
	m := message.Message{ID: h.ID, Role: message.RoleUser, Blocks: said, Time: moment(h.Time.Created)}
	if len(said) > 0 || len(injected) == 0 && !asked {
		x.b.Append(line, m)
		m.ID += "/injected"
	}
	if m.Blocks, m.Origin = injected, message.OriginInjected; len(injected) > 0 {
		x.b.Append(line, m)
	}
}

// step is one model request of a message and what came back.
type step struct {
	line    int
	blocks  []message.Block
	results []message.Block
	cleared map[int]time.Time // results that were cleared later
	usage   *message.Usage
	closed  bool
}

// assistant adds the replies of one message.
func (x *importer) assistant(line int, h header, parts []part, last bool) {
	if string(h.Summary) == "true" {
		x.summary(line, h, parts)
		return
	}
	for _, p := range parts {
		if p.Type == "retry" && p.Error != nil {
			x.failed(p.line, h, p.Error, moment(p.Time.Created))
		}
	}
	if h.Error != nil && !(h.Error.Name == "MessageAbortedError" && said(parts)) {
		x.failed(line, h, h.Error, moment(h.Time.Created))
		if len(plainBlocks(parts)) > 0 || slices.ContainsFunc(parts, func(p part) bool { return p.Type == "tool" }) {
			x.b.Losef(line, "a reply that ended with %s and that the agent does not send again", h.Error.Name)
		}
		return
	}
	steps := x.steps(line, h, parts, last)
	if len(steps) == 1 && steps[0].usage == nil {
		steps[0].usage = h.Tokens.usage()
	}
	for i, s := range steps {
		id := h.ID
		if i > 0 {
			id = fmt.Sprintf("%s/step%d", h.ID, i+1)
		}
		x.step(id, h, s)
	}
}

// said reports whether an aborted reply holds something that is sent again.
func said(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.Type != "step-start" && p.Type != "reasoning" })
}

func (x *importer) failed(line int, h header, f *fault, at time.Time) {
	x.b.Request(sessionfile.Request{At: x.b.Len(), End: x.b.Len(), Model: h.ModelID, Time: at, Line: line, Failed: f.text()})
	if f.Name == "ContextOverflowError" || sessionfile.SaysOverflow(f.text()) {
		x.b.Mark(sessionfile.Mark{At: x.b.Len(), Kind: sessionfile.MarkOverflow, Line: line, Detail: f.text()})
	}
}

// steps divides the parts of a message into steps.
func (x *importer) steps(line int, h header, parts []part, last bool) []step {
	steps := []step{{line: line}}
	current := func() *step { return &steps[len(steps)-1] }
	calls := 0
	for _, p := range parts {
		if s := current(); s.closed || p.Type == "step-start" {
			if len(s.blocks) > 0 || s.usage != nil {
				steps = append(steps, step{line: p.line})
			}
			current().closed = false
		}
		s := current()
		switch p.Type {
		case "step-start":
		case "step-finish":
			s.usage, s.closed = p.Tokens.usage(), true
		case "patch", "snapshot":
			// These follow the step that they belong to.
		case "tool":
			calls++
			id := p.CallID
			if id == "" {
				id = fmt.Sprintf("%s.%d", h.ID, calls)
			}
			s.blocks = append(s.blocks, message.ToolCall{ID: id, Name: p.Tool, Arguments: written(p.State)})
			r, ok := x.result(p, id, last)
			if !ok {
				break
			}
			if at := moment(p.State.Time.Compacted); !at.IsZero() {
				if s.cleared == nil {
					s.cleared = map[int]time.Time{}
				}
				s.cleared[len(s.results)] = at
			}
			s.results = append(s.results, r)
		default:
			if block := x.block(p, h.ProviderID); block != nil {
				s.blocks = append(s.blocks, block)
			}
		}
	}
	return slices.DeleteFunc(steps, func(s step) bool { return len(s.blocks) == 0 && s.usage == nil })
}

// written returns the arguments of a call. While the model is still writing
// they are a text that may be cut.
func written(s state) string {
	raw := bytes.TrimSpace(s.Input)
	if s.Raw != "" && (len(raw) == 0 || string(raw) == "{}" || string(raw) == "null") {
		return s.Raw
	}
	return sessionfile.CompactJSON(raw)
}

// step adds the messages of one step and its request.
func (x *importer) step(id string, h header, s step) {
	at := moment(h.Time.Created)
	first, end := x.b.Len(), x.b.Len()
	if len(s.blocks) > 0 {
		first, end = x.b.Append(s.line, message.Message{ID: id, Role: message.RoleAssistant, Blocks: s.blocks,
			Time: at, Model: h.ModelID})
	}
	x.b.Request(sessionfile.Request{At: first, End: end, Model: h.ModelID, Usage: s.usage, Time: at, Line: s.line})
	x.b.Session.Model, x.b.Session.Provider = h.ModelID, h.ProviderID
	if len(s.results) == 0 {
		return
	}
	done := moment(h.Time.Completed)
	if done.IsZero() {
		done = at
	}
	x.b.Append(s.line, message.Message{ID: id + "/results", Role: message.RoleTool, Blocks: s.results, Time: done})
	for i, when := range s.cleared {
		x.cleared = append(x.cleared, clearing{call: s.results[i].(message.ToolResult).CallID, time: when, line: s.line})
	}
}

// summary reads the reply to a compaction request. It is no message of the
// conversation: it takes the place of what stood before.
func (x *importer) summary(line int, h header, parts []part) {
	c, asked := x.compactions[h.ParentID]
	if h.Error != nil || h.Finish == "" && h.Time.Completed == 0 {
		detail := "a compaction that did not finish"
		if h.Error != nil {
			detail = h.Error.text()
		}
		x.b.Mark(sessionfile.Mark{At: x.b.Len(), Kind: sessionfile.MarkInterrupted, Line: line, Trigger: c.trigger, Detail: detail})
		if c.done = true; asked {
			x.compactions[h.ParentID] = c
		}
		return
	}
	var blocks []message.Block
	var usage *message.Usage
	for _, p := range parts {
		if p.Type == "step-finish" {
			usage = p.Tokens.usage()
			continue
		}
		if block := x.block(p, h.ProviderID); block != nil && block.Kind() != message.KindReasoning {
			blocks = append(blocks, block)
		}
	}
	if usage == nil {
		usage = h.Tokens.usage()
	}
	change := &activeview.Change{Kind: activeview.ChangeCompaction, KeepFrom: x.b.Len()}
	if at, known := x.starts[c.tail]; known {
		change.KeepFrom = at
	} else if c.tail != "" {
		x.b.Lose(line, "a compaction whose first kept message is not before it; nothing is taken as kept")
	}
	when := moment(h.Time.Created)
	if asked {
		change.Replacement = append(change.Replacement, message.Message{ID: h.ParentID, Role: message.RoleUser,
			Origin: message.OriginInjected, Time: when, Blocks: []message.Block{message.Text{Text: askingText}}})
	}
	if len(blocks) > 0 {
		change.Replacement = append(change.Replacement, message.Message{ID: h.ID, Role: message.RoleAssistant,
			Origin: message.OriginSummary, Blocks: blocks, Time: when, Model: h.ModelID})
	}
	mark := sessionfile.Mark{At: x.b.Len(), Kind: sessionfile.MarkCompaction, Line: line, Trigger: c.trigger, Change: change}
	if usage != nil {
		mark.Detail = fmt.Sprintf("the summary cost a request of %d input and %d output tokens", usage.InputTokens, usage.OutputTokens)
	}
	if c.overflow {
		mark.Detail = "after an overflow; " + mark.Detail
	}
	x.b.Mark(mark)
	if c.done = true; asked {
		x.compactions[h.ParentID] = c
	}
}

// askingText stands for the question that the agent puts before a summary.
const askingText = "What have we done so far?"

// clearing is a tool result that the agent replaced at some time.
type clearing struct {
	call string
	time time.Time
	line int
}

type placed struct {
	at   int
	time time.Time
}

// projections adds a mark for each time at which results were cleared.
func (x *importer) projections() {
	slices.SortStableFunc(x.cleared, func(a, b clearing) int { return a.time.Compare(b.time) })
	for len(x.cleared) > 0 {
		at := x.placeOf(x.cleared[0].time)
		n := 1
		for n < len(x.cleared) && x.placeOf(x.cleared[n].time) == at {
			n++
		}
		ids := make([]string, n)
		for i, c := range x.cleared[:n] {
			ids[i] = c.call
		}
		refs := slices.DeleteFunc(x.b.Refs(ids), func(r transcript.Ref) bool { return r.Message >= at })
		line := slices.MinFunc(x.cleared[:n], func(a, b clearing) int { return cmp.Compare(a.line, b.line) }).line
		x.b.Mark(sessionfile.Mark{At: at, Kind: sessionfile.MarkProjection, Line: line,
			Change: &activeview.Change{Kind: activeview.ChangeProjection, Results: refs, StandIn: clearedText}})
		x.cleared = x.cleared[n:]
	}
}

// placeOf returns where the conversation stood at a time.
func (x *importer) placeOf(t time.Time) int {
	for _, p := range x.times {
		if p.time.After(t) {
			return p.at
		}
	}
	return x.b.Len()
}
