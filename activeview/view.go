package activeview

import (
	"fmt"

	"github.com/forge-agent/forge/budget"
	"github.com/forge-agent/forge/message"
	"github.com/forge-agent/forge/tokencount"
	"github.com/forge-agent/forge/transcript"
)

// Reasons that ledger lines carry.
const (
	ReasonInstructions   = "instructions"
	ReasonTool           = "advertised tool"
	ReasonCurrentRequest = "current request"
	ReasonConversation   = "conversation"
	ReasonSummary        = "stands for earlier messages"
	ReasonSummarized     = "inside the range of a summary"
	ReasonCleared        = "old tool output cleared"
	ReasonRepeated       = "the same as an earlier tool output in the window"
	ReasonReplaced       = "replaced by a later summary"
	ReasonRetained       = "kept through a compaction"
	ReasonUncompleted    = "its turn was not completed"
	ReasonCut            = "kept through a compaction, cut to its share"
)

// A View is the active view over one transcript: instructions, memory, the
// messages that are still in the window, tools. It counts each item once,
// when it comes in, and keeps totals, so that looking at the budget costs
// nothing and a step costs what is new in it.
//
// A View belongs to one goroutine. Make one with New.
type View struct {
	counter      *tokencount.Counter
	instructions []*entry
	tools        []toolEntry
	memory       []*entry
	replaced     []*entry          // memory of earlier compactions
	system       []*entry          // system messages inside the transcript
	base         int               // messages before the first entry, which the transcript does not hold
	entries      []*entry          // one for each transcript message seen, from base on
	retained     int               // entries that are not hidden
	current      []*entry          // messages of the current request
	messages     []message.Message // what Messages returns, unless stale
	stale        bool
	totals       budget.Breakdown
	hash         LedgerHash
	delta        Delta
	added        map[string]int // line id → index in delta.Added
	changed      map[string]int // line id → index in delta.Changed
	visited      int
	generation   int
	touched      bool // something before the end changed since TakePrefix
	firstTouched int  // the first such entry; -1 for instructions or tools
	lastTotal    int  // tokens at the last TakePrefix
	sent         int  // messages seen at the last TakePrefix
}

// entry is one message with its ledger lines.
type entry struct {
	message message.Message
	count   tokencount.MessageCount
	lines   []Line
	hidden  bool
}

type toolEntry struct {
	definition message.ToolDefinition
	line       Line
}

// New returns an empty view that counts with counter.
func New(counter *tokencount.Counter) *View {
	v := &View{counter: counter, added: map[string]int{}, changed: map[string]int{}}
	v.totals[budget.Framing] += counter.Fixed(0)
	return v
}

// SetInstructions replaces the fresh instructions. Unchanged messages are not
// counted again.
func (v *View) SetInstructions(ms []message.Message) {
	if sameMessages(v.instructions, ms) {
		return
	}
	for _, e := range v.instructions {
		v.remove(e)
	}
	v.instructions = v.instructions[:0]
	for i, m := range ms {
		if m.ID == "" {
			m.ID = fmt.Sprintf("instructions-%d", i+1)
		}
		v.instructions = append(v.instructions, v.admit(m, false, ReasonInstructions, nil))
	}
	v.touch(-1)
	v.generation++
}

func sameMessages(have []*entry, want []message.Message) bool {
	if len(have) != len(want) {
		return false
	}
	for i, m := range want {
		if have[i].message.Hash() != m.Hash() {
			return false
		}
	}
	return true
}

// SetTools replaces the advertised tools.
func (v *View) SetTools(ds []message.ToolDefinition) {
	if sameTools(v.tools, ds) {
		return
	}
	v.totals[budget.Framing] += v.counter.Fixed(len(ds)) - v.counter.Fixed(len(v.tools))
	for _, t := range v.tools {
		v.drop(t.line)
	}
	v.tools = v.tools[:0]
	taken := map[string]bool{}
	for i, d := range ds {
		id := "tool:" + d.Name
		if d.Name == "" || taken[id] {
			id = fmt.Sprintf("tool:%s#%d", d.Name, i+1)
		}
		taken[id] = true
		l := Line{ID: id, Label: d.Server, Category: budget.ToolSchemas, Hash: toolHash(d),
			Tokens: v.counter.Tool(d), Decision: Kept, Reason: ReasonTool}
		v.visited++
		v.tools = append(v.tools, toolEntry{d, l})
		v.put(l)
	}
	v.touch(-1)
	v.generation++
}

func toolHash(d message.ToolDefinition) message.Hash {
	return message.HashBlock(message.ToolCall{ID: d.Server, Name: d.Name, Arguments: d.Description + "\x00" + string(d.Parameters)})
}

func sameTools(have []toolEntry, want []message.ToolDefinition) bool {
	if len(have) != len(want) {
		return false
	}
	for i, d := range want {
		if have[i].line.Hash != toolHash(d) {
			return false
		}
	}
	return true
}

// Extend takes in the messages that t has gained since the last call. The
// same transcript must be passed each time. Messages that t does not hold
// (transcript.Resume) are out of the window and have no ledger lines.
func (v *View) Extend(t *transcript.Transcript) { v.extendTo(t, t.Len()) }

// seen is how many messages of the transcript the view has taken in, those
// that it does not hold included.
func (v *View) seen() int { return v.base + len(v.entries) }

// entry returns the entry of message i, base ≤ i < seen.
func (v *View) entry(i int) *entry { return v.entries[i-v.base] }

// between returns the entries of the messages [from, to) that are held.
func (v *View) between(from, to int) []*entry {
	return v.entries[max(from-v.base, 0):max(to-v.base, 0)]
}

func (v *View) extendTo(t *transcript.Transcript, end int) {
	if len(v.entries) == 0 {
		v.base = min(t.Base(), end)
	}
	for i := v.seen(); i < end; i++ {
		m := t.At(i)
		current := false
		if m.Authored() {
			if i == t.Base() || !t.At(i-1).Authored() {
				v.closeRequest()
			}
			current = true
		}
		reason := ReasonConversation
		switch {
		case current:
			reason = ReasonCurrentRequest
		case m.Role == message.RoleSystem:
			reason = ReasonInstructions
		}
		e := v.admit(m, current, reason, resultNames(t, i, m))
		v.entries = append(v.entries, e)
		v.retained++
		if !v.stale {
			v.messages = append(v.messages, m)
		}
		switch {
		case current:
			v.current = append(v.current, e)
		case m.Role == message.RoleSystem:
			v.system = append(v.system, e)
		}
	}
}

// resultNames finds the tool names of results through their calls.
func resultNames(t *transcript.Transcript, index int, m message.Message) []string {
	if m.Role != message.RoleTool {
		return nil
	}
	names := make([]string, len(m.Blocks))
	for i := range m.Blocks {
		ref, ok := t.Call(transcript.Ref{Message: index, Block: i})
		if !ok {
			continue
		}
		if call, ok := t.At(ref.Message).Blocks[ref.Block].(message.ToolCall); ok {
			names[i] = call.Name
		}
	}
	return names
}

// closeRequest turns the current request into conversation when a new one
// begins.
func (v *View) closeRequest() {
	for _, e := range v.current {
		v.visited++
		for i := range e.lines {
			l := e.lines[i]
			l.Category = tokencount.CategoryOf(e.message, e.message.Blocks[i], false)
			if l.Reason == ReasonCurrentRequest {
				l.Reason = ReasonConversation
			}
			v.change(&e.lines[i], l)
		}
	}
	v.current = v.current[:0]
}

// admit counts a message and puts its lines into the ledger.
func (v *View) admit(m message.Message, current bool, reason string, names []string) *entry {
	v.visited++
	e := &entry{message: m, count: v.counter.Message(m), lines: make([]Line, len(m.Blocks))}
	for i, b := range m.Blocks {
		name := ""
		if i < len(names) {
			name = names[i]
		}
		e.lines[i] = Line{
			ID: blockID(m.ID, i), Label: label(m, b, name), Category: tokencount.CategoryOf(m, b, current),
			Hash: message.HashBlock(b), Tokens: e.count.BlockTokens[i], Decision: Kept, Reason: reason,
		}
		if i == 0 {
			e.lines[i].FramingTokens = e.count.FramingTokens
		}
		v.put(e.lines[i])
	}
	return e
}

// Apply makes a change that another agent made to its view. Messages of t up
// to c.At are taken in first. It refuses a change that points outside the
// transcript or at something that is not a tool result.
func (v *View) Apply(t *transcript.Transcript, c Change) error {
	if c.At < v.seen() || c.At > t.Len() {
		return fmt.Errorf("apply %s at message %d: the view has %d of %d messages", c.Kind, c.At, v.seen(), t.Len())
	}
	v.extendTo(t, c.At)
	v.stale = true
	v.generation++
	switch c.Kind {
	case ChangeCompaction:
		if c.KeepFrom < 0 || c.KeepFrom > c.At {
			return fmt.Errorf("apply compaction at message %d: it keeps messages from %d on", c.At, c.KeepFrom)
		}
		v.compact(c)
	case ChangeProjection:
		for _, ref := range c.Results {
			if err := v.project(ref, c.StandIn, ReasonCleared); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("apply change at message %d: unknown kind %q", c.At, c.Kind)
	}
	return nil
}

func (v *View) compact(c Change) {
	for _, e := range v.between(0, c.KeepFrom) {
		if e.message.Role != message.RoleSystem && !e.hidden {
			v.hide(e, Summarized, ReasonSummarized)
			v.retained--
		}
	}
	v.replaceMemory(c.Replacement, true)
	v.touch(0)
}

// hide takes a message out of the window; its lines stay in the ledger.
func (v *View) hide(e *entry, d Decision, reason string) {
	if e.hidden {
		return
	}
	e.hidden = true
	v.visited++
	for i := range e.lines {
		l := e.lines[i]
		l.Tokens, l.FramingTokens, l.Decision, l.Reason = 0, 0, d, reason
		v.change(&e.lines[i], l)
	}
}

func (v *View) project(ref transcript.Ref, standIn, reason string) error {
	if ref.Message < v.base || ref.Message >= v.seen() || ref.Block < 0 || ref.Block >= len(v.entry(ref.Message).lines) {
		return fmt.Errorf("project result %d/%d: the view has no such block", ref.Message, ref.Block)
	}
	e := v.entry(ref.Message)
	r, ok := e.message.Blocks[ref.Block].(message.ToolResult)
	if !ok {
		return fmt.Errorf("project result %s: it is a %s block", e.lines[ref.Block].ID, e.message.Blocks[ref.Block].Kind())
	}
	if e.hidden {
		return nil
	}
	v.visited++
	r.Content = []message.Block{message.Text{Text: standIn}}
	blocks := append([]message.Block(nil), e.message.Blocks...)
	blocks[ref.Block] = r
	e.message.Blocks = blocks
	l := e.lines[ref.Block]
	l.Tokens = v.counter.Text(standIn)
	l.Decision, l.Reason = Projected, reason
	v.change(&e.lines[ref.Block], l)
	if ref.Message < v.sent {
		v.touch(ref.Message)
	}
	return nil
}

// Breakdown returns the tokens in the window by category, as counted.
func (v *View) Breakdown() budget.Breakdown { return v.totals }

// Generation changes whenever something other than new messages at the end
// changed the view: two counts of the same generation differ by growth only.
func (v *View) Generation() int { return v.generation }

// Visited is how many items the view has looked at since it was made: a
// deterministic measure of its work.
func (v *View) Visited() int { return v.visited }

// Messages returns the messages in the window in request order, without the
// instructions: system messages at the beginning of the transcript, memory
// (resolution C13), then what is kept of the rest. The slice is shared between
// calls and must not be changed; appending to it is safe. While only new
// messages come in, a call costs nothing.
func (v *View) Messages() []message.Message {
	if v.stale {
		v.messages = v.messages[:0:0]
		lead := 0
		for lead < len(v.entries) && v.entries[lead].message.Role == message.RoleSystem {
			v.messages = append(v.messages, v.entries[lead].message)
			lead++
		}
		for _, e := range v.memory {
			v.messages = append(v.messages, e.message)
		}
		for _, e := range v.entries[lead:] {
			if !e.hidden {
				v.messages = append(v.messages, e.message)
			}
		}
		v.stale = false
	}
	return v.messages[:len(v.messages):len(v.messages)]
}

// RetainedMessages returns how many transcript messages are in the window.
func (v *View) RetainedMessages() int { return v.retained }
